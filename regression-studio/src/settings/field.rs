//! The inputs one by one: what they are called, their units and ranges, and what they are for.

/// One thing that the user chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "Field::explanation says what each is")]
pub enum Field {
    Source,
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
    Hidden,
    Activation,
    Gain,
    Threshold,
    LearningRate,
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
type Texts = (&'static str, &'static str, &'static str, &'static str);

impl Field {
    /// All of them, in the order of the form.
    pub const ALL: [Self; 26] = [
        Self::Source,
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
        Self::Hidden,
        Self::Activation,
        Self::Gain,
        Self::Threshold,
        Self::LearningRate,
        Self::Momentum,
        Self::Regularization,
        Self::BatchSize,
        Self::Epochs,
        Self::Patience,
        Self::Seed,
        Self::Device,
        Self::Threads,
    ];

    /// Its name beside the input.
    pub fn label(self) -> &'static str {
        self.texts().0
    }

    /// What it is counted in; empty where there is no unit.
    pub fn unit(self) -> &'static str {
        self.texts().1
    }

    /// Which values are allowed.
    pub fn range(self) -> &'static str {
        self.texts().2
    }

    /// What it does, for somebody who has never trained a network.
    pub fn explanation(self) -> &'static str {
        self.texts().3
    }

    fn texts(self) -> Texts {
        match self {
            Self::Source => (
                "Data set",
                "",
                "a .csv or .csv.gz file, or the built-in stock market",
                "The table to learn from: one line of column names, then one line for each example.",
            ),
            Self::Samples => (
                "Samples",
                "rows",
                "4 or more, or all",
                "How many rows of the table are used, from the first on. Fewer rows train faster; more teach more.",
            ),
            Self::Features => (
                "Features",
                "",
                "one column or more",
                "The columns that the network may look at. A column of texts becomes one input for each of its texts.",
            ),
            Self::Target => (
                "Target",
                "",
                "a column of numbers that is no feature",
                "The column that the network learns to tell from the features.",
            ),
            Self::LogTarget => (
                "Logarithm of the target",
                "",
                "on or off",
                "Learns ln(1 + target), and for negative ones −ln(1 − target). Use it where the target spans several powers of ten, such as money: an error of \
                 10 % then counts the same for small and large values. Results are in the target's own unit all the same.",
            ),
            Self::LogFeatures => (
                "Logarithm of the features",
                "",
                "on or off",
                "Shows the network sign(x)·ln(1 + |x|) in place of each number x. Use it where features span several \
                 powers of ten: without it a few giants squeeze all others together.",
            ),
            Self::BadRows => (
                "Incomplete rows",
                "",
                "leave out, or stop",
                "What happens to rows in which a feature or the target is missing or no number.",
            ),
            Self::OneHotLimit => (
                "Texts in a column",
                "texts",
                "2 … 1000",
                "A text feature becomes one input for each different text. A column with more of them than this is refused.",
            ),
            Self::TrainShare => (
                "Training part",
                "parts",
                "above 0",
                "The rows that the network learns from. 70 : 15 : 15 and 0.7 : 0.15 : 0.15 mean the same.",
            ),
            Self::ValidationShare => (
                "Validation part",
                "parts",
                "above 0",
                "Rows that the network does not learn from; the error on them chooses the best epoch.",
            ),
            Self::TestShare => (
                "Test part",
                "parts",
                "above 0",
                "Rows that are not looked at until the end: how good the network is on what it has never seen.",
            ),
            Self::SplitOrder => (
                "Order of the rows",
                "",
                "shuffled, or in time",
                "Shuffled: any row may be in any part. In time: the first rows train, the last ones test, as the future would.",
            ),
            Self::SplitSeed => (
                "Seed of the split",
                "",
                "a whole number of 0 or more",
                "Another number puts other rows into the parts; the same number always the same.",
            ),
            Self::Hidden => (
                "Neurons per layer",
                "neurons",
                "up to 8 layers of 1 … 1024",
                "The hidden layers between inputs and output. More neurons can learn more complicated things, and take longer.",
            ),
            Self::Activation => (
                "Activation",
                "",
                "sigmoid, tanh or ReLU",
                "What a hidden neuron makes of the weighted sum of its inputs. Sigmoid and tanh are S-shaped, between \
                 −1 and 1; ReLU cuts off what is negative.",
            ),
            Self::Gain => (
                "Gain",
                "",
                "above 0, up to 100",
                "How steep the sigmoid is. With 2 it is tanh; smaller is flatter, larger is closer to a switch.",
            ),
            Self::Threshold => (
                "Threshold",
                "",
                "−100 … 100",
                "The weighted sum at which the sigmoid is 0: above it a neuron answers with a positive number.",
            ),
            Self::LearningRate => (
                "Learning rate",
                "",
                "above 0, up to 10",
                "How far each step follows the gradient. Too small is slow; too large makes the error jump or grow.",
            ),
            Self::Momentum => (
                "Momentum",
                "",
                "0 … below 1",
                "The share of the last step that is added to the next, as of a ball that rolls on. 0.9 is usual.",
            ),
            Self::Regularization => (
                "Regularization",
                "",
                "0 … 1",
                "Pulls all weights towards 0, so that the network does not learn single rows by heart. 0 switches it off.",
            ),
            Self::BatchSize => (
                "Batch size",
                "rows",
                "1 … 1,000,000",
                "How many rows are looked at for one step. Larger batches make fewer, calmer steps.",
            ),
            Self::Epochs => ("Epochs", "epochs", "1 … 1,000,000", "How often each training row is seen at the most."),
            Self::Patience => (
                "Patience",
                "epochs",
                "1 or more, or 0 for never",
                "The training ends when the validation error has not become smaller for so many epochs. The best \
                 epoch's weights are kept in any case.",
            ),
            Self::Seed => (
                "Seed of the training",
                "",
                "a whole number of 0 or more",
                "Another number begins with other random weights; the same number gives the same network, bit for bit.",
            ),
            Self::Device => (
                "Device",
                "",
                "automatic, CPU, CUDA or simulator",
                "Where the network is trained. Automatic takes an NVIDIA GPU where there is one. The simulator runs \
                 the GPU's programs on the CPU, slowly.",
            ),
            Self::Threads => (
                "Threads",
                "threads",
                "1 … 1024, or one for each core",
                "How many threads the CPU works with. The result is the same for any number.",
            ),
        }
    }
}
