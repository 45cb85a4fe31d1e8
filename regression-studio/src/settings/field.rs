//! The settings' labels, units, ranges and explanations.

/// One setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "Field::explanation documents each")]
pub enum Field {
    Source,
    DecimalMark,
    Header,
    Samples,
    Features,
    Target,
    LogTarget,
    LogFeatures,
    BadRows,
    OneHotLimit,
    TrainShare,
    ValidationShare,
    TestShare,
    SplitOrder,
    SplitSeed,
    Duplicates,
    Kind,
    Hidden,
    Activation,
    Gain,
    Threshold,
    Optimizer,
    LearningRate,
    Schedule,
    Momentum,
    Regularization,
    BatchSize,
    Epochs,
    Patience,
    Seed,
    Device,
    Threads,
}

/// Label, unit, range and explanation.
type FieldTexts = (&'static str, &'static str, &'static str, &'static str);

impl Field {
    /// All fields, in the form's order.
    pub const ALL: [Self; 32] = [
        Self::Source,
        Self::DecimalMark,
        Self::Header,
        Self::Samples,
        Self::Features,
        Self::Target,
        Self::LogTarget,
        Self::LogFeatures,
        Self::BadRows,
        Self::OneHotLimit,
        Self::TrainShare,
        Self::ValidationShare,
        Self::TestShare,
        Self::SplitOrder,
        Self::SplitSeed,
        Self::Duplicates,
        Self::Kind,
        Self::Hidden,
        Self::Activation,
        Self::Gain,
        Self::Threshold,
        Self::Optimizer,
        Self::LearningRate,
        Self::Schedule,
        Self::Momentum,
        Self::Regularization,
        Self::BatchSize,
        Self::Epochs,
        Self::Patience,
        Self::Seed,
        Self::Device,
        Self::Threads,
    ];

    /// Name shown beside the input.
    pub fn label(self) -> &'static str {
        self.texts().0
    }

    /// Unit, or empty.
    pub fn unit(self) -> &'static str {
        self.texts().1
    }

    /// Valid values, as a phrase that follows "must be".
    pub fn range(self) -> &'static str {
        self.texts().2
    }

    /// Valid values in a settings file.
    pub fn values_in_file(self) -> &'static str {
        match self {
            Self::LogTarget | Self::LogFeatures => "true or false",
            Self::BadRows => "\"drop\", \"mean\" or \"median\" to fill them in, or \"error\" to stop",
            Self::SplitOrder => "\"shuffled\" or \"time\"",
            Self::Kind => "\"layers\" or \"table\"",
            Self::Activation => "\"sigmoid\", \"tanh\" or \"relu\"",
            Self::Device => "\"auto\", \"cpu\", \"cuda\", \"simulator\" or \"ptx\"",
            Self::Optimizer => "\"sgd\" or \"adam\"",
            Self::Schedule => "\"constant\" or \"cosine\"",
            Self::Duplicates => "\"together\" or \"apart\"",
            Self::Features => "a list of column names in quotes",
            _ => self.range(),
        }
    }

    /// Explanation for a user without experience in machine learning.
    pub fn explanation(self) -> &'static str {
        self.texts().3
    }

    fn texts(self) -> FieldTexts {
        match self {
            Self::Source => (
                "Data set",
                "",
                "a .csv or .csv.gz file, or the synthetic market data",
                "The table to learn from: one line of column names, then one line per sample.",
            ),
            Self::DecimalMark => (
                "Decimal mark",
                "",
                "point or comma, or as the cells show it",
                "The decimal mark of the file's numbers. The other one may separate thousands: 1.250,5 or 1,250.5.",
            ),
            Self::Header => (
                "First line",
                "",
                "names or a row, or as the rows below show it",
                "Whether the file's first line has the names of the columns, or is a row like those below it.",
            ),
            Self::Samples => (
                "Samples",
                "rows",
                "4 or more, or all",
                "Number of rows used, from the first on. Fewer rows train faster; more usually give a better model.",
            ),
            Self::Features => (
                "Features",
                "",
                "at least one column",
                "The columns that the network predicts from. A text column becomes one input per category.",
            ),
            Self::Target => (
                "Target",
                "",
                "a numeric column that is not a feature",
                "The column that the network learns to predict from the features.",
            ),
            Self::LogTarget => (
                "Logarithm of the target",
                "",
                "on or off",
                "Learns ln(1 + y) of the target y, and −ln(1 − y) if y is negative. Use it for targets that span \
                 several powers of ten, such as money: an error of 10 % then weighs the same for small and large \
                 values. Results are still in the target's unit.",
            ),
            Self::LogFeatures => (
                "Logarithm of the features",
                "",
                "on or off",
                "Replaces each numeric feature x by sign(x)·ln(1 + |x|). Use it for features that span several powers \
                 of ten: otherwise a few large values compress all others.",
            ),
            Self::BadRows => (
                "Rows with missing values",
                "",
                "drop, mean, median, or stop with an error",
                "Treatment of rows in which a feature is missing or not a number: dropped, or kept with the mean or \
                 median that the column has in the training part. Where the target is missing, a row is always dropped.",
            ),
            Self::OneHotLimit => (
                "Max. categories per text column",
                "",
                "2 … 1000",
                "A text feature becomes one input per category (one-hot). A column with more categories is rejected.",
            ),
            Self::TrainShare => (
                "Training part",
                "parts",
                "greater than 0",
                "Relative size of the part to train on. 70 : 15 : 15 and 0.7 : 0.15 : 0.15 are equivalent.",
            ),
            Self::ValidationShare => (
                "Validation part",
                "parts",
                "greater than 0",
                "Relative size of the part that is not trained on and whose error selects the best epoch.",
            ),
            Self::TestShare => (
                "Test part",
                "parts",
                "greater than 0",
                "Relative size of the part that is used at the end only, to measure the error on unseen rows.",
            ),
            Self::SplitOrder => (
                "Row order",
                "",
                "shuffled, or time",
                "Order of the rows before the split. Shuffled: at random. Time: by the first column of dates, or else as in the file, so \
                 that the first rows train and the last ones test, as in forecasting.",
            ),
            Self::SplitSeed => (
                "Split seed",
                "",
                "a whole number of 0 or more",
                "Seed of the shuffle; the same seed always gives the same parts.",
            ),
            Self::Duplicates => (
                "Equal rows",
                "",
                "together, or apart",
                "The parts of rows that are equal in features and target. Together: in one part, so that no test row was \
                 trained on. Apart: each row for itself.",
            ),
            Self::Kind => (
                "Kind",
                "",
                "layers, or made for tables",
                "Layers: the paper's network, with the values below, on the CPU or a GPU. Made for tables: eight networks that \
                 share their layers and see each number in up to 64 pieces. It chooses its own layers and learning rate, often \
                 has smaller errors, takes longer, and trains on the CPU.",
            ),
            Self::Hidden => (
                "Neurons per layer",
                "neurons",
                "up to 8 layers of 1 … 1024",
                "Sizes of the hidden layers, from the inputs on. More neurons can fit more complex functions and train \
                 more slowly.",
            ),
            Self::Activation => (
                "Activation",
                "",
                "sigmoid, tanh or ReLU",
                "Function of a hidden neuron's weighted sum. Sigmoid and tanh are S-shaped, between −1 and 1; ReLU is \
                 0 for negative sums and the identity for others.",
            ),
            Self::Gain => (
                "Gain",
                "",
                "greater than 0 and at most 100",
                "Steepness of the sigmoid. At 2 it is tanh; smaller is flatter, larger is closer to a step.",
            ),
            Self::Threshold => (
                "Threshold",
                "",
                "−100 … 100",
                "The weighted sum at which the sigmoid is 0; above it the neuron's output is positive.",
            ),
            Self::Optimizer => (
                "Optimizer",
                "",
                "SGD or Adam",
                "The rule of a step. SGD goes along the gradient; Adam scales the step of each weight by its recent \
                 gradients, and needs a learning rate about ten times smaller.",
            ),
            Self::LearningRate => (
                "Learning rate",
                "",
                "greater than 0 and at most 10",
                "Step size along the gradient. Too small is slow; too large makes the error oscillate or diverge.",
            ),
            Self::Schedule => (
                "Schedule",
                "",
                "constant or cosine",
                "The learning rate over the epochs: constant, or falling to almost 0 in the last epoch along half a cosine, so \
                 that the error settles.",
            ),
            Self::Momentum => (
                "Momentum",
                "",
                "at least 0 and less than 1",
                "Fraction of the previous step that is added to the next; with Adam, of the mean gradient that is kept. 0.9 is \
                 common.",
            ),
            Self::Regularization => (
                "Regularization",
                "",
                "0 … 1",
                "Weight decay: shrinks all weights towards 0, which reduces overfitting. 0 disables it.",
            ),
            Self::BatchSize => (
                "Batch size",
                "rows",
                "1 … 1,000,000",
                "Rows per step. Larger batches give fewer steps with less noise.",
            ),
            Self::Epochs => ("Epochs", "epochs", "1 … 1,000,000", "Maximum number of passes over the training part."),
            Self::Patience => (
                "Stop early after",
                "epochs",
                "1 or more, or 0 for never",
                "Training stops early after this number of epochs without a smaller validation error. The best epoch's \
                 weights are kept in any case.",
            ),
            Self::Seed => (
                "Training seed",
                "",
                "a whole number of 0 or more",
                "Seed of the initial weights and the sample order; the same seed gives the same network, bit for bit.",
            ),
            Self::Device => (
                "Device",
                "",
                "automatic, CPU, CUDA, simulator or PTX interpreter",
                "Device to train on. Automatic measures a few steps on an NVIDIA GPU and on the CPU, and takes the faster \
                 one; choose CPU or CUDA to repeat a run bit for bit. The simulator and the interpreter run the GPU \
                 kernels on the CPU, slowly.",
            ),
            Self::Threads => (
                "Threads",
                "threads",
                "1 … 1024, or one per core",
                "Number of CPU threads. The result does not depend on it.",
            ),
        }
    }
}
