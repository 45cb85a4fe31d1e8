//! X as the product reads it.

use std::mem::MaybeUninit;
use std::ops::Range;

use kernels_cpu::transpose::transpose_to;
use kernels_cpu::{InstructionSet, memory};
use rayon::prelude::*;

use super::panel_columns;
use crate::Element;

/// Xᵀ in panels of columns, that is of so many rows of X: each panel row by row without gaps, one after the other, in one
/// block of memory. What the last panel lacks in columns is zero.
pub(super) struct Panels<F> {
    values: Vec<F>,
    /// The elements before the first panel, so that it starts at a cache line.
    skipped: usize,
    depth: usize,
    count: usize,
}

impl<F: Element> Panels<F> {
    /// Packs the matrix with the given rows, of `depth` elements each.
    #[allow(unsafe_code)]
    pub(super) fn pack(rows: &[&[F]], depth: usize) -> Self {
        let panel = panel_columns::<F>() * depth;
        let count = rows.len().div_ceil(panel_columns::<F>());
        let elements = count * panel;
        let mut values = memory::vec_with_capacity::<F>(elements + F::LINE);
        let room = values.spare_capacity_mut();
        let skipped = room.as_ptr().align_offset(64).min(F::LINE);
        let (before, room) = room.split_at_mut(skipped);
        before.fill(MaybeUninit::new(F::zero()));
        let to = room[..elements].par_chunks_mut(panel.max(1));
        rows.par_chunks(panel_columns::<F>()).zip(to).for_each(|(rows, to)| pack_one(rows, to));
        // SAFETY: the elements before the panels and all of the panels' have just been written.
        unsafe { values.set_len(skipped + elements) };
        Self { values, skipped, depth, count }
    }

    /// The length of X's rows.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// The number of panels.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The bytes of all panels.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.values.as_slice())
    }

    /// The given rows of a panel.
    pub(super) fn rows(&self, panel: usize, rows: &Range<usize>) -> &[F] {
        let width = panel_columns::<F>();
        let first = self.skipped + (panel * self.depth + rows.start) * width;
        &self.values[first..first + rows.len() * width]
    }
}

/// Writes all of one panel.
#[allow(unsafe_code)]
fn pack_one<F: Element>(rows: &[&[F]], to: &mut [MaybeUninit<F>]) {
    let width = panel_columns::<F>();
    if rows.len() < width {
        to.fill(MaybeUninit::new(F::zero()));
    }
    // SAFETY: column p of `rows` goes to row p of the panel, which has `width` elements, at least as many as there are rows,
    // and `to` is borrowed alone.
    unsafe { transpose_to(InstructionSet::detect(), rows, to.as_mut_ptr().cast(), width) };
}
