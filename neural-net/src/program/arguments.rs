use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use command_line::{one_of, parse_cores, parse_count, parse_ranks, parse_seed, parse_size, parse_whole};
use distributed_functions::AllReduce;
use neural_net::asynchronous::Staleness;
use neural_net::device::TrainingDevice;
use neural_net::engine::GpuPath;
use neural_net::network::Initialization;
use neural_net::png::Background;
use neural_net::preset::Preset;
use neural_net::training::{GradientScale, Optimizer, Schedule};
use neural_net::{Activation, Loss};

/// Trains a neural network to recognize handwritten digits
#[derive(Debug, Parser)]
#[command(
    version,
    args_conflicts_with_subcommands = true,
    after_help = "Without MNIST's files the program trains on synthetic digits; --download fetches MNIST."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) train: TrainArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure a saved network on the test images
    Evaluate(EvaluateArguments),
    /// Recognize digits with a saved network
    Predict(PredictArguments),
    /// Draw a sheet of the built-in digits to a PNG file
    Digits(DigitsArguments),
}

/// The source of the images.
#[derive(Debug, Args)]
pub(crate) struct DataArguments {
    /// Directory of MNIST's four files, raw or gzip [default: $MNIST_DIR, else data/mnist, else the user's cache
    /// directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Download MNIST first, to --data or the user's cache directory; existing files with the right checksum are kept
    #[arg(long)]
    pub(crate) download: bool,
    /// Mirror to download from instead of the two default ones; may be repeated
    #[arg(long, value_name = "URL", requires = "download")]
    pub(crate) mirror: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TrainArguments {
    /// Settings to start from; every other flag overrides one of them [default: homework]
    #[arg(long, value_parser = one_of(&Preset::ALL, Preset::name, Preset::description))]
    pub(crate) preset: Option<Preset>,
    #[command(flatten)]
    pub(crate) data: DataArguments,
    #[command(flatten)]
    pub(crate) settings: SettingsArguments,
    /// Worker threads [default: one for each core]; the weights do not depend on their number
    #[arg(short, long, visible_short_alias = 't', visible_alias = "threads", value_name = "N", value_parser = parse_cores)]
    pub(crate) cores: Option<NonZeroUsize>,
    /// Threads that distort images ahead with --augment, 0 to 256; the weights do not depend on their number
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(0..=256))]
    pub(crate) workers: u16,
    /// Train on several ranks, which are MPI processes, or threads without MPI
    #[arg(long, value_name = "MODE", value_enum)]
    pub(crate) distributed: Option<Distributed>,
    /// Number of ranks with --distributed, at most 256; under mpiexec, its number of processes counts
    #[arg(short = 'n', long, value_name = "N", default_value = "2", value_parser = parse_ranks)]
    #[arg(requires = "distributed")]
    pub(crate) ranks: NonZeroUsize,
    /// Number of masters with --distributed async, among the ranks
    #[arg(long, value_name = "M", default_value = "1", value_parser = parse_ranks, requires = "distributed")]
    pub(crate) masters: NonZeroUsize,
    /// How masters treat gradients of parameters that have changed since
    #[arg(long, default_value_t, value_parser = one_of(&Staleness::ALL, Staleness::name, Staleness::description))]
    #[arg(requires = "distributed")]
    pub(crate) staleness: Staleness,
    /// Maximum staleness of a gradient that masters use [default: 4 times the number of workers]
    #[arg(long, value_name = "N", value_parser = parse_whole, requires = "distributed")]
    pub(crate) max_staleness: Option<usize>,
    /// Sum of the ranks' gradients
    #[arg(long, default_value_t, value_parser = one_of(&AllReduce::ALL, AllReduce::name, AllReduce::description))]
    #[arg(requires = "distributed")]
    pub(crate) allreduce: AllReduce,
    /// The same weights, to the last bit, for any number of ranks with --distributed sync; slower
    #[arg(long, requires = "distributed", conflicts_with = "allreduce")]
    pub(crate) reproducible: bool,
    /// Images per batch on each rank, instead of --batch-size: more ranks have larger batches
    #[arg(long, value_name = "N", value_parser = parse_count, requires = "distributed", conflicts_with = "batch_size")]
    pub(crate) batch_per_rank: Option<NonZeroUsize>,
    /// Device that trains the network; with --distributed sync, GPU i mod G of G for rank i
    #[arg(long, default_value_t, value_parser = one_of(&TrainingDevice::ALL, TrainingDevice::name, TrainingDevice::description))]
    pub(crate) device: TrainingDevice,
    /// Mapping of training steps to launches on a GPU
    #[arg(long, default_value_t, value_parser = one_of(&GpuPath::ALL, GpuPath::name, GpuPath::description))]
    pub(crate) gpu_path: GpuPath,
    /// Save the trained network to a safetensors file
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Program that reads the file of --save. For PyTorch, the names are those of an nn.Sequential, and the weights are
    /// transposed to (outputs, inputs); neural-net does not read it
    #[arg(long, value_enum, value_name = "PROGRAM", default_value_t, requires = "save")]
    pub(crate) save_for: SaveFor,
    /// Directory of the checkpoint, which is written after every report
    #[arg(long, value_name = "DIR")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Resume from the checkpoint, or start if there is none yet
    #[arg(long, requires = "checkpoint")]
    pub(crate) resume: bool,
    /// Test accuracy in percent below which the exit code is 1 [default on MNIST: 95, for the notebook 90]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub(crate) target_accuracy: Option<f64>,
    /// Print one JSON object instead of text; times in seconds
    #[arg(long)]
    pub(crate) json: bool,
}

/// The value of `--distributed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Distributed {
    /// Each rank has a shard of every batch; the gradients are summed over the ranks in each step
    Sync,
    /// Each worker has batches of its own; the last ranks are masters, which own the layers
    Async,
}

/// Flags that override a preset.
#[derive(Clone, Debug, Args)]
pub(crate) struct SettingsArguments {
    /// Units of each layer, from the inputs to the outputs [default: 784,128,64,10, for the notebook 784,10,10]
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = parse_size)]
    pub(crate) layers: Option<Vec<NonZeroUsize>>,
    /// Activation of the hidden layers [default: sigmoid, for the notebook relu]
    #[arg(long, value_parser = one_of(&Activation::ALL, Activation::name, Activation::description))]
    pub(crate) activation: Option<Activation>,
    /// Activation of the output layer [default: sigmoid, for the notebook softmax]
    #[arg(long, value_parser = one_of(&Activation::ALL, Activation::name, Activation::description))]
    pub(crate) output_activation: Option<Activation>,
    /// Loss function [default: squared-error, for the notebook cross-entropy]
    #[arg(long, value_parser = one_of(&Loss::ALL, Loss::name, Loss::description))]
    pub(crate) loss: Option<Loss>,
    /// Update rule [default: sgd]
    #[arg(long, value_parser = one_of(&Optimizer::ALL, Optimizer::name, Optimizer::description))]
    pub(crate) optimizer: Option<Optimizer>,
    /// Step size, 0.001 if omitted with Adam [default: 0.1]
    #[arg(long, value_name = "RATE", value_parser = parse_positive)]
    pub(crate) learning_rate: Option<f64>,
    /// Learning rate of later epochs [default: constant]
    #[arg(long, value_parser = one_of(&Schedule::ALL, Schedule::name, Schedule::description))]
    pub(crate) schedule: Option<Schedule>,
    /// Fraction of the last change that is added to the next, 0 to below 1, 0.9 if omitted with Adam
    /// [default: 0]
    #[arg(long, value_name = "SHARE", value_parser = parse_momentum)]
    pub(crate) momentum: Option<f64>,
    /// Weight decay: coefficient of the decay of each weight towards 0 [default: 0]
    #[arg(long, value_name = "DECAY", value_parser = parse_not_negative)]
    pub(crate) weight_decay: Option<f64>,
    /// Images in a batch, or "full" [default: 16, for the notebook full]
    #[arg(long, value_name = "N", value_parser = parse_batch_size)]
    pub(crate) batch_size: Option<BatchSize>,
    /// Reduction of the gradients over a batch [default: sum, for the notebook mean]
    #[arg(long, value_parser = one_of(&GradientScale::ALL, GradientScale::name, GradientScale::description))]
    pub(crate) gradient: Option<GradientScale>,
    /// Number of passes over the training images [default: 5, for the notebook 1000]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub(crate) epochs: Option<NonZeroUsize>,
    /// Whether each epoch has a new permutation of the images [default: true, for the notebook false]
    #[arg(long, value_name = "BOOL")]
    pub(crate) shuffle: Option<bool>,
    /// Number of epochs between measurements of the accuracy [default: 1, for the notebook 50]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub(crate) report_every: Option<NonZeroUsize>,
    /// Stop as soon as the accuracy on the validation images reaches this many percent; the homework's network on MNIST
    /// needs 95.8 to be safely above 95 on the test images
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub(crate) stop_at: Option<f64>,
    /// Number of images between two measurements for --stop-at [default: 5000]; a measurement takes some time
    #[arg(long, value_name = "N", value_parser = parse_count, requires = "stop_at")]
    pub(crate) check_every: Option<NonZeroUsize>,
    /// Distribution of the initial weights [default: xavier, for the notebook normal]
    #[arg(long, value_parser = one_of(&Initialization::ALL, Initialization::name, Initialization::description))]
    pub(crate) initialization: Option<Initialization>,
    /// Train on a random rotation, shift and skew of each image, another one in each epoch
    #[arg(long, conflicts_with = "distributed")]
    pub(crate) augment: bool,
    /// Seed of the initial weights and the permutations [default: 0]
    #[arg(long, value_name = "SEED", value_parser = parse_seed)]
    pub(crate) seed: Option<u64>,
    /// Number of training images, the first ones of the training set [default: 50000, for the notebook 10000]
    #[arg(long, value_name = "N", value_parser = parse_size)]
    pub(crate) train_images: Option<NonZeroUsize>,
    /// Number of validation images, those after the training images; with 0 the accuracy is that on the training
    /// images [default: 10000, for the notebook 0]
    #[arg(long, value_name = "N", value_parser = parse_whole)]
    pub(crate) validation_images: Option<usize>,
}

/// Values of `--save-for`.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum SaveFor {
    #[default]
    NeuralNet,
    Pytorch,
}

/// The value of `--batch-size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BatchSize(pub(crate) Option<usize>);

#[derive(Debug, Args)]
pub(crate) struct EvaluateArguments {
    /// A file that --save wrote
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArguments,
    /// Worker threads [default: one for each core]
    #[arg(short, long, visible_short_alias = 't', visible_alias = "threads", value_name = "N", value_parser = parse_cores)]
    pub(crate) cores: Option<NonZeroUsize>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// Values of `--background`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Brightness {
    Auto,
    Dark,
    Light,
}

impl From<Brightness> for Background {
    fn from(brightness: Brightness) -> Self {
        match brightness {
            Brightness::Auto => Self::Auto,
            Brightness::Dark => Self::Dark,
            Brightness::Light => Self::Light,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct PredictArguments {
    /// A file that --save wrote
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// PNG files of one digit, of any size, or indices of images in the test set, from 0
    #[arg(value_name = "IMAGE", required = true)]
    pub(crate) images: Vec<String>,
    /// Background of the PNG files; auto: as most pixels near the ink
    #[arg(long, value_enum, value_name = "BRIGHTNESS", default_value = "auto")]
    pub(crate) background: Brightness,
    #[command(flatten)]
    pub(crate) data: DataArguments,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DigitsArguments {
    /// The PNG file to write; of existing files, only an earlier sheet is replaced
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Replace any existing file
    #[arg(long)]
    pub(crate) force: bool,
    /// Seed of the digits
    #[arg(long, default_value_t = 0, value_parser = parse_seed)]
    pub(crate) seed: u64,
}

fn parse_number(text: &str, accepts: impl Fn(f64) -> bool, expected: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|&number| accepts(number));
    number.ok_or_else(|| format!("must be {expected}, got {text}"))
}

fn parse_positive(text: &str) -> Result<f64, String> {
    let number = parse_number(text, |number| number > 0.0 && number.is_finite(), "a number above 0")?;
    // The engines compute in f32, where a smaller number becomes 0 and a larger one infinite.
    let range = f64::from(f32::MIN_POSITIVE)..=f64::from(f32::MAX);
    match range.contains(&number) {
        true => Ok(number),
        false => Err(format!("must be a 32-bit number, from {:e} to {:e}, got {text}", range.start(), range.end())),
    }
}

fn parse_not_negative(text: &str) -> Result<f64, String> {
    parse_number(text, |number| number >= 0.0 && number.is_finite(), "a number of 0 or more")
}

fn parse_momentum(text: &str) -> Result<f64, String> {
    parse_number(text, |number| (0.0..1.0).contains(&number), "a number from 0 to below 1")
}

/// Converts a percentage to a fraction, 0 … 1. It moves the decimal point instead of dividing: 95.7
/// / 100 rounds to slightly more than 957 / 1000, so an accuracy of 957 of 1000 would not reach it.
fn parse_percent(text: &str) -> Result<f64, String> {
    let percent = parse_number(text, |number| (0.0..=100.0).contains(&number), "a number from 0 to 100, in percent")?;
    if percent > 0.0 && percent <= 1.0 {
        let meant = format!("{text}e2").parse().unwrap_or(100.0 * percent);
        return Err(format!("is in percent, and any network reads more than {text} %: for {meant} % give {meant}"));
    }
    Ok(format!("{percent}e-2").parse().unwrap_or(percent / 100.0))
}

fn parse_batch_size(text: &str) -> Result<BatchSize, String> {
    match text {
        "full" => Ok(BatchSize(None)),
        _ => Ok(BatchSize(Some(parse_count(text).map_err(|error| format!("{error}, or \"full\""))?.get()))),
    }
}
