//! hw3.pdf: the questions of assignment 3, answered from training runs and all-reduces on this
//! machine's ranks.

mod charts;
pub mod job;
pub mod measure;
mod questions;

use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentError};
use crate::figures::Machine;
use crate::notes::Block;
use crate::template::Template;
use crate::words;
use distributed_functions::Measured;

pub use self::measure::Plan;

/// All figures of the report on assignment 3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Date in UTC, as 2026-11-21.
    pub date: String,
    /// Duration of the measurement in seconds.
    pub seconds: f64,
    /// Whether `--quick` was set: fewer epochs and ranks.
    pub quick: bool,
    /// The machine.
    pub machine: Machine,
    /// The MPI library's version, or a note that the ranks were threads.
    pub library: String,
    /// Name of the data set.
    pub data: String,
    /// Whether it is MNIST.
    pub is_mnist: bool,
    /// The network's layers, inputs first.
    pub sizes: Vec<usize>,
    /// Number of bytes of all parameters, in single precision.
    pub bytes: u64,
    /// Numbers of training and test images.
    pub images: [usize; 2],
    /// The all-reduces by number of ranks.
    pub all_reduce: Vec<AllReduces>,
    /// Synchronous training on the homework's batches of 16.
    pub small_batches: Vec<Trained>,
    /// Synchronous training on large batches that the ranks share.
    pub large_batches: Vec<Trained>,
    /// Synchronous training with a separate batch for each rank.
    pub own_batches: Vec<Trained>,
    /// Asynchronous training with 2 and 4 masters and staleness-aware learning rates.
    pub asynchronous: Vec<Trained>,
    /// The runs with 2 masters that ignore the staleness.
    pub ignoring: Vec<Trained>,
    /// The run corresponding to 2 masters and the most workers, but with one master for all layers.
    pub one_master: Option<Trained>,
}

/// The all-reduces on a number of ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AllReduces {
    /// Number of ranks.
    pub ranks: usize,
    /// The measurements for each length.
    pub lengths: Vec<Measured>,
}

/// A distributed training run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trained {
    /// Number of ranks; in asynchronous runs, the number of workers.
    pub ranks: usize,
    /// Number of additional masters.
    pub masters: usize,
    /// Samples in a batch; in synchronous runs, of all ranks together.
    pub batch: usize,
    /// Number of epochs.
    pub epochs: usize,
    /// Training time in seconds.
    pub seconds: f64,
    /// Test accuracy, 0 … 1.
    pub accuracy: f64,
    /// Mean staleness of the gradients in asynchronous runs.
    pub staleness: Option<f64>,
    /// Whether the loss became infinite and ended the run.
    pub diverged: bool,
}

impl Trained {
    /// Seconds of an epoch.
    pub fn seconds_of_epoch(&self) -> f64 {
        self.seconds / self.epochs.max(1) as f64
    }

    /// Seconds for one batch on each rank, which is a step in synchronous runs.
    fn seconds_of_step(&self, images: usize) -> f64 {
        self.seconds_of_epoch() / (images as f64 / self.batch.max(1) as f64)
    }
}

/// The document for the given figures, with the author's name if given, and the author's
/// explanation, which may be empty.
///
/// # Errors
/// If a chart cannot be drawn.
pub fn document(figures: &Figures, author: Option<&str>, notes: &[Block]) -> Result<Document, DocumentError> {
    let charts = charts::all(figures)?;
    let questions = questions::all(figures);
    let alts: serde_json::Map<_, _> =
        charts.iter().map(|chart| (chart.name.clone(), serde_json::json!(chart.alt))).collect();
    let sizes: Vec<String> = figures.sizes.iter().map(ToString::to_string).collect();
    let value = serde_json::json!({
        "author": author,
        "notes": notes,
        "date": figures.date,
        "quick": figures.quick,
        "measured_in": words::seconds(figures.seconds),
        "processor": figures.machine.processor,
        "cores": words::counted(figures.machine.cores, "core"),
        "system": figures.machine.system,
        "library": figures.library,
        "data": figures.data,
        "is_mnist": figures.is_mnist,
        "sizes": sizes.join("-"),
        "kilobytes": words::significant(figures.bytes as f64 / 1e3),
        "images": figures.images.map(words::grouped),
        "questions": questions,
        "charts": alts,
    });
    Ok(Document { value, charts, pictures: Vec::new(), template: Template::Assignment3 })
}
