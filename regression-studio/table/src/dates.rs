//! Dates as numbers of days.

/// The days from 1970-01-01 to a date, negative before it, with the time as a part of a day; `None` if the text is no
/// date.
///
/// Dates are 2025-01-31, 2025/01/31, 31-Jan-2025, 31 Jan 2025 and 31.01.2025, and may be followed by a space or T and a
/// time, 14:30 or 14:30:15. Dates such as 01/02/2025 are none, since their order of day and month differs between
/// countries.
pub(crate) fn days(text: &str) -> Option<f64> {
    let text = text.trim();
    let (date, time) = match text.find(':') {
        None => (text, 0.0),
        Some(colon) => {
            let (date, time) = text.split_at_checked(colon.checked_sub(2)?)?;
            (date.strip_suffix(['T', ' '])?, part_of_day(time)?)
        }
    };
    let separator = date.chars().find(|character| !character.is_ascii_digit())?;
    let mut parts = date.split(separator);
    let (first, second, third) = (parts.next()?, parts.next()?, parts.next()?);
    let (year, month, day) = match (separator, first.len(), third.len()) {
        _ if parts.next().is_some() => return None,
        ('-' | '/', 4, 1..=2) => (first, digits(second, 2)?, third),
        ('-' | ' ', 1..=2, 4) => (third, month_named(second)?, first),
        ('.', 1..=2, 4) => (third, digits(second, 2)?, first),
        _ => return None,
    };
    Some(days_of(digits(year, 4)?, month, digits(day, 2)?)? as f64 + time)
}

/// A number of at most `length` digits.
fn digits(text: &str, length: usize) -> Option<i64> {
    let is_number = (1..=length).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

/// The month with this English abbreviation, 1 … 12.
fn month_named(text: &str) -> Option<i64> {
    const MONTHS: &str = "janfebmaraprmayjunjulaugsepoctnovdec";
    let found = MONTHS.find(&text.to_ascii_lowercase()).filter(|place| text.len() == 3 && place % 3 == 0)?;
    Some(found as i64 / 3 + 1)
}

/// The part of a day that has passed at hh:mm or hh:mm:ss.
fn part_of_day(time: &str) -> Option<f64> {
    let mut parts = time.split(':');
    let (hours, minutes) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    let seconds = parts.next().map_or(Some(0), |seconds| digits(seconds, 2))?;
    let is_time = hours < 24 && minutes < 60 && seconds < 60 && parts.next().is_none();
    is_time.then_some(((hours * 60 + minutes) * 60 + seconds) as f64 / 86_400.0)
}

/// The days from 1970-01-01 to a day of the Gregorian calendar; `None` if there is no such day. Counts in years from
/// March on, so that the leap day is the last (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms").
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_all_forms_are_numbers_of_days() {
        for (text, expected) in [
            ("1970-01-01", 0.0),
            ("1970/1/2", 1.0),
            ("1969-12-31", -1.0),
            ("31-Dec-1970", 364.0),
            ("3 MAR 2000", 11_019.0),
            ("29.02.2000", 11_016.0),
            ("2000-02-29 12:00", 11_016.5),
            ("2000-02-29T18:00:00", 11_016.75),
            (" 29-Feb-2024 ", 19_782.0),
            ("0001-01-01", -719_162.0),
        ] {
            assert_eq!(days(text), Some(expected), "{text}");
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
        let texts = "EQ|2025|2025-13-01|2025-02-29|31-Apr-2025|01/02/2025|1-2-2025|2025-1|2025-01-01-01|12:30|2025-01-01 24:00|\
                     2025-01-01 1:00|2025-01-01 10:61|20250101|31-Foo-2025|31-anf-2025|+025-01-01|2025-01-01x|é1:30|2025-01-01 10:00:00:00";
        for text in texts.split('|').chain([""]) {
            assert_eq!(days(text), None, "{text:?}");
        }
    }
}
