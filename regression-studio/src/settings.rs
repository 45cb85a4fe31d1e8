//! Everything that the user chooses, as plain data, and as a TOML file.

mod depth;
mod field;
mod problems;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use neural_net::checksum::{self, Seal};
use serde::{Deserialize, Serialize};
use timing::program::{available_memory, require_memory};

pub use self::field::Field;
pub(crate) use self::problems::FEWEST_ROWS;
pub use self::problems::Problem;
use crate::Table;
use crate::table::{csv, synthetic};

/// Everything that the user chooses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// What is learned from.
    pub data: DataSettings,
    /// What is trained on, and what is kept apart.
    #[serde(default)]
    pub split: SplitSettings,
    /// The network.
    #[serde(default)]
    pub network: NetworkSettings,
    /// How it is trained.
    #[serde(default)]
    pub training: TrainingSettings,
}

/// What is learned from: rows of a table, some columns of which tell another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSettings {
    /// Where the table comes from.
    pub source: Source,
    /// How many of its rows are used, from the first on; None for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<usize>,
    /// The columns that the network sees. A text column becomes one input for each of its texts.
    pub features: Vec<String>,
    /// The column that it learns to tell, of numbers.
    pub target: String,
    /// Whether it learns sign(y)·ln(1 + |y|) in place of the target y: for numbers that span powers of ten.
    #[serde(default)]
    pub log_target: bool,
    /// Whether it sees sign(x)·ln(1 + |x|) in place of each number x, for features that span powers of ten.
    #[serde(default)]
    pub log_features: bool,
    /// What happens to rows in which a feature or the target is missing or no number.
    #[serde(default)]
    pub bad_rows: BadRows,
    /// The most distinct texts of a text feature.
    #[serde(default = "default_one_hot_limit")]
    pub one_hot_limit: usize,
}

/// Where a table comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Source {
    /// A file of comma-separated values, possibly compressed by gzip.
    File(PathBuf),
    /// The built-in stock market.
    Synthetic {
        /// Its rows.
        rows: usize,
        /// Another seed makes another market.
        #[serde(default)]
        seed: u64,
    },
}

/// What happens to rows in which something is missing or no number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BadRows {
    /// They are left out, and counted.
    #[default]
    Drop,
    /// The first of them is an error that names line and column.
    Error,
}

/// The parts of the rows: one to train on, one to choose the best epoch by, one to judge the result by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SplitSettings {
    /// The training part, in any unit: 70 : 15 : 15 is 0.7 : 0.15 : 0.15.
    pub train: f64,
    /// The validation part.
    pub validation: f64,
    /// The test part.
    pub test: f64,
    /// Which rows go where.
    pub order: SplitOrder,
    /// Seed of the shuffle.
    pub seed: u64,
}

/// Which rows go into which part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SplitOrder {
    /// Any, by the seed.
    #[default]
    Shuffled,
    /// In the file's order: the first are trained on, the last test it, as the future would.
    Time,
}

/// The network between the features and the one output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkSettings {
    /// Neurons of each hidden layer, from the inputs on; none makes a linear model.
    pub hidden: Vec<usize>,
    /// What a hidden neuron makes of its weighted sum.
    pub activation: HiddenActivation,
    /// The sigmoid's gain g: how steep it is.
    pub gain: f64,
    /// The sigmoid's threshold θ: the weighted sum at which it is 0.
    pub threshold: f64,
}

/// What a hidden neuron makes of its weighted sum z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HiddenActivation {
    /// 2 / (1 + e^(−g(z − θ))) − 1, between −1 and 1, with gain g and threshold θ.
    #[default]
    Sigmoid,
    /// (eᶻ − e⁻ᶻ) / (eᶻ + e⁻ᶻ)
    Tanh,
    /// max(0, z)
    Relu,
}

/// How the network is trained: Δw(t+1) = −η ∂E/∂w + α Δw(t) − η λ w, where E is half the squared error, its mean over a batch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingSettings {
    /// η.
    pub learning_rate: f64,
    /// α.
    pub momentum: f64,
    /// λ, the pull of every weight, but no bias, towards 0.
    pub regularization: f64,
    /// Samples in a step.
    pub batch_size: usize,
    /// How often each training sample is seen at the most.
    pub epochs: usize,
    /// After how many epochs without a smaller validation error the training ends; None, in files 0, never.
    #[serde(with = "zero_is_none")]
    pub patience: Option<usize>,
    /// Seed of the first weights and of the order of the samples.
    pub seed: u64,
    /// Where it is computed.
    pub device: DeviceChoice,
    /// Threads of the processor; None takes one for each core. The result does not depend on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
}

/// Where a network is trained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceChoice {
    /// A GPU where there is one, else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
    /// The GPU's kernels, run by the CPU: slow, for a look.
    Simulator,
}

/// None as 0: a file that leaves a setting out has its default, which need not be None.
mod zero_is_none {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &Option<usize>, serializer: S) -> Result<S::Ok, S::Error> {
        value.unwrap_or(0).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
        Ok(Some(usize::deserialize(deserializer)?).filter(|value| *value > 0))
    }
}

fn default_one_hot_limit() -> usize {
    DataSettings::default().one_hot_limit
}

impl Default for DataSettings {
    /// The built-in stock market.
    fn default() -> Self {
        Self {
            source: Source::Synthetic { rows: 800_000, seed: 0 },
            samples: None,
            features: synthetic::FEATURES.map(str::to_owned).to_vec(),
            target: synthetic::TARGET.to_owned(),
            log_target: true,
            log_features: false,
            bad_rows: BadRows::Drop,
            one_hot_limit: 32,
        }
    }
}

impl Default for SplitSettings {
    fn default() -> Self {
        Self { train: 70.0, validation: 15.0, test: 15.0, order: SplitOrder::Shuffled, seed: 0 }
    }
}

impl Default for NetworkSettings {
    fn default() -> Self {
        Self { hidden: vec![32, 16], activation: HiddenActivation::Sigmoid, gain: 2.0, threshold: 0.0 }
    }
}

impl Default for TrainingSettings {
    fn default() -> Self {
        Self {
            learning_rate: 0.05,
            momentum: 0.9,
            regularization: 0.0,
            batch_size: 256,
            epochs: 20,
            patience: Some(5),
            seed: 0,
            device: DeviceChoice::Auto,
            threads: None,
        }
    }
}

/// The longest settings in bytes: enough for the names of as many columns as a table may have.
pub const MAX_BYTES: usize = 4 << 20;

/// A settings file that cannot be used. The messages name it; the cause, where there is one, is their
/// [`source`](std::error::Error::source).
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// It cannot be read.
    #[error("{}: cannot read", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A run's settings are not as they were saved.
    #[error(
        "{}: the file is damaged, or was edited: the checksum on line 1 is not that of the lines below; if you edited them, \
         remove line 1",
        path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// It is no TOML, or has a name or value that there is not.
    #[error("{}: {message}", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// Line and reason, on one line.
        message: String,
    },
}

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file is none.
    #[error(transparent)]
    Csv(#[from] csv::CsvError),
    /// It takes more memory than there is; one line with the way out.
    #[error("{0}")]
    TooLarge(String),
}

impl Source {
    /// Reads or makes the table.
    ///
    /// # Errors
    /// If the file cannot be read or is no table, or there is not enough memory for it.
    pub fn table(&self) -> Result<Table, SourceError> {
        self.table_with(&|_| (), &AtomicBool::new(false))
    }

    /// The same, with what `progress` and `cancel` are in [`csv::Options`].
    ///
    /// # Errors
    /// As [`Source::table`], or if `cancel` was set.
    pub fn table_with(&self, progress: &(dyn Fn(f32) + Sync), cancel: &AtomicBool) -> Result<Table, SourceError> {
        match self {
            Self::File(path) => {
                // Half of what there is: the rows are still there while the table is put together from them.
                let memory = available_memory().map_or(u64::MAX, |bytes| bytes / 2);
                Ok(csv::read_with(path, csv::Options { memory, progress, cancel })?)
            }
            Self::Synthetic { rows, seed } => {
                require_memory(&format!("a market of {rows} rows"), Some(synthetic::bytes(*rows)))
                    .map_err(|error| SourceError::TooLarge(error.to_string()))?;
                Ok(synthetic::stock_market(*rows, *seed))
            }
        }
    }
}

impl Settings {
    /// Reads a settings file. A data file's relative path in it is relative to the settings file.
    ///
    /// # Errors
    /// If it cannot be read, has a checksum on its first line that is wrong, or something in it is unknown. Whether the
    /// values make sense, [`Settings::problems`] says.
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        let mut text = String::new();
        let file = File::open(path).and_then(|file| file.take(MAX_BYTES as u64 + 1).read_to_string(&mut text));
        file.map_err(|source| SettingsError::Io { path: path.to_path_buf(), source })?;
        if checksum::check_text(&text) == Seal::Broken {
            return Err(SettingsError::Changed { path: path.to_path_buf() });
        }
        let mut settings =
            Self::from_toml(&text).map_err(|message| SettingsError::Toml { path: path.to_path_buf(), message })?;
        if let (Source::File(file), Some(folder)) = (&mut settings.data.source, path.parent()) {
            *file = folder.join(&*file);
        }
        Ok(settings)
    }

    /// Settings from TOML.
    ///
    /// # Errors
    /// If something in it is unknown or of the wrong type, it is longer than [`MAX_BYTES`] or nested too deeply; one line that
    /// names the text's line.
    pub fn from_toml(text: &str) -> Result<Self, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("longer than {} MiB: are these settings?", MAX_BYTES >> 20));
        }
        depth::check(text)?;
        toml::from_str(text).map_err(|error| {
            let message = error.message().replace('\n', "; ");
            match error.span() {
                Some(span) => format!("line {}: {message}", 1 + text[..span.start].matches('\n').count()),
                None => message,
            }
        })
    }

    /// The settings as TOML, which [`Settings::from_toml`] reads.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }

    /// All wrong values at once, those of the columns only where there is a table to look at. None: a training can begin.
    pub fn problems(&self, table: Option<&Table>) -> Vec<Problem> {
        problems::problems(self, table)
    }
}
