//! Compares the arithmetic rate of training steps on one thread with the rate of matrix products
//! alone. Each is the best of many calls. Counts the multiply-adds of the hidden layers, forward
//! and backward. Run it with `cargo run --release -p table_network --example step_rate`.

use std::ops::ControlFlow;
use std::time::Instant;

use kernels_cpu::product::{PaddedMatrix, Sink, product};
use kernels_cpu::{InstructionSet, Real, Simd};
use ndarray::Array2;
use table_network::{InputKind, Options, Training};

const INPUTS: usize = 8;

struct Store<'a>(&'a mut PaddedMatrix<f32>);

impl Sink<f32> for Store<'_> {
    #[inline(always)]
    fn take<S: Simd>(&mut self, _simd: S, row: usize, column: usize, sums: &[S::f32s]) {
        let sums = f32::as_elements::<S>(sums);
        self.0.row_mut(row)[column..][..sums.len()].copy_from_slice(sums);
    }
}

/// The best rate of `repeats` calls with `operations` operations each, in 10⁹ operations per
/// second.
fn rate(repeats: usize, operations: f64, mut call: impl FnMut()) -> f64 {
    let seconds = (0..repeats).map(|_| {
        let start = Instant::now();
        call();
        start.elapsed().as_secs_f64()
    });
    operations / seconds.fold(f64::INFINITY, f64::min) / 1e9
}

fn of_products() -> f64 {
    const SIZE: usize = 128;
    let [left, right, mut out] = [(); 3].map(|()| PaddedMatrix::<f32>::zeros(SIZE, SIZE));
    let rows: Vec<&[f32]> = (0..SIZE).map(|row| left.row(row)).collect();
    rate(2000, 2.0 * (SIZE * SIZE * SIZE) as f64, || {
        product(InstructionSet::detect(), &rows, &right, 0..SIZE, Store(&mut out));
    })
}

fn of_steps(batch_size: usize) -> f64 {
    let kinds = [InputKind::Number; INPUTS];
    let inputs =
        Array2::from_shape_fn((8 * batch_size, INPUTS), |(row, column)| ((row * 7 + column * 13) % 101) as f32);
    let targets = inputs.map_axis(ndarray::Axis(1), |row| row.sum() / 400.0 - 1.0).insert_axis(ndarray::Axis(1));
    let options = Options { batch_size, epochs: 100, ..Options::for_table(20_000, &kinds) };
    let mut before = INPUTS * options.embedding;
    let mut operations = 0.0;
    for &units in &options.hidden {
        operations += 6.0 * (before * units * options.members * batch_size) as f64;
        before = units;
    }
    let mut training =
        Training::new(options, &kinds, inputs.view(), targets.view()).expect("options and rows are valid");
    let mut best: f64 = 0.0;
    for _epoch in 0..training.options().epochs {
        best = best.max(rate(8, operations, || {
            training.train(1, &mut |_| ControlFlow::Continue(()));
        }));
        training.end_epoch(inputs.view(), targets.view()).expect("it does not diverge");
    }
    best
}

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread starts");
    pool.install(|| {
        println!("products: {:.0} GFLOP/s", of_products());
        for batch_size in [32, 128, 256] {
            println!("steps of {batch_size} rows: {:.0} GFLOP/s", of_steps(batch_size));
        }
    });
}
