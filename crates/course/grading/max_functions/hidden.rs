//! What students do not see: the launch, what the kernel reads and writes, and the speed.

use std::hint::black_box;
use std::time::Duration;

use teaching_tests::best_times;

use self::only_launch::only_launch;
use super::*;

mod only_launch;

/// The counts of the only launch for two matrices.
fn launched(rows: usize, columns: usize) -> Result<gpu::LaunchReport, Failure> {
    only_launch("max_gpu", |device| call(|| max_gpu(device, &matrix(rows, columns, 1), &matrix(rows, columns, 2))))
}

#[test]
fn max_gpu_launches_1000_blocks_of_1000_threads() -> Result<(), Failure> {
    let report = launched(1000, 1000)?;
    let (blocks, threads) = (report.blocks, report.threads / report.blocks);
    match (blocks, threads) {
        (1000, 1000) => Ok(()),
        _ => Err(format!(
            "max_gpu: the launch for two 1000 × 1000 matrices has {blocks} blocks of {threads} threads, expected 1000 blocks of 1000 \
             threads"
        )
        .into()),
    }
}

/// Two elements are read for each element of the result; the comparison and the choice may read one of them each.
#[test]
fn max_gpu_reads_and_writes_each_element_once() -> Result<(), Failure> {
    let (rows, columns) = (300, 100);
    let (report, elements) = (launched(rows, columns)?, (rows * columns) as u64);
    let (loads, stores) = (report.global_loads, report.global_stores + report.atomics);
    if loads <= 3 * elements && stores <= elements {
        return Ok(());
    }
    let [loads, stores] = [loads, stores].map(|count| count as f64 / elements as f64);
    Err(format!(
        "max_gpu: for each element of the result, it reads {loads:.1} elements and writes {stores:.1}, expected 2 and 1"
    )
    .into())
}

#[test]
fn max_rayon_is_faster_than_two_loops() -> Result<(), Failure> {
    let (a, b) = (matrix(1000, 1000, 1), matrix(1000, 1000, 2));
    let mut c = Array2::zeros(a.dim());
    let mut loops = || {
        for i in 0..a.nrows() {
            for j in 0..a.ncols() {
                c[[i, j]] = if a[[i, j]] > b[[i, j]] { a[[i, j]] } else { b[[i, j]] };
            }
        }
        black_box(&mut c);
    };
    let mut rayon = || drop(black_box(call(|| max_rayon(&a, &b))));
    let [rayon, loops] = best_times([&mut rayon, &mut loops], Duration::from_secs(3));
    match rayon < loops {
        true => Ok(()),
        false => Err(format!(
            "max_rayon: it takes {rayon:.2?} for two 1000 × 1000 matrices, two loops on one core {loops:.2?}"
        )
        .into()),
    }
}
