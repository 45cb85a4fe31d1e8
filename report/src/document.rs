//! The JSON value that the template reads: everything that depends on the figures, as texts and tables.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use crate::charts::{self, Chart, ChartError};
use crate::excerpts::{self, MarkerError};
use crate::figures::{Counts, Figures, Gpu};
use crate::notes::Block;
use crate::statements::{self, Section, Statement};
use crate::template::Template;
use crate::timed::Table;
use crate::{tables, words};

/// The template's input and the charts that it includes.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The template.
    pub template: Template,
    /// The template's input.
    pub value: Value,
    /// The charts.
    pub charts: Vec<Chart>,
    /// The pictures.
    pub pictures: Vec<Picture>,
}

impl Document {
    /// The JSON for report/typeset, which parses it as its own `Document`.
    pub fn to_json(&self) -> String {
        let charts: Map<_, _> = self.charts.iter().map(|chart| (chart.name.clone(), json!(chart.svg))).collect();
        let in_base64 = |picture: &Picture| (picture.name.clone(), json!(BASE64_STANDARD.encode(&picture.png)));
        let pictures: Map<_, _> = self.pictures.iter().map(in_base64).collect();
        json!({ "template": self.template, "value": self.value, "charts": charts, "pictures": pictures }).to_string()
    }
}

/// A picture. The template includes it as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The file's name without extension.
    pub name: String,
    /// The PNG file.
    pub png: Vec<u8>,
}

/// The errors of [`document`].
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DocumentError {
    /// A source file lacks a marker.
    #[error(transparent)]
    Excerpt(#[from] MarkerError),
    /// A chart could not be drawn.
    #[error(transparent)]
    Chart(#[from] ChartError),
    /// A picture could not be encoded.
    #[error("a picture could not be encoded: {0}")]
    Picture(String),
}

/// The document for the given figures, with the author's name if given, and the author's
/// explanation, which may be empty.
///
/// # Errors
/// If a source file lacks a marker, or a chart cannot be drawn.
pub fn document(figures: &Figures, author: Option<&str>, notes: &[Block]) -> Result<Document, DocumentError> {
    let charts = charts::all(figures)?;
    let value = json!({
        "author": author,
        "notes": notes,
        "date": figures.made.date,
        "quick": figures.made.quick,
        "measured_in": words::seconds(figures.made.seconds),
        "rounds": figures.made.rounds,
        "checked_on": figures.made.checked_on,
        "threads": thread_counts(figures),
        "cores": words::counted(figures.machine.cores, "core"),
        "processor": figures.machine.processor,
        "gpu": gpu(figures),
        "counted": counted(figures),
        "training": training(figures),
        "missing": figures.peers.missing,
        "text": texts(figures),
        "tables": all_tables(figures),
        "charts": charts.iter().map(|chart| (chart.name.clone(), json!(chart.alt))).collect::<Map<_, _>>(),
        "code": code(Template::Homework1)?,
    });
    Ok(Document { template: Template::Homework1, value, charts, pictures: Vec::new() })
}

/// The excerpts of a report by name.
pub(crate) fn code(report: Template) -> Result<Map<String, Value>, MarkerError> {
    let named = |excerpt: excerpts::Excerpt| (excerpt.name.to_owned(), json!(excerpt));
    Ok(excerpts::all(report)?.into_iter().map(named).collect())
}

/// The sentences by section.
fn texts(figures: &Figures) -> Map<String, Value> {
    let texts = |(section, sentences): (Section, Vec<Statement>)| {
        let sentences: Vec<String> = sentences.into_iter().map(|sentence| sentence.text).collect();
        (section.key().to_owned(), json!(sentences))
    };
    statements::all(figures).into_iter().map(texts).collect()
}

fn all_tables(figures: &Figures) -> Map<String, Value> {
    let mut all: Map<String, Value> =
        Table::ALL.into_iter().map(|table| (table.key().to_owned(), json!(tables::times(figures, table)))).collect();
    let others = [
        ("machine", tables::machine(figures)),
        ("roofs", tables::roofs(figures)),
        ("threads", tables::by_threads(figures)),
        ("counts", tables::counts(figures)),
        ("shapes", tables::shapes(figures)),
        ("training", tables::training(figures)),
        ("steps", tables::steps(figures)),
    ];
    all.extend(others.map(|(name, table)| (name.to_owned(), json!(table))));
    all
}

/// The GPU and the origin of its figures, for captions. Null without GPU figures.
fn gpu(figures: &Figures) -> Value {
    match &figures.gpu {
        Gpu::Measured(run) => json!({ "name": run.gpu.name, "place": "measured on this machine" }),
        Gpu::Recorded { date, run, .. } => {
            let driver = run.gpu.driver.as_deref().map(|driver| format!(", driver {driver}")).unwrap_or_default();
            json!({ "name": run.gpu.name, "place": format!("recorded on {date}{driver}") })
        }
        Gpu::Missing(_) => Value::Null,
    }
}

/// Architecture and size of the instruction counts. Null without counts.
fn counted(figures: &Figures) -> Value {
    match &figures.counts {
        Counts::Counted(counts) => {
            json!({ "architecture": counts.architecture, "rows": counts.size[0], "columns": counts.size[1] })
        }
        Counts::Missing(_) => Value::Null,
    }
}

fn training(figures: &Figures) -> Value {
    let training = &figures.training;
    let sizes: Vec<String> = training.sizes.iter().map(ToString::to_string).collect();
    json!({
        "data": training.data,
        "is_mnist": training.is_mnist,
        "sizes": sizes.join("-"),
        "batch": training.batch,
        "learning_rate": training.learning_rate.to_string(),
        "images": training.images.map(words::grouped),
        "epochs": training.epochs,
        "device": training.device,
        "seeds": statements::seeds(training),
        "target": words::percent(training.target),
    })
}

/// "1, 2, 4 and 8".
fn thread_counts(figures: &Figures) -> String {
    words::listed(&figures.maximum.rayon.iter().map(|on| on.threads.to_string()).collect::<Vec<_>>())
}
