//! The questions, and the answers that follow from the figures.

use distributed_functions::{Measured, Model};
use serde::Serialize;

use super::{Figures, Trained};
use crate::tables::FormattedTable;
use crate::words::{accuracy, counted, grouped, listed, percent, seconds, significant};

/// A question with its answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Question {
    question: &'static str,
    paragraphs: Vec<String>,
    table: Option<CaptionedTable>,
    chart: Option<CaptionedChart>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct CaptionedTable {
    name: &'static str,
    caption: String,
    #[serde(flatten)]
    table: FormattedTable,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct CaptionedChart {
    name: &'static str,
    caption: String,
}

/// Minimum relative difference of two times that counts: every run was made once.
const MIN_DIFFERENCE: f64 = 0.1;

/// All questions.
pub(super) fn all(figures: &Figures) -> Vec<Question> {
    vec![
        sharing(figures),
        small_batches(figures),
        reasons(figures),
        large_batches(figures),
        laws(figures),
        accuracies(figures),
        naive(figures),
        ring(figures),
        all_reduces(figures),
        masters(figures),
        asynchronous(figures),
        split_masters(figures),
        machines(figures),
    ]
}

fn text(question: &'static str, paragraphs: impl IntoIterator<Item = String>) -> Question {
    Question { question, paragraphs: paragraphs.into_iter().collect(), table: None, chart: None }
}

/// "2 ranks", and for more ranks than cores "4 ranks on 2 cores".
fn ranks_on(count: usize, figures: &Figures) -> String {
    let cores = figures.machine.cores;
    let ranks = counted(count, "rank");
    if count > cores { format!("{ranks} on {}", counted(cores, "core")) } else { ranks }
}

/// The comparison of a time with another's, which is greater than 0.
fn compared(subject: f64, object: f64) -> String {
    let ratio = object / subject;
    match ratio {
        _ if ratio > 1.0 + MIN_DIFFERENCE => format!("{} times as fast as", significant(ratio)),
        _ if ratio < 1.0 / (1.0 + MIN_DIFFERENCE) => format!("{} times as long as", significant(1.0 / ratio)),
        _ => "about as long as".to_owned(),
    }
}

fn sharing(figures: &Figures) -> Question {
    text(
        "How do synchronous ranks share the work, and why is the result that of one rank?",
        [
            format!(
                "Every rank has the whole network, {}, and all images. Of each batch of B samples it takes B/n and computes their gradients. \
                 A gradient of a batch is a sum over its samples, so that the sum of the ranks' gradients is that of the whole batch. An \
                 all-reduce gives it to every rank, and every rank makes the same update.",
                figures.sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join("-")
            ),
            "All ranks draw the same initial weights from the same seed, and the all-reduce gives all the same bits: the networks stay equal \
             without being sent. Ranks that start from different weights would add gradients of different functions. Only the order of the \
             sums depends on n, and with it the rounding."
                .to_owned(),
        ],
    )
}

/// The table of synchronous runs with the speed-up over the first.
fn table_of(runs: &[Trained], figures: &Figures, name: &'static str, caption: String) -> CaptionedTable {
    let mut table = FormattedTable::new(["ranks", "batch", "epoch", "step", "speed-up", "test accuracy"]);
    for run in runs {
        table.push([
            ranks_on(run.ranks, figures),
            run.batch.to_string(),
            seconds(run.seconds_of_epoch()),
            seconds(run.seconds_of_step(figures.images[0])),
            runs.first().map_or_else(String::new, |one| significant(one.seconds_of_epoch() / run.seconds_of_epoch())),
            accuracy(run.accuracy),
        ]);
    }
    CaptionedTable { name, caption, table }
}

/// The runs on several ranks compared with that on one.
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

fn small_batches(figures: &Figures) -> Question {
    let runs = &figures.small_batches;
    let caption = "Synchronous training by the homework's settings. Every run was made once.".to_owned();
    Question {
        table: Some(table_of(runs, figures, "small", caption)),
        chart: Some(CaptionedChart {
            name: "ranks",
            caption: "Speed-up over one rank by number of ranks: images a second, relative to one rank. Both axes are \
                      logarithmic."
                .to_owned(),
        }),
        ..text("How fast is synchronous training on the homework's small batches?", [sentence(runs, figures)])
    }
}

/// The fitted model of the ring on the fewest ranks, and their number.
fn model(figures: &Figures) -> Option<(usize, Model)> {
    let measured = figures.all_reduce.first()?;
    let times: Vec<(f64, f64)> = measured.lengths.iter().map(|row| (8.0 * row.length as f64, row.seconds[1])).collect();
    Some((measured.ranks, Model::of_ring(measured.ranks, &times)?))
}

fn reasons(figures: &Figures) -> Question {
    const QUESTION: &str = "Why is that so?";
    let (Some(one), Some((ranks, model))) = (figures.small_batches.first(), model(figures)) else {
        return text(QUESTION, ["The all-reduce's times follow no line, so that no reason can be given.".to_owned()]);
    };
    let (step, images) = (one.seconds_of_step(figures.images[0]), one.batch);
    let sum = model.of_length(ranks, figures.bytes as f64);
    let saved = step * (1.0 - 1.0 / ranks as f64);
    let verdict = match sum > saved {
        true => "more than sharing the computation saves",
        false => "less than sharing the computation saves",
    };
    text(
        QUESTION,
        [
            format!(
                "Every step sends the gradients of the whole network, {} kB, whatever the size of the batch. A step on {} takes one rank \
                 {}. {} save {} of it, but their all-reduce of this buffer takes {} by the times of question 9: {verdict}.",
                significant(figures.bytes as f64 / 1e3),
                counted(images, "image"),
                seconds(step),
                counted(ranks, "rank"),
                seconds(saved),
                seconds(sum),
            ),
            format!(
                "More ranks save less and less, since each has fewer samples, and the ring's 2 (n − 1) messages become more. Beyond {} the \
                 ranks of this machine also take turns on its cores, and a rank that waits for a message keeps its core busy.",
                counted(figures.machine.cores, "rank"),
            ),
        ],
    )
}

fn large_batches(figures: &Figures) -> Question {
    let runs = &figures.large_batches;
    let batch = runs.first().map_or(0, |run| run.batch);
    let caption = format!("Synchronous training on batches of {batch}, by Adam. Every run was made once.");
    Question {
        table: Some(table_of(runs, figures, "large", caption)),
        ..text(
            "When do several ranks pay?",
            [
                sentence(runs, figures),
                format!(
                    "The computation of a step grows with the batch, and the message does not. In batches of {batch} there are \
                     {} times as many samples for each byte that is sent.",
                    significant(batch as f64 / figures.small_batches.first().map_or(1, |run| run.batch).max(1) as f64)
                ),
            ],
        )
    }
}

fn laws(figures: &Figures) -> Question {
    let mut paragraphs = Vec::new();
    let shared = |runs: &[Trained]| -> Option<(Trained, Trained)> {
        let one = runs.first()?.clone();
        let most = runs
            .iter()
            .filter(|run| run.ranks > 1 && run.ranks <= figures.machine.cores)
            .max_by_key(|run| run.ranks)?;
        Some((one, most.clone()))
    };
    match shared(&figures.large_batches) {
        Some((one, most)) => {
            let speedup = one.seconds_of_epoch() / most.seconds_of_epoch();
            let fraction = crate::statements::cores::serial_fraction(speedup, most.ranks);
            let fraction = match fraction {
                Some(fraction) => format!("the serial fraction of Karp and Flatt is {}", significant(fraction)),
                None => "no serial fraction between 0 and 1 follows".to_owned(),
            };
            paragraphs.push(format!(
                "Amdahl's law is about a fixed problem, here a fixed batch (strong scaling): whatever is not divided by n bounds the \
                 speed-up. On {} the speed-up is {}; {fraction}. It contains the update, which every rank makes in full, and the all-reduce.",
                counted(most.ranks, "rank"),
                significant(speedup),
            ));
        }
        None => {
            paragraphs.push("No more ranks than cores were measured, so that no serial fraction is stated.".to_owned());
        }
    }
    if let Some((one, most)) = shared(&figures.own_batches) {
        let images = figures.images[0];
        let (alone, step) = (one.seconds_of_step(images), most.seconds_of_step(images));
        paragraphs.push(format!(
            "Gustafson's law is about a problem that grows with n, here a batch of {} for each rank (weak scaling): a step takes {} on one rank \
             and {} on {}, which computes {} times as many samples: a scaled speed-up of {}.",
            one.batch,
            seconds(alone),
            seconds(step),
            counted(most.ranks, "rank"),
            most.ranks,
            significant(most.ranks as f64 * alone / step),
        ));
    }
    paragraphs.push(
        "Gustafson's law is nearer to training: more ranks are used to see more samples at a time. But a batch that is larger makes fewer \
         steps in an epoch, so that the accuracy after the same number of epochs may fall: the table has it."
            .to_owned(),
    );
    let caption = "Synchronous training on a batch for each rank, by Adam. Every run was made once.".to_owned();
    Question {
        table: Some(table_of(&figures.own_batches, figures, "own", caption)),
        ..text("Is it Amdahl's law or Gustafson's?", paragraphs)
    }
}

/// The smallest and the largest accuracy.
fn range(runs: &[Trained]) -> Option<(f64, f64)> {
    let accuracies = || runs.iter().map(|run| run.accuracy);
    Some((accuracies().min_by(f64::total_cmp)?, accuracies().max_by(f64::total_cmp)?))
}

/// A word of caution if the images are not MNIST's.
fn caution(figures: &Figures) -> String {
    if figures.is_mnist {
        return String::new();
    }
    format!(" These are accuracies on {}, not on MNIST.", figures.data)
}

fn accuracies(figures: &Figures) -> Question {
    let answer = |runs: &[Trained], name: &str| {
        let (lowest, highest) = range(runs)?;
        let most = runs.last()?.ranks;
        let points = significant(100.0 * (highest - lowest));
        let is_same = lowest == highest;
        Some(match highest - lowest < 0.002 {
            true if is_same => format!("No: {name} it is {} for 1 to {most} ranks.", accuracy(lowest)),
            true => format!(
                "No: {name} it is {} to {} for 1 to {most} ranks, a difference of {points} points, which is that of rounding.",
                accuracy(lowest),
                accuracy(highest)
            ),
            false => format!(
                "{}: it is {} to {} for 1 to {most} ranks, {points} points apart.",
                crate::words::capitalised(name),
                accuracy(lowest),
                accuracy(highest)
            ),
        })
    };
    let small = answer(&figures.small_batches, "in small batches");
    let large = answer(&figures.large_batches, "in large batches");
    let mut paragraphs: Vec<String> = small.into_iter().chain(large).collect();
    paragraphs.push(format!(
        "A batch has the same samples on any number of ranks, and its gradient is the same sum.{}",
        caution(figures)
    ));
    text("Does the accuracy depend on the number of synchronous ranks?", paragraphs)
}

fn naive(_figures: &Figures) -> Question {
    text(
        "What does the naive all-reduce cost?",
        [
            "Every rank sends its buffer of L bytes to each of the n − 1 others, and adds all n buffers by itself. All ranks send \
             n (n − 1) L bytes in n (n − 1) messages; each rank sends and receives (n − 1) L bytes, and makes n − 1 additions for each element. \
             Time and traffic of a rank grow linearly with n, and those of the network with its square. Its advantage is one step of \
             latency: all messages are on their way at the same time."
                .to_owned(),
        ],
    )
}

fn ring(_figures: &Figures) -> Question {
    text(
        "What does the ring all-reduce cost?",
        [
            "The buffer is cut into n parts. In n − 1 steps every rank passes a part to its right neighbour, which adds its own (reduce-scatter); \
             in n − 1 further steps the finished parts go round (all-gather). A rank sends 2 (n − 1) messages of L/n bytes: 2 L (n − 1)/n, \
             less than 2 L whatever the number of ranks. All ranks send 2 (n − 1) L bytes, n/2 times less than by the naive algorithm, and \
             each element is added once. With a latency α and a bandwidth β the time is 2 (n − 1) (α + L/(n β)): for long buffers it hardly \
             depends on n, for short ones the 2 (n − 1) latencies count."
                .to_owned(),
        ],
    )
}

fn all_reduces(figures: &Figures) -> Question {
    let mut table =
        FormattedTable::new(["ranks", "f64", "naive", "ring", "MPI_Allreduce", "bytes: naive", "bytes: ring"]);
    for on_ranks in &figures.all_reduce {
        for row in &on_ranks.lengths {
            let [naive, ring, mpi] = row.seconds.map(seconds);
            let [by_naive, by_ring] = row.sent.map(grouped);
            table.push([ranks_on(on_ranks.ranks, figures), grouped(row.length), naive, ring, mpi, by_naive, by_ring]);
        }
    }
    let mut paragraphs = Vec::new();
    for on_ranks in &figures.all_reduce {
        let fastest = |row: &Measured| {
            let [naive, ring, _] = row.seconds;
            format!("{} for {} elements", compared_functions(ring, naive), grouped(row.length))
        };
        let rows: Vec<String> = on_ranks.lengths.iter().map(fastest).collect();
        paragraphs.push(format!("On {} the ring takes {}.", ranks_on(on_ranks.ranks, figures), listed(&rows)));
    }
    if let Some((ranks, model)) = model(figures) {
        paragraphs.push(format!(
            "A latency of {} and a bandwidth of {} fit the ring's times on {}. The bytes that were sent, which were counted, follow the formulas \
             of questions 7 and 8.",
            seconds(model.latency),
            crate::words::bandwidth(model.bandwidth),
            ranks_on(ranks, figures)
        ));
    }
    Question {
        table: Some(CaptionedTable {
            name: "all-reduce",
            caption:
                "All-reduce of f64: medians of the time of the slowest rank, and the bytes that all ranks have sent. \
                      Every result was checked on every rank."
                    .to_owned(),
            table,
        }),
        chart: Some(CaptionedChart {
            name: "lengths",
            caption: format!(
                "All-reduce on {} ranks by length. Both axes are logarithmic.",
                figures.all_reduce.last().map_or(0, |on| on.ranks)
            ),
        }),
        ..text("How long do they take, and which is faster?", paragraphs)
    }
}

/// A function's time beside that of another, as a share.
fn compared_functions(subject: f64, object: f64) -> String {
    format!("{} of the naive one's time", significant(subject / object))
}

fn masters(_figures: &Figures) -> Question {
    text(
        "How do asynchronous workers and masters work together?",
        [
            "The last M ranks are masters; layer i belongs to master i mod M. A worker computes the gradients of a batch of its own, sends each \
             layer's to the layer's master by non-blocking messages, and receives the layer's parameters after the update. A master answers in the \
             order of arrival. No worker waits for another."
                .to_owned(),
            "Meanwhile the other workers have changed the parameters: a gradient belongs to parameters that are as many updates old as other workers have \
             made. That number is its staleness. Here a master divides the learning rate by it."
                .to_owned(),
        ],
    )
}

fn asynchronous(figures: &Figures) -> Question {
    let mut table = FormattedTable::new(["workers", "masters", "staleness", "epochs", "epoch", "test accuracy"]);
    let mut push = |run: &Trained, note: &str| {
        table.push([
            format!("{}{note}", run.ranks),
            run.masters.to_string(),
            run.staleness.map_or("–".to_owned(), significant),
            run.epochs.to_string(),
            if run.diverged { "–".to_owned() } else { seconds(run.seconds_of_epoch()) },
            if run.diverged { "diverged".to_owned() } else { accuracy(run.accuracy) },
        ]);
    };
    figures.asynchronous.iter().for_each(|run| push(run, ""));
    figures.ignoring.iter().for_each(|run| push(run, ", staleness ignored"));
    let mut paragraphs = Vec::new();
    if let (Some((lowest, highest)), Some(last)) = (range(&figures.asynchronous), figures.asynchronous.last()) {
        paragraphs.push(format!(
            "With a learning rate that is divided by the staleness, the accuracy is {} to {} for {} to {} workers.{}",
            accuracy(lowest),
            accuracy(highest),
            figures.asynchronous.first().map_or(0, |run| run.ranks),
            last.ranks,
            caution(figures)
        ));
        if let Some(ignoring) = &figures.ignoring {
            let ended = match ignoring.diverged {
                true => "the loss becomes infinite".to_owned(),
                false => format!("the accuracy is {}", accuracy(ignoring.accuracy)),
            };
            let why = match ignoring.diverged || ignoring.accuracy < last.accuracy - 0.02 {
                true => "stale gradients add up to steps that are as many times too long as there are workers",
                false => "at this learning rate the stale steps are still short enough",
            };
            paragraphs.push(format!(
                "If {} masters ignore the staleness of {} workers, {ended}: {why}.",
                ignoring.masters, ignoring.ranks
            ));
        }
    }
    Question {
        table: Some(CaptionedTable {
            name: "workers",
            caption: "Asynchronous training (ReLU, softmax and cross-entropy, learning rate 0.01) in batches of 16 for each worker. Every \
                      run was made once."
                .to_owned(),
            table,
        }),
        chart: Some(CaptionedChart {
            name: "accuracy",
            caption: "Test accuracy by number of synchronous ranks or of asynchronous workers.".to_owned(),
        }),
        ..text("How does the accuracy depend on the number of workers?", paragraphs)
    }
}

fn split_masters(figures: &Figures) -> Question {
    let share = figures.sizes.windows(2).next().map_or(0.0, |pair| 4.0 * (pair[0] as f64 + 1.0) * pair[1] as f64)
        / (figures.bytes as f64).max(1.0);
    let mut paragraphs = vec![format!(
        "One master would receive all gradients and send all parameters: its connection and its processor bound the workers together. Masters that \
         own different layers share both, and the layers of a worker are updated at the same time. The shares are those of the layers, though: the \
         first layer has {} of the parameters here, so that a second master takes over {} only.",
        percent(share),
        percent(1.0 - share)
    )];
    let two = figures.asynchronous.last();
    if let (Some(one), Some(two)) = (&figures.one_master, two)
        && !one.diverged
        && !two.diverged
    {
        paragraphs.push(format!(
            "Measured with {} workers: an epoch takes {} with two masters and {} with one, {} with one. All ranks share {} here, so that masters and \
             workers take turns.",
            two.ranks,
            seconds(two.seconds_of_epoch()),
            seconds(one.seconds_of_epoch()),
            compared(two.seconds_of_epoch(), one.seconds_of_epoch()),
            counted(figures.machine.cores, "core"),
        ));
    }
    text("Why are the layers split among several masters?", paragraphs)
}

fn machines(figures: &Figures) -> Question {
    let mut table = FormattedTable::new(["network", "ranks", "strong", "weak", "asynchronous"]);
    let mut paragraphs = Vec::new();
    for network in &figures.simulated {
        let name = format!("{} Gbit/s, {} µs", network.gigabits, network.microseconds);
        for (ranks, speedups) in &network.rows {
            let [strong, weak, asynchronous] = speedups.map(significant);
            table.push([name.clone(), ranks.to_string(), strong, weak, asynchronous]);
        }
        // The fewest ranks that are nearly the fastest.
        let best = |of: usize| {
            let fastest = network.rows.iter().map(|(_, speedups)| speedups[of]).fold(0.0, f64::max);
            let nearly = network.rows.iter().find(|(_, speedups)| speedups[of] >= 0.95 * fastest)?;
            Some((nearly.0, nearly.1[of]))
        };
        let names = ["on a fixed batch", "with a batch for each rank", "asynchronously"];
        let parts: Vec<String> = names
            .into_iter()
            .enumerate()
            .filter_map(|(of, name)| best(of).map(|(ranks, speedup)| (name, ranks, speedup)))
            .map(|(name, ranks, speedup)| match speedup > 1.0 + MIN_DIFFERENCE {
                true => format!("{} {name}, reached by {}", significant(speedup), counted(ranks, "rank")),
                false => format!("no speed-up {name}"),
            })
            .collect();
        paragraphs.push(format!("{name}: {}.", parts.join("; ")));
    }
    paragraphs.push(
        "This is a discrete-event simulation of a core for each rank: every message of the ring, or of workers and masters, on interfaces of this \
         latency and bandwidth, with the time of a sample that was measured here. It is no measurement."
            .to_owned(),
    );
    Question {
        table: Some(CaptionedTable {
            name: "simulated",
            caption: "Simulated speed-ups over one rank in batches of 512: of all ranks together (strong), of each rank (weak), and of each \
                      worker, with two masters."
                .to_owned(),
            table,
        }),
        ..text("Which would you use on how many machines?", paragraphs)
    }
}
