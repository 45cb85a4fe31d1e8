//! Names of the workloads.

use clap::ValueEnum;

/// Values of `--only`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum WorkloadName {
    Max,
    Matmul,
    Activation,
    Correlation,
    Network,
    Notebook,
    Prediction,
    Regressor,
    ToTarget,
}
