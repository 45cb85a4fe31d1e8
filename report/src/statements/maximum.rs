//! Sentences about the element-wise maximum.

use super::cores::{self, Demand};
use super::{Statement, compared_with_peers, single_thread_gain};
use crate::figures::{Exercise, Figures};
use crate::timed::{MAX_RAYON, Table, Timed};

pub(super) fn times(figures: &Figures) -> Vec<Statement> {
    let cpu = Timed::new("max_cpu", figures.maximum.cpu);
    let version = (Table::Maximum, MAX_RAYON, figures.maximum.rayon.as_slice());
    let mut sentences = compared_with_peers(figures, version, std::slice::from_ref(&cpu), Exercise::Maximum);
    sentences.extend(single_thread_gain(
        figures,
        version.2,
        &cpu,
        "SIMD instructions and a result that is written only once",
    ));
    sentences
}

pub(super) fn cores(figures: &Figures) -> Vec<Statement> {
    let demand = Demand::Memory(figures.maximum.operand_bytes());
    cores::explain(figures, Table::Maximum, MAX_RAYON, &figures.maximum.rayon, demand)
}
