//! The command line's arguments.

use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand, ValueEnum};
use regression_studio::intervals::{PERCENT, PERCENTS};
use regression_studio::table::DecimalMark;

const EXAMPLES: &str = "\
Examples:
  regression-studio
      opens the window
  regression-studio train --demo
      trains on synthetic rents of flats, to see how it works
  regression-studio example-config > settings.toml
      writes a settings file with explanations
  regression-studio train settings.toml --out run
      trains, prints the results, and saves the run to the folder run
  regression-studio train settings.toml --out run --resume
      resumes an interrupted run
  regression-studio train settings.toml --epochs 50 --set network.hidden=[64,32] --out wide-run
      trains with other values than the file's
  regression-studio train settings.toml --folds 5
      trains five times, each time with another fifth of the rows as test part, and prints mean and spread of the errors
  regression-studio train settings.toml --seeds 10
      trains ten times on the same split, and says how much of the error is luck
  regression-studio train settings.toml --search 100 --out search
      tries 100 layers, learning rates and weight decays, and saves the best run by validation error
  regression-studio predict run new-rows.csv --out predicted.csv
      applies the trained network to a new table
  regression-studio predict run new-rows.csv --explain 3
      says what each feature contributes to the prediction of row 3";

/// Train a neural network to predict one column of a table from others
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Train a network with a settings file; save settings, history, results, plots and model to a
    /// folder
    Train(TrainArguments),
    /// Predict the target for every row of a table with a trained network
    Predict(PredictArguments),
    /// Print a settings file for `train` with an explanation of each setting
    ExampleConfig,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TrainArguments {
    /// Settings file, in the form that `example-config` prints
    #[arg(value_name = "CONFIG.toml", required_unless_present = "demo")]
    pub(crate) config: Option<PathBuf>,
    /// Train on the demo, synthetic rents of flats, instead of a settings file
    #[arg(long, conflicts_with = "config")]
    pub(crate) demo: bool,
    /// Folder of the run [default: the settings file's name with -run, in the current folder]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Number of epochs, overrides the settings file
    #[arg(long, value_name = "N")]
    pub(crate) epochs: Option<usize>,
    /// Seed of the weights and of the sample order, overrides the settings file
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Sheet of the workbook, overrides the settings file
    #[arg(long, value_name = "NAME")]
    pub(crate) sheet: Option<String>,
    /// Override any other value of the settings file, such as network.hidden=[64,32]; may be
    /// repeated
    #[arg(long, value_name = "SECTION.KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Measure by cross-validation instead: train N times, each time with a different test part;
    /// saves no run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=100), conflicts_with_all = ["out", "resume"])]
    pub(crate) folds: Option<u16>,
    /// Measure the effect of chance instead: train N times on the same split, with the training
    /// seed of the settings, the next one, and so on; saves no run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=100), conflicts_with_all = ["out", "resume", "folds"])]
    pub(crate) seeds: Option<u16>,
    /// Search for better layers, learning rate and weight decay: train N times, first with the
    /// file's settings, then with others drawn from its section [search]; saves all errors, and the
    /// run with the smallest validation error
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=10_000), conflicts_with_all = ["folds", "seeds", "compare_kinds", "trees"])]
    pub(crate) search: Option<u16>,
    /// Also train the other kind of network on the same split, and report which has the smaller
    /// validation error; saves only the run of the settings file
    #[arg(long, conflicts_with_all = ["folds", "seeds"])]
    pub(crate) compare_kinds: bool,
    /// Also fit gradient-boosted trees on at most 50,000 training rows, and show their errors next
    /// to the network's
    #[arg(long, conflicts_with_all = ["folds", "seeds"])]
    pub(crate) trees: bool,
    /// Print the results as one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Resume the run in that folder; only epochs, patience, device and threads may differ; for a
    /// search, its number of runs and threads
    #[arg(long)]
    pub(crate) resume: bool,
}

impl TrainArguments {
    /// The settings file, or "demo".
    pub(crate) fn name(&self) -> &Path {
        self.config.as_deref().unwrap_or(Path::new("demo"))
    }
}

/// A decimal mark.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Mark {
    /// 1234.5
    Point,
    /// 1234,5
    Comma,
}

impl From<Mark> for DecimalMark {
    fn from(mark: Mark) -> Self {
        match mark {
            Mark::Point => Self::Point,
            Mark::Comma => Self::Comma,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct PredictArguments {
    /// A model.safetensors file, or a run's folder
    pub(crate) model: PathBuf,
    /// The table, as .csv, .csv.gz, .xlsx or .ods
    pub(crate) csv: PathBuf,
    /// Sheet of the workbook [default: the sheet named as in training, or else the first that is a
    /// table]
    #[arg(long, value_name = "NAME")]
    pub(crate) sheet: Option<String>,
    /// Decimal mark of the table's numbers [default: detected from the numbers]
    #[arg(long, value_name = "MARK")]
    pub(crate) decimal_mark: Option<Mark>,
    /// Predict even if the numbers have a different currency or unit than in training
    #[arg(long)]
    pub(crate) accept_units: bool,
    /// Write the predictions to FILE instead of standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Probability of the prediction intervals, in percent: 50, 80, 90, 95 or 99
    #[arg(long, value_name = "PERCENT", default_value_t = PERCENT, value_parser = percent)]
    pub(crate) interval: u8,
    /// Explain the prediction for this row, counted from 1, instead of printing all predictions:
    /// shows each feature's contribution
    #[arg(long, value_name = "ROW")]
    pub(crate) explain: Option<usize>,
}

/// Parses one of the available interval probabilities.
fn percent(text: &str) -> Result<u8, String> {
    let percent = text.trim_end_matches('%').parse().ok().filter(|percent| PERCENTS.contains(percent));
    percent.ok_or_else(|| format!("must be one of {}", PERCENTS.map(|percent| percent.to_string()).join(", ")))
}
