//! Sentences about X·Xᵀ.

use super::cores::{self, Need};
use super::{Statement, beside};
use crate::figures::{Exercise, Figures};
use crate::timed::{MATMUL_RAYON, Table, Timed};

pub(super) fn times(figures: &Figures) -> Vec<Statement> {
    let trivial = Timed::new("matmul_transpose_trivial", figures.product.trivial);
    beside(figures, (Table::Product, MATMUL_RAYON, &figures.product.rayon), &[trivial], Exercise::Product)
}

pub(super) fn cores(figures: &Figures) -> Vec<Statement> {
    let need = Need::Arithmetic(figures.product.operations());
    cores::explain(figures, Table::Product, MATMUL_RAYON, &figures.product.rayon, need)
}
