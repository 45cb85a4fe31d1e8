//! Parts 1 and 2: workers and their queue.

use crate::assignment2::Augmentation;
use crate::figures::OnThreads;
use crate::questions::{CaptionedChart, CaptionedTable, Question, text};
use crate::tables::FormattedTable;
use crate::words::{accuracy, capitalised, counted, listed, seconds, significant};

use super::{cells, compared};

/// "8 workers on 2 cores" if the training thread and the workers outnumber the cores.
fn workers_on(workers: usize, cores: usize) -> String {
    let workers_in_words = counted(workers, "worker");
    match workers.saturating_add(1) > cores {
        true => format!("{workers_in_words} on {}", counted(cores, "core")),
        false => workers_in_words,
    }
}

/// The largest number of workers that have a core each in addition to the training thread's,
/// otherwise the smallest number.
fn on_own_cores(figures: &Augmentation, cores: usize) -> Option<&OnThreads> {
    let workers = &figures.workers;
    workers.iter().filter(|on| on.threads < cores).max_by_key(|on| on.threads).or(workers.first())
}

pub(super) fn run_time(figures: &Augmentation, cores: usize) -> Question {
    let mut table = FormattedTable::new(["an epoch", "fastest", "median", "interquartile range", "n", "of the plain"]);
    let rows = [
        ("without augmentation".to_owned(), figures.plain),
        ("distorted by the training thread".to_owned(), figures.alone),
    ];
    let rows = rows.into_iter().chain(figures.workers.iter().map(|on| (workers_on(on.threads, cores), on.times)));
    for (name, times) in rows {
        let [fastest, median, range, n] = cells(&times);
        table.push([name, fastest, median, range, n, significant(times.median / figures.plain.median)]);
    }
    let asked = figures.workers.iter().filter(|on| on.threads >= 8);
    let of_asked: Vec<String> = asked
        .clone()
        .map(|on| format!("{} with {}", seconds(on.times.median), counted(on.threads, "worker")))
        .collect();
    let mut paragraphs = vec![match of_asked.is_empty() {
        true => "No run with 8 workers or more was measured.".to_owned(),
        false => format!(
            "An epoch takes {}, by the medians; without augmentation {}.",
            listed(&of_asked),
            seconds(figures.plain.median)
        ),
    }];
    let lacking = asked.clone().any(|on| on.threads > cores);
    paragraphs.push(match lacking {
        true => format!(
            "The cores of the assignment are workers here, beside the training thread. This machine has {}: more workers share them, are measured \
             as they are, and their times are none of a machine with a core for each.",
            counted(cores, "core")
        ),
        false => format!("The cores of the assignment are workers here, beside the training thread; the machine has {cores}."),
    });
    Question {
        table: Some(CaptionedTable {
            name: "workers",
            caption:
                "Time of an epoch of the homework’s network by number of workers. The runs took turns, an epoch each."
                    .to_owned(),
            table,
        }),
        ..text("How long does training with augmentation take with 8, 16 and 32 cores?", paragraphs)
    }
}

pub(super) fn why(figures: &Augmentation, cores: usize) -> Question {
    let (training, all) = (figures.plain.median, figures.alone.median);
    let distorting = (all - training).max(0.0);
    let bound = (all / cores as f64).max(training);
    let which = match bound > training {
        true => format!("all work, shared by {}", counted(cores, "core")),
        false => "the training, which one thread does".to_owned(),
    };
    let mut paragraphs = vec![format!(
        "On one thread an epoch’s training takes {}, and its distortions {}, the difference to the time without workers. Workers distort while \
         the network trains on earlier images, so an epoch takes at least {}: {which}.",
        seconds(training),
        seconds(distorting),
        seconds(bound),
    )];
    if let Some(on) = on_own_cores(figures, cores) {
        let best = on.times.median;
        paragraphs.push(format!(
            "With {} it takes {}, {} times that bound, {} that of the training thread alone.",
            counted(on.threads, "worker"),
            seconds(best),
            significant(best / bound),
            compared(&on.times, &figures.alone),
        ));
        let others = figures.workers.iter().filter(|other| other.threads > on.threads && other.threads >= 8);
        let others: Vec<String> = others
            .map(|other| {
                let (epoch, verdict) = (seconds(other.times.median), compared(&other.times, &on.times));
                format!("{epoch} with {} ({verdict} that with {})", other.threads, on.threads)
            })
            .collect();
        if !others.is_empty() {
            paragraphs.push(format!(
                "More workers than cores share them: an epoch takes {}. Each worker also holds up to two blocks of images ahead of the training.",
                listed(&others)
            ));
        }
    }
    text("Why is that so?", paragraphs)
}

pub(super) fn accuracies(figures: &Augmentation) -> Question {
    let mut paragraphs = Vec::new();
    if let Some((plain, augmented)) = figures.plain_accuracies.last().zip(figures.augmented_accuracies.last()) {
        let points = 100.0 * (augmented - plain);
        let verdict = match points {
            _ if points > 0.05 => format!("{} points more", significant(points)),
            _ if points < -0.05 => format!("{} points less", significant(-points)),
            _ => "the same within 0.05 points".to_owned(),
        };
        paragraphs.push(format!(
            "After {} the network reads {} of the test images without augmentation, and {} with it, {verdict}. Both start from the same weights and \
             see the same images in the same order, with augmentation each time in another distortion: turned by up to 12°, moved by up to 2 \
             pixels and skewed by up to 0.15.",
            counted(figures.plain_accuracies.len(), "epoch"),
            accuracy(*plain),
            accuracy(*augmented),
        ));
        let first = |accuracies: &[f64]| accuracies.first().copied().map_or_else(String::new, accuracy);
        paragraphs.push(format!(
            "After the first epoch these were {} and {}. It is one run of each, from one seed.",
            first(&figures.plain_accuracies),
            first(&figures.augmented_accuracies)
        ));
    }
    paragraphs.push(match figures.same_bits {
        true => "A distortion follows from the seed, the epoch and the image’s place in it, not from the worker: for every number of workers the \
                 weights had the same bits, so one curve shows all of them."
            .to_owned(),
        false => "The weights differed by the number of workers: this is an error.".to_owned(),
    });
    if !figures.is_mnist {
        paragraphs.push(format!("These are accuracies on {}, not on MNIST.", figures.data));
    }
    Question {
        charts: vec![CaptionedChart {
            name: "accuracies",
            caption: "Test accuracy of both networks by epoch.".to_owned(),
        }],
        ..text("How does the accuracy of both networks develop by epoch?", paragraphs)
    }
}

pub(super) fn processes_or_threads(figures: &Augmentation, cores: usize) -> Question {
    let mut paragraphs = vec![
        "In the course’s Python, processes: CPython has a global interpreter lock, which one thread of a process holds while it executes bytecode, so \
         that threads which compute take turns. Each process has an interpreter and a lock of its own. The price is that processes share no \
         memory: each job and each result goes through a pipe as bytes, and starting a process loads everything again."
            .to_owned(),
        "In Rust, threads: there is no such lock, all threads compute at the same time, and they share memory, so an image is moved into the queue \
         and not encoded. What processes protect from, that two change the same data at the same time, the compiler rejects (the traits Send and \
         Sync). Processes would pay where a worker must be able to crash, or runs on another machine, as in assignment 3."
            .to_owned(),
    ];
    let one = figures.serving.first();
    let most = figures.serving.iter().filter(|on| on.threads <= cores).max_by_key(|on| on.threads);
    if let Some((one, most)) = one.zip(most).filter(|(one, most)| one.threads < most.threads) {
        paragraphs.push(format!(
            "Measured: {} that serve a queue take {} for an image, {} {} at {}.",
            counted(most.threads, "thread"),
            seconds(most.times.median),
            compared(&most.times, &one.times),
            counted(one.threads, "thread"),
            seconds(one.times.median),
        ));
    }
    text("Why processes and not threads?", paragraphs)
}

pub(super) fn ideas(figures: &Augmentation, cores: usize) -> Question {
    let (training, all) = (figures.plain.median, figures.alone.median);
    let half = training + (all - training).max(0.0) / 2.0;
    let bound = |work: f64| (work / cores as f64).max(training);
    text(
        "Which two ideas would accelerate it further?",
        [
            format!(
                "One map for all: rotation, shift and skew are affine maps, and so is their product, so an image is interpolated once instead of \
                 three times. Measured with noise, an image takes {} that way, {} the assignment’s functions one after another at {}. The \
                 training above has this already.",
                seconds(figures.one_map.median),
                compared(&figures.one_map, &figures.one_by_one),
                seconds(figures.one_by_one.median),
            ),
            format!(
                "Distort less often: every distorted image is used in two epochs, in another order. The distortions’ time halves; on {} the bound of \
                 question 2 falls from {} to {}, computed, not measured. The network then sees half as many different images.",
                counted(cores, "core"),
                seconds(bound(all)),
                seconds(bound(half)),
            ),
        ],
    )
}

pub(super) fn queue(figures: &Augmentation) -> Question {
    let queue = format!(
        "Measured with two writers and one reader: an image takes {} through the queue, {} a pipe of the system with encoded images at {}.",
        seconds(figures.queue.median),
        compared(&figures.queue, &figures.pipe),
        seconds(figures.pipe.median),
    );
    text(
        "How does the queue work?",
        [
            "The course’s queue is a pipe and a lock: put encodes an item, takes the lock, writes and releases it, so the bytes of two writers never \
             mix; get reads the pipe without a lock, since there is one reader; length is a counter that both change. A full pipe blocks its \
             writers, an empty one the reader."
                .to_owned(),
            "Ours is a buffer of a fixed number of items behind a lock. put waits while it is full, get while it is empty; a waiting thread sleeps on a \
             condition variable, releases the lock meanwhile, and looks again when another one has put or taken. length is that of the buffer, under \
             the lock. close ends it: put fails from then on, get takes what is left and then returns none, by which workers end."
                .to_owned(),
            capitalised(&queue),
        ],
    )
}
