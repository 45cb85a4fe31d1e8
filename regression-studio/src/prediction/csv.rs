//! Predictions as a CSV file.

use std::fmt::Write;

use super::Predictions;

impl Predictions {
    /// The predictions as CSV: the row, counted from 1, the prediction, the ends of its interval if there are any, the
    /// true value if the table has it, the part if the table is the one of the training, and the features outside the
    /// range of training if there are any.
    pub fn to_csv(&self) -> String {
        let mut text = format!("row,{}", csv_cell(&format!("predicted {}", self.target)));
        let percent = self.percent;
        if self.intervals.is_ok() {
            text += &format!(",lower {percent} %,upper {percent} %");
        }
        if self.truth.is_some() {
            text += &format!(",{}", csv_cell(&self.target));
        }
        if self.parts.is_some() {
            text += ",part";
        }
        let marks_outside = self.first_outside.is_some();
        if marks_outside {
            text += ",outside the range of training";
        }
        text.push('\n');
        let cell = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        for (row, predicted) in self.predicted.iter().enumerate() {
            _ = write!(text, "{},{}", row + 1, cell(*predicted));
            if let Ok(intervals) = &self.intervals {
                let interval = intervals[row];
                _ = write!(text, ",{},{}", cell(interval.map(|[low, _]| low)), cell(interval.map(|[_, high]| high)));
            }
            if let Some(truth) = &self.truth {
                _ = write!(text, ",{}", cell(truth[row]));
            }
            if let Some(parts) = &self.parts {
                _ = write!(text, ",{}", parts[row]);
            }
            if marks_outside {
                _ = write!(text, ",{}", csv_cell(&self.outside[row].join("; ")));
            }
            text.push('\n');
        }
        text
    }
}

/// A text as a CSV cell, quoted if necessary.
fn csv_cell(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}
