//! Writes a cell of a workbook as the text of a cell in a CSV file.

use std::fmt::Write;

use calamine::{DataType, ExcelDateTime};

use crate::decimal;

/// Milliseconds per day.
const DAY: f64 = 86_400_000.0;

/// Appends a value, or nothing if the cell is empty.
pub(super) fn write(value: &impl DataType, text: &mut String) {
    if let Some(value) = value.get_string() {
        write_text(value, text);
    } else if let Some(value) = value.get_float() {
        *text += &decimal(value);
    } else if let Some(value) = value.get_int() {
        _ = write!(text, "{value}");
    } else if let Some(value) = value.get_bool() {
        *text += if value { "TRUE" } else { "FALSE" };
    } else if let Some(value) = value.get_datetime() {
        write_date(value, text);
    } else if let Some(value) = value.get_datetime_iso() {
        *text += value.strip_suffix("T00:00:00").unwrap_or(value);
    } else if let Some(value) = value.get_duration_iso() {
        *text += &clock(value).unwrap_or_else(|| value.to_owned());
    }
}

/// Appends a text as one line, without surrounding blanks.
fn write_text(value: &str, text: &mut String) {
    let blank = |character: char| if character.is_control() { ' ' } else { character };
    text.extend(value.trim().chars().map(blank));
}

/// Appends a date as 2025-01-31 or 2025-01-31T08:05:00, and a duration or a time of day as 8:05:00.
fn write_date(date: ExcelDateTime, text: &mut String) {
    let days = date.as_f64();
    if date.is_duration() || (0.0..1.0).contains(&days) {
        let milliseconds = (days.abs() * DAY).round() as u64;
        let (seconds, rest) = (milliseconds / 1000, milliseconds % 1000);
        let sign = if days < 0.0 { "-" } else { "" };
        _ = write!(text, "{sign}{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        write_fraction(rest, text);
    } else if (1.0..2_958_466.0).contains(&days) {
        let (year, month, day, hour, minute, second, milli) = date.to_ymd_hms_milli();
        _ = write!(text, "{year:04}-{month:02}-{day:02}");
        if [hour, minute, second] != [0; 3] || milli > 0 {
            _ = write!(text, "T{hour:02}:{minute:02}:{second:02}");
            write_fraction(milli.into(), text);
        }
    } else {
        *text += &decimal(days);
    }
}

fn write_fraction(milliseconds: u64, text: &mut String) {
    if milliseconds > 0 {
        _ = write!(text, ".{milliseconds:03}");
    }
}

/// A duration such as PT08H30M00S as 8:30:00.
fn clock(duration: &str) -> Option<String> {
    let (hours, rest) = duration.strip_prefix("PT")?.split_once('H')?;
    let (minutes, rest) = rest.split_once('M')?;
    let seconds = rest.strip_suffix('S')?;
    let hours: u32 = hours.parse().ok()?;
    Some(format!("{hours}:{minutes}:{seconds}"))
}

/// Appends the text of a cell, in quotes if it has a special character of CSV.
pub(super) fn write_quoted(cell: &str, csv: &mut String) {
    let is_separator_line = cell.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("sep="));
    if cell.contains([',', ';', '"']) || cell.starts_with('#') || is_separator_line {
        csv.push('"');
        *csv += &cell.replace('"', "\"\"");
        csv.push('"');
    } else {
        *csv += cell;
    }
}
