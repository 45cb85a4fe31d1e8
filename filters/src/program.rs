//! The program: its arguments, its image and kernels, checks, times and pictures.

mod checks;
mod pictures;
mod times;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Parser;
use command_line::{HomeworkOptions, one_of, parse_size, require_memory, with_worker_threads};
use filters::picture::{drawing, read_grey};
use gpu::{Device, DeviceChoice};
use ndarray::{Array2, ArrayRef2};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use timing::Report;
use whole_files::require_distinct;

/// The correlation of an image with kernels of 3×3, 5×5 and 7×7, and edge filters: four loops, in parallel, and on the GPU
///
/// The image is one that the program draws, or a file's in gray: 0.299 red + 0.587 green + 0.114 blue.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    homework: HomeworkOptions,
    /// Rows and columns of the image that is drawn
    #[arg(long, num_args = 2, value_names = ["ROWS", "COLUMNS"], default_values = ["1000", "1000"], value_parser = parse_size)]
    size: Vec<NonZeroUsize>,
    /// A JPEG or PNG file, instead of the image that is drawn
    #[arg(long, value_name = "FILE", conflicts_with = "size")]
    image: Option<PathBuf>,
    /// Rows and columns of a kernel, instead of 3×3, 5×5 and 7×7
    #[arg(long, num_args = 2, value_names = ["ROWS", "COLUMNS"], value_parser = parse_size)]
    kernel: Option<Vec<NonZeroUsize>>,
    /// Folder for the pictures of the image and all filters, as PNG files; it is made if need be
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Device of the GPU version; the simulator and the PTX interpreter check it, but are never timed
    #[arg(long, default_value_t, value_parser = one_of(&DeviceChoice::ALL, DeviceChoice::name, DeviceChoice::description))]
    device: DeviceChoice,
    /// Check every rung of the GPU kernel, from the naive one up, and time it if there is a GPU
    #[arg(long)]
    ladder: bool,
}

/// What to check and time.
struct Work {
    device: Device,
    image: Array2<u8>,
    /// The image in f32, as used for timing.
    pixels: Array2<f32>,
    /// Kernels of random coefficients from −1 to 1.
    kernels: Vec<Array2<f32>>,
}

pub(crate) fn main() -> ExitCode {
    let arguments: Arguments = command_line::arguments();
    command_line::run(|| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    if let (Some(folder), Some(image)) = (&arguments.out, &arguments.image) {
        let files: Vec<PathBuf> = pictures::files(folder).collect();
        require_distinct(files.iter().map(|file| ("--out", file.as_path())), &[image])?;
    }
    let image = match &arguments.image {
        Some(file) => read_grey(file)?,
        None => {
            let (rows, columns) = (arguments.size[0].get(), arguments.size[1].get());
            require_image_memory(rows, columns)?;
            drawing(rows, columns)
        }
    };
    require_image_memory(image.nrows(), image.ncols())?;
    with_worker_threads(arguments.homework.cores, |threads| run_with_image(arguments, image, threads))?
}

fn run_with_image(arguments: &Arguments, image: Array2<u8>, threads: usize) -> Result<ExitCode> {
    let HomeworkOptions { repeats, seed, json, .. } = arguments.homework;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let sizes = match &arguments.kernel {
        Some(size) => vec![(size[0].get(), size[1].get())],
        None => vec![(3, 3), (5, 5), (7, 7)],
    };
    for &(rows, columns) in &sizes {
        ensure!(
            rows.max(columns) <= MAX_KERNEL_SIDE,
            "a kernel of {rows} × {columns}: at most {MAX_KERNEL_SIDE} rows and columns"
        );
    }
    let random = |(rows, columns)| Array2::from_shape_simple_fn((rows, columns), || rng.random_range(-1.0..1.0));
    let kernels = sizes.into_iter().map(random).collect();
    let device = Device::open(arguments.device, &kernels_gpu::ptx::CORRELATION)?;
    let work = Work { device, pixels: image.mapv(f32::from), image, kernels };

    let mut report = Report::new("filters", json);
    report.fact("size", vec![work.image.nrows(), work.image.ncols()]);
    report.fact("seed", seed);
    report.fact("cores", threads);
    report.fact("device", work.device.name());
    if let Some(folder) = &arguments.out {
        pictures::write(&mut report, folder, &work.image)?;
    }
    checks::run(&mut report, &work, arguments.ladder)?;
    if report.all_passed() {
        times::run(&mut report, &work, repeats, threads, arguments.ladder)?;
    }
    Ok(report.finish())
}

/// "3×5" for a kernel of three rows and five columns.
fn size_of(kernel: &ArrayRef2<f32>) -> String {
    format!("{}×{}", kernel.nrows(), kernel.ncols())
}

/// Maximum rows and columns of a kernel. Its check takes a minute for the default image.
const MAX_KERNEL_SIDE: usize = 256;

/// Checks that memory is large enough for the image in both types, a reference in double precision
/// with its tolerances, and three results, all at the same time.
fn require_image_memory(rows: usize, columns: usize) -> Result<()> {
    const BYTES_PER_PIXEL: usize = 1 + 4 + 2 * 8 + 3 * 4;
    let bytes = rows.checked_mul(columns).and_then(|pixels| u64::try_from(pixels.checked_mul(BYTES_PER_PIXEL)?).ok());
    require_memory(&format!("the correlation of a {rows} × {columns} image"), bytes)
}
