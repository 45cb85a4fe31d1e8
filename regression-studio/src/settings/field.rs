//! Labels, units, ranges and explanations of the settings.

/// The texts for a setting in the form and in a settings file.
struct FieldTexts {
    label: &'static str,
    unit: &'static str,
    range: &'static str,
    values_in_file: &'static str,
    explanation: &'static str,
}

/// Defines [`Field`] from the texts of each field, in the form's order. `unit` is empty if absent.
/// Without `in_file`, a settings file accepts the same values as the form.
macro_rules! fields {
    ($($field:ident {
        label: $label:literal,
        $(unit: $unit:literal,)?
        range: $range:literal,
        $(in_file: $in_file:literal,)?
        explanation: $explanation:literal,
    })*) => {
        /// One setting.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "Field::explanation documents each")]
        pub enum Field {
            $($field,)*
        }

        impl Field {
            /// All fields, in the form's order.
            pub const ALL: [Self; [$($label),*].len()] = [$(Self::$field),*];

            fn texts(self) -> FieldTexts {
                match self {
                    $(Self::$field => FieldTexts {
                        label: $label,
                        unit: concat!("" $(, $unit)?),
                        range: $range,
                        values_in_file: [$($in_file,)? $range][0],
                        explanation: $explanation,
                    },)*
                }
            }
        }
    };
}

impl Field {
    /// Name shown next to the input.
    pub fn label(self) -> &'static str {
        self.texts().label
    }

    /// Unit, or empty.
    pub fn unit(self) -> &'static str {
        self.texts().unit
    }

    /// Valid values, as a phrase that completes "must be".
    pub fn range(self) -> &'static str {
        self.texts().range
    }

    /// Valid values in a settings file.
    pub fn values_in_file(self) -> &'static str {
        self.texts().values_in_file
    }

    /// Explanation for a user without experience in machine learning.
    pub fn explanation(self) -> &'static str {
        self.texts().explanation
    }
}

fields! {
    Source {
        label: "Data set",
        range: "a .csv, .csv.gz, .xlsx or .ods file, or the demo",
        explanation: "The table to learn from: one line of column names, then one line per sample.",
    }
    Sheet {
        label: "Sheet",
        range: "a sheet of the workbook",
        explanation: "The sheet of the workbook that is read. Unless one is chosen, it is the first that is a table.",
    }
    DecimalMark {
        label: "Decimal mark",
        range: "point or comma, or as the cells show it",
        explanation: "The decimal mark of the file's numbers. The other one may separate thousands: 1.250,5 or 1,250.5.",
    }
    Header {
        label: "First line",
        range: "names or a row, or as the rows below show it",
        explanation: "Whether the file's first line has the names of the columns, or is a row like those below it.",
    }
    Samples {
        label: "Samples",
        unit: "rows",
        range: "4 or more, or all",
        explanation: "Number of rows used, from the first on. Fewer rows train faster; more usually give a better model.",
    }
    Features {
        label: "Features",
        range: "at least one column",
        in_file: "a list of column names in quotes",
        explanation: "The columns that the network predicts from. A text column becomes one input per category.",
    }
    Target {
        label: "Target",
        range: "a numeric column that is not a feature",
        explanation: "The column that the network learns to predict from the features.",
    }
    LogTarget {
        label: "Logarithm of the target",
        range: "on or off",
        in_file: "true or false",
        explanation: "Learns ln(1 + y) of the target y, and −ln(1 − y) if y is negative. Use it for targets that span \
            several powers of ten, such as money: an error of 10 % then weighs the same for small and large \
            values. Results are still in the target's unit.",
    }
    LogFeatures {
        label: "Logarithm of the features",
        range: "on or off",
        in_file: "true or false",
        explanation: "Replaces each numeric feature x by sign(x)·ln(1 + |x|). Use it for features that span several \
            powers of ten: otherwise a few large values compress all others.",
    }
    BadRows {
        label: "Rows with missing values",
        range: "drop, mean, median, or stop with an error",
        in_file: "\"drop\", \"mean\" or \"median\" to fill them in, or \"error\" to stop",
        explanation: "Treatment of rows in which a feature is missing or not a number: dropped, or kept with the mean or \
            median that the column has in the training part. Where the target is missing, a row is always \
            dropped.",
    }
    OneHotLimit {
        label: "Max. categories per text column",
        range: "2 … 1000",
        explanation: "A text feature becomes one input per category (one-hot). A column with more categories is \
            rejected.",
    }
    TrainShare {
        label: "Training part",
        unit: "parts",
        range: "greater than 0",
        explanation: "Relative size of the part to train on. 70 : 15 : 15 and 0.7 : 0.15 : 0.15 are equivalent.",
    }
    ValidationShare {
        label: "Validation part",
        unit: "parts",
        range: "greater than 0",
        explanation: "Relative size of the part that is not trained on and whose error selects the best epoch.",
    }
    TestShare {
        label: "Test part",
        unit: "parts",
        range: "greater than 0",
        explanation: "Relative size of the part that is used at the end only, to measure the error on unseen rows.",
    }
    SplitOrder {
        label: "Row order",
        range: "shuffled, or time",
        in_file: "\"shuffled\" or \"time\"",
        explanation: "Order of the rows before the split. Shuffled: at random. Time: by the first column of dates, or \
            else as in the file, so that the first rows train and the last ones test, as in forecasting.",
    }
    SplitSeed {
        label: "Split seed",
        range: "a whole number of 0 or more",
        explanation: "Seed of the shuffle; the same seed always gives the same parts.",
    }
    Duplicates {
        label: "Equal rows",
        range: "together, or apart",
        in_file: "\"together\" or \"apart\"",
        explanation: "The parts of rows that are equal in features and target. Together: in one part, so that no test \
            row was trained on. Apart: each row for itself.",
    }
    Kind {
        label: "Kind",
        range: "layers, or made for tables",
        in_file: "\"layers\" or \"table\"",
        explanation: "Layers: the paper's network, with the values below, on the CPU or a GPU. Made for tables: eight \
            networks that share their layers and see each number in up to 64 pieces. It chooses its own layers \
            and learning rate, often has smaller errors, takes longer, and trains on the CPU.",
    }
    Hidden {
        label: "Neurons per layer",
        unit: "neurons",
        range: "up to 8 layers of 1 … 1024",
        explanation: "Sizes of the hidden layers, from the inputs on. More neurons can fit more complex functions and \
            train more slowly.",
    }
    Activation {
        label: "Activation",
        range: "sigmoid, tanh or ReLU",
        in_file: "\"sigmoid\", \"tanh\" or \"relu\"",
        explanation: "Function of a hidden neuron's weighted sum. Sigmoid and tanh are S-shaped, between −1 and 1; ReLU \
            is 0 for negative sums and the identity for others.",
    }
    Gain {
        label: "Gain",
        range: "greater than 0 and at most 100",
        explanation: "Steepness of the sigmoid. At 2 it is tanh; smaller is flatter, larger is closer to a step.",
    }
    Threshold {
        label: "Threshold",
        range: "−100 … 100",
        explanation: "The weighted sum at which the sigmoid is 0; above it the neuron's output is positive.",
    }
    Optimizer {
        label: "Optimizer",
        range: "SGD or Adam",
        in_file: "\"sgd\" or \"adam\"",
        explanation: "The rule of a step. SGD goes along the gradient; Adam scales the step of each weight by its recent \
            gradients, and needs a learning rate about ten times smaller.",
    }
    LearningRate {
        label: "Learning rate",
        range: "greater than 0 and at most 10",
        explanation: "Step size along the gradient. Too small is slow; too large makes the error oscillate or diverge.",
    }
    Schedule {
        label: "Schedule",
        range: "constant or cosine",
        in_file: "\"constant\" or \"cosine\"",
        explanation: "The learning rate over the epochs: constant, or falling to almost 0 in the last epoch along half a \
            cosine, so that the error settles.",
    }
    Momentum {
        label: "Momentum",
        range: "at least 0 and less than 1",
        explanation: "Fraction of the previous step that is added to the next; with Adam, of the mean gradient that is \
            kept. 0.9 is common.",
    }
    Regularization {
        label: "Regularization",
        range: "0 … 1",
        explanation: "Weight decay: shrinks all weights towards 0, which reduces overfitting. 0 disables it.",
    }
    BatchSize {
        label: "Batch size",
        unit: "rows",
        range: "1 … 1,000,000",
        explanation: "Rows per step. Larger batches give fewer steps with less noise.",
    }
    Epochs {
        label: "Epochs",
        unit: "epochs",
        range: "1 … 1,000,000",
        explanation: "Maximum number of passes over the training part.",
    }
    Patience {
        label: "Stop early after",
        unit: "epochs",
        range: "1 or more, or 0 for never",
        explanation: "Training stops early after this number of epochs without a smaller validation error. The best \
            epoch's weights are kept in any case.",
    }
    Seed {
        label: "Training seed",
        range: "a whole number of 0 or more",
        explanation: "Seed of the initial weights and the sample order; the same seed gives the same network, bit for \
            bit.",
    }
    Device {
        label: "Device",
        range: "automatic, CPU, CUDA, simulator or PTX interpreter",
        in_file: "\"auto\", \"cpu\", \"cuda\", \"simulator\" or \"ptx\"",
        explanation: "Device to train on. Automatic measures a few steps on an NVIDIA GPU and on the CPU, and takes the \
            faster one; choose CPU or CUDA to repeat a run bit for bit. The simulator and the interpreter run \
            the GPU kernels on the CPU, slowly.",
    }
    Threads {
        label: "Threads",
        unit: "threads",
        range: "1 … 1024, or one per core",
        explanation: "Number of CPU threads. The result does not depend on it.",
    }
}
