//! Packing of X into panels.

use std::ops::Range;

use kernels_cpu::InstructionSet;
use kernels_cpu::memory::Scratch;
use kernels_cpu::transpose::transpose;
use rayon::prelude::*;

use super::panel_columns;
use crate::MatmulElement;

/// Xᵀ packed into panels of [`panel_columns`] columns. Each column is a row of X. The panels are
/// row-major and contiguous in one allocation. The last one is padded with zero columns.
pub(super) struct Panels<F> {
    values: Scratch<F>,
    depth: usize,
    count: usize,
}

impl<F: MatmulElement> Panels<F> {
    /// Packs the matrix X with the given rows, of `depth` elements each.
    pub(super) fn pack(rows: &[&[F]], depth: usize) -> Self {
        let panel = panel_columns::<F>() * depth;
        let count = rows.len().div_ceil(panel_columns::<F>());
        let mut values = Scratch::of_length(count * panel);
        let to = values.as_mut_slice().par_chunks_mut(panel.max(1));
        rows.par_chunks(panel_columns::<F>()).zip(to).for_each(|(rows, to)| pack_one(rows, to));
        Self { values, depth, count }
    }

    /// Length of X's rows: the product's K.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Number of panels.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Bytes of all panels.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.values.as_slice())
    }

    /// The given rows of a panel (a range of K): `rows.len()` × [`panel_columns`] elements.
    pub(super) fn rows(&self, panel: usize, rows: &Range<usize>) -> &[F] {
        let width = panel_columns::<F>();
        let first = (panel * self.depth + rows.start) * width;
        &self.values.as_slice()[first..first + rows.len() * width]
    }
}

/// Packs the given rows of X into the panel `to`.
fn pack_one<F: MatmulElement>(rows: &[&[F]], to: &mut [F]) {
    let width = panel_columns::<F>();
    if rows.len() < width {
        to.fill(F::zero());
    }
    transpose(InstructionSet::detect(), rows, to, width);
}
