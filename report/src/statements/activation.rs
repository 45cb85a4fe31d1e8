//! Sentences about the activation.

use super::{Statement, beside, on_all_cores};
use crate::figures::{Exercise, Figures};
use crate::timed::{ONE_PASS, THREE_PASSES, Table, Timed, on_threads};

pub(super) fn times(figures: &Figures) -> Vec<Statement> {
    let activation = &figures.activation;
    let mut others = vec![Timed::new("one loop a step", activation.cpu)];
    others.extend(on_all_cores(&activation.three_passes, figures.machine.cores).map(|on| on_threads(THREE_PASSES, on)));
    beside(figures, (Table::Activation, ONE_PASS, &activation.fused), &others, Exercise::Activation)
}
