//! What students do not see: the launch, what the kernel reads and writes, and the speed.

use std::hint::black_box;
use std::time::Duration;

use grader::{Launch, Matrix, compared, launched, of_interpreter_without_races, only_launch, timed, times_of};

use super::*;

/// The only launch for two matrices, by the submission.
fn launch_of(rows: usize, columns: usize) -> Result<Launch, Failure> {
    check("max_gpu", max_gpu(&simulator(), &matrix(rows, columns, 1), &matrix(rows, columns, 2)))?;
    only_launch("max_gpu")
}

#[test]
fn max_gpu_launches_1000_blocks_of_1000_threads() -> Result<(), Failure> {
    let Launch { blocks, threads, .. } = launch_of(1000, 1000)?;
    match (blocks, threads / blocks.max(1)) {
        (1000, 1000) => Ok(()),
        (blocks, threads) => Err(format!(
            "max_gpu: the launch for two 1000 × 1000 matrices has {blocks} blocks of {threads} threads, expected 1000 blocks of 1000 \
             threads"
        )
        .into()),
    }
}

/// Two elements are read for each element of the result; the comparison and the choice may read one of them each. They
/// are counted in the kernel's PTX, where there is some.
#[test]
fn max_gpu_reads_and_writes_each_element_once() -> Result<(), Failure> {
    let (rows, columns) = (300, 100);
    let own = launch_of(rows, columns)?;
    let launch = match of_interpreter_without_races()? {
        None => own,
        Some(device) => {
            let (a, b) = (matrix(rows, columns, 1), matrix(rows, columns, 2));
            let launches = launched(&device, |device| call(|| max_functions::max_gpu(device, &a, &b)));
            check("max_kernel", launches)?.remove(0)
        }
    };
    let elements = (rows * columns) as u64;
    if (2 * elements..=3 * elements).contains(&launch.loads) && launch.stores == elements {
        return Ok(());
    }
    let [loads, stores] = [launch.loads, launch.stores].map(|count| count as f64 / elements as f64);
    Err(format!(
        "max_kernel: for each element of the result, it reads {loads:.1} elements and writes {stores:.1}, expected 2 and 1"
    )
    .into())
}

/// Each time is of other matrices, and of a right result.
#[test]
fn max_rayon_is_faster_than_two_loops() -> Result<(), Failure> {
    let mut c = Array2::zeros((1000, 1000));
    let [rayon, loops] = compared(Duration::from_secs(6), |round| {
        let (a, b) = (matrix(1000, 1000, 2 * round), matrix(1000, 1000, 2 * round + 1));
        let (rayon, result) = timed("max_rayon", &(Matrix(a.clone()), Matrix(b.clone())), a.len());
        check("max_rayon", result.and_then(|Matrix(c)| verify(&c, &a, &b)))?;
        let loops = times_of(|| {
            for i in 0..a.nrows() {
                for j in 0..a.ncols() {
                    c[[i, j]] = if a[[i, j]] > b[[i, j]] { a[[i, j]] } else { b[[i, j]] };
                }
            }
            black_box(&mut c);
        });
        Ok([rayon, loops])
    })?;
    match rayon.is_faster_than(loops) {
        true => Ok(()),
        false => Err(format!(
            "max_rayon: it takes {:.2?} for two 1000 × 1000 matrices, two loops on one core {:.2?}",
            rayon.wall, loops.wall
        )
        .into()),
    }
}
