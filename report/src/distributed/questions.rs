//! The questions, with answers derived from the figures.

use distributed_functions::{Measured, Model, bytes_by_formula};

use super::{Figures, Trained};
use crate::questions::{CaptionedChart, CaptionedTable, Question, text};
use crate::tables::FormattedTable;
use crate::words::{accuracy, counted, grouped, listed, percent, seconds, significant};

/// Minimum relative difference that distinguishes two times, since each run was made only once.
const MIN_DIFFERENCE: f64 = 0.1;

/// The assignment's questions, in its order.
pub(super) fn all(figures: &Figures) -> Vec<Question> {
    vec![
        synchronous(figures),
        asynchronous(figures),
        times(figures),
        amdahl(figures),
        gustafson(figures),
        two_masters(figures),
        four_masters(figures),
        split_masters(figures),
        accuracies(figures),
        divergence(figures),
        advantages(figures),
        all_reduces(figures),
        complexity(figures),
    ]
}

/// "2 ranks", or "4 ranks on 2 cores" if there are more ranks than cores.
fn ranks_on(count: usize, figures: &Figures) -> String {
    let cores = figures.machine.cores;
    let ranks = counted(count, "rank");
    if count > cores { format!("{ranks} on {}", counted(cores, "core")) } else { ranks }
}

/// Compares a time with another one, which must be greater than 0.
fn compared(subject: f64, object: f64) -> String {
    let ratio = object / subject;
    match ratio {
        _ if ratio > 1.0 + MIN_DIFFERENCE => format!("{} times as fast as", significant(ratio)),
        _ if ratio < 1.0 / (1.0 + MIN_DIFFERENCE) => format!("{} times as long as", significant(1.0 / ratio)),
        _ => "about as long as".to_owned(),
    }
}

fn synchronous(figures: &Figures) -> Question {
    text(
        "How does the synchronous network work?",
        [
            format!(
                "Every rank has the whole network, {}, and all images. Of each batch of B samples it takes B/n and computes their gradients, \
                 layer by layer from the last to the first. A gradient of a batch is a sum over its samples, so the sum of the ranks’ \
                 gradients is that of the whole batch. A ring all-reduce for each layer gives it to every rank, the last layer’s while those of \
                 the layer before are computed; then every rank makes the same update.",
                figures.sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join("-")
            ),
            "All ranks draw the same initial weights from the same seed, and the all-reduce gives all the same bits: the networks stay equal \
             without being sent. Only the order of the sums depends on n, and with it the rounding."
                .to_owned(),
        ],
    )
}

fn asynchronous(_figures: &Figures) -> Question {
    text(
        "How does the asynchronous network work?",
        [
            "The last M ranks are masters; layer i belongs to master i mod M. A worker computes the gradients of a batch of its own, sends each \
             layer’s to the layer’s master by non-blocking messages, and receives the layer’s parameters after the update. A master answers in \
             the order of arrival. No worker waits for another, except where the network is measured, after the last epoch."
                .to_owned(),
            "Meanwhile the other workers have changed the parameters: a gradient belongs to parameters that are as many updates old as the others \
             have made. That number is its staleness. Here a master divides the learning rate by it, unless a run is said to ignore it."
                .to_owned(),
        ],
    )
}

/// Adds rows for runs, with their speed-up over the first run.
fn push_runs(table: &mut FormattedTable, runs: &[Trained], figures: &Figures) {
    let first = runs.first().map_or(0, |run| run.batch);
    for run in runs {
        // A batch that grows with the number of ranks is shown as a product.
        let batch = if run.batch == first { first.to_string() } else { format!("{} × {first}", run.ranks) };
        table.push([
            ranks_on(run.ranks, figures),
            batch,
            seconds(run.seconds_of_epoch()),
            seconds(run.seconds_of_step(figures.images[0])),
            runs.first().map_or_else(String::new, |one| significant(one.seconds_of_epoch() / run.seconds_of_epoch())),
            accuracy(run.accuracy),
        ]);
    }
}

/// The table of synchronous runs.
fn table_of(all: &[&[Trained]], figures: &Figures, name: &'static str, caption: String) -> CaptionedTable {
    let mut table = FormattedTable::new(["ranks", "batch", "epoch", "step", "speed-up", "test accuracy"]);
    all.iter().for_each(|runs| push_runs(&mut table, runs, figures));
    CaptionedTable { name, caption, table }
}

/// Compares the runs on several ranks with the run on one.
fn sentence(runs: &[Trained], figures: &Figures) -> String {
    let Some((one, others)) = runs.split_first().filter(|(_, others)| !others.is_empty()) else {
        return "Only one rank was measured.".to_owned();
    };
    let on = |run: &Trained| {
        let times = compared(run.seconds_of_epoch(), one.seconds_of_epoch());
        format!("on {} {} ({times} on one)", ranks_on(run.ranks, figures), seconds(run.seconds_of_epoch()))
    };
    let others: Vec<String> = others.iter().map(on).collect();
    format!("An epoch takes {} on one rank, {}.", seconds(one.seconds_of_epoch()), listed(&others))
}

fn times(figures: &Figures) -> Question {
    let runs = &figures.small_batches;
    let caption = "Synchronous training by the homework’s settings; one rank is the original. Every run was made once.";
    Question {
        table: Some(table_of(&[runs], figures, "small", caption.to_owned())),
        ..text(
            "How long does the synchronous network take on 4, 8 and 16 cores, beside the original?",
            [sentence(runs, figures), lacking_cores(figures)].into_iter().chain(cost_of_messages(figures)),
        )
    }
}

/// Says how ranks share the available cores.
fn lacking_cores(figures: &Figures) -> String {
    let cores = figures.machine.cores;
    let most = figures.small_batches.iter().map(|run| run.ranks).max().unwrap_or(0);
    match most > cores {
        true => format!(
            "This machine has {}, so more ranks than that share them: these times are measured as they are, and are none of a machine \
             with a core for each rank.",
            counted(cores, "core")
        ),
        false => format!("Each rank has a core: the machine has {cores}."),
    }
}

/// The fitted model of the ring on the smallest number of ranks, and that number.
fn model(figures: &Figures) -> Option<(usize, Model)> {
    let measured = figures.all_reduce.first()?;
    let times: Vec<(f64, f64)> = measured.lengths.iter().map(|row| (8.0 * row.length as f64, row.seconds[1])).collect();
    Some((measured.ranks, Model::of_ring(measured.ranks, &times)?))
}

/// Compares the time of a step's messages with the time that sharing the step saves. `None` without
/// a model of the ring.
fn cost_of_messages(figures: &Figures) -> Option<String> {
    let (one, (ranks, model)) = (figures.small_batches.first()?, model(figures)?);
    let step = one.seconds_of_step(figures.images[0]);
    let sum = model.of_length(ranks, figures.bytes as f64);
    let saved = step * (1.0 - 1.0 / ranks as f64);
    let verdict = match sum > saved {
        true => "more than sharing the computation saves",
        false => "less than sharing the computation saves",
    };
    Some(format!(
        "Every step sends the gradients of the whole network, {} kB, whatever the size of the batch. A step on {} takes one rank {}. {} save \
         {} of it, but their all-reduce of this buffer takes {} by the times of question 12: {verdict}.",
        significant(figures.bytes as f64 / 1e3),
        counted(one.batch, "image"),
        seconds(step),
        counted(ranks, "rank"),
        seconds(saved),
        seconds(sum),
    ))
}

/// The run on one rank, and the run on the largest number of ranks with a core each.
fn on_own_cores<'a>(runs: &'a [Trained], figures: &Figures) -> Option<(&'a Trained, &'a Trained)> {
    let has_cores = |run: &&Trained| run.ranks > 1 && run.ranks <= figures.machine.cores;
    Some((runs.first()?, runs.iter().filter(has_cores).max_by_key(|run| run.ranks)?))
}

fn amdahl(figures: &Figures) -> Question {
    let runs = &figures.large_batches;
    let batch = runs.first().map_or(0, |run| run.batch);
    let mut paragraphs = vec![format!(
        "By Amdahl’s. The problem is fixed: a batch of a given size is split, and every rank gets less (strong scaling). Whatever is not \
         divided by n bounds the speed-up: the update, which every rank makes in full, and the all-reduce. The computation grows with \
         the batch, and the message does not; in batches of {batch} there are {} times as many samples for each byte that is sent. {}",
        significant(batch as f64 / figures.small_batches.first().map_or(1, |run| run.batch).max(1) as f64),
        sentence(runs, figures),
    )];
    paragraphs.push(match on_own_cores(runs, figures) {
        Some((one, most)) => {
            let speedup = one.seconds_of_epoch() / most.seconds_of_epoch();
            let fraction = match crate::statements::cores::serial_fraction(speedup, most.ranks) {
                Some(fraction) => format!("the serial fraction of Karp and Flatt is {}", significant(fraction)),
                None => "no serial fraction between 0 and 1 follows".to_owned(),
            };
            let (ranks, speedup) = (counted(most.ranks, "rank"), significant(speedup));
            format!("On {ranks} the speed-up is {speedup}; {fraction}.")
        }
        None => "No more ranks than cores were measured, so no serial fraction is stated.".to_owned(),
    });
    let caption = format!(
        "Synchronous training by Adam, on batches of {batch}, and on a batch for each rank. Speed-ups are over the one rank above. Every run \
         was made once."
    );
    Question {
        table: Some(table_of(&[runs, &figures.own_batches], figures, "large", caption)),
        ..text("By which law does it gain, Amdahl’s or Gustafson’s?", paragraphs)
    }
}

fn gustafson(figures: &Figures) -> Question {
    let mut paragraphs = vec![
        "Gustafson’s law needs a problem that grows with n: a batch for each rank instead of a share of one (weak scaling), so a rank \
         computes as long as before and only the messages are added."
            .to_owned(),
    ];
    if let Some((one, most)) = on_own_cores(&figures.own_batches, figures) {
        let images = figures.images[0];
        let (alone, step) = (one.seconds_of_step(images), most.seconds_of_step(images));
        paragraphs.push(format!(
            "With {} samples for each rank a step takes {} on one rank and {} on {}, which computes {} times as many samples: a scaled speed-up \
             of {}.",
            one.batch,
            seconds(alone),
            seconds(step),
            counted(most.ranks, "rank"),
            most.ranks,
            significant(most.ranks as f64 * alone / step),
        ));
    }
    if let Some((one, most)) = figures.own_batches.first().zip(figures.own_batches.last()).filter(|(a, b)| a != b) {
        paragraphs.push(format!(
            "But a larger batch makes fewer steps in an epoch: after {} the test accuracy is {} with batches of {} and {} with batches of {}, by \
             the same learning rate.{}",
            counted(one.epochs, "epoch"),
            accuracy(one.accuracy),
            one.batch,
            accuracy(most.accuracy),
            most.batch,
            caution(figures),
        ));
    }
    text("What does the other law need?", paragraphs)
}

/// The cores in the assignment's sense: workers and masters.
fn cores_of(run: &Trained) -> usize {
    run.ranks.saturating_add(run.masters)
}

/// Describes the runs with a number of masters.
fn by_masters(figures: &Figures, masters: usize) -> String {
    let runs: Vec<&Trained> = figures.asynchronous.iter().filter(|run| run.masters == masters).collect();
    let Some(first) = runs.first() else { return format!("No run with {masters} masters was measured.") };
    let of_run = |run: &&Trained| {
        let workers = format!("on {} cores ({})", cores_of(run), counted(run.ranks, "worker"));
        match run.diverged {
            true => format!("{workers} the loss becomes infinite"),
            false => {
                format!(
                    "{workers} an epoch takes {}, and the test accuracy is {}",
                    seconds(run.seconds_of_epoch()),
                    accuracy(run.accuracy)
                )
            }
        }
    };
    let runs: Vec<String> = runs.iter().map(of_run).collect();
    format!("After {}: {}.", counted(first.epochs, "epoch"), runs.join("; "))
}

fn two_masters(figures: &Figures) -> Question {
    let mut table = FormattedTable::new([
        "cores",
        "masters",
        "workers",
        "staleness",
        "epoch",
        "test accuracy",
        "staleness ignored",
    ]);
    let shown = |run: &Trained| if run.diverged { "diverged".to_owned() } else { accuracy(run.accuracy) };
    for run in &figures.asynchronous {
        let ignoring = figures.ignoring.iter().find(|other| (other.ranks, other.masters) == (run.ranks, run.masters));
        table.push([
            cores_of(run).to_string(),
            run.masters.to_string(),
            run.ranks.to_string(),
            run.staleness.map_or("–".to_owned(), significant),
            if run.diverged { "–".to_owned() } else { seconds(run.seconds_of_epoch()) },
            shown(run),
            ignoring.map_or("–".to_owned(), shown),
        ]);
    }
    let mut paragraphs = vec![by_masters(figures, 2)];
    if let Some(one) = figures.small_batches.first() {
        paragraphs.push(format!(
            "The original network takes {} for an epoch of the same batches. The cores of the assignment are ranks here, workers and masters \
             together; the machine has {}.",
            seconds(one.seconds_of_epoch()),
            counted(figures.machine.cores, "core"),
        ));
    }
    Question {
        table: Some(CaptionedTable {
            name: "workers",
            caption: "Asynchronous training (ReLU, softmax and cross-entropy, learning rate 0.01) in batches of 16 for each worker. The last \
                      column is the test accuracy of the same run where masters ignore the staleness. Every run was made once."
                .to_owned(),
            table,
        }),
        ..text(
            "With 2 masters on 4 and 8 cores, how long does the asynchronous network take, and how accurate is it?",
            paragraphs,
        )
    }
}

fn four_masters(figures: &Figures) -> Question {
    let layers = figures.sizes.len().saturating_sub(1);
    let idle = match layers < 4 {
        true => format!(" The network has {}, so only {layers} of 4 masters own any.", counted(layers, "layer")),
        false => String::new(),
    };
    text("And with 4 masters on 8 and 16 cores?", [format!("{}{idle}", by_masters(figures, 4))])
}

fn split_masters(figures: &Figures) -> Question {
    let share = figures.sizes.windows(2).next().map_or(0.0, |pair| 4.0 * (pair[0] as f64 + 1.0) * pair[1] as f64)
        / (figures.bytes as f64).max(1.0);
    let mut paragraphs = vec![format!(
        "One master receives all gradients and sends all parameters: {} kB in and out for each batch of each worker, and every update is its \
         work. Masters that own different layers share both, and on machines of their own each has an interface to the network, a memory and \
         a processor for itself. The shares are those of the layers, though: the first layer has {} of the parameters here, so a second \
         master takes over {} only.",
        significant(figures.bytes as f64 / 1e3),
        percent(share),
        percent(1.0 - share)
    )];
    if let Some(one) = figures.one_master.as_ref().filter(|one| !one.diverged)
        && let Some(two) =
            figures.asynchronous.iter().find(|two| (two.ranks, two.masters) == (one.ranks, 2) && !two.diverged)
    {
        paragraphs.push(format!(
            "Measured with {} workers, all ranks on one machine: an epoch takes {} with two masters and {} with one, {} with one.",
            two.ranks,
            seconds(two.seconds_of_epoch()),
            seconds(one.seconds_of_epoch()),
            compared(two.seconds_of_epoch(), one.seconds_of_epoch()),
        ));
    }
    text("Why are the masters split over machines?", paragraphs)
}

/// The smallest and the largest accuracy.
fn range<'a>(runs: impl Iterator<Item = &'a Trained> + Clone) -> Option<(f64, f64)> {
    let accuracies = || runs.clone().filter(|run| !run.diverged).map(|run| run.accuracy);
    Some((accuracies().min_by(f64::total_cmp)?, accuracies().max_by(f64::total_cmp)?))
}

/// A caveat if the images are not MNIST's.
fn caution(figures: &Figures) -> String {
    if figures.is_mnist {
        return String::new();
    }
    format!(" These are accuracies on {}, not on MNIST.", figures.data)
}

fn accuracies(figures: &Figures) -> Question {
    let answer = |runs: &[Trained]| {
        let (lowest, highest) = range(runs.iter())?;
        let most = runs.last()?.ranks;
        let points = significant(100.0 * (highest - lowest));
        Some(match highest - lowest < 0.002 {
            true if lowest == highest => {
                format!("Synchronously it does not: it is {} for 1 to {most} ranks.", accuracy(lowest))
            }
            true => format!(
                "Synchronously it does not: it is {} to {} for 1 to {most} ranks, a difference of {points} points, which is due to rounding.",
                accuracy(lowest),
                accuracy(highest)
            ),
            false => format!(
                "Synchronously it is {} to {} for 1 to {most} ranks, {points} points apart.",
                accuracy(lowest),
                accuracy(highest)
            ),
        })
    };
    let mut paragraphs: Vec<String> = answer(&figures.small_batches)
        .map(|answer| {
            format!("{answer} A batch has the same samples on any number of ranks, and its gradient is the same sum.")
        })
        .into_iter()
        .collect();
    let of_masters = |masters: usize| {
        let mut runs = figures.asynchronous.iter().filter(move |run| run.masters == masters);
        let (lowest, highest) = range(runs.clone())?;
        let (first, last) = (runs.clone().next()?.ranks, runs.next_back()?.ranks);
        Some(format!(
            "{} to {} with {masters} masters for {first} to {last} workers",
            accuracy(lowest),
            accuracy(highest)
        ))
    };
    let parts: Vec<String> = [2, 4].into_iter().filter_map(of_masters).collect();
    if !parts.is_empty() {
        paragraphs.push(format!(
            "Asynchronously, with a learning rate that is divided by the staleness, it is {}.{}",
            listed(&parts),
            caution(figures)
        ));
    }
    Question {
        charts: vec![
            CaptionedChart {
                name: "synchronous",
                caption: "Final test accuracy of the synchronous network by number of ranks.".to_owned(),
            },
            CaptionedChart {
                name: "asynchronous",
                caption: "Final test accuracy of the asynchronous network by number of workers. A run that diverged has no point.".to_owned(),
            },
        ],
        ..text("How does the final accuracy depend on the number of workers?", paragraphs)
    }
}

fn divergence(figures: &Figures) -> Question {
    let mut paragraphs = vec![
        "With w workers, w − 1 others update the parameters between a worker’s two visits. Its gradient points downhill from a place that the \
         network has left, and is applied in full: steps of all workers from the same place add up to one that is w times too long. Beyond a \
         learning rate that the loss bears, each step ends higher than it began."
            .to_owned(),
    ];
    for run in &figures.ignoring {
        let same = |other: &&Trained| (other.ranks, other.masters) == (run.ranks, run.masters);
        let Some(aware) = figures.asynchronous.iter().find(same).filter(|aware| !aware.diverged) else { continue };
        let ended = match run.diverged {
            true => "the loss becomes infinite".to_owned(),
            false => format!("the test accuracy is {}", accuracy(run.accuracy)),
        };
        let verdict = match run.diverged || run.accuracy < aware.accuracy - 0.02 {
            true => "the stale steps are too long",
            false => "the stale steps are still short enough",
        };
        let stale =
            run.staleness.map_or(String::new(), |staleness| format!(" ({} on average)", significant(staleness)));
        paragraphs.push(format!(
            "If {} masters ignore the staleness of {}{stale}, {ended}; with the learning rate divided by it, {}: {verdict}.",
            run.masters,
            counted(run.ranks, "worker"),
            accuracy(aware.accuracy),
        ));
    }
    // A single paragraph for the figures.
    let figures = paragraphs.split_off(1).join(" ");
    paragraphs.extend((!figures.is_empty()).then_some(figures));
    text("Why does the asynchronous network diverge with many workers?", paragraphs)
}

fn advantages(figures: &Figures) -> Question {
    let mut paragraphs = vec![
        "Synchronous: every update uses the whole batch, so the result is the same as with one rank, and does not change from run to run; no \
         learning rate depends on n; there is no master to become a bottleneck. But every step waits for the slowest rank and for the sum."
            .to_owned(),
        "Asynchronous: no worker waits for another, so a slow one delays only its own batches. But \
         gradients are stale, the order of updates and with it the result changes from run to run, and all traffic goes through the masters."
            .to_owned(),
    ];
    let same = figures.small_batches.iter().rev().find_map(|synchronous| {
        let is_same = |run: &&Trained| cores_of(run) == synchronous.ranks && run.masters == 2 && !run.diverged;
        Some((synchronous, figures.asynchronous.iter().find(is_same)?))
    });
    if let Some((synchronous, asynchronous)) = same {
        paragraphs.push(format!(
            "On {} an epoch takes {} synchronously and {} asynchronously with 2 masters, {} synchronously.",
            ranks_on(synchronous.ranks, figures),
            seconds(synchronous.seconds_of_epoch()),
            seconds(asynchronous.seconds_of_epoch()),
            compared(asynchronous.seconds_of_epoch(), synchronous.seconds_of_epoch()),
        ));
    }
    text("What are the advantages of each?", paragraphs)
}

fn all_reduces(figures: &Figures) -> Question {
    let mut table = FormattedTable::new(["ranks", "f64", "naive", "ring", "MPI_Allreduce", "ring / naive"]);
    for on_ranks in &figures.all_reduce {
        for row in &on_ranks.lengths {
            let [naive, ring, mpi] = row.seconds.map(seconds);
            let share = significant(row.seconds[1] / row.seconds[0]);
            table.push([ranks_on(on_ranks.ranks, figures), grouped(row.length), naive, ring, mpi, share]);
        }
    }
    let faster = |on_ranks: &super::AllReduces| {
        let of_row = |row: &Measured| {
            format!(
                "{} of the naive one’s time for {} elements",
                significant(row.seconds[1] / row.seconds[0]),
                grouped(row.length)
            )
        };
        let ends: Vec<String> = match &on_ranks.lengths[..] {
            [] => return None,
            [only] => vec![of_row(only)],
            [first, .., last] => vec![of_row(first), of_row(last)],
        };
        Some(format!("On {} the ring takes {}.", ranks_on(on_ranks.ranks, figures), listed(&ends)))
    };
    let mut paragraphs = vec![figures.all_reduce.iter().filter_map(faster).collect::<Vec<_>>().join(" ")];
    if let Some((ranks, model)) = model(figures) {
        paragraphs.push(format!(
            "A latency of {} and a bandwidth of {} fit the ring’s times on {}.",
            seconds(model.latency),
            crate::words::bandwidth(model.bandwidth),
            ranks_on(ranks, figures)
        ));
    }
    Question {
        table: Some(CaptionedTable {
            name: "all-reduce",
            caption:
                "All-reduce of f64: medians of the time of the slowest rank. Every result was checked on every rank."
                    .to_owned(),
            table,
        }),
        ..text("How do naive and ring all-reduce compare on 2, 4 and 8 cores?", paragraphs)
    }
}

fn complexity(figures: &Figures) -> Question {
    let mut table =
        FormattedTable::new(["ranks", "naive: each sends", "naive: in all", "ring: each sends", "ring: in all"]);
    let (mut length, mut is_by_formula) = (0, !figures.all_reduce.is_empty());
    for on_ranks in figures.all_reduce.iter().filter(|on_ranks| on_ranks.ranks > 0) {
        let Some(row) = on_ranks.lengths.last() else { continue };
        length = row.length;
        is_by_formula &= on_ranks.lengths.iter().all(|row| is_sent_by_formula(on_ranks.ranks, row));
        let [naive, ring] =
            row.sent.map(|bytes| [bytes / on_ranks.ranks as u64, bytes].map(|bytes| format!("{} B", grouped(bytes))));
        let ([naive_each, naive_all], [ring_each, ring_all]) = (naive, ring);
        table.push([on_ranks.ranks.to_string(), naive_each, naive_all, ring_each, ring_all]);
    }
    let counted = match is_by_formula {
        true => "The counted bytes equal the formulas for all lengths.",
        false => "The counted bytes do not equal the formulas for all lengths.",
    };
    Question {
        table: Some(CaptionedTable {
            name: "bytes",
            caption: format!("Bytes sent in an all-reduce of {} f64, counted; each rank’s are the mean.", grouped(length)),
            table,
        }),
        ..text(
            "What is the complexity of both?",
            [
                "Naive: every rank sends its buffer of L bytes to each of the n − 1 others and adds all n by itself. Each process sends \
                 (n − 1) L bytes, O(n L), and all send n (n − 1) L, O(n² L), in n − 1 messages each, which are on their way at the same time."
                    .to_owned(),
                "Ring: the buffer is cut into n parts. In n − 1 steps every rank passes a part to its right neighbour, which adds its own \
                 (reduce-scatter); in n − 1 further steps the finished parts go round (all-gather). Each process sends 2 (n − 1) L/n bytes, less \
                 than 2 L for any n, O(L), and all send 2 (n − 1) L, O(n L). With a latency α and a bandwidth β the time is \
                 2 (n − 1) (α + L/(n β)): for long buffers it hardly depends on n, for short ones the latencies count."
                    .to_owned(),
                counted.to_owned(),
            ],
        )
    }
}

/// Whether the counted bytes agree with the formulas. Figures from a file may have arbitrary values.
fn is_sent_by_formula(ranks: usize, row: &Measured) -> bool {
    let is_small = ranks <= 1 << 16 && row.length <= 1 << 28;
    is_small && row.sent == bytes_by_formula(ranks, row.length)
}
