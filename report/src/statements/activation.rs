//! Sentences about the activation.

use super::{Statement, compared_with_peers, on_all_cores};
use crate::figures::{Exercise, Figures};
use crate::timed::{ONE_PASS, THREE_PASSES, Table, Timed, on_threads};

pub(super) fn times(figures: &Figures) -> Vec<Statement> {
    let (activation, cores) = (&figures.activation, figures.machine.cores);
    let mut others = vec![Timed::new("one loop per step", activation.cpu)];
    others.extend(on_all_cores(&activation.three_passes, cores).map(|on| on_threads(THREE_PASSES, on, cores)));
    compared_with_peers(figures, (Table::Activation, ONE_PASS, &activation.fused), &others, Exercise::Activation)
}
