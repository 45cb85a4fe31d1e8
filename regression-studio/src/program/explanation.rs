//! `regression-studio predict --explain`: what each feature contributes to a row's prediction.

use std::fmt::Write;

use anyhow::{Result, bail};
use regression_studio::contributions::{Contribution, Contributions};
use regression_studio::{Model, Predictions, Table};

/// A table of the columns and their contributions, largest first. With the mean, the contributions
/// add up to the prediction. `row` is counted from 1.
pub(super) fn text(model: &Model, table: &Table, predictions: &Predictions, row: usize) -> Result<String> {
    let Some(index) = row.checked_sub(1).filter(|index| *index < table.rows()) else {
        bail!("{}: row {row} is out of range: give --explain a row from 1 to {}", table.source(), table.rows());
    };
    if predictions.predicted(index).is_none() {
        bail!(
            "{}: row {row} has no prediction, since a feature is missing or not a number: choose another",
            table.source()
        );
    }
    let cell = |name: &str| model.cell(table, name, index);
    let contributions = model.contributions(&model.inputs_of_row(cell))?;
    let shown = |name| (name, model.shown_cell(table, name, index));
    let rows: Vec<(&str, String)> = model.columns().into_iter().map(shown).collect();
    let (scale, target) = (model.transform.target_scale, &predictions.target);
    let mut text = laid_out(&rows, &contributions, scale.log);
    let unit = if scale.log { format!("of ln(1 + {target})") } else { format!("in the unit of {target}") };
    _ = writeln!(
        text,
        "Shapley values {unit}, beside the mean over {} rows of the training part; ± is one standard error.",
        contributions.background_rows
    );
    if scale.log {
        let [mean, predicted] =
            [contributions.mean, contributions.predicted].map(|value| super::number(scale.of_learned(value)));
        _ = writeln!(text, "{target}: {mean} at the mean, {predicted} predicted; a factor is that of 1 + {target}.");
    }
    match &predictions.why_no_intervals {
        None => {
            if let Some([low, high]) = predictions.interval(index) {
                let [low, high] = [low, high].map(super::number);
                _ = writeln!(text, "{} % interval of the prediction: {low} to {high}", predictions.percent);
            }
        }
        Some(reason) => _ = writeln!(text, "{reason}"),
    }
    let outside = predictions.outside(index);
    if !outside.is_empty() {
        let features = outside.join(", ");
        _ = writeln!(text, "outside the range of training: {features}: prediction and interval have no guarantee");
    }
    Ok(text)
}

/// Lays out the names and values of the columns next to their contributions. All numbers have the
/// same number of decimals; contributions to a logarithm are also shown as factors.
fn laid_out(rows: &[(&str, String)], contributions: &Contributions, is_logarithmic: bool) -> String {
    let Contributions { mean, predicted, of_features, .. } = contributions;
    let sizes = of_features.iter().map(|of| of.value.abs()).chain([mean.abs(), predicted.abs()]);
    let decimals = (4 - sizes.fold(0.0, f64::max).max(1e-9).log10().floor() as i32).clamp(0, 12) as usize;
    // A rounded −0 is shown without its sign.
    let number = |value: f64| {
        let text = format!("{value:.decimals$}");
        if text.trim_start_matches(['-', '0', '.']).is_empty() { text.replace('-', "") } else { text }
    };
    let mut features: Vec<(&(&str, String), &Contribution)> = rows.iter().zip(of_features).collect();
    features.sort_by(|(_, a), (_, b)| b.value.abs().total_cmp(&a.value.abs()));
    let mut lines = vec![
        ["column", "value", "contribution", if is_logarithmic { "± error, factor" } else { "± error" }]
            .map(str::to_owned),
        ["mean".to_owned(), String::new(), number(*mean), String::new()],
    ];
    lines.extend(features.into_iter().map(|((name, value), Contribution { value: contribution, standard_error })| {
        let sign = if *contribution > 0.0 { "+" } else { "" };
        let factor = if is_logarithmic { format!("  × {:.4}", contribution.exp()) } else { String::new() };
        let error = format!("± {}{factor}", number(*standard_error));
        [(*name).to_owned(), value.clone(), format!("{sign}{}", number(*contribution)), error]
    }));
    lines.push(["prediction".to_owned(), String::new(), number(*predicted), String::new()]);
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    let mut text = String::new();
    for [name, value, contribution, error] in lines {
        let [first, second, third] = widths;
        let line = format!("{name:<first$}  {value:>second$}  {contribution:>third$}  {error}");
        _ = writeln!(text, "{}", line.trim_end());
    }
    text
}
