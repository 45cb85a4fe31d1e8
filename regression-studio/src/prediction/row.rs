//! The prediction for one row that a user has entered.

use ndarray::Array2;

use crate::Table;
use crate::model::{Model, Output};
use crate::prepared::Input;
use crate::settings::BadRows;
use crate::table::{date, decimal};

/// The value of a feature in a row that a user has entered.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A number.
    Number(f64),
    /// A category.
    Text(String),
}

impl Model {
    /// The names of the feature columns, in the order of the inputs.
    pub fn columns(&self) -> Vec<&str> {
        let mut columns: Vec<&str> = self.transform.inputs.iter().map(Input::column).collect();
        columns.dedup();
        columns
    }

    /// The value of a feature column in a table's row. For a missing number, the fill value, or NaN
    /// without one.
    pub fn cell(&self, table: &Table, name: &str, row: usize) -> Cell {
        let input = self.transform.inputs.iter().find(|input| input.column() == name);
        match (table.column(name), input) {
            (Some(column), Some(Input::Number { fill, .. })) => {
                Cell::Number(column.number(row).or(*fill).unwrap_or(f64::NAN))
            }
            (Some(column), _) => Cell::Text(column.text(row).into_owned()),
            (None, _) => Cell::Number(f64::NAN),
        }
    }

    /// A feature's value in a table's row as the user sees it. For a missing number, includes the
    /// fill value.
    pub fn shown_cell(&self, table: &Table, name: &str, row: usize) -> String {
        let column = table.column(name);
        let is_date = column.is_some_and(|column| column.is_date());
        let shown = |value: f64| if is_date { date(value) } else { decimal(value) };
        match self.cell(table, name, row) {
            Cell::Number(value) if column.is_none_or(|column| column.number(row).is_none()) && value.is_finite() => {
                let by = match self.transform.filled_by {
                    Some(BadRows::Mean) => " (mean)",
                    Some(BadRows::Median) => " (median)",
                    _ => "",
                };
                format!("missing, taken as {}{by}", shown(value))
            }
            Cell::Number(value) => shown(value),
            Cell::Text(text) => text,
        }
    }

    /// The prediction for one row, in the target's unit; `cell` gives the value of each feature column.
    pub fn predict_row(&self, cell: impl Fn(&str) -> Cell) -> f64 {
        self.transform.target_of(self.output_of_row(cell).value)
    }

    /// [`Model::predict_row`], and the ends of its interval if the model has one at this
    /// probability. Outside the range of training the interval is wider.
    pub fn predict_row_within(&self, percent: u8, cell: impl Fn(&str) -> Cell) -> (f64, Option<[f64; 2]>) {
        let output = self.output_of_row(&cell);
        let interval = self.interval(percent, output, 1.0 + self.excess(cell));
        (self.transform.target_of(output.value), interval)
    }

    /// Whether a number of the row is outside the range of training.
    pub fn is_outside(&self, cell: impl Fn(&str) -> Cell) -> bool {
        self.excess(cell) > 0.0
    }

    /// The largest [`Input::excess`] of the row.
    fn excess(&self, cell: impl Fn(&str) -> Cell) -> f64 {
        let excess = |input: &Input| match cell(input.column()) {
            Cell::Number(value) => input.excess(value),
            Cell::Text(_) => 0.0,
        };
        self.transform.inputs.iter().map(excess).fold(0.0, f64::max)
    }

    fn output_of_row(&self, cell: impl Fn(&str) -> Cell) -> Output {
        let inputs = self.inputs_of_row(cell);
        let inputs = Array2::from_shape_vec((1, inputs.len()), inputs).expect("one row");
        self.outputs_of(inputs.view())[0]
    }

    /// The standardized inputs of one row; `cell` gives the value of each feature column.
    pub fn inputs_of_row(&self, cell: impl Fn(&str) -> Cell) -> Vec<f32> {
        let input = |input: &Input| match (input, cell(input.column())) {
            (Input::Number { scale, .. }, Cell::Number(value)) => scale.standardised(value),
            (Input::Text { text, scale, .. }, Cell::Text(chosen)) => {
                scale.standardised(f64::from(u8::from(*text == chosen)))
            }
            // A value of the other kind counts as missing.
            (Input::Number { scale, .. } | Input::Text { scale, .. }, _) => scale.standardised(f64::NAN),
        };
        self.transform.inputs.iter().map(input).collect()
    }
}
