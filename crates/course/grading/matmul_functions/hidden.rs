//! What students do not see: the launch, what the kernel reads and writes, and the speed.

use std::hint::black_box;
use std::time::Duration;

use teaching_tests::best_times;

use self::only_launch::only_launch;
use super::*;

mod only_launch;

/// The counts of the only launch for an X of this shape.
fn launched(rows: usize, columns: usize) -> Result<gpu::LaunchReport, Failure> {
    only_launch("matmul_transpose_gpu", |device| call(|| matmul_transpose_gpu(device, &matrix(rows, columns, 1))))
}

#[test]
fn matmul_transpose_gpu_launches_one_block_of_1024_threads() -> Result<(), Failure> {
    let report = launched(100, 20)?;
    let (blocks, threads) = (report.blocks, report.threads / report.blocks);
    match (blocks, threads) {
        (1, 1024) => Ok(()),
        _ => Err(format!(
            "matmul_transpose_gpu: the launch has {blocks} blocks of {threads} threads, expected one block of 1024 threads"
        )
        .into()),
    }
}

/// Three loops read 2·M²·N elements and write M².
#[test]
fn matmul_transpose_gpu_reads_no_more_than_three_loops() -> Result<(), Failure> {
    let (rows, columns) = (90, 20);
    let report = launched(rows, columns)?;
    let (loads, stores) = (report.global_loads, report.global_stores + report.atomics);
    let [expected_loads, expected_stores] = [2 * rows * rows * columns, rows * rows].map(|count| count as u64);
    match loads <= expected_loads && stores <= expected_stores {
        true => Ok(()),
        false => Err(format!(
            "matmul_transpose_gpu: for an X of {rows} × {columns}, it reads {loads} elements of global memory and writes {stores}; \
             three loops read {expected_loads} and write {expected_stores}"
        )
        .into()),
    }
}

#[test]
fn matmul_transpose_rayon_is_faster_than_three_loops() -> Result<(), Failure> {
    let x = matrix(400, 100, 1);
    let mut c = Array2::<f32>::zeros((x.nrows(), x.nrows()));
    let mut loops = || {
        for i in 0..x.nrows() {
            for j in 0..x.nrows() {
                let mut sum = 0.0;
                for k in 0..x.ncols() {
                    sum += x[[i, k]] * x[[j, k]];
                }
                c[[i, j]] = sum;
            }
        }
        black_box(&mut c);
    };
    let mut rayon = || drop(black_box(call(|| Ok::<_, Infallible>(matmul_transpose_rayon(&x)))));
    let [rayon, loops] = best_times([&mut rayon, &mut loops], Duration::from_secs(3));
    match rayon < loops {
        true => Ok(()),
        false => Err(format!(
            "matmul_transpose_rayon: it takes {rayon:.2?} for an X of 400 × 100, three loops on one core {loops:.2?}"
        )
        .into()),
    }
}
