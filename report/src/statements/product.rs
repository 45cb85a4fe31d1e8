//! Sentences about X·Xᵀ.

use super::cores::{self, Need};
use super::{Statement, beside, taken_apart};
use crate::figures::{Exercise, Figures};
use crate::timed::{MATMUL_RAYON, Table, Timed};

pub(super) fn times(figures: &Figures) -> Vec<Statement> {
    let trivial = Timed::new("matmul_transpose_trivial", figures.product.trivial);
    let version = (Table::Product, MATMUL_RAYON, figures.product.rayon.as_slice());
    let mut sentences = beside(figures, version, std::slice::from_ref(&trivial), Exercise::Product);
    let ideas = "vector instructions, tiles of sums in registers, and half of the work left out by symmetry";
    sentences.extend(taken_apart(figures, version.2, &trivial, ideas));
    sentences
}

pub(super) fn cores(figures: &Figures) -> Vec<Statement> {
    let need = Need::Arithmetic(figures.product.operations());
    cores::explain(figures, Table::Product, MATMUL_RAYON, &figures.product.rayon, need)
}
