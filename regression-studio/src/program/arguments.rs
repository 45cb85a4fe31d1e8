//! What the command line takes.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  regression-studio
      opens the window
  regression-studio example-config > market.toml
      writes settings with every choice explained
  regression-studio train market.toml --out market-run
      trains, shows how good the network is, and keeps all of it in the folder market-run
  regression-studio train market.toml --out market-run --resume
      goes on where an interrupted training stopped
  regression-studio predict market-run new-prices.csv --out predicted.csv
      uses the trained network on a new table";

/// Trains a neural network to tell one column of a table from others
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Train a network by a settings file, and keep settings, history, results, plots and model in a folder
    Train(TrainArguments),
    /// Predict the target for every row of a table by a trained network
    Predict(PredictArguments),
    /// Print a settings file for `train` that explains every choice
    ExampleConfig,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TrainArguments {
    /// The settings, as `example-config` prints them
    #[arg(value_name = "CONFIG.toml")]
    pub(crate) config: PathBuf,
    /// The folder for all that is kept [default: the settings file's name with -run, in the current folder]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Go on with the training in that folder; only epochs, patience, device and threads may be others than then
    #[arg(long)]
    pub(crate) resume: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PredictArguments {
    /// A model.safetensors, or the folder of a training
    pub(crate) model: PathBuf,
    /// The table: .csv, or .csv.gz
    pub(crate) csv: PathBuf,
    /// Where the predictions go; without, they are printed
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}
