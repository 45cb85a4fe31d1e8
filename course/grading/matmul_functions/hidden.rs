//! What students do not see: the launch, what the kernel reads and writes, and the speed.

use std::hint::black_box;
use std::time::Duration;

use grader::{Launch, Matrix, compared, launched, of_interpreter_without_races, only_launch, timed, times_of};

use super::*;

/// The only launch for an X of this shape, by the submission.
fn launch_of(rows: usize, columns: usize) -> Result<Launch, Failure> {
    check("matmul_transpose_gpu", matmul_transpose_gpu(&simulator(), &matrix(rows, columns, 1)))?;
    only_launch("matmul_transpose_gpu")
}

#[test]
fn matmul_transpose_gpu_launches_one_block_of_1024_threads() -> Result<(), Failure> {
    let Launch { blocks, threads, .. } = launch_of(100, 20)?;
    match (blocks, threads / blocks.max(1)) {
        (1, 1024) => Ok(()),
        (blocks, threads) => Err(format!(
            "matmul_transpose_gpu: the launch has {blocks} blocks of {threads} threads, expected one block of 1024 threads"
        )
        .into()),
    }
}

/// Three loops read 2·M²·N elements and write M²; a kernel reads at least the M·N of X. They are counted in the kernel's
/// PTX, where there is some.
#[test]
fn matmul_transpose_gpu_reads_no_more_than_three_loops() -> Result<(), Failure> {
    let (rows, columns) = (90, 20);
    let own = launch_of(rows, columns)?;
    let launch = match of_interpreter_without_races()? {
        None => own,
        Some(device) => {
            let x = matrix(rows, columns, 1);
            let launches = launched(&device, |device| call(|| matmul_functions::matmul_transpose_gpu(device, &x)));
            check("matmul_kernel", launches)?.remove(0)
        }
    };
    let [least, loops, elements] = [rows * columns, 2 * rows * rows * columns, rows * rows].map(|count| count as u64);
    match (least..=loops).contains(&launch.loads) && launch.stores == elements {
        true => Ok(()),
        false => Err(format!(
            "matmul_kernel: for an X of {rows} × {columns}, it reads {} elements of global memory and writes {}; three loops read \
             {loops} and write {elements}",
            launch.loads, launch.stores
        )
        .into()),
    }
}

/// Each time is of another X, and of a right result.
#[test]
fn matmul_transpose_rayon_is_faster_than_three_loops() -> Result<(), Failure> {
    let mut c = Array2::<f32>::zeros((400, 400));
    let [rayon, loops] = compared(Duration::from_secs(6), |round| {
        let x = matrix(400, 100, round);
        let (rayon, result) = timed("matmul_transpose_rayon", &Matrix(x.clone()), x.nrows().pow(2));
        check("matmul_transpose_rayon", result.and_then(|Matrix(c)| verify(&c, &x)))?;
        let loops = times_of(|| {
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
        });
        Ok([rayon, loops])
    })?;
    match rayon.is_faster_than(loops) {
        true => Ok(()),
        false => Err(format!(
            "matmul_transpose_rayon: it takes {:.2?} for an X of 400 × 100, three loops on one core {:.2?}",
            rayon.wall, loops.wall
        )
        .into()),
    }
}
