//! Sentences about a GPU's times, or the reason why there are none.

use super::{Statement, comparison};
use crate::figures::{Counts, Figures, Gpu, GpuRun, KernelCounts, PeerTime};
use crate::timed::{Table, Timed, rows};
use crate::words::{grouped, percent, seconds, significant};

/// The origin of the GPU's figures, or the reason why there are none.
fn origin(figures: &Figures) -> String {
    match &figures.gpu {
        Gpu::Measured(run) => format!("Measured on this machine's {}.", run.gpu.name),
        Gpu::Recorded { file, date, run } => format!(
            "No GPU was measured on this machine. The figures were recorded on another machine with the GPU {} on {date} \
             (docs/results/{file}), and are compared only with that machine's processor.{}",
            described(run),
            failed(run)
        ),
        Gpu::Missing(reason) => format!("No GPU times are stated, since none were measured: {reason}."),
    }
}

/// The programs without times because they failed on that machine.
fn failed(run: &GpuRun) -> String {
    if run.failed.is_empty() {
        return String::new();
    }
    let programs: Vec<String> =
        run.failed.iter().map(|failed| format!("{} ({})", failed.program, failed.reason)).collect();
    format!(" Not shown, because they failed there: {}.", programs.join(", "))
}

fn described(run: &GpuRun) -> String {
    match &run.gpu.driver {
        Some(driver) => format!("{} (driver {driver})", run.gpu.name),
        None => run.gpu.name.clone(),
    }
}

pub(super) fn maximum(figures: &Figures) -> Vec<Statement> {
    let mut sentences: Vec<Statement> = vec![origin(figures).into()];
    let Some(gpu) = figures.gpu.run() else {
        sentences.push("The speed-ups max_gpu/max_numba and max_gpu/max_cpu are therefore not stated.".into());
        return sentences;
    };
    let Some(times) = &gpu.maximum else {
        sentences.push("The maximum was not measured there.".into());
        return sentences;
    };
    let table = Table::GpuMaximum;
    let rows = rows(figures, table);
    let [cpu, rayon, kernel, whole] = rows.as_slice() else { return sentences };
    for version in [kernel, whole] {
        sentences.push(comparison(table, version, [cpu, rayon]));
    }
    for version in [kernel, whole] {
        let judgement = max_functions::RULE.judge(cpu.times.median, version.times.median);
        sentences.push(format!("The homework's rule: {}.", judgement.sentence(&version.label)).into());
    }
    sentences.push(numba(figures, kernel, whole).into());
    sentences.extend(python(figures, kernel, whole));
    let copies = times.with_copies.median - times.kernel.median;
    if copies > 0.0 {
        let share = significant(100.0 * copies / times.with_copies.median);
        sentences.push(format!("The copies and their overhead are {share} % of the time with copies.").into());
    }
    sentences
}

/// max_gpu/max_numba, if both ran on the same machine.
fn numba(figures: &Figures, kernel: &Timed, whole: &Timed) -> String {
    let Gpu::Measured(_) = figures.gpu else {
        return "The speed-up max_gpu/max_numba is not stated: Numba was not measured on the GPU's machine; the speed-up over \
                max_rayon replaces it."
            .to_owned();
    };
    match figures.peers.max_numba() {
        Some(numba) => over_peer("max_gpu/max_numba", numba, kernel, whole),
        None => "The speed-up max_gpu/max_numba is not stated: Numba was not measured; the speed-up over max_rayon replaces it."
            .to_owned(),
    }
}

/// The speed-up over the homework's interpreted loops, if they ran on the same machine.
fn python(figures: &Figures, kernel: &Timed, whole: &Timed) -> Option<Statement> {
    let Gpu::Measured(_) = figures.gpu else { return None };
    let slowest = figures.peers.of(crate::figures::Exercise::Maximum).filter(|peer| peer.label.starts_with("Python"));
    let slowest = slowest.max_by(|a, b| a.times.median.total_cmp(&b.times.median))?;
    Some(over_peer("max_gpu/interpreted Python", slowest, kernel, whole).into())
}

fn over_peer(what: &str, peer: &PeerTime, kernel: &Timed, whole: &Timed) -> String {
    format!(
        "The speed-up {what} by the medians is {} for the kernel alone and {} with copies ({}: {}).",
        significant(peer.times.median / kernel.times.median),
        significant(peer.times.median / whole.times.median),
        peer.label,
        seconds(peer.times.median)
    )
}

pub(super) fn product(figures: &Figures) -> Vec<Statement> {
    let mut sentences = Vec::new();
    let rows = rows(figures, Table::GpuProduct);
    if let [trivial, rayon, rungs @ .., whole] = rows.as_slice() {
        sentences.push(origin(figures).into());
        for pair in rungs.windows(2) {
            sentences.push(comparison(Table::GpuProduct, &pair[1], [&pair[0]]));
        }
        sentences.extend(rungs.last().map(|highest| comparison(Table::GpuProduct, highest, [trivial])));
        sentences.push(comparison(Table::GpuProduct, whole, [rayon]));
        sentences.extend(one_multiprocessor(figures).map(Statement::from));
    } else {
        match &figures.gpu {
            Gpu::Missing(reason) => sentences.push(format!("No rung was timed: {reason}.").into()),
            _ => sentences.push("No rung was timed there.".into()),
        }
    }
    sentences.extend(counted(figures));
    sentences
}

/// The fraction of one multiprocessor's peak, since the kernels run as one block.
fn one_multiprocessor(figures: &Figures) -> Option<String> {
    let run = figures.gpu.run()?;
    let (highest, peak) = (run.product.as_ref()?.rungs.last()?, run.gpu.multiprocessor_operations_per_second()?);
    let done = figures.product.operations() / highest.times.median;
    Some(format!(
        "One block runs on one multiprocessor, with a peak of {} at its maximum clock frequency; {} reaches {} of it.",
        crate::words::operations(peak),
        rung(&highest.name),
        percent(done / peak)
    ))
}

/// The interpreter's instruction counts.
fn counted(figures: &Figures) -> Vec<Statement> {
    let counts = match &figures.counts {
        Counts::Counted(counts) => counts,
        Counts::Missing(reason) => {
            return vec![format!("The kernels' instructions were not counted: {reason}.").into()];
        }
    };
    let (Some(first), Some(last)) = (counts.rungs.first(), counts.rungs.last()) else { return Vec::new() };
    let fewer = first.thread_instructions as f64 / last.thread_instructions.max(1) as f64;
    let text = format!(
        "The interpreter counts {} thread instructions for {} and {} for {}, {} times {}; these are counts, not times.",
        grouped(first.thread_instructions),
        rung(&first.name),
        grouped(last.thread_instructions),
        rung(&last.name),
        significant(if fewer < 1.0 { 1.0 / fewer } else { fewer }),
        if fewer < 1.0 { "as many" } else { "fewer" },
    );
    let useful = format!(
        "Of the issued warp instructions, {} are multiply-adds that the result needs in {}, and {} in {}: with at most one \
         multiply-add per lane and cycle, this share is an upper bound on the share of the compute roof.",
        percent(needed_share(counts, 0)),
        rung(&first.name),
        percent(needed_share(counts, counts.rungs.len() - 1)),
        rung(&last.name)
    );
    vec![text.into(), useful.into()]
}

/// Formats "1 naive" as "rung 1 (naive)".
fn rung(name: &str) -> String {
    match name.split_once(' ') {
        Some((number, idea)) => format!("rung {number} ({idea})"),
        None => format!("rung {name}"),
    }
}

/// The fraction of the issued warp instructions that the result needs: multiply-adds on 32 lanes.
pub(crate) fn needed_share(counts: &KernelCounts, rung: usize) -> f64 {
    let issued = counts.rungs.get(rung).map_or(0, |rung| rung.warp_instructions);
    counts.needed() / 32.0 / issued.max(1) as f64
}

pub(super) fn activation(figures: &Figures) -> Vec<Statement> {
    let table = Table::GpuActivation;
    let rows = rows(figures, table);
    let [rayon, three, one, whole, copied] = rows.as_slice() else {
        return match &figures.gpu {
            Gpu::Missing(reason) => vec![format!("No kernel was timed: {reason}.").into()],
            _ => vec!["The activation was not timed there.".into()],
        };
    };
    vec![
        origin(figures).into(),
        comparison(table, one, [three, rayon]),
        comparison(table, whole, [rayon]),
        comparison(table, copied, [whole]),
    ]
}

/// The speed-up of the GPU's maximum in one sentence, for the abstract.
pub(super) fn in_short(figures: &Figures) -> Statement {
    match &figures.gpu {
        Gpu::Missing(_) => {
            "No GPU was available; the GPU kernels were checked without one, and no GPU times are stated.".into()
        }
        Gpu::Measured(_) | Gpu::Recorded { .. } => {
            let rows = rows(figures, Table::GpuMaximum);
            match rows.as_slice() {
                [cpu, _, _, whole] => {
                    let mut sentence = comparison(Table::GpuMaximum, whole, [cpu]);
                    let place = figures.gpu.run().map_or("the GPU", |run| run.gpu.name.as_str());
                    let label =
                        if matches!(figures.gpu, Gpu::Recorded { .. }) { "recorded on" } else { "on this machine's" };
                    sentence.text = format!("{}, {label} {place}.", sentence.text.trim_end_matches('.'));
                    sentence
                }
                _ => "The maximum was not measured on the GPU.".into(),
            }
        }
    }
}

/// Compares the GPU's maximum with the processor's, without and with copies. Without a GPU, states
/// the counts.
pub(super) fn conclusions(figures: &Figures) -> Vec<Statement> {
    let rows = rows(figures, Table::GpuMaximum);
    let (Some(run), [_, rayon, kernel, whole]) = (figures.gpu.run(), rows.as_slice()) else {
        return vec![without_times(figures).into()];
    };
    let place = match &figures.gpu {
        Gpu::Recorded { date, .. } => format!(", recorded on {date}"),
        _ => String::new(),
    };
    let compared = [kernel, whole].map(|version| {
        let mut sentence = comparison(Table::GpuMaximum, version, [rayon]);
        sentence.text = format!("On the {}{place}: {}", run.gpu.name, sentence.text);
        sentence
    });
    compared.into()
}

fn without_times(figures: &Figures) -> String {
    let nothing = "Nothing is said about a GPU's times, since the maximum was not measured on one";
    let Counts::Counted(counts) = &figures.counts else { return format!("{nothing}.") };
    let (Some(first), Some(last)) = (counts.rungs.first(), counts.rungs.last()) else { return format!("{nothing}.") };
    format!(
        "{nothing}; of the instructions that the ladder issues, the result needs {} in {} and {} in {}.",
        percent(needed_share(counts, 0)),
        rung(&first.name),
        percent(needed_share(counts, counts.rungs.len() - 1)),
        rung(&last.name)
    )
}
