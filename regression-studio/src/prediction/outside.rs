//! Rows outside the range of training, and categories that did not occur there.

use super::Unseen;
use crate::Table;
use crate::model::Model;
use crate::prepared::Input;
use crate::table::date;

/// The rows of a table outside the range of training.
pub(super) struct Outside {
    /// For each row the features whose value is outside the range.
    pub(super) features: Vec<Vec<String>>,
    /// The first of them in words.
    pub(super) first: Option<String>,
    /// The factor of each row's interval: 1 inside the range, see [`Input::excess`].
    pub(super) widening: Vec<f64>,
}

impl Outside {
    /// Compares each row with the ranges of the model's features.
    pub(super) fn of(model: &Model, table: &Table) -> Self {
        let (mut features, mut first) = (vec![Vec::new(); table.rows()], None::<(usize, String)>);
        let mut widening = vec![1.0_f64; table.rows()];
        for input in &model.transform.inputs {
            let Input::Number { column: name, range: Some([low, high]), is_date, .. } = input else { continue };
            let Some(column) = table.column(name) else { continue };
            let shown = |value: f64| if *is_date == Some(true) { date(value) } else { value.to_string() };
            for row in 0..table.rows() {
                let Some(value) = column.number(row).filter(|value| value < low || value > high) else { continue };
                if first.as_ref().is_none_or(|(first, _)| row < *first) {
                    let line = table.line(row).map_or_else(String::new, |line| format!(" (line {line})"));
                    let (value, low, high) = (shown(value), shown(*low), shown(*high));
                    first = Some((row, format!("row {}{line}: {name} {value}, training {low} to {high}", row + 1)));
                }
                widening[row] = widening[row].max(1.0 + input.excess(value));
                features[row].push(name.clone());
            }
        }
        Self { features, first: first.map(|(_, text)| text), widening }
    }
}

/// The text features of the table with rows whose category did not occur in training.
pub(super) fn unseen(model: &Model, table: &Table) -> Vec<Unseen> {
    let mut found: Vec<Unseen> = Vec::new();
    for name in model.columns() {
        let known: Vec<&str> = model.transform.inputs.iter().filter_map(|input| input.category_of(name)).collect();
        let Some(column) = table.column(name).filter(|_| !known.is_empty()) else { continue };
        let rows = (0..table.rows()).map(|row| column.text(row)).filter(|text| !text.is_empty());
        let mut rows = rows.filter(|text| !known.contains(&&**text));
        if let Some(example) = rows.next() {
            found.push(Unseen { column: name.to_owned(), example: example.into_owned(), rows: 1 + rows.count() });
        }
    }
    found
}
