//! `regression-studio example-config`: the default settings with explanations.

use std::process::ExitCode;

use anyhow::Result;
use regression_studio::Settings;
use regression_studio::settings::Field;

pub(crate) fn run() -> Result<ExitCode> {
    command_line::print_line(format_args!("{}", text().trim_end()));
    Ok(ExitCode::SUCCESS)
}

const HEAD: &str = "\
# Settings of regression-studio. Each comment explains the line below it.
# This file can be used unchanged: regression-studio train THIS-FILE --out FOLDER
#
# To use a table of your own, replace [data.source.demo] and the lines below it with
#
#     [data.source]
#     file = \"prices.xlsx\"
#
# where the path is relative to this file, and set features and target to columns of the table. What the table's cells
# don't show, or show wrongly, can be declared above that, in [data], with decimal_mark = \"comma\" (or \"point\"),
# header = false (or true), sheet = \"Prices\" (of a workbook), encoding = \"windows-1250\" and first_year = 1950 (for
# years of two digits), and below it for each column, as in
#
#     [data.columns]
#     code = \"category\"
#
# where a column is \"number\", \"decimal-point\", \"decimal-comma\", \"category\", \"text\" (a category, but words such as NA are
# missing), \"date\" (also 20250131), \"day-first\", \"month-first\", \"index\" or \"ignore\" (no feature), or \"group\" (its rows
# are in one part, such as those of a person). Cells that mean \"missing\" are declared as in
#
#     [data.missing]
#     pressure = [-999, \"n.v.\"]
";

const SEARCH: &str = "
# What `regression-studio train THIS-FILE --search 100` draws from, besides trying the values above first. Each hidden layer has one of the widths;
# of learning rate and regularization, the logarithms are drawn uniformly. The seed is that of the draws.
[search]
layers = [1, 3]
widths = [8, 16, 32, 64, 128]
learning_rate = [0.0003, 0.03]
regularization = [0.000001, 0.01]
seed = 0
";

/// The keys of `[training]` with defaults that depend on the number of rows.
const BY_ROWS: [&str; 3] = ["batch_size", "epochs", "patience"];

/// The default settings. An explanation precedes each line.
pub(crate) fn text() -> String {
    let (mut text, mut section) = (HEAD.to_owned(), String::new());
    for line in Settings::default().to_toml().lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').to_owned();
        }
        let key = line.split_once(" = ").map_or("", |(key, _)| key);
        let is_by_rows = section == "training" && BY_ROWS.contains(&key);
        if let Some(field) = field(&section, key) {
            let unit = if field.unit().is_empty() { String::new() } else { format!(" ({})", field.unit()) };
            let by_rows = if is_by_rows { "; unless it is given, it follows from the number of rows" } else { "" };
            let (label, explanation, values) = (field.label(), field.explanation(), field.values_in_file());
            text += &format!("\n# {label}{unit}: {explanation}\n# Range: {values}{by_rows}.\n");
        }
        text += if is_by_rows { "# " } else { "" };
        text += line;
        text.push('\n');
    }
    text + SEARCH
}

fn field(section: &str, key: &str) -> Option<Field> {
    Some(match (section, key) {
        ("data", "samples") => Field::Samples,
        ("data", "features") => Field::Features,
        ("data", "target") => Field::Target,
        ("data", "log_target") => Field::LogTarget,
        ("data", "log_features") => Field::LogFeatures,
        ("data", "bad_rows") => Field::BadRows,
        ("data", "one_hot_limit") => Field::OneHotLimit,
        ("data.source.demo", "rows") => Field::Source,
        ("split", "train") => Field::TrainShare,
        ("split", "validation") => Field::ValidationShare,
        ("split", "test") => Field::TestShare,
        ("split", "order") => Field::SplitOrder,
        ("split", "seed") => Field::SplitSeed,
        ("split", "duplicates") => Field::Duplicates,
        ("network", "kind") => Field::Kind,
        ("network", "hidden") => Field::Hidden,
        ("network", "activation") => Field::Activation,
        ("network", "gain") => Field::Gain,
        ("network", "threshold") => Field::Threshold,
        ("training", "optimizer") => Field::Optimizer,
        ("training", "learning_rate") => Field::LearningRate,
        ("training", "schedule") => Field::Schedule,
        ("training", "momentum") => Field::Momentum,
        ("training", "regularization") => Field::Regularization,
        ("training", "batch_size") => Field::BatchSize,
        ("training", "epochs") => Field::Epochs,
        ("training", "patience") => Field::Patience,
        ("training", "seed") => Field::Seed,
        ("training", "device") => Field::Device,
        ("training", "threads") => Field::Threads,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_the_default_settings() {
        let settings = Settings::from_toml(&text()).unwrap();
        assert_eq!(settings, Settings::demo());
        assert_eq!(settings.problems(None), []);
    }

    #[test]
    fn the_example_explains_every_setting_that_it_contains() {
        let text = text();
        for field in Field::ALL.into_iter().filter(|field| {
            ![Field::Sheet, Field::DecimalMark, Field::Header, Field::Samples, Field::Threads].contains(field)
        }) {
            assert!(text.contains(field.explanation()), "{field:?}");
            assert!(!field.explanation().contains("  "), "{field:?}: a run of spaces");
        }
    }

    #[test]
    fn every_value_that_the_example_names_is_accepted() {
        let text = text();
        let lines: Vec<&str> = text.lines().collect();
        let mut tried = 0;
        for (index, range) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("# Range: ")) {
            let (key, _) = lines[index + 1].split_once(" = ").expect("a value below its range");
            let quoted = range.split('"').skip(1).step_by(2).map(|value| format!("\"{value}\""));
            let switch = range.contains("true or false").then_some(["true", "false"]);
            for value in quoted.chain(switch.into_iter().flatten().map(str::to_owned)) {
                let changed = text.replacen(lines[index + 1], &format!("{key} = {value}"), 1);
                let settings = Settings::from_toml(&changed).expect(range);
                assert_eq!(settings.problems(None), [], "{key} = {value}");
                tried += 1;
            }
        }
        assert_eq!(
            tried,
            2 + 2 + 4 + 2 + 2 + 2 + 3 + 2 + 2 + 5,
            "switches, rows, order, duplicates, kind, activation, optimizer, schedule, device"
        );
    }
}
