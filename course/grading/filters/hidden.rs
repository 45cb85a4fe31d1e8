//! What students do not see: the launch, what the kernel reads and writes, allocations, and the speed.

use std::hint::black_box;
use std::time::Duration;

use grader::{Launch, Matrix, compared, launched, of_interpreter_without_races, only_launch, timed, times_of};

use super::*;

/// The only launch for a kernel and an image, by the submission.
fn launch_of(kernel: &Array2<f32>, image: &Array2<f32>) -> Result<Launch, Failure> {
    check("correlation_gpu", correlation_gpu(&simulator(), kernel, image))?;
    only_launch("correlation_gpu")
}

/// A thread for each pixel, in blocks; tiles at the image's borders may have more.
#[test]
fn correlation_gpu_launches_a_thread_for_each_pixel() -> Result<(), Failure> {
    let Launch { blocks, threads, .. } = launch_of(&matrix(3, 3, 1), &matrix(96, 128, 2))?;
    match (blocks > 1, (96 * 128..=2 * 96 * 128).contains(&threads)) {
        (true, true) => Ok(()),
        _ => Err(format!(
            "correlation_gpu: the launch for an image of 96 × 128 pixels has {blocks} blocks of {} threads, expected a thread for \
             each pixel, in several blocks",
            threads / blocks.max(1)
        )
        .into()),
    }
}

/// A coefficient and a pixel for each term at most, and one element written for each pixel. They are counted in the kernel's PTX, where
/// there is some.
#[test]
fn correlation_gpu_reads_no_more_than_four_loops() -> Result<(), Failure> {
    let (kernel, image) = (matrix(3, 5, 1), matrix(40, 60, 2));
    let own = launch_of(&kernel, &image)?;
    let launch = match of_interpreter_without_races()? {
        None => own,
        Some(device) => {
            let launches = launched(&device, |device| call(|| filters::correlation_gpu(device, &kernel, &image)));
            check("correlation_kernel", launches)?.remove(0)
        }
    };
    let (pixels, terms) = (image.len() as u64, kernel.len() as u64);
    if launch.loads <= 2 * terms * pixels && launch.stores == pixels {
        return Ok(());
    }
    let [loads, stores] = [launch.loads, launch.stores].map(|count| count as f64 / pixels as f64);
    Err(format!(
        "correlation_kernel: for each pixel of the result and a 3 × 5 kernel, it reads {loads:.1} elements and writes {stores:.1}, \
         expected {} at most and 1",
        2 * terms
    )
    .into())
}

/// Memory for the result and for rows is welcome, memory for each pixel is not.
#[test]
fn no_function_allocates_for_each_pixel() -> Result<(), Failure> {
    let both = (Matrix(matrix(3, 3, 1)), Matrix(matrix(100, 100, 2)));
    for function in ["correlation_trivial", "correlation_rayon", "sobel_operator"] {
        let allocations: u64 = check(function, grader::call(&format!("allocations of {function}"), &both, 1))?;
        if allocations > 5000 {
            return Err(format!(
                "{function}: it allocates memory {allocations} times for an image of 100 × 100 pixels: allocate the result once"
            )
            .into());
        }
    }
    Ok(())
}

/// Each time is of another image, and of a right result.
#[test]
fn correlation_rayon_is_faster_than_four_loops() -> Result<(), Failure> {
    let mut out = Array2::zeros((400, 400));
    let [rayon, loops] = compared(Duration::from_secs(6), |round| {
        let (kernel, image) = (matrix(5, 5, 2 * round), matrix(400, 400, 2 * round + 1));
        let (rayon, result) = timed("correlation_rayon", &(Matrix(kernel.clone()), Matrix(image.clone())), image.len());
        check("correlation_rayon", result.and_then(|Matrix(result)| verify(&result, &kernel, &image)))?;
        let loops = times_of(|| {
            for i in 0..image.nrows() {
                for j in 0..image.ncols() {
                    let mut sum = 0.0;
                    for ((u, v), coefficient) in kernel.indexed_iter() {
                        let (row, column) = ((i + u).wrapping_sub(2), (j + v).wrapping_sub(2));
                        if row < image.nrows() && column < image.ncols() {
                            sum += coefficient * image[[row, column]];
                        }
                    }
                    out[[i, j]] = sum;
                }
            }
            black_box(&mut out);
        });
        Ok([rayon, loops])
    })?;
    match rayon.is_faster_than(loops) {
        true => Ok(()),
        false => Err(format!(
            "correlation_rayon: it takes {:.2?} for an image of 400 × 400 pixels and a 5 × 5 kernel, four loops on one core {:.2?}",
            rayon.wall, loops.wall
        )
        .into()),
    }
}
