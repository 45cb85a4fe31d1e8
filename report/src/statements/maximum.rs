//! Sentences about the element-wise maximum.

use super::cores::{self, Need};
use super::{Statement, beside};
use crate::figures::{Exercise, Figures};
use crate::timed::{MAX_RAYON, Table, Timed};

pub(super) fn times(figures: &Figures) -> Vec<Statement> {
    let cpu = Timed::new("max_cpu", figures.maximum.cpu);
    beside(figures, (Table::Maximum, MAX_RAYON, &figures.maximum.rayon), &[cpu], Exercise::Maximum)
}

pub(super) fn cores(figures: &Figures) -> Vec<Statement> {
    let need = Need::Memory(figures.maximum.operand_bytes());
    cores::explain(figures, Table::Maximum, MAX_RAYON, &figures.maximum.rayon, need)
}
