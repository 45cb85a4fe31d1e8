//! Sentences about the element-wise maximum.

use super::cores::{self, Need};
use super::{Statement, beside, taken_apart};
use crate::figures::{Exercise, Figures};
use crate::timed::{MAX_RAYON, Table, Timed};

pub(super) fn times(figures: &Figures) -> Vec<Statement> {
    let cpu = Timed::new("max_cpu", figures.maximum.cpu);
    let version = (Table::Maximum, MAX_RAYON, figures.maximum.rayon.as_slice());
    let mut sentences = beside(figures, version, std::slice::from_ref(&cpu), Exercise::Maximum);
    sentences.extend(taken_apart(figures, version.2, &cpu, "vector instructions, and a result that is written once"));
    sentences
}

pub(super) fn cores(figures: &Figures) -> Vec<Statement> {
    let need = Need::Memory(figures.maximum.operand_bytes());
    cores::explain(figures, Table::Maximum, MAX_RAYON, &figures.maximum.rayon, need)
}
