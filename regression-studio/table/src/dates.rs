//! Dates as numbers of days.

use crate::Texts;

/// The order of day and month in dates such as 01/02/2025.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// 31/01/2025
    DayFirst,
    /// 01/31/2025
    MonthFirst,
}

/// The dates of a column.
pub(crate) struct Dates {
    /// The days since 1970-01-01 for each text, NaN if it is not a date.
    pub(crate) days: Vec<f64>,
    /// A text in a column without a cell that shows the order of day and month. It was read with
    /// the day first.
    pub(crate) ambiguous: Option<String>,
    /// The order used to read dates such as 01/02/2025; `None` if there are none.
    pub(crate) order: Option<Order>,
    /// The cells that are a date only with the day first, and the cells that are one only with the
    /// month first, if both occur and no order is declared.
    pub(crate) both_orders: Option<[OneOrder; 2]>,
    /// The index of a text with a two-digit year.
    pub(crate) two_digit_year: Option<usize>,
}

/// The cells of a column that are a date in only one order of day and month.
pub(crate) struct OneOrder {
    /// The number of cells.
    pub(crate) cells: usize,
    /// The index of the first of their texts.
    pub(crate) text: usize,
}

impl OneOrder {
    fn find(parsed: &[Option<Parsed>], counts: &[usize], order: Order) -> Option<Self> {
        let is_wanted = |date: &Option<Parsed>| date.as_ref().and_then(Parsed::only_order) == Some(order);
        let text = parsed.iter().position(is_wanted)?;
        let cells = parsed.iter().zip(counts).filter(|(date, _)| is_wanted(date)).map(|(_, count)| count).sum();
        Some(Self { cells, text })
    }
}

/// The first of the hundred years that two-digit years belong to, unless declared, as in POSIX.
pub(crate) const FIRST_YEAR: i64 = 1969;

/// How to read the texts of a column as dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    /// The declared order of day and month.
    pub(crate) order: Option<Order>,
    /// Whether the column is declared as a date column.
    pub(crate) is_declared: bool,
    /// The first of the hundred years that two-digit years belong to.
    pub(crate) first_year: i64,
}

impl Default for Reading {
    fn default() -> Self {
        Self { order: None, is_declared: false, first_year: FIRST_YEAR }
    }
}

/// A column's texts as dates; `counts` gives the number of cells with each text. `None` if at most
/// half of the cells are dates, unless the column is declared as dates. Declared dates may also be
/// 20250131 or 202501. The order of day and month is the declared one, or the one shown by most
/// cells that show one.
pub(crate) fn of_texts(texts: &Texts, counts: &[usize], reading: &Reading) -> Option<Dates> {
    let parsed: Vec<Option<Parsed>> = texts.iter().map(|text| parse(text, reading)).collect();
    let [day_first, month_first] =
        [Order::DayFirst, Order::MonthFirst].map(|order| OneOrder::find(&parsed, counts, order));
    let [days, months] = [&day_first, &month_first].map(|shown| shown.as_ref().map_or(0, |shown| shown.cells));
    let shown = if months > days { Order::MonthFirst } else { Order::DayFirst };
    let order = reading.order.unwrap_or(shown);
    let is_open = reading.order.is_none() && days == months;

    let in_days = |date: &Option<Parsed>| date.as_ref().and_then(|date| date.days(order)).unwrap_or(f64::NAN);
    let days: Vec<f64> = parsed.iter().map(in_days).collect();
    let dates: usize = days.iter().zip(counts).filter(|(days, _)| !days.is_nan()).map(|(_, count)| count).sum();
    if !reading.is_declared && 2 * dates <= counts.iter().sum() {
        return None;
    }
    let first = |is_wanted: fn(&Parsed) -> bool| parsed.iter().position(|date| date.as_ref().is_some_and(is_wanted));
    let ambiguous = first(Parsed::has_two_orders).filter(|_| is_open).and_then(|index| texts.get(index));
    Some(Dates {
        days,
        ambiguous: ambiguous.map(str::to_owned),
        order: first(|date| matches!(date.day, Day::Unordered { .. })).map(|_| order),
        both_orders: day_first.zip(month_first).filter(|_| reading.order.is_none()).map(Into::into),
        two_digit_year: first(|date| date.has_short_year),
    })
}

/// Whether whole numbers are days such as 20250131, or months such as 202501.
pub(crate) fn are_compact(numbers: &[f64]) -> bool {
    let is_compact = |number: f64| {
        let text = format!("{number}");
        let year = text.get(..4).and_then(|year| year.parse().ok()).unwrap_or(0);
        (1900..2100).contains(&year) && compact(&text).is_some()
    };
    let mut given = numbers.iter().copied().filter(|number| !number.is_nan()).peekable();
    given.peek().is_some() && given.all(is_compact)
}

/// A date, perhaps with an unknown order of day and month, and its time.
struct Parsed {
    day: Day,
    /// The elapsed part of the day, minus the offset from UTC.
    time: f64,
    /// Whether the year has two digits.
    has_short_year: bool,
}

enum Day {
    /// Days since 1970-01-01.
    Known(i64),
    /// Day and month in unknown order.
    Unordered { first: i64, second: i64, year: i64 },
}

impl Parsed {
    /// The only order that makes this a date, because one of its numbers is not a month.
    fn only_order(&self) -> Option<Order> {
        match self.day {
            Day::Unordered { first: 13.., .. } => Some(Order::DayFirst),
            Day::Unordered { second: 13.., .. } => Some(Order::MonthFirst),
            _ => None,
        }
    }

    /// Whether this is a different day in the other order.
    fn has_two_orders(&self) -> bool {
        matches!(self.day, Day::Unordered { first: first @ ..=12, second: second @ ..=12, .. } if first != second)
    }

    fn days(&self, order: Order) -> Option<f64> {
        let days = match (&self.day, order) {
            (&Day::Known(days), _) => days,
            (&Day::Unordered { first, second, year }, Order::DayFirst) => days_of(year, second, first)?,
            (&Day::Unordered { first, second, year }, Order::MonthFirst) => days_of(year, first, second)?,
        };
        Some(days as f64 + self.time)
    }
}

/// Parses a date: 2025-01-31, 2025/01/31, 31-Jan-2025, 31 January 25, Jan 31, 2025, 31.01.2025 or
/// 31/01/2025. The year has two or four digits if it is the last part. A time may follow after a
/// space or T: 8:05, 14:30:15.25 or 2:30 pm, then Z, UTC or an offset such as +01:00.
fn parse(text: &str, reading: &Reading) -> Option<Parsed> {
    let text = text.trim();
    if reading.is_declared
        && let Some(days) = compact(text)
    {
        return Some(Parsed { day: Day::Known(days), time: 0.0, has_short_year: false });
    }
    let of_day = |date: &str, time: f64| {
        let (day, has_short_year) = day(date, reading.first_year)?;
        Some(Parsed { day, time, has_short_year })
    };
    let Some(colon) = text.find(':') else { return of_day(text, 0.0) };
    let hours = text[..colon].bytes().rev().take_while(u8::is_ascii_digit).count();
    let (date, time) = text.split_at(colon - hours);
    let date = date.strip_suffix(['T', 't', ' '])?.trim_end().trim_end_matches(',');
    of_day(date, time_of(time)?)
}

/// A date without separators: 20250131, or 202501 for the first day of a month.
fn compact(text: &str) -> Option<i64> {
    let part = |range| text.get(range).and_then(|part| digits(part, 4));
    match text.len() {
        8 => days_of(part(0..4)?, part(4..6)?, part(6..8)?),
        6 => days_of(part(0..4)?, part(4..6)?, 1),
        _ => None,
    }
}

/// Parses a day. Also returns whether its year has two digits.
fn day(date: &str, first_year: i64) -> Option<(Day, bool)> {
    let separator = date.chars().find(|character| !character.is_alphanumeric())?;
    let mut parts = date.split(separator);
    let (first, second, third) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let known = |year: i64, month: Option<i64>, day: &str| days_of(year, month?, digits(day, 2)?).map(Day::Known);
    let year_of = |text: &str| year_of(text, first_year);
    let has_short_year = first.len() <= 2 && third.len() == 2;
    let day = match (separator, first.len(), third.len()) {
        ('-' | '/' | '.', 4, 1..=2) => {
            known(digits(first, 4)?, digits(second, 2).or_else(|| month_named(second)), third)
        }
        ('-' | ' ' | '/' | '.', 1..=2, 2 | 4) if month_named(second).is_some() => {
            known(year_of(third)?, month_named(second), first)
        }
        (' ', 3.., 4) => known(digits(third, 4)?, month_named(first), second.strip_suffix(',').unwrap_or(second)),
        ('.', 1..=2, 2 | 4) => known(year_of(third)?, digits(second, 2), first),
        ('/', 1..=2, 2 | 4) | ('-', 1..=2, 4) => {
            let (first, second, year) = (digits(first, 2)?, digits(second, 2)?, year_of(third)?);
            let is_day = days_of(year, second, first).or_else(|| days_of(year, first, second)).is_some();
            is_day.then_some(Day::Unordered { first, second, year })
        }
        _ => None,
    };
    Some((day?, has_short_year))
}

/// A four-digit year, or a two-digit year in the hundred years that begin with `first_year`.
fn year_of(text: &str, first_year: i64) -> Option<i64> {
    let year = digits(text, 4)?;
    Some(if text.len() == 4 { year } else { first_year + (year - first_year).rem_euclid(100) })
}

/// A number of at most `length` digits.
fn digits(text: &str, length: usize) -> Option<i64> {
    let is_number = (1..=length).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

/// The month with this English name or abbreviation, 1 … 12.
fn month_named(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let text = text.to_ascii_lowercase();
    let is_named = |month: &&str| {
        text == **month || text == "sept" && month.starts_with("sept") || text.len() == 3 && month.starts_with(&text)
    };
    (1..).zip(&MONTHS).find(|(_, month)| is_named(month)).map(|(number, _)| number)
}

/// The elapsed part of a day at a clock time, minus its offset from UTC.
fn time_of(text: &str) -> Option<f64> {
    let length = text.find(|character: char| !matches!(character, '0'..='9' | ':' | '.' | ',')).unwrap_or(text.len());
    let (clock, zone) = text.split_at(length);
    let mut parts = clock.split(':');
    let (hours, minutes) = (digits(parts.next()?, 2)?, parts.next().filter(|minutes| minutes.len() == 2)?);
    let (seconds, fraction) = match parts.next() {
        None => (0, 0.0),
        Some(seconds) => {
            let (seconds, fraction) = seconds.split_once(['.', ',']).unwrap_or((seconds, "0"));
            digits(fraction, 12)?;
            (digits(seconds, 2)?, format!("0.{fraction}").parse().ok()?)
        }
    };
    let zone = zone.trim_start().to_ascii_lowercase();
    let half = |names: [&str; 2]| names.iter().find_map(|name| zone.strip_prefix(name)).map(str::trim_start);
    let (hours, zone) = match (hours, half(["am", "a.m."]), half(["pm", "p.m."])) {
        (1..=12, Some(rest), _) => (hours % 12, rest),
        (1..=12, _, Some(rest)) => (hours % 12 + 12, rest),
        _ => (hours, &*zone),
    };
    let minutes = digits(minutes, 2)?;
    let is_time = hours < 24 && minutes < 60 && seconds < 60 && parts.next().is_none();
    let seconds = ((hours * 60 + minutes) * 60 - 60 * offset(zone)? + seconds) as f64 + fraction;
    is_time.then_some(seconds / 86_400.0)
}

/// Names of time zones with a single offset from UTC in common use, and the offset in minutes.
/// Others have several: IST is used in India, Ireland and Israel, BST in Britain and Bangladesh,
/// CST in America, China and Cuba, AST in America and Arabia.
const ZONES: [(&str, i64); 31] = [
    ("", 0),
    ("z", 0),
    ("utc", 0),
    ("gmt", 0),
    ("wet", 0),
    ("west", 60),
    ("cet", 60),
    ("cest", 120),
    ("mez", 60),
    ("mesz", 120),
    ("eet", 120),
    ("eest", 180),
    ("msk", 180),
    ("edt", -240),
    ("est", -300),
    ("cdt", -300),
    ("mdt", -360),
    ("mst", -420),
    ("pdt", -420),
    ("pst", -480),
    ("akdt", -480),
    ("akst", -540),
    ("hst", -600),
    ("jst", 540),
    ("kst", 540),
    ("hkt", 480),
    ("sgt", 480),
    ("aest", 600),
    ("aedt", 660),
    ("nzst", 720),
    ("nzdt", 780),
];

/// The minutes of an offset from UTC: a name in [`ZONES`], +01, +0100 or -05:30.
fn offset(zone: &str) -> Option<i64> {
    if let Some((_, minutes)) = ZONES.iter().find(|(name, _)| *name == zone) {
        return Some(*minutes);
    }
    let (sign, rest) = match zone.strip_prefix('+') {
        Some(rest) => (1, rest),
        None => (-1, zone.strip_prefix(['-', '\u{2212}'])?),
    };
    let (hours, minutes) = match rest.split_once(':') {
        Some((hours, minutes)) => (hours, minutes),
        None => rest.split_at_checked(2)?,
    };
    let minutes = if minutes.is_empty() { 0 } else { digits(minutes, 2)? };
    let hours = digits(hours, 2)?;
    (hours <= 18 && minutes < 60).then_some(sign * (60 * hours + minutes))
}

/// The days from 1970-01-01 to a day of the Gregorian calendar; `None` if there is no such day.
/// Counts years from March, which puts the leap day last (H. Hinnant, "chrono-Compatible Low-Level
/// Date Algorithms").
fn days_of(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    let (year, month_from_march) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + day_of_year;
    (1..=length).contains(&day).then_some(era * 146_097 + day_of_era - 719_468)
}

/// The date `days` after 1970-01-01, as 2025-01-31, with hours and minutes unless it is midnight.
pub fn date(days: f64) -> String {
    let (whole, minutes) = (days.floor(), ((days - days.floor()) * 1440.0).round() as i64);
    // 400-year eras that start in March, as in `days_of`.
    let shifted = whole as i64 + 719_468 + minutes / 1440;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let (month, next) = if month_from_march < 10 { (month_from_march + 3, 0) } else { (month_from_march - 9, 1) };
    let date = format!("{:04}-{month:02}-{day:02}", era * 400 + year_of_era + next);
    match minutes % 1440 {
        0 => date,
        minutes => format!("{date} {:02}:{:02}", minutes / 60, minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_shown_as_the_date_from_which_they_were_read() {
        for day in (-719_000..800_000).step_by(7) {
            assert_eq!(days(&date(f64::from(day))), Some(f64::from(day)), "{day}");
        }
        assert_eq!(
            (date(0.75), date(-0.25), date(0.999_999)),
            ("1970-01-01 18:00".into(), "1969-12-31 18:00".into(), "1970-01-02".into())
        );
    }

    fn days(text: &str) -> Option<f64> {
        parse(text, &Reading::default())?.days(Order::DayFirst)
    }

    #[test]
    fn dates_of_all_forms_are_numbers_of_days() {
        for (text, expected) in [
            ("1970-01-01", 0.0),
            ("1970/1/2", 1.0),
            ("1970.01.02", 1.0),
            ("1969-12-31", -1.0),
            ("31-Dec-1970", 364.0),
            ("31-Dec-70", 364.0),
            ("31/December/1970", 364.0),
            ("Dec 31, 1970", 364.0),
            ("3 MAR 2000", 11_019.0),
            ("3-Mar-00", 11_019.0),
            ("1970-Jan-02", 1.0),
            ("29.02.2000", 11_016.0),
            ("29.2.00", 11_016.0),
            ("29/02/2000", 11_016.0),
            ("29-02-2000", 11_016.0),
            ("2000-02-29 12:00", 11_016.5),
            ("2000-02-29 6:00", 11_016.25),
            ("2000-02-29 6:00 PM", 11_016.75),
            ("2000-02-29 12:00 am", 11_016.0),
            ("2000-02-29T18:00:00", 11_016.75),
            ("2000-02-29T18:00:00Z", 11_016.75),
            ("2000-02-29 18:00:00.000 UTC", 11_016.75),
            ("2000-02-29T18:00:00+06:00", 11_016.5),
            ("2000-02-29 19:00 CET", 11_016.75),
            ("2000-02-29 20:00:00 CEST", 11_016.75),
            ("2000-02-29 13:00 EST", 11_016.75),
            ("2000-02-29 10:00 am PST", 11_016.75),
            ("2000-03-01 03:00 JST", 11_016.75),
            ("2000-02-29T18:00:00-0600", 11_017.0),
            ("2000-02-29 18:00:00+00", 11_016.75),
            ("2000-02-29 00:00:43.2", 11_016.000_5),
            (" 29-Feb-2024 ", 19_782.0),
            ("0001-01-01", -719_162.0),
        ] {
            assert_eq!(days(text), Some(expected), "{text}");
        }
    }

    /// The days of a column's texts.
    fn column(texts: &[&str], declared: Option<Order>, is_declared: bool) -> Option<(Vec<Option<f64>>, bool)> {
        let mut dictionary = crate::texts::Dictionary::default();
        let codes: Vec<u32> = texts.iter().map(|text| dictionary.code(text)).collect();
        let texts = dictionary.into_texts();
        let reading = Reading { order: declared, is_declared, ..Reading::default() };
        let dates = of_texts(&texts, &texts.counts(&codes), &reading)?;
        let days = codes.iter().map(|&code| Some(dates.days[code as usize]).filter(|days| !days.is_nan()));
        Some((days.collect(), dates.ambiguous.is_some()))
    }

    #[test]
    fn years_of_two_digits_are_in_the_hundred_years_from_the_first_on() {
        let year = |text: &str, first_year| {
            let parsed = parse(text, &Reading { first_year, ..Reading::default() }).unwrap();
            (date(parsed.days(Order::DayFirst).unwrap())[..4].parse::<i64>().unwrap(), parsed.has_short_year)
        };
        for (text, first_year, wanted) in [
            ("05.01.69", 1969, 1969),
            ("05.01.68", 1969, 2068),
            ("05.01.68", 1950, 1968),
            ("05/01/49", 1950, 2049),
            ("5-Jan-50", 1950, 1950),
            ("5 January 00", 2000, 2000),
            ("05.01.99", 1900, 1999),
            ("05.01.99", 2050, 2099),
        ] {
            assert_eq!(year(text, first_year), (wanted, true), "{text} from {first_year}");
        }
        for text in ["05.01.1969", "1969-01-05", "1969/1/5", "Jan 5, 1969"] {
            assert_eq!(year(text, 2000), (1969, false), "{text}");
        }
    }

    #[test]
    fn the_whole_column_shows_the_order_of_day_and_month() {
        let (first, second) = (Some(20_090.0), Some(20_120.0));
        let open = ["02/01/2025", "01/02/2025"];
        assert_eq!(column(&open, None, false), Some((vec![first, second], true)));
        assert_eq!(column(&open, Some(Order::MonthFirst), false), Some((vec![second, first], false)));
        let day_first = [&open[..], &["31/01/2025"]].concat();
        assert_eq!(column(&day_first, None, false), Some((vec![first, second, Some(20_119.0)], false)));
        let month_first = [&open[..], &["01/31/25", "1/31/2025", "31/01/2025"]].concat();
        let last = Some(20_119.0);
        assert_eq!(column(&month_first, None, false), Some((vec![second, first, last, last, None], false)));
        // The same day in either order.
        assert_eq!(column(&["03/03/2025"], None, false), Some((vec![Some(20_150.0)], false)));
    }

    #[test]
    fn a_column_of_dates_may_have_other_texts_in_less_than_half_of_its_cells() {
        assert_eq!(
            column(&["1970-01-01", "1970-01-02", "TBD"], None, false),
            Some((vec![Some(0.0), Some(1.0), None], false))
        );
        assert_eq!(column(&["1970-01-01", "TBD"], None, false), None);
        assert_eq!(column(&["1970-01-01", "TBD"], None, true), Some((vec![Some(0.0), None], false)));
    }

    #[test]
    fn whole_numbers_are_dates_where_that_is_declared() {
        let texts = ["19700102", "197002", "19701301", "45413"];
        assert_eq!(column(&texts, None, false), None);
        assert_eq!(column(&texts, None, true), Some((vec![Some(1.0), Some(31.0), None, None], false)));
        assert!(are_compact(&[20_250_131.0, f64::NAN, 19_991_231.0]) && are_compact(&[202_501.0, 202_512.0]));
        for numbers in
            [&[20_250_132.0][..], &[202_513.0], &[20_250_131.5], &[45_413.0], &[f64::NAN], &[], &[12_340_101.0]]
        {
            assert!(!are_compact(numbers), "{numbers:?}");
        }
    }

    #[test]
    fn consecutive_days_are_one_apart() {
        let mut expected = days_of(1899, 12, 31).unwrap();
        for year in 1900..2101 {
            for month in 1..=12 {
                for day in (1..=31).filter(|&day| days_of(year, month, day).is_some()) {
                    expected += 1;
                    assert_eq!(days_of(year, month, day), Some(expected), "{year}-{month}-{day}");
                }
            }
        }
        // 201 years with 49 leap days, since 1900 and 2100 have none.
        assert_eq!(expected - days_of(1899, 12, 31).unwrap(), 201 * 365 + 49);
    }

    #[test]
    fn other_texts_are_no_dates() {
        let texts = "EQ|2025|2025-13-01|2025-02-29|31-Apr-2025|13/13/2025|2025-1|2025-01|2025-01-01-01|12:30|2025-01-01 24:00|\
                     2025-01-01 10:61|20250101|31-Foo-2025|31-anf-2025|+025-01-01|2025-01-01x|é1:30|2025-01-01 10:00:00:00|\
                     1-2-25|2025-01-01 10:00 XY|2025-01-01 10:00 IST|\
                     2025-01-01 10:00 CST|2025-01-01 10:00+99:00|2025-01-01 1:5|2025-01-01 13:00 pm|Fooary 1, 2025|1/2/3";
        for text in texts.split('|').chain([""]) {
            assert_eq!(days(text), None, "{text:?}");
        }
    }
}
