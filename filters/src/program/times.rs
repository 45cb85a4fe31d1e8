use std::num::NonZeroUsize;

use anyhow::{Context, Result};
use command_line::counted;
use filters::{
    CorrelationGpu, EDGES, NEIGHBOURS, SOBEL, correlation_gpu, correlation_rayon, correlation_trivial, factors, label,
    sobel_operator,
};
use ndarray::ArrayRef2;
use timing::{Measurement, Report, measure};

use super::{Work, size_of};

/// Times every version with every kernel, and the assignment's filters.
pub(super) fn run(report: &mut Report, work: &Work, repeats: NonZeroUsize, threads: usize, ladder: bool) -> Result<()> {
    let (pixels, threads) = (&work.pixels, counted(threads, "thread"));
    for kernel in &work.kernels {
        let [trivial, rayon] = ["Trivial", "Rayon"].map(|name| format!("{name} {}", size_of(kernel)));
        report.time(&trivial, "", measure(repeats, || correlation_trivial(kernel, pixels)));
        report.time(&rayon, &format!(", {threads}"), measure(repeats, || correlation_rayon(kernel, pixels)));
        report.speedup(&rayon, &trivial);
    }
    for filter in EDGES.into_iter().chain([NEIGHBOURS]) {
        let kernel = filter.kernel();
        let note = format!(", {}, {threads}", passes(&kernel));
        report.time(&format!("Rayon {}", filter.name), &note, measure(repeats, || correlation_rayon(&kernel, pixels)));
    }
    let sobel = measure(repeats, || sobel_operator(&SOBEL.kernel(), pixels));
    report.time("Sobel operator", &format!(", {threads}"), sobel);
    match work.device.is_gpu() {
        true => time_cuda(report, work, repeats, ladder)?,
        false => report.remark("cuda", &work.device.why_not_timed()),
    }
    Ok(())
}

/// How the parallel version computes a kernel's sums.
fn passes(kernel: &ArrayRef2<f32>) -> String {
    let size = size_of(kernel);
    match factors(kernel) {
        Some((column, row)) => format!("{size} separable: {} + {} multiply-adds", column.len(), row.len()),
        None => format!("{size} not separable: {} multiply-adds", kernel.len()),
    }
}

/// Times the kernel alone, by GPU events and with the image in the GPU's memory, and the whole
/// function including copies. With `ladder`, times every rung's kernel.
fn time_cuda(report: &mut Report, work: &Work, repeats: NonZeroUsize, ladder: bool) -> Result<()> {
    let Work { device, pixels, .. } = work;
    for kernel in &work.kernels {
        let size = size_of(kernel);
        let mut sets = CorrelationGpu::beyond_cache(device, kernel, pixels)?;
        let count = sets.len();
        let rungs = sets[0].rungs();
        for &rung in if ladder { rungs } else { &rungs[rungs.len() - 1..] } {
            let seconds = device.time_repeats(repeats, |call| sets[call % count].launch(rung))?;
            let measurement = seconds.and_then(Measurement::of).context("the GPU measured no time")?;
            let name = match ladder {
                true => format!("{} {size} {}", label::KERNEL, rung.name()),
                false => format!("{} {size}", label::KERNEL),
            };
            report.time(&name, &format!(", {}", device.name()), measurement);
            report.speedup(&name, &format!("Trivial {size}"));
        }
        drop(sets);
        let with_copies = format!("{} {size}", label::WITH_COPIES);
        report.time(&with_copies, ", with copies", measure(repeats, || correlation_gpu(device, kernel, pixels)));
        report.speedup(&with_copies, &format!("Rayon {size}"));
    }
    report.gpu_facts(device.l2_bytes(), device.clock_rate()?);
    Ok(())
}
