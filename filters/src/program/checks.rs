use anyhow::Result;
use filters::{
    CorrelationGpu, EDGES, NEIGHBOURS, Reference, correlation_gpu, correlation_rayon, correlation_trivial,
    sobel_operator,
};
use ndarray::{Array2, ArrayRef2, s};
use timing::Report;

use super::{Work, size_of};

/// Maximum rows and columns to check on the simulator and the interpreter, to keep checks within seconds.
const MAX_SIMULATED: (usize, usize) = (200, 200);

/// Checks every version with every kernel.
pub(super) fn run(report: &mut Report, work: &Work, ladder: bool) -> Result<()> {
    for kernel in &work.kernels {
        let (size, reference) = (size_of(kernel), Reference::of(kernel, &work.pixels));
        report.check(
            &format!("correlation_trivial {size}"),
            reference.verify(&correlation_trivial(kernel, &work.pixels)),
        );
        report.check(&format!("correlation_rayon {size}"), reference.verify(&correlation_rayon(kernel, &work.pixels)));
        check_gpu(report, work, kernel, ladder)?;
    }
    for filter in EDGES {
        let edges = sobel_operator(&filter.kernel(), &work.image);
        report.check(&format!("sobel_operator {}", filter.name), verify_edges(&filter.kernel(), &work.image, &edges));
    }
    let (name, kernel) = (NEIGHBOURS.name, NEIGHBOURS.kernel());
    let reference = Reference::of(&kernel, &work.image);
    report.check(&format!("correlation_rayon {name}"), reference.verify(&correlation_rayon(&kernel, &work.image)));
    Ok(())
}

/// Checks the fastest kernel, or every rung with `ladder`. Without a GPU, checks only the upper
/// left part of a large image.
fn check_gpu(report: &mut Report, work: &Work, kernel: &ArrayRef2<f32>, ladder: bool) -> Result<()> {
    let Work { device, pixels, .. } = work;
    let (rows, columns) = match device.is_gpu() {
        true => pixels.dim(),
        false => (pixels.nrows().min(MAX_SIMULATED.0), pixels.ncols().min(MAX_SIMULATED.1)),
    };
    let part = pixels.slice(s![..rows, ..columns]);
    let place = match part.dim() == pixels.dim() {
        true => device.remark(),
        false => format!(" ({}, the first {rows} × {columns})", device.name()),
    };
    let (size, reference) = (size_of(kernel), Reference::of(kernel, &part));
    if !ladder {
        let outcome = reference.verify(&correlation_gpu(device, kernel, &part)?);
        report.check_on(&format!("correlation_gpu {size}"), &place, outcome);
        return Ok(());
    }
    let mut gpu = CorrelationGpu::new(device, kernel, &part)?;
    for &rung in gpu.rungs() {
        gpu.launch(rung)?;
        let name = format!("correlation_gpu {size}, rung {}", rung.name());
        report.check_on(&name, &place, reference.verify(&gpu.result()?));
    }
    Ok(())
}

/// Checks edges against the trivial correlations, which are exact for integer pixels and coefficients.
fn verify_edges(filter: &ArrayRef2<f32>, image: &ArrayRef2<u8>, edges: &Array2<f32>) -> Result<(), String> {
    let (x, y) = (correlation_trivial(filter, image), correlation_trivial(&filter.t(), image));
    for ((((row, column), &got), x), y) in edges.indexed_iter().zip(&x).zip(&y) {
        let expected = (x * x + y * y).sqrt();
        if got != expected {
            return Err(format!("out[{row}][{column}] is {got}, expected {expected} (Gx = {x}, Gy = {y})"));
        }
    }
    Ok(())
}
