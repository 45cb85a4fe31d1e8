//! hw2.pdf: the questions of assignment 2, answered from training runs on distorted images and from
//! correlations, both measured on this machine.

mod filtered;
pub mod measure;
mod questions;

use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

use crate::Times;
use crate::charts::{self, BLUE, ChartError, GREEN, Line};
use crate::document::{self, Document, DocumentError};
use crate::figures::{Machine, MeasurementInfo, OnThreads, Peers};
use crate::notes::Block;
use crate::template::Template;
use crate::{statements, words};

/// All figures of the report on assignment 2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Date and settings of the measurement.
    pub made: MeasurementInfo,
    /// The machine.
    pub machine: Machine,
    /// Parts 1 and 2.
    pub augmentation: Augmentation,
    /// Parts 3 and 4.
    pub correlation: Correlation,
    /// Times of the same correlations in Python. A label ends with the kernel's size, for example
    /// "SciPy, 3 × 3".
    pub peers: Peers,
}

/// Training on distorted images.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Augmentation {
    /// Name of the data set.
    pub data: String,
    /// Whether it is MNIST.
    pub is_mnist: bool,
    /// The network's layers, inputs first.
    pub sizes: Vec<usize>,
    /// Batch size.
    pub batch: usize,
    /// Numbers of training and test images.
    pub images: [usize; 2],
    /// Times of an epoch without augmentation, on one thread.
    pub plain: Times,
    /// Times of an epoch on images that the training thread distorts itself.
    pub alone: Times,
    /// Times of an epoch on images that workers distort in addition to the training thread, by
    /// ascending number of workers.
    pub workers: Vec<OnThreads>,
    /// Test accuracy without augmentation after each epoch, 0 … 1.
    pub plain_accuracies: Vec<f64>,
    /// Test accuracy with augmentation after each epoch.
    pub augmented_accuracies: Vec<f64>,
    /// Whether the weights had the same bits for every number of workers.
    pub same_bits: bool,
    /// The assignment's four functions on an image, one after another.
    pub one_by_one: Times,
    /// The same distortions of an image in a single map, as in training.
    pub one_map: Times,
    /// `Worker::run`: time per image, by ascending number of workers.
    pub serving: Vec<OnThreads>,
    /// Passing an image from two writers to a reader through the queue.
    pub queue: Times,
    /// Passing an image from two writers to a reader through a system pipe behind a lock.
    pub pipe: Times,
}

/// Correlations of an image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Correlation {
    /// Rows and columns of the image.
    pub size: [usize; 2],
    /// For each kernel, in ascending order of size.
    pub kernels: Vec<KernelTimes>,
    /// A separable 5 × 5 kernel, on one thread.
    pub separable: Times,
}

/// Times of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelTimes {
    /// Number of rows and of columns of the kernel.
    pub size: usize,
    /// `correlation_trivial`.
    pub trivial: Times,
    /// `correlation_rayon`, in ascending order of threads.
    pub rayon: Vec<OnThreads>,
    /// `correlation_gpu` on a GPU: the kernel alone, and with copies.
    pub gpu: Option<[Times; 2]>,
}

/// The sentence about a noisy machine, see [`statements::noise`]. `None` on a quiet one.
pub fn noise(figures: &Figures) -> Option<String> {
    let Figures { augmentation, correlation, machine, .. } = figures;
    // The training thread also occupies a core.
    let workers = augmentation.workers.iter().filter(|on| on.threads < machine.cores);
    let kernels = correlation.kernels.iter().flat_map(|kernel| {
        let rayon = kernel.rayon.iter().filter(|on| on.threads <= machine.cores).map(|on| &on.times);
        [&kernel.trivial].into_iter().chain(rayon)
    });
    let Augmentation { plain, alone, one_by_one, one_map, .. } = augmentation;
    let others = [plain, alone, one_by_one, one_map, &correlation.separable];
    statements::noise_of(others.into_iter().chain(workers.map(|on| &on.times)).chain(kernels))
}

/// The document for the given figures, with the author's name if given, and the author's
/// explanation, which may be empty.
///
/// # Errors
/// If a chart or a picture cannot be drawn, or a source file lacks a marker.
pub fn document(figures: &Figures, author: Option<&str>, notes: &[Block]) -> Result<Document, DocumentError> {
    let augmentation = &figures.augmentation;
    let charts: Vec<_> = accuracies(augmentation)?.into_iter().collect();
    let alts: Map<_, _> = charts.iter().map(|chart| (chart.name.clone(), json!(chart.alt))).collect();
    let filtered = filtered::all();
    let sizes: Vec<String> = augmentation.sizes.iter().map(ToString::to_string).collect();
    let value = json!({
        "author": author,
        "notes": notes,
        "date": figures.made.date,
        "quick": figures.made.quick,
        "measured_in": words::seconds(figures.made.seconds),
        "rounds": figures.made.rounds,
        "checked_on": figures.made.checked_on,
        "processor": figures.machine.processor,
        "cores": words::counted(figures.machine.cores, "core"),
        "gpu": figures.machine.gpu,
        "system": figures.machine.system,
        "instruction_set": figures.machine.instruction_set,
        "noise": noise(figures),
        "python": if figures.peers.times.is_empty() { &[] } else { &figures.peers.names[..] },
        "missing": figures.peers.missing,
        "data": augmentation.data,
        "is_mnist": augmentation.is_mnist,
        "sizes": sizes.join("-"),
        "batch": augmentation.batch,
        "images": augmentation.images.map(words::grouped),
        "epochs": augmentation.plain_accuracies.len(),
        "code": document::code(Template::Assignment2)?,
        "questions": questions::all(figures, &filtered),
        "charts": alts,
    });
    let pictures = filtered.into_iter().map(filtered::Filtered::picture).collect::<Result<_, _>>()?;
    Ok(Document { value, charts, pictures, template: Template::Assignment2 })
}

/// The accuracy of both networks by epoch.
fn accuracies(figures: &Augmentation) -> Result<Option<charts::Chart>, ChartError> {
    let line = |name, colour, accuracies: &[f64]| {
        let points = accuracies.iter().enumerate().map(|(index, accuracy)| (index as f64 + 1.0, *accuracy));
        Line { name, colour, points: points.collect() }
    };
    let lines = [
        line("without augmentation", BLUE, &figures.plain_accuracies),
        line("with augmentation", GREEN, &figures.augmented_accuracies),
    ];
    charts::accuracies("accuracies", "epochs", false, &lines)
}
