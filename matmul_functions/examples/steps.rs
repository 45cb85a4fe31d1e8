//! Splits the speed-up of X·Xᵀ over three loops into steps: `cargo run -p matmul_functions
//! --example steps -- -c 2`.
//!
//! Each step adds one idea to the previous one: vectors, register tiles, symmetry, threads.

use std::num::NonZeroUsize;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use command_line::{HomeworkOptions, with_worker_threads};
use kernels_cpu::product::{PaddedMatrix, Sink, product};
use kernels_cpu::vector_product::{Columns, vector_product};
use kernels_cpu::{InstructionSet, Real, Simd};
use matmul_functions::{Reference, matmul_transpose_rayon, matmul_transpose_trivial};
use ndarray::Array2;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use timing::{Report, measure};

/// Rows and columns of the homework's X.
const SIZE: (usize, usize) = (784, 128);

/// Splits the speed-up of X·Xᵀ over three loops into steps: vectors, register tiles, symmetry, threads
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    homework: HomeworkOptions,
}

fn main() -> ExitCode {
    let HomeworkOptions { cores, repeats, seed, json } = command_line::arguments::<Arguments>().homework;
    command_line::run(|| {
        let x = Array2::from_shape_simple_fn(SIZE, {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            move || StandardNormal.sample(&mut rng)
        });
        let reference = Reference::of(&x);
        let mut report = Report::new("steps", json);
        let mut before = None;
        let mut step = |label: &'static str, threads, slow, work: &(dyn Fn() -> Array2<f32> + Sync)| {
            report.check(label, reference.verify(&work()));
            let repeats =
                if slow { NonZeroUsize::new(repeats.get().div_ceil(4)).context("no repeat")? } else { repeats };
            let (used, measurement) = with_worker_threads(threads, |threads| (threads, measure(repeats, work)))?;
            report.time(label, if used == 1 { ", 1 thread" } else { ", all threads" }, measurement);
            if let Some(before) = before.replace(label) {
                report.speedup(label, before);
            }
            anyhow::Ok(())
        };
        let one = Some(NonZeroUsize::MIN);
        step("Three loops", one, true, &|| matmul_transpose_trivial(&x))?;
        step("Vectors", one, false, &|| by_vectors(&x))?;
        step("Tiles in registers", one, false, &|| by_tiles(&x))?;
        step("Symmetry", one, false, &|| matmul_transpose_rayon(&x))?;
        step("Threads", cores, false, &|| matmul_transpose_rayon(&x))?;
        report.speedup("Threads", "Three loops");
        Ok(report.finish())
    })
}

/// Computes each row's products with all rows, with sums in SIMD vectors. Only the row itself is reused.
fn by_vectors(x: &Array2<f32>) -> Array2<f32> {
    let (rows, columns) = x.dim();
    let transposed = Columns::new(columns, rows, |k, j| x[[j, k]]);
    let mut result = Array2::zeros((rows, rows));
    for (row, mut sums) in x.outer_iter().zip(result.outer_iter_mut()) {
        let row = row.to_slice().expect("an array that was just made is row-major");
        let sums = sums.as_slice_mut().expect("an array that was just made is row-major");
        vector_product(InstructionSet::detect(), row, &transposed, sums);
    }
    result
}

/// Computes register tiles of sums over the whole square.
fn by_tiles(x: &Array2<f32>) -> Array2<f32> {
    let (size, columns) = x.dim();
    let rows: Vec<&[f32]> =
        x.outer_iter().map(|row| row.to_slice().expect("an array that was just made is row-major")).collect();
    let mut transposed = PaddedMatrix::zeros(columns, size);
    transposed.copy_transposed(0, &rows);
    let mut result = Array2::zeros((size, size));
    let cells = result.as_slice_mut().expect("an array that was just made is row-major");
    let all = 0..transposed.stride();
    product(InstructionSet::detect(), &rows, &transposed, all, Cells { cells, size });
    result
}

/// A sink that stores sums in a square matrix.
struct Cells<'a> {
    cells: &'a mut [f32],
    size: usize,
}

impl Sink<f32> for Cells<'_> {
    #[inline(always)]
    fn take<S: Simd>(&mut self, _simd: S, row: usize, column: usize, sums: &[<f32 as Real>::Vector<S>]) {
        // The last columns may be padding.
        let sums = <f32 as Real>::as_elements::<S>(sums);
        let inside = sums.len().min(self.size - column.min(self.size));
        self.cells[row * self.size + column.min(self.size)..][..inside].copy_from_slice(&sums[..inside]);
    }
}
