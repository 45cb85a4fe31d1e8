//! The settings of a run, as plain data and as a TOML file.

mod depth;
mod field;
pub(crate) mod problems;
mod search;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use command_line::{available_memory, require_memory};
use neural_net::checksum::{self, Seal};
use neural_net::device::TrainingDevice;
use neural_net::training::{Optimizer, Schedule};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};

pub use self::field::Field;
pub use self::problems::Problem;
pub(crate) use self::problems::{MAX_CLASSES, MIN_ROWS};
pub use self::search::SearchSettings;
use crate::Table;
use crate::table::{DecimalMark, Encoding, Role, csv, synthetic};

/// All settings of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Table, features and target.
    pub data: DataSettings,
    /// Sizes of the training, validation and test part.
    #[serde(default)]
    pub split: SplitSettings,
    /// Layers and activation.
    #[serde(default)]
    pub network: NetworkSettings,
    /// Hyperparameters and device.
    #[serde(default)]
    pub training: TrainingSettings,
    /// The ranges that a search draws hyperparameters from.
    #[serde(default, skip_serializing_if = "SearchSettings::is_default")]
    pub search: SearchSettings,
}

/// The table and the roles of its columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSettings {
    /// The table's source.
    pub source: Source,
    /// The sheet of a workbook; `None` for the first sheet that is a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sheet: Option<String>,
    /// The decimal mark of the file's numbers; `None` to detect it from the cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decimal_mark: Option<DecimalMark>,
    /// The encoding of the file's text, such as "windows-1250"; `None` to detect it from the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// The first of the hundred years that two-digit years belong to; `None` for 1969.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_year: Option<i64>,
    /// Whether the file's first line has the columns' names; `None` to detect it from the rows
    /// below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<bool>,
    /// Number of rows used, counted from the first; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<usize>,
    /// The feature columns. A text column becomes one input per category.
    pub features: Vec<String>,
    /// The target column, which must be numeric.
    pub target: String,
    /// Whether the network learns sign(y)·ln(1 + |y|) instead of the target y. For targets that
    /// span several powers of ten.
    #[serde(default)]
    pub log_target: bool,
    /// Whether numeric features x become sign(x)·ln(1 + |x|). For features that span several powers
    /// of ten.
    #[serde(default)]
    pub log_features: bool,
    /// Treatment of rows with a feature or target that is missing or not numeric.
    #[serde(default)]
    pub bad_rows: BadRows,
    /// Maximum number of categories of a text feature.
    #[serde(default = "default_one_hot_limit")]
    pub one_hot_limit: usize,
    /// Cells that mean a missing value, by column, such as −999: a text as written in the file, or
    /// a number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "cells_by_column")]
    pub missing: BTreeMap<String, Vec<String>>,
    /// Declared roles of columns, which override what their cells look like.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub columns: BTreeMap<String, Role>,
}

impl DataSettings {
    /// Reads or generates the table.
    ///
    /// # Errors
    /// If the file cannot be read or is not a table, or memory is insufficient.
    pub fn table(&self) -> Result<Table, SourceError> {
        self.table_with(&|_| (), &AtomicBool::new(false))
    }

    /// [`DataSettings::table`] with `progress` and `cancel` as in [`csv::Options`].
    ///
    /// # Errors
    /// As for [`DataSettings::table`], or if `cancel` was set.
    pub fn table_with(&self, progress: &(dyn Fn(f32) + Sync), cancel: &AtomicBool) -> Result<Table, SourceError> {
        self.source.table_with(&self.declared(), progress, cancel)
    }

    /// What these settings declare about the file.
    pub fn declared(&self) -> csv::Declared {
        csv::Declared {
            sheet: self.sheet.clone(),
            decimal_mark: self.decimal_mark,
            encoding: self.encoding,
            first_year: self.first_year,
            header: self.header,
            roles: self.columns.clone(),
            missing: self.missing.clone(),
            ..csv::Declared::default()
        }
    }

    /// Synthetic market data, with the features and target for an MLP.
    pub fn market(rows: usize, seed: u64) -> Self {
        Self {
            source: Source::Synthetic { rows, seed },
            features: synthetic::FEATURES.map(str::to_owned).to_vec(),
            target: synthetic::TARGET.to_owned(),
            log_target: true,
            log_features: true,
            ..Self::default()
        }
    }

    /// The role of a column, if it is declared.
    pub fn role(&self, name: &str) -> Option<Role> {
        self.columns.get(name).copied()
    }
}

/// The source of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Source {
    /// A CSV file, possibly gzip-compressed, or a workbook.
    File(PathBuf),
    /// The demo: synthetic rents of flats.
    Demo {
        /// Number of rows.
        rows: usize,
        /// Seed of the generator.
        #[serde(default)]
        seed: u64,
    },
    /// Synthetic market data.
    Synthetic {
        /// Number of rows.
        rows: usize,
        /// Seed of the generator.
        #[serde(default)]
        seed: u64,
    },
}

impl Source {
    /// The file's name, or the generator's.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => {
                path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
            }
            Self::Demo { .. } => "Demo: rents of flats".to_owned(),
            Self::Synthetic { .. } => "Synthetic market data".to_owned(),
        }
    }
}

/// Treatment of rows with a feature that is missing or not numeric. A row without a valid target is
/// always dropped, except with [`BadRows::Error`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BadRows {
    /// Drops and counts such rows.
    #[default]
    Drop,
    /// Fails at the first such row, with its line and column.
    Error,
    /// Replaces a number with its column's mean in the training part; a text is encoded as no
    /// category.
    Mean,
    /// Like [`BadRows::Mean`], with the median, which a few large values do not change.
    Median,
}

impl BadRows {
    /// Whether rows with a missing feature are kept.
    pub fn fills(self) -> bool {
        matches!(self, Self::Mean | Self::Median)
    }
}

/// The split into one part for training, one to select the best epoch, and one for the final
/// metrics.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SplitSettings {
    /// Relative size of the training part: 70 : 15 : 15 is 0.7 : 0.15 : 0.15.
    pub train: f64,
    /// Relative size of the validation part.
    pub validation: f64,
    /// Relative size of the test part.
    pub test: f64,
    /// Order of the rows before the split.
    pub order: SplitOrder,
    /// Seed of the shuffle.
    pub seed: u64,
    /// How shuffled rows with equal features and target are assigned to parts.
    pub duplicates: Duplicates,
    /// The fold of a cross-validation that replaces the test part; not saved.
    #[serde(skip)]
    pub fold: Option<Fold>,
}

/// One of the folds of a cross-validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fold {
    /// Its index, counted from 0.
    pub index: usize,
    /// The number of folds, at least 2.
    pub count: usize,
}

/// How rows with equal features and target are assigned to parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Duplicates {
    /// All in one part, because a network already knows the rows that it was trained on.
    #[default]
    Together,
    /// Each row on its own.
    Apart,
}

/// Order of the rows before the split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SplitOrder {
    /// A random permutation.
    #[default]
    Shuffled,
    /// By the first date column, or else in the file's order. The first rows are for training and
    /// the last for testing, as in forecasting.
    Time,
}

/// The network between the features and the single output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkSettings {
    /// The kind of network. The other values apply only to [`NetworkKind::Layers`].
    pub kind: NetworkKind,
    /// Units of each hidden layer, starting at the inputs; empty for a linear model.
    pub hidden: Vec<usize>,
    /// The hidden layers' activation.
    pub activation: HiddenActivation,
    /// The sigmoid's gain g, its steepness.
    pub gain: f64,
    /// The sigmoid's threshold θ, the weighted sum at which it is 0.
    pub threshold: f64,
}

/// The kind of network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkKind {
    /// An MLP: layers of neurons, on the CPU or a GPU.
    #[default]
    Layers,
    /// A tabular network ([`table_network`]). It chooses its own layers and learning rate, and
    /// trains on the CPU.
    Table,
}

/// The activation of a hidden neuron, a function of its weighted sum z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HiddenActivation {
    /// 2 / (1 + e^(−g(z − θ))) − 1, between −1 and 1, with gain g and threshold θ.
    Sigmoid,
    /// (eᶻ − e⁻ᶻ) / (eᶻ + e⁻ᶻ)
    Tanh,
    /// max(0, z)
    #[default]
    Relu,
}

/// Hyperparameters and device. With [`Optimizer::Sgd`], Δw(t+1) = −η ∂E/∂w + α Δw(t) − η λ w, where
/// E is half the squared error, averaged over a batch. With [`Optimizer::Adam`], α is β₁.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingSettings {
    /// The update rule.
    pub optimizer: Optimizer,
    /// Learning rate η of the first epoch.
    pub learning_rate: f64,
    /// The learning rate of later epochs.
    pub schedule: Schedule,
    /// Momentum α.
    pub momentum: f64,
    /// Weight decay λ, for weights but not for biases.
    pub regularization: f64,
    /// Samples per step.
    pub batch_size: usize,
    /// Maximum number of epochs.
    pub epochs: usize,
    /// Number of epochs without a smaller validation error before training stops early; `None` (0
    /// in files) for never.
    #[serde(with = "zero_is_none")]
    pub patience: Option<usize>,
    /// Seed of the initial weights and of the sample permutations.
    pub seed: u64,
    /// The device to train on.
    pub device: TrainingDevice,
    /// CPU threads; `None` for one per core. The result does not depend on the number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// The values that a file omits because they depend on the number of rows;
    /// [`TrainingSettings::fill_in_by_rows`] sets them.
    #[serde(skip)]
    pub by_rows: ByRows,
}

/// Values that depend on the number of rows. A network needs a certain number of steps to learn,
/// and an epoch of a small table has few.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the setting of that name")]
pub struct ByRows {
    pub batch_size: bool,
    pub epochs: bool,
    pub patience: bool,
}

impl ByRows {
    /// All of these values.
    pub const ALL: Self = Self { batch_size: true, epochs: true, patience: true };
}

/// Serializes `None` as 0: an absent key means the default, which need not be `None`.
mod zero_is_none {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &Option<usize>, serializer: S) -> Result<S::Ok, S::Error> {
        value.unwrap_or(0).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
        Ok(Some(usize::deserialize(deserializer)?).filter(|value| *value > 0))
    }
}

/// Rewords a message of the TOML parser for the user of a settings file.
fn in_words(message: &str) -> String {
    const WORDS: [(&str, &str); 9] = [
        ("\n", "; "),
        ("expected usize", "expected a whole number"),
        ("expected u64", "expected a whole number"),
        ("expected f64", "expected a number"),
        ("expected a sequence", "expected a list in brackets"),
        ("unknown variant", "unknown value"),
        ("unknown field", "unknown name"),
        ("invalid type: ", ""),
        ("invalid value: ", ""),
    ];
    WORDS.iter().fold(message.to_owned(), |message, (from, to)| message.replace(from, to))
}

fn default_one_hot_limit() -> usize {
    DataSettings::default().one_hot_limit
}

impl Default for DataSettings {
    /// The demo.
    fn default() -> Self {
        Self {
            source: Source::Demo { rows: 2000, seed: 1 },
            samples: None,
            features: synthetic::RENT_FEATURES.map(str::to_owned).to_vec(),
            target: synthetic::RENT.to_owned(),
            log_target: false,
            log_features: false,
            bad_rows: BadRows::Drop,
            one_hot_limit: 32,
            sheet: None,
            decimal_mark: None,
            encoding: None,
            first_year: None,
            header: None,
            missing: BTreeMap::new(),
            columns: BTreeMap::new(),
        }
    }
}

impl Default for SplitSettings {
    fn default() -> Self {
        Self {
            train: 70.0,
            validation: 15.0,
            test: 15.0,
            order: SplitOrder::Shuffled,
            seed: 0,
            duplicates: Duplicates::Together,
            fold: None,
        }
    }
}

impl NetworkSettings {
    /// The hidden layers' activation with its parameters, in words.
    pub fn activation_in_words(&self) -> String {
        match self.activation {
            HiddenActivation::Sigmoid => format!("sigmoid (gain {}, threshold {})", self.gain, self.threshold),
            HiddenActivation::Tanh => "tanh".to_owned(),
            HiddenActivation::Relu => "ReLU".to_owned(),
        }
    }
}

impl Default for NetworkSettings {
    fn default() -> Self {
        Self {
            kind: NetworkKind::Layers,
            hidden: vec![32, 16],
            activation: HiddenActivation::Relu,
            gain: 2.0,
            threshold: 0.0,
        }
    }
}

impl Default for TrainingSettings {
    fn default() -> Self {
        Self {
            optimizer: Optimizer::Adam,
            learning_rate: default_learning_rate(Optimizer::Adam),
            schedule: Schedule::Cosine,
            momentum: 0.9,
            regularization: 0.0,
            batch_size: 128,
            epochs: 50,
            patience: Some(10),
            seed: 0,
            device: TrainingDevice::Auto,
            threads: None,
            by_rows: ByRows::default(),
        }
    }
}

/// The default learning rate of the first epoch.
pub fn default_learning_rate(optimizer: Optimizer) -> f64 {
    match optimizer {
        Optimizer::Sgd => 0.02,
        Optimizer::Adam => 0.003,
    }
}

/// The keys of a settings file that determine the defaults of others.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Given {
    training: GivenTraining,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GivenTraining {
    optimizer: Option<IgnoredAny>,
    learning_rate: Option<IgnoredAny>,
    schedule: Option<IgnoredAny>,
    batch_size: Option<IgnoredAny>,
    epochs: Option<IgnoredAny>,
    patience: Option<IgnoredAny>,
}

/// Reads cells given as texts or numbers.
fn cells_by_column<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Vec<String>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Cell {
        Text(String),
        Whole(i64),
        Number(f64),
    }
    let text = |cell: Cell| match cell {
        Cell::Text(text) => text,
        Cell::Whole(number) => number.to_string(),
        Cell::Number(number) => number.to_string(),
    };
    let cells = BTreeMap::<String, Vec<Cell>>::deserialize(from)?;
    Ok(cells.into_iter().map(|(column, cells)| (column, cells.into_iter().map(text).collect())).collect())
}

/// Default maximum number of epochs.
const MOST_EPOCHS: usize = 1000;

impl TrainingSettings {
    /// Sets the values that depend on the number of rows in the training part.
    pub fn fill_in_by_rows(&mut self, rows: usize) {
        let by_rows = std::mem::take(&mut self.by_rows);
        let defaults = Self::default();
        // Chosen from the errors on seven tables of 350 to 20,000 rows, see docs/performance.md.
        let (batch_size, least_steps) = match rows {
            ..1000 => (16, 6000),
            1000..10_000 => (32, 12_000),
            _ => (defaults.batch_size, 0),
        };
        if by_rows.batch_size {
            self.batch_size = batch_size;
        }
        if by_rows.epochs {
            let steps = rows.div_ceil(self.batch_size.max(1)).max(1);
            self.epochs = usize::div_ceil(least_steps, steps).clamp(defaults.epochs, MOST_EPOCHS);
        }
        if by_rows.patience {
            self.patience = Some((self.epochs / 5).max(10));
        }
    }

    /// Like [`TrainingSettings::fill_in_by_rows`], for a tabular network.
    fn fill_in_for_table_network(&mut self, rows: usize) {
        let table_network::Options { batch_size, epochs, .. } = table_network::Options::for_table(rows, &[]);
        let patience = Some(table_network::Options::patience_for_table(rows));
        self.fill_in_from(&Self { batch_size, epochs, patience, ..*self });
    }

    /// Takes the values that depend on the number of rows from other settings, for example from a
    /// resumed run.
    pub fn fill_in_from(&mut self, kept: &Self) {
        let by_rows = std::mem::take(&mut self.by_rows);
        let take = |is_left, to: &mut usize, from| *to = if is_left { from } else { *to };
        take(by_rows.batch_size, &mut self.batch_size, kept.batch_size);
        take(by_rows.epochs, &mut self.epochs, kept.epochs);
        if by_rows.patience {
            self.patience = kept.patience;
        }
    }

    /// Changes the optimizer. If the learning rate is the old optimizer's default, it changes to
    /// the new one's.
    pub fn set_optimizer(&mut self, optimizer: Optimizer) {
        if self.learning_rate == default_learning_rate(self.optimizer) {
            self.learning_rate = default_learning_rate(optimizer);
        }
        self.optimizer = optimizer;
    }

    /// Sets the values that a file omits and that depend on the values it has. A learning rate
    /// without an optimizer or schedule comes from a version that only had constant rates and SGD.
    fn complete(&mut self, given: &GivenTraining) {
        self.by_rows = ByRows {
            batch_size: given.batch_size.is_none(),
            epochs: given.epochs.is_none(),
            patience: given.patience.is_none(),
        };
        if given.learning_rate.is_none() {
            self.learning_rate = default_learning_rate(self.optimizer);
            return;
        }
        if given.optimizer.is_none() {
            self.optimizer = Optimizer::Sgd;
        }
        if given.schedule.is_none() {
            self.schedule = Schedule::Constant;
        }
    }
}

/// Maximum size of a settings file in bytes, enough for the maximum number of column names.
pub const MAX_BYTES: usize = 4 << 20;

/// Why a settings file cannot be read. The messages name the file; the underlying error, if any, is
/// the [`source`](std::error::Error::source).
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file cannot be read.
    #[error("{}: cannot read", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        source: std::io::Error,
    },
    /// The checksum of a run's settings does not match.
    #[error(
        "{}: the file is damaged or was edited: the checksum on line 1 does not match the lines below; if you edited \
         them, remove line 1",
        path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The file is not TOML, or has an unknown name or value.
    #[error("{}: {message}", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// Line and reason, on one line.
        message: String,
    },
}

/// Why a table cannot be read or generated.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file cannot be read as a table.
    #[error(transparent)]
    Csv(#[from] csv::CsvError),
    /// The table needs more memory than available. The text is one line with a remedy.
    #[error("{0}")]
    TooLarge(String),
}

impl Source {
    /// Reads or generates the table with what is `declared` about it; `progress` and `cancel` are
    /// as in [`csv::Options`].
    ///
    /// # Errors
    /// If the file cannot be read or is not a table, memory is insufficient, or `cancel` was set.
    pub fn table_with(
        &self,
        declared: &csv::Declared,
        progress: &(dyn Fn(f32) + Sync),
        cancel: &AtomicBool,
    ) -> Result<Table, SourceError> {
        match self {
            Self::File(path) => {
                // Use at most half of the available memory: the parsed rows coexist with the table
                // assembled from them.
                let memory = available_memory().map_or(u64::MAX, |bytes| bytes / 2);
                Ok(csv::read_with(path, csv::Options { declared, memory, progress, cancel })?)
            }
            Self::Demo { rows, seed } => {
                require(&format!("a demo of {rows} rows"), synthetic::bytes_of_rents(*rows))?;
                Ok(synthetic::rents(*rows, *seed))
            }
            Self::Synthetic { rows, seed } => {
                require(&format!("a synthetic market of {rows} rows"), synthetic::bytes(*rows))?;
                Ok(synthetic::stock_market(*rows, *seed))
            }
        }
    }
}

fn require(what: &str, bytes: u64) -> Result<(), SourceError> {
    require_memory(what, Some(bytes)).map_err(|error| SourceError::TooLarge(error.to_string()))
}

impl Settings {
    /// The demo, with the values that depend on its number of rows left open.
    pub fn demo() -> Self {
        let mut settings = Self::default();
        settings.training.by_rows = ByRows::ALL;
        settings
    }

    /// Reads a settings file. A relative path to the data file is resolved against the settings
    /// file's folder.
    ///
    /// # Errors
    /// If the file cannot be read, the checksum on its first line does not match, or it has an
    /// unknown name or value. [`Settings::problems`] checks the ranges of the values.
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

    /// Parses settings from TOML.
    ///
    /// # Errors
    /// If a name is unknown, a value has the wrong type, or the text is longer than [`MAX_BYTES`]
    /// or nested too deeply. The message is one line with the line number.
    pub fn from_toml(text: &str) -> Result<Self, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("longer than {} MiB: are these settings?", MAX_BYTES >> 20));
        }
        depth::check(text)?;
        let mut settings: Self = toml::from_str(text).map_err(|error| {
            let message = in_words(error.message());
            match error.span() {
                Some(span) => format!("line {}: {message}", 1 + text[..span.start].matches('\n').count()),
                None => message,
            }
        })?;
        let Given { training } = toml::from_str(text).map_err(|error| in_words(error.message()))?;
        settings.training.complete(&training);
        Ok(settings)
    }

    /// Returns these settings with some values replaced, each given as `section.key=value`, as in a
    /// settings file.
    ///
    /// # Errors
    /// If a name is unknown or a value has the wrong type. The message is one line that names it.
    pub fn with_values<S: AsRef<str>>(&self, values: &[S]) -> Result<Self, String> {
        let mut settings = self.clone();
        for value in values.iter().map(AsRef::as_ref) {
            settings = settings.with_value(value).map_err(|error| format!("{value}: {error}"))?;
        }
        Ok(settings)
    }

    fn with_value(&self, assignment: &str) -> Result<Self, String> {
        const FORM: &str = "expected section.key=value, such as training.epochs=50";
        let (path, text) = assignment.split_once('=').ok_or(FORM)?;
        let (path, text) = (path.trim(), text.trim());
        let (section, key) = path.rsplit_once('.').ok_or(FORM)?;
        let mut all = toml::Table::try_from(self).map_err(|error| in_words(&error.to_string()))?;
        // Sections that are omitted while they are empty.
        if let Some(data) = all.get_mut("data").and_then(toml::Value::as_table_mut) {
            for section in ["columns", "missing"] {
                data.entry(section).or_insert_with(|| toml::Table::new().into());
            }
        }
        all.insert(
            "search".to_owned(),
            toml::Value::try_from(&self.search).map_err(|error| in_words(&error.to_string()))?,
        );
        let mut table = &mut all;
        for name in section.split('.') {
            let entry = table.get_mut(name).and_then(toml::Value::as_table_mut);
            table = entry.ok_or_else(|| format!("there is no section [{section}]"))?;
        }
        // A text needs no quotes here.
        let value = format!("value = {text}").parse::<toml::Table>().ok().and_then(|mut parsed| parsed.remove("value"));
        table.insert(key.to_owned(), value.unwrap_or_else(|| toml::Value::String(text.to_owned())));
        let mut changed: Self = all.try_into().map_err(|error: toml::de::Error| in_words(error.message()))?;
        let ByRows { batch_size, epochs, patience } = self.training.by_rows;
        let is_left = |name: &str| (section, key) != ("training", name);
        changed.training.by_rows = ByRows {
            batch_size: batch_size && is_left("batch_size"),
            epochs: epochs && is_left("epochs"),
            patience: patience && is_left("patience"),
        };
        if changed.training.optimizer == self.training.optimizer {
            return Ok(changed);
        }
        let mut settings = self.clone();
        settings.training.set_optimizer(changed.training.optimizer);
        Ok(settings)
    }

    /// Sets the values that depend on the number of rows.
    pub fn fill_in_by_rows(&mut self, table: &Table) {
        let rows = self.data.samples.unwrap_or(usize::MAX).min(table.rows());
        let SplitSettings { train, validation, test, .. } = self.split;
        let rows = (rows as f64 * train / (train + validation + test)) as usize;
        match self.network.kind {
            NetworkKind::Layers => self.training.fill_in_by_rows(rows),
            NetworkKind::Table => self.training.fill_in_for_table_network(rows),
        }
    }

    /// The settings as TOML for [`Settings::from_toml`], without the open values that depend on the
    /// number of rows. Empty if the data file's path is not Unicode.
    pub fn to_toml(&self) -> String {
        let text = toml::to_string(self).unwrap_or_default();
        let ByRows { batch_size, epochs, patience } = self.training.by_rows;
        let left = [("batch_size", batch_size), ("epochs", epochs), ("patience", patience)];
        // Edit the text line by line: a table with TOML's own integers cannot hold every value
        // written here.
        let (mut kept, mut is_training) = (String::new(), false);
        for line in text.lines() {
            is_training = if line.starts_with('[') { line == "[training]" } else { is_training };
            let key = line.split_once(" = ").map_or("", |(key, _)| key);
            if !is_training || !left.contains(&(key, true)) {
                kept += line;
                kept.push('\n');
            }
        }
        kept
    }

    /// All invalid values. Columns are checked only if `table` is given. Training can start if
    /// there are none.
    pub fn problems(&self, table: Option<&Table>) -> Vec<Problem> {
        problems::problems(self, table)
    }
}
