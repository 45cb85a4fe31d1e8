//! Forms of texts that are not read as numbers or dates, with advice for each.

use std::sync::LazyLock;

use regex_lite::Regex;

use crate::{Texts, shortened};

/// Maximum number of texts of a column to check.
const TRIED: usize = 1000;

/// Pattern, name and advice for each form. The first form that most texts have is reported. Month
/// names are German, French, Spanish, Italian, Portuguese, Dutch and Polish.
#[rustfmt::skip]
const FORMS: [(&str, &str, &str); 34] = [
    (r"^[-+−]?\d+( days?,?)? ?\d*:\d\d(:\d\d([.,]\d+)?)?$", "a duration or a time of the day", "write all in one form, such as 1:23:45, or convert them to seconds"),
    (r"(?i)^\d{1,2}(:\d\d){0,2} ?[ap]\.?m\.?$", "a time of the day", "write it as 14:30:00"),
    (r"(?i)^-?(\d+([.,]\d+)? ?(d|days?|h|hrs?|hours?|m|mins?|minutes?|s|secs?|seconds?)[ ,]*){2,}$", "a duration", "convert it to seconds"),
    (r"^-?P(\d+[YMWD])*(T(\d+([.,]\d+)?[HMS])+)?$", "a duration", "convert it to seconds"),
    (r"^\d{4}-W\d\d(-\d)?$|^(?i:kw|week|wk|w) ?\d{1,2}[ /-]\d{2,4}$", "a week", "write its first day as 2025-01-31"),
    (r"(?i)^(q[1-4][ /-]?(\d\d|\d{4})|(\d\d|\d{4})[ /-]?q[1-4]|[1-4]q[ /-]?(\d\d|\d{4}))$", "a quarter", "write its first day as 2025-01-31, or its number as a column"),
    (r"(?i)^((\d{4})[ /-])?(jan(uary|uar|vier)?|ene(ro)?|feb(ruary|ruar|rero)?|fév(rier)?|mar(ch|s|zo)?|märz?|apr(ile?)?|avr(il)?|abr(il)?|may|mayo|mai|june?|juni|junio|juin|july?|juli|julio|juil(let)?|aug(ust)?|août|ago(sto)?|sept?(ember|iembre|embre)?|oct(ober|obre|ubre)?|okt(ober)?|nov(ember|embre|iembre)?|dec(ember)?|dez(ember)?|déc(embre)?|dic(iembre)?)\.?([ /-]'?(\d\d|\d{4}))?$", "a month and a year", "write its first day as 2025-01-31"),
    (r"^\d{1,2}[/.-]\d{4}$|^\d{4}[/.-]\d{1,2}$", "a month and a year", "write its first day as 2025-01-31"),
    (r"(?i)\d{1,2}:\d\d(:\d\d([.,]\d+)?)? ?([ap]m )?[a-z]{2,5}$", "a date with a time-zone name that is not understood", "convert it to UTC, or write an offset such as +05:30"),
    (r"(?i)^(mon|tue|wed|thu|fri|sat|sun)[a-z]*,? .*\d", "a date with a day of the week", "write it as 2025-01-31"),
    (r"(?i)^([a-zäéû]+,? )?\d{1,2}[.]?[ -](de )?(jan|gen|fév|fev|feb|ene|mär|maer|mar|abr|avr|apr|mai|mag|maj|maggio|may|mei|mrt|juin|jun|giu|cze|juil|jul|lug|lip|aoû|aou|ago|aug|sie|sep|set|wrz|oct|okt|ott|out|paź|nov|lis|déc|dec|dic|dez|dez|gru|kwi|sty|lut)[a-zäéûçńśźż]*\.?[ -](de )?\d{2,4}$", "a date with a month's name that is not English", "write it as 2025-01-31"),
    (r"(?i)^[a-z]+ \d{1,2}(st|nd|rd|th),? \d{4}$|^\d{1,2}(st|nd|rd|th) [a-z]+,? \d{4}$", "a date with an ordinal number", "write it as 2025-01-31"),
    (r"^\d{4}[/.-]\d{1,2}[/.-]\d{1,2}|^\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}", "a date in a form that is not read", "write it as 2025-01-31 or 2025-01-31 14:30"),
    (r"^-?\d+ \d+/\d+$|^-?\d+/\d+$|^-?\d*[ ]?[½¼¾⅓⅔⅛]$", "a fraction", "write it as a decimal number, such as 0.5"),
    (r"^[%€$£]?\d+([.,]\d+)? ?[%€$£]? ?(-|–|—|to|bis|\.\.) ?[%€$£]?\d+([.,]\d+)? ?[%€$£]?$", "a range", "write its lower and its upper end as two columns, or its middle"),
    (r"^[<>≤≥~≈±] ?=?\d", "a bound or an approximate number", "write the number alone"),
    (r"^-?\d+([.,]\d+)? ?(±|\+/-) ?\d", "a number with its error", "write the error as a column of its own"),
    (r#"^\d+(['′ ]|ft|feet)[ ]?\d+([.,]\d+)?(["″]|''|in|inches)?$"#, "feet and inches", "convert them to inches or centimetres"),
    (r#"^-?\d+([.,]\d+)?°( ?\d+([.,]\d+)?['′])?( ?\d+([.,]\d+)?["″])? ?[NSEWOnsewo]?$|^-?\d+\.\d+,? -?\d+\.\d+$"#, "a coordinate", "convert it to decimal degrees, latitude and longitude as two columns"),
    (r"^[-+−]?\d+([.,]\d+)? ?[×x·*] ?10(\^|\*\*)?\(?[-+−⁻]?[\d⁰¹²³⁴-⁹]+\)?$", "a number in scientific notation", "write it as 1.5e6"),
    (r"^0[xX][0-9a-fA-F]+$|^#[0-9a-fA-F]{6}$", "a hexadecimal number", "convert it to a decimal number, or declare the column as \"category\""),
    (r"(?i)^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", "a UUID", "it identifies a row and predicts nothing: declare the column as \"index\""),
    (r"^[^@\s]+@[^@\s]+\.[A-Za-z]{2,}$", "an e-mail address", "it identifies a person: remove the column, or declare it as \"index\""),
    (r"(?i)^(https?|ftp)://|^www\.", "a web address", "remove the column, or declare it as \"index\""),
    (r"^\d{1,3}(\.\d{1,3}){3}$", "an IP address", "remove the column, or declare it as \"index\""),
    (r"^(\+\d{1,3}|\(\d{2,5}\)|00\d{2})[ \d()/.-]{5,}$|^\d{3}[-. ]\d{3,4}[-. ]\d{4}$", "a phone number", "it is no quantity: remove the column, or declare it as \"index\""),
    (r"^[\[{(].*[\]})]$", "a list or JSON", "give each value a column of its own"),
    (r"^\d+([.,]\d+)?([;|/] ?\d+([.,]\d+)?)+$", "several numbers in a cell", "give each number a column of its own"),
    (r"^\d+([.,]\d+)? ?[x×] ?\d+([.,]\d+)?( ?[x×] ?\d+([.,]\d+)?)?( ?[a-z]+)?$", "several dimensions", "give each number a column of its own"),
    (r"^\d[\d.,']*[-−]$", "a number with its minus behind it", "write it as -12.5"),
    (r"^[-+−]?\d{1,3}(_\d{3})+([.,]\d+)?$", "a number with underscores", "write it as 1234567"),
    (r"^[-+−]?[٠-٩۰-۹०-९０-９][٠-٩۰-۹०-९０-９.,٫٬．，]*$", "a number in digits of another script", "write it as 1234.5"),
    (r"^\d+[€$£]\d\d$", "an amount with its currency in place of the decimal mark", "write it as 12.50"),
    (r"^[-+−]?\d[\d.,' ]*%.*[A-Za-z]", "a percentage with a text", "write the percentage alone"),
];

/// The same forms, followed by numbers with several currencies or with a text, which are tried
/// last.
static PATTERNS: LazyLock<Vec<(Regex, &str, &str)>> = LazyLock::new(|| {
    let compiled = |(pattern, name, advice): (&str, &'static str, &'static str)| {
        Regex::new(pattern).ok().map(|pattern| (pattern, name, advice))
    };
    FORMS.into_iter().chain(LAST).filter_map(compiled).collect()
});

#[rustfmt::skip]
const LAST: [(&str, &str, &str); 3] = [
    (r"^([$€£¥₹] ?|[A-Z]{3} )[-−]?\d[\d.,' ]*$|^[-−]?\d[\d.,' ]* ?([$€£¥₹]|[A-Z]{3})$", "an amount in different currencies", "convert all to one currency, or write the currency as a column of its own"),
    (r"^[-+−]?\d[\d.,']* ?[KMBkmbT][a-z]{0,3}\.?$", "a number with a suffix that may be a unit or a power of ten", "write the number in full"),
    (r"^[-+−]?\d[\d.,']*[^\d.,'%]+$", "a number with a text behind it", "write the number alone, and the text as a column of its own"),
];

/// What most of the first texts look like, with an example and advice.
pub(crate) fn of_texts(texts: &Texts) -> Option<String> {
    // Plain numbers may occur together with any form.
    let is_plain = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text).replacen(['.', ','], "", 1);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let tried: Vec<&str> = texts.iter().take(TRIED).map(str::trim).filter(|text| !is_plain(text)).collect();
    let is_most = |pattern: &Regex| 2 * tried.iter().filter(|text| pattern.is_match(text)).count() > tried.len();
    let (pattern, name, advice) = PATTERNS.iter().find(|(pattern, ..)| is_most(pattern))?;
    let example = tried.iter().find(|text| pattern.is_match(text))?;
    Some(format!("{:?} looks like {name}: {advice}", shortened(example)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Column;

    #[test]
    fn all_patterns_compile() {
        assert_eq!(PATTERNS.len(), FORMS.len() + LAST.len());
    }

    #[test]
    fn texts_of_a_known_form_are_named() {
        for (texts, wanted) in [
            (["12:30", "1:02:33", "0:59"], "duration or a time of the day"),
            (["2:30 pm", "11:05 am", "9:15 AM"], "time of the day"),
            (["1h 23m 45s", "2h 3m 1s", "5m 12s"], "duration"),
            (["PT1H23M", "PT45M", "P1DT2H"], "duration"),
            (["2025-W05", "2025-W06", "2024-W52"], "week"),
            (["KW 5/2025", "KW 6/2025", "KW 12/2025"], "week"),
            (["Q1 2025", "Q2 2025", "Q3 2024"], "quarter"),
            (["2025Q1", "2025Q2", "2024Q4"], "quarter"),
            (["Mar-25", "Apr-25", "Dec-24"], "month and a year"),
            (["03/2025", "04/2025", "12/2024"], "month and a year"),
            (["2025-03-01 10:00 IST", "2025-03-02 11:00 IST", "2025-03-03 10:00 BST"], "time-zone name"),
            (["3. März 2025", "14. Mai 2025", "1. Dezember 2024"], "not English"),
            (["3 mars 2025", "14 août 2025", "1 décembre 2024"], "not English"),
            (["3 de marzo de 2025", "14 de agosto de 2025", "1 de enero de 2024"], "not English"),
            (["Mon, 3 Mar 2025", "Tue, 4 Mar 2025", "Wed, 5 Mar 2025"], "day of the week"),
            (["March 3rd, 2025", "April 1st, 2025", "May 2nd, 2025"], "ordinal"),
            (["1/2", "3/4", "2 1/3"], "fraction"),
            (["10-20", "20-30", "100-200"], "range"),
            (["$10-$20", "$20-$30", "$5 - $7"], "range"),
            (["<5", ">100", "<= 7"], "bound"),
            (["5.1 ± 0.2", "4.9 ± 0.3", "7 ± 1"], "error"),
            (["5'11\"", "6'2\"", "5' 9\""], "feet and inches"),
            (["52°30'N", "13°24'E", "48°8'N"], "coordinate"),
            (["52.52, 13.40", "48.14, 11.58", "50.94,6.96"], "coordinate"),
            (["1.5×10^6", "2.25 x 10^-3", "3×10⁵"], "scientific"),
            (["0x1F", "0xff", "0xA0"], "hexadecimal"),
            (["ann@example.org", "bob@example.com", "eve@mail.example.net"], "e-mail"),
            (["https://example.org/a", "http://example.com", "https://x.example"], "web address"),
            (["192.168.0.1", "10.0.0.7", "8.8.8.8"], "IP address"),
            (["+49 30 1234567", "+1 555 123 4567", "(030) 7654321"], "phone"),
            (["555-123-4567", "555-987-6543", "555-000-1111"], "phone"),
            (["[1, 2]", "[3]", "{\"a\": 1}"], "list"),
            (["12;13;14", "7|8", "1;2"], "several numbers"),
            (["10 x 20 cm", "5x7 cm", "3 × 4 × 5 cm"], "several dimensions"),
            (["12.5-", "3.25", "7-"], "minus behind"),
            (["1_000", "12_000", "7"], "underscores"),
            (["١٢", "٣٫٥", "７"], "another script"),
            (["5€50", "12€00", "7€25"], "currency in place"),
            (["5*", "7", "12*"], "text behind"),
            (["5% of sales", "7% off", "12% up"], "percentage"),
            (["$5", "7 €", "£3.50"], "different currencies"),
            (
                [
                    "123e4567-e89b-12d3-a456-426614174000",
                    "123e4567-e89b-12d3-a456-426614174001",
                    "123e4567-e89b-12d3-a456-426614174002",
                ],
                "UUID",
            ),
        ] {
            let found = Column::of_texts("x", &texts).looks_like();
            assert!(found.as_ref().is_some_and(|found| found.contains(wanted)), "{texts:?}: {found:?}");
        }
    }

    #[test]
    fn words_and_codes_have_no_form() {
        for texts in [
            ["red", "green", "blue"],
            ["name 10", "name 11", "name 2024"],
            ["A12", "B07", "C99"],
            ["New York", "Łódź", "São Paulo"],
            ["EQ", "BE", "SM"],
        ] {
            assert_eq!(Column::of_texts("x", &texts).looks_like(), None, "{texts:?}");
        }
        let numbers = Column::of_numbers("x", vec![1.0]);
        assert_eq!(numbers.looks_like(), None);
    }
}
