//! Trains the network for tables on CSV files, once for each seed, and prints R² on the test part beside linear least squares:
//! `cargo run --release -p regression-studio --example beside_trees -- FILE…`. The last column is the target, all others
//! are features; the seed is that of the split, too. `--parts FOLDER` writes the part of each row, for
//! `peers/beside_trees.py`, which trains scikit-learn's regressors on the same rows.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Parser;
use command_line::say;
use regression_studio::prepared::{Input, Prepared, prepare};
use regression_studio::settings::{Settings, Source};
use regression_studio::table::{Table, csv};
use table_network::{InputKind, Options, TableNetwork, Training};

/// Train the network for tables, and compare it with linear least squares
#[derive(Parser)]
struct Arguments {
    /// CSV files, each with the target in its last column
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Number of seeds, from 0 on
    #[arg(long, value_name = "N", default_value = "5")]
    seeds: u64,
    /// Folder for the part of each row and seed
    #[arg(long, value_name = "FOLDER")]
    parts: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments: Arguments = command_line::arguments();
    command_line::run(|| {
        say!("| table | rows | inputs | network | linear | seconds |");
        say!("|---|---|---|---|---|---|");
        for file in &arguments.files {
            compare(file, &arguments)?;
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn compare(file: &Path, arguments: &Arguments) -> Result<()> {
    let table = csv::read(file)?;
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let (mut network, mut linear, mut seconds, mut inputs) = (vec![], vec![], vec![], 0);
    for seed in 0..arguments.seeds {
        let prepared = prepare(&table, &settings(&table, file, seed)?)?;
        if let Some(folder) = &arguments.parts {
            write_parts(&prepared, &folder.join(format!("{name}.{seed}.csv")))?;
        }
        let start = Instant::now();
        let trained = trained(&prepared, seed)?;
        seconds.push(start.elapsed().as_secs_f64());
        let (scale, test) = (prepared.transform.target_scale, prepared.test.samples.inputs().view());
        let outputs = trained.predict(test)?;
        network.push(r2(outputs.iter().map(|&output| scale.original(f64::from(output))), &prepared.test.truth));
        let outputs = prepared.baselines.linear_outputs(test);
        linear.push(r2(outputs.iter().map(|&output| scale.original(output)), &prepared.test.truth));
        inputs = test.ncols();
    }
    let (rows, scores) =
        (table.rows(), network.iter().map(|score| format!("{score:.4}")).collect::<Vec<_>>().join(" "));
    let (network, linear, seconds) = (median(network), median(linear), median(seconds));
    say!("| {name} | {rows} | {inputs} | {network:.4} ({scores}) | {linear:.4} | {seconds:.1} |");
    Ok(())
}

/// The studio's defaults for all columns but the last as features, without logarithms.
fn settings(table: &Table, file: &Path, seed: u64) -> Result<Settings> {
    let names: Vec<String> = table.columns().iter().map(|column| column.name().to_owned()).collect();
    let (target, features) = names.split_last().context("the table has no columns")?;
    let mut settings = Settings::default();
    settings.data.source = Source::File(file.to_owned());
    (settings.data.features, settings.data.target) = (features.to_vec(), target.clone());
    (settings.data.log_target, settings.data.log_features) = (false, false);
    settings.data.one_hot_limit = 200;
    settings.split.seed = seed;
    Ok(settings)
}

fn write_parts(prepared: &Prepared, file: &Path) -> Result<()> {
    let mut text = String::from("row,part\n");
    for (name, part) in prepared.parts() {
        part.rows.iter().for_each(|row| text.push_str(&format!("{row},{name}\n")));
    }
    std::fs::write(file, text).with_context(|| format!("{}: cannot write", file.display()))
}

fn trained(prepared: &Prepared, seed: u64) -> Result<TableNetwork> {
    let kind = |input: &Input| match input {
        Input::Number { .. } => InputKind::Number,
        Input::Text { .. } => InputKind::Indicator,
    };
    let kinds: Vec<InputKind> = prepared.transform.inputs.iter().map(kind).collect();
    let (train, validation) = (&prepared.train.samples, &prepared.validation.samples);
    let options = Options { seed, ..Options::for_table(train.len(), &kinds) };
    let mut training = Training::new(options, &kinds, train.inputs().view(), train.targets().view())?;
    while training.ending().is_none() {
        training.steps(usize::MAX, &mut |_| ControlFlow::Continue(()));
        training.end_epoch(validation.inputs().view(), validation.targets().view())?;
    }
    Ok(training.best())
}

/// 1 − squared error / squared deviation from the mean.
fn r2(predicted: impl Iterator<Item = f64>, truth: &[f64]) -> f64 {
    let mean = truth.iter().sum::<f64>() / truth.len() as f64;
    let errors: f64 = predicted.zip(truth).map(|(predicted, truth)| (predicted - truth).powi(2)).sum();
    1.0 - errors / truth.iter().map(|truth| (truth - mean).powi(2)).sum::<f64>()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
