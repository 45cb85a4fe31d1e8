//! Due dates, a grace period, and factors for the points of late submissions.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use toml::value::{Datetime, Offset};

use super::sheet::Sheet;
use crate::starter::read_text;

/// A time in seconds since 1970, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(i64);

/// The rules for late submissions: a file for `cargo course grade --late`.
#[derive(Debug)]
pub(super) struct Policy {
    due: Moment,
    /// Offset of `due` from UTC in minutes, east positive; used for times without an offset.
    offset: i16,
    /// Seconds after the due date in which a submission is still on time.
    grace: i64,
    factors: Vec<Factor>,
    /// Due dates of individual submissions, by name.
    extensions: BTreeMap<String, Moment>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    due: Option<Datetime>,
    #[serde(default)]
    grace_minutes: u32,
    factors: Vec<Factor>,
    #[serde(default)]
    extensions: BTreeMap<String, Datetime>,
}

/// Multiplies the points of a submission that is at most `hours` late by `factor`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Factor {
    hours: f64,
    factor: f64,
}

/// When a submission was handed in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum HandIn {
    /// The time is unknown: the submission counts as on time.
    Unknown,
    InTime,
    /// Hours after the due date, including the grace period, and the factor for the points.
    Late {
        hours: f64,
        factor: f64,
    },
}

impl HandIn {
    pub(super) fn factor(self) -> f64 {
        match self {
            Self::Unknown | Self::InTime => 1.0,
            Self::Late { factor, .. } => factor,
        }
    }
}

impl Policy {
    /// Reads a policy file. `due` replaces its due date.
    ///
    /// # Errors
    /// If the file cannot be read, has no due date, or its factors are not in order.
    pub(super) fn read(file: &Path, due: Option<&str>) -> Result<Self> {
        Self::of_text(&read_text(file)?, due).with_context(|| file.display().to_string())
    }

    fn of_text(text: &str, due: Option<&str>) -> Result<Self> {
        let File { due: own, grace_minutes, factors, extensions } = toml::from_str(text).map_err(|error| {
            let line = text[..error.span().map_or(0, |span| span.start)].matches('\n').count() + 1;
            anyhow::anyhow!("line {line}: {}", error.message())
        })?;
        let due: Datetime = match (due, own) {
            (Some(due), _) => due.parse().with_context(|| format!("the due date {due:?} is no time"))?,
            (None, Some(due)) => due,
            (None, None) => bail!("there is no due date: add due = 2026-11-20T23:59:00+01:00"),
        };
        let Some(offset) = due.offset else {
            bail!("due = {due} has no offset from UTC: write it with one, such as 2026-11-20T23:59:00+01:00")
        };
        let offset = match offset {
            Offset::Z => 0,
            Offset::Custom { minutes } => minutes,
        };
        let mut before = Factor { hours: 0.0, factor: 1.0 };
        for &next in &factors {
            let Factor { hours, factor } = next;
            ensure!(
                hours > before.hours && hours.is_finite(),
                "factors: {hours} hours follow {}: they must rise",
                before.hours
            );
            let is_lower = (0.0..=before.factor).contains(&factor);
            ensure!(is_lower, "factors: {factor} follows {}: they must be between 0 and the one before", before.factor);
            before = next;
        }
        let mut until = BTreeMap::new();
        for (name, time) in extensions {
            let time = moment(time, offset)
                .with_context(|| format!("extensions: {time} of {name:?} needs a date and a time"))?;
            until.insert(name, time);
        }
        let due = moment(due, offset).with_context(|| format!("due = {due} needs a date and a time"))?;
        Ok(Self { due, offset, grace: i64::from(grace_minutes) * 60, factors, extensions: until })
    }

    /// Names of the submissions with their own due dates.
    pub(super) fn extended(&self) -> impl Iterator<Item = &str> {
        self.extensions.keys().map(String::as_str)
    }

    /// Reads a table with the columns `name` and `time`.
    ///
    /// # Errors
    /// If the table cannot be read, or a row has an invalid time or a repeated name.
    pub(super) fn times(&self, file: &Path) -> Result<BTreeMap<String, Moment>> {
        let sheet = Sheet::read(file)?;
        let [name, time] = sheet.columns(["name", "time"])?;
        let mut times = BTreeMap::new();
        for row in &sheet.rows {
            let (name, time) = (&row.cells[name], &row.cells[time]);
            let time = self.time(time).with_context(|| {
                format!(
                    "{}: {time:?} is no time such as 2026-11-20 23:59 or 2026-11-20T23:59:00+01:00",
                    sheet.place(row)
                )
            })?;
            ensure!(times.insert(name.clone(), time).is_none(), "{}: {name:?} is there twice", sheet.place(row));
        }
        Ok(times)
    }

    /// Parses a time in RFC 3339 format; seconds and offset are optional.
    pub(super) fn time(&self, text: &str) -> Option<Moment> {
        moment(text.trim().parse().ok()?, self.offset)
    }

    /// Parses a time in Moodle's English format: "Monday, 1 June 2026, 2:14 PM", "Monday, June 1,
    /// 2026, 14:14".
    pub(super) fn time_in_words(&self, text: &str) -> Option<Moment> {
        const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
        let text = text.to_lowercase();
        let (mut year, mut month, mut day, mut clock, mut afternoon) = (None, None, None, None, None);
        for word in text.split([' ', ',', '\u{202f}', '\u{a0}']).filter(|word| !word.is_empty()) {
            match word {
                "am" | "pm" => afternoon = Some(word == "pm"),
                _ if word.contains(':') => clock = word.split_once(':'),
                _ if word.len() == 4 && word.parse::<i64>().is_ok() => year = Some(word),
                _ if word.parse::<u8>().is_ok() => day = Some(word.parse::<u8>().ok()?),
                // No name of a weekday begins like a month's.
                _ => month = MONTHS.iter().position(|month| word.starts_with(month)).or(month),
            }
        }
        let (hour, minute) = clock?;
        let hour: u8 = hour.parse().ok()?;
        let hour = match afternoon {
            Some(afternoon) if (1..=12).contains(&hour) => hour % 12 + if afternoon { 12 } else { 0 },
            Some(_) => return None,
            None => hour,
        };
        self.time(&format!("{}-{:02}-{:02}T{hour:02}:{minute}", year?, month? + 1, day?))
    }

    /// Returns how late a submission is.
    pub(super) fn of(&self, name: &str, time: Option<Moment>) -> HandIn {
        let Some(Moment(time)) = time else { return HandIn::Unknown };
        let Moment(due) = self.extensions.get(name).copied().unwrap_or(self.due);
        if time <= due + self.grace {
            return HandIn::InTime;
        }
        let hours = (time - due) as f64 / 3600.0;
        let factor = self.factors.iter().find(|factor| hours <= factor.hours).map_or(0.0, |factor| factor.factor);
        HandIn::Late { hours, factor }
    }
}

/// Converts a date with a time of day. `offset`, in minutes, applies if it has no offset of its
/// own. `None` if the date or the time is missing.
fn moment(time: Datetime, offset: i16) -> Option<Moment> {
    let Datetime { date: Some(date), time: Some(clock), offset: own } = time else { return None };
    let offset = match own {
        Some(Offset::Z) => 0,
        Some(Offset::Custom { minutes }) => minutes,
        None => offset,
    };
    let minutes = i64::from(clock.hour) * 60 + i64::from(clock.minute) - i64::from(offset);
    let days = days_since_1970(i64::from(date.year), i64::from(date.month), i64::from(date.day));
    Some(Moment(days * 86400 + minutes * 60 + i64::from(clock.second.unwrap_or(0))))
}

/// Days since 1970-01-01 in the Gregorian calendar. Years begin in March here, which makes a leap
/// day the last day of its year. Formula: Hinnant, "chrono-Compatible Low-Level Date Algorithms",
/// `days_from_civil`.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "due = 2026-11-20T23:59:00+01:00\ngrace_minutes = 15\n\
        factors = [{ hours = 24, factor = 0.9 }, { hours = 48, factor = 0.5 }]\n\
        [extensions]\n\"ill.zip\" = 2026-11-27T23:59:00+01:00\n";

    fn late(name: &str, time: &str) -> HandIn {
        let policy = Policy::of_text(FILE, None).unwrap();
        policy.of(name, Some(policy.time(time).unwrap()))
    }

    #[test]
    fn grade_knows_the_seconds_of_dates() {
        // Expected values from `date -u -d TIME +%s`.
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1969-12-31T23:59:59Z", -1),
            ("2000-02-29T12:00:00Z", 951_825_600),
            ("2026-11-20T23:59:00+01:00", 1_795_215_540),
            ("2100-03-01T00:00:00-05:30", 4_107_562_200),
        ] {
            assert_eq!(moment(text.parse().unwrap(), 0), Some(Moment(seconds)), "{text}");
        }
    }

    #[test]
    fn grade_counts_lateness_from_the_due_date_after_the_grace_period() {
        for (time, expected) in [
            ("2026-11-20 23:59", HandIn::InTime),
            ("2026-11-21 00:14", HandIn::InTime),
            ("2026-11-20T23:14:00Z", HandIn::InTime),
            ("2026-11-21 00:14:01", HandIn::Late { hours: 901.0 / 3600.0, factor: 0.9 }),
            ("2026-11-21T23:59:00+01:00", HandIn::Late { hours: 24.0, factor: 0.9 }),
            ("2026-11-21T23:59:00Z", HandIn::Late { hours: 25.0, factor: 0.5 }),
            ("2026-11-22 23:59", HandIn::Late { hours: 48.0, factor: 0.5 }),
            ("2026-11-23 23:59", HandIn::Late { hours: 72.0, factor: 0.0 }),
        ] {
            assert_eq!(late("ann.zip", time), expected, "{time}");
        }
        assert_eq!(late("ill.zip", "2026-11-23 23:59"), HandIn::InTime);
        assert_eq!(late("ill.zip", "2026-11-28 23:59"), HandIn::Late { hours: 24.0, factor: 0.9 });
        assert_eq!(Policy::of_text(FILE, None).unwrap().of("ann.zip", None), HandIn::Unknown);
        // The platform's due date takes precedence over the file's.
        let policy = Policy::of_text(FILE, Some("2026-11-30T00:00:00.000000-08:00")).unwrap();
        assert_eq!(policy.of("ann.zip", policy.time("2026-11-30T08:10:00Z")), HandIn::InTime);
    }

    #[test]
    fn grade_reads_moodles_times() {
        let policy = Policy::of_text(FILE, None).unwrap();
        for (text, expected) in [
            ("Wednesday, 10 June 2026, 2:14 PM", "2026-06-10 14:14"),
            ("Wednesday, September 23, 2020, 12:05 AM", "2020-09-23 00:05"),
            ("Monday, 2 March 2026, 12:05 PM", "2026-03-02 12:05"),
            ("Saturday, 1 August 2026, 14:14", "2026-08-01 14:14"),
            ("2 May 2026, 9:00\u{202f}PM", "2026-05-02 21:00"),
        ] {
            assert_eq!(policy.time_in_words(text), Some(policy.time(expected).unwrap()), "{text}");
        }
        for text in
            ["-", "Mittwoch, 10. Juni 2026, 14:14", "31 June 2026, 2:14 PM", "1 June 2026, 13:14 PM", "1 June 2026"]
        {
            assert_eq!(policy.time_in_words(text), None, "{text}");
        }
    }

    #[test]
    fn grade_names_what_is_wrong_in_a_file_of_lateness() {
        let due = "due = 2026-11-20T23:59:00+01:00\n";
        for (text, message) in [
            ("factors = []".to_owned(), "there is no due date"),
            (due.to_owned(), "line 1: missing field `factors`"),
            (format!("{due}factor = []"), "line 2: unknown field `factor`"),
            (format!("{due}grace_minutes = -5\nfactors = []"), "line 2: "),
            ("due = \"tomorrow\"\nfactors = []".to_owned(), "line 1: "),
            ("due = 2026-02-30T23:59:00+01:00\nfactors = []".to_owned(), "line 1: "),
            ("due = 2026-11-20T23:59:00\nfactors = []".to_owned(), "has no offset from UTC"),
            ("due = 2026-11-20\nfactors = []".to_owned(), "has no offset from UTC"),
            (format!("{due}factors = [{{ hours = 24, factor = 1.5 }}]"), "1.5 follows 1: they must be between"),
            (format!("{due}factors = [{{ hours = 24, factor = nan }}]"), "NaN follows 1"),
            (format!("{due}factors = [{{ hours = 0, factor = 1 }}]"), "0 hours follow 0: they must rise"),
            (
                format!("{due}factors = [{{ hours = 24, factor = 0.5 }}, {{ hours = 48, factor = 0.9 }}]"),
                "0.9 follows 0.5",
            ),
            (
                format!("{due}factors = [{{ hours = 24, factor = 0.5 }}, {{ hours = 12, factor = 0.4 }}]"),
                "12 hours follow 24",
            ),
            (format!("{due}factors = []\n[extensions]\nann = 2026-11-20"), "extensions: 2026-11-20 of \"ann\" needs"),
        ] {
            let error = format!("{:#}", Policy::of_text(&text, None).unwrap_err());
            assert!(error.contains(message) && !error.contains('\n'), "{text}: {error}");
        }
    }

    #[test]
    fn grade_names_what_is_wrong_in_a_table_of_times() {
        let policy = Policy::of_text(FILE, None).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("times.csv");
        for (text, message) in [
            ("name,time\nann,2026-11-20 23:59\nann,2026-11-20 23:58\n", "line 3: \"ann\" is there twice"),
            ("name,time\nann,20.11.2026 23:59\n", "line 2: \"20.11.2026 23:59\" is no time such as"),
            ("name,time\nann,2026-11-20\n", "line 2: \"2026-11-20\" is no time"),
            ("name,date\n", "has a column \"date\"; its columns are name, time"),
        ] {
            std::fs::write(&file, text).unwrap();
            let error = format!("{:#}", policy.times(&file).unwrap_err());
            assert!(error.contains(message), "{text}: {error}");
        }
        std::fs::write(&file, "time;name\n2026-11-20T23:59;Ada, B.zip\n").unwrap();
        let times = policy.times(&file).unwrap();
        assert_eq!(times["Ada, B.zip"], policy.due);
    }
}
