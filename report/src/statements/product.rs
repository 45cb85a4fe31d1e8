//! Sentences about X·Xᵀ.

use super::cores::{self, Demand};
use super::{Statement, compared_with_peers, single_thread_gain};
use crate::figures::{Exercise, Figures};
use crate::timed::{MATMUL_RAYON, Table, Timed};

pub(super) fn times(figures: &Figures) -> Vec<Statement> {
    let trivial = Timed::new("matmul_transpose_trivial", figures.product.trivial);
    let version = (Table::Product, MATMUL_RAYON, figures.product.rayon.as_slice());
    let mut sentences = compared_with_peers(figures, version, std::slice::from_ref(&trivial), Exercise::Product);
    let ideas = "SIMD instructions, register tiles, and half the arithmetic by symmetry";
    sentences.extend(single_thread_gain(figures, version.2, &trivial, ideas));
    sentences
}

pub(super) fn cores(figures: &Figures) -> Vec<Statement> {
    let demand = Demand::Arithmetic(figures.product.operations());
    cores::explain(figures, Table::Product, MATMUL_RAYON, &figures.product.rayon, demand)
}
