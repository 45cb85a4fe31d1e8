//! Trains both kinds of network on CSV files, once for each seed. Prints R² on the test part next
//! to linear least squares, and the coverage of 90 % intervals there: `cargo run --release -p
//! regression-studio --example beside_trees -- FILE…`. The last column is the target, all others
//! are features. The seed also determines the split. `--parts FOLDER` writes the part of each row
//! for `peers/beside_trees.py`, which trains scikit-learn's regressors on the same rows.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Parser;
use command_line::say;
use regression_studio::results::TableRows;
use regression_studio::session::State;
use regression_studio::settings::{ByRows, NetworkKind, Settings, Source};
use regression_studio::table::{Table, csv};
use regression_studio::{Results, Session};

/// Train both kinds of network, and compare them with linear least squares
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
        say!("| table | rows | made for tables | seconds | coverage | layers | seconds | coverage | linear |");
        say!("|---|---|---|---|---|---|---|---|---|");
        for file in &arguments.files {
            compare(file, &arguments)?;
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn compare(file: &Path, arguments: &Arguments) -> Result<()> {
    let table = Arc::new(csv::read(file)?);
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let mut line = format!("| {name} | {} |", table.rows());
    let mut linear = vec![];
    for kind in [NetworkKind::Table, NetworkKind::Layers] {
        let mut runs = vec![];
        for seed in 0..arguments.seeds {
            let (results, rows) = trained(&table, settings(&table, file, kind, seed)?)?;
            // The split is the same for both kinds.
            if let Some(folder) = arguments.parts.as_ref().filter(|_| kind == NetworkKind::Table) {
                write_parts(&rows, &folder.join(format!("{name}.{seed}.csv")))?;
            }
            runs.push(results);
        }
        let of_test = |value: &dyn Fn(&Results) -> f64| median(runs.iter().map(value).collect());
        let r2 = of_test(&|results| results.parts[2].network.r2);
        let each: Vec<String> = runs.iter().map(|results| format!("{:.4}", results.parts[2].network.r2)).collect();
        let coverage = of_test(&|results| results.intervals.as_ref().and_then(|of| of.coverage).unwrap_or(f64::NAN));
        let (each, seconds) = (each.join(" "), of_test(&|results| results.seconds));
        line += &format!(" {r2:.4} ({each}) | {seconds:.1} | {:.1} % |", 100.0 * coverage);
        linear = runs.iter().map(|results| results.parts[2].linear.r2).collect();
    }
    say!("{line} {:.4} |", median(linear));
    Ok(())
}

/// The studio's defaults, without logarithms. The last column is the target, all others are
/// features.
fn settings(table: &Table, file: &Path, kind: NetworkKind, seed: u64) -> Result<Settings> {
    let names: Vec<String> = table.columns().iter().map(|column| column.name().to_owned()).collect();
    let (target, features) = names.split_last().context("the table has no columns")?;
    let mut settings = Settings::default();
    settings.data.source = Source::File(file.to_owned());
    (settings.data.features, settings.data.target) = (features.to_vec(), target.clone());
    (settings.data.log_target, settings.data.log_features) = (false, false);
    settings.data.one_hot_limit = 200;
    settings.network.kind = kind;
    (settings.split.seed, settings.training.seed) = (seed, seed);
    settings.training.by_rows = ByRows::ALL;
    settings.fill_in_by_rows(table);
    Ok(settings)
}

fn trained(table: &Arc<Table>, settings: Settings) -> Result<(Results, Arc<TableRows>)> {
    let snapshot = Session::start(Arc::clone(table), settings).wait();
    if let State::Failed(message) | State::Diverged(message) = &snapshot.state {
        bail!("{message}");
    }
    let results = snapshot.results.as_ref().context("the run has no results")?;
    let rows = snapshot.run.as_ref().and_then(|run| run.rows.clone()).context("the run has no rows")?;
    Ok(((**results).clone(), rows))
}

fn write_parts(rows: &TableRows, file: &Path) -> Result<()> {
    let lines = rows.parts().map(|(row, part)| format!("{row},{part}\n"));
    let text: String = std::iter::once("row,part\n".to_owned()).chain(lines).collect();
    std::fs::write(file, text).with_context(|| format!("{}: cannot write", file.display()))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
