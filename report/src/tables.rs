//! The template's tables, with formatted cells.

use serde::Serialize;

use crate::figures::{Counts, Figures, Training};
use crate::statements::{cores, needed_share};
use crate::timed::{Table, rows};
use crate::words::{bandwidth, grouped, operations, percent, seconds, significant, threads_on};

/// A table of formatted cells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FormattedTable {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Cells of the rows, one per column.
    pub rows: Vec<Vec<String>>,
}

impl FormattedTable {
    pub(crate) fn new<const N: usize>(columns: [&str; N]) -> Self {
        Self { columns: columns.map(str::to_owned).to_vec(), rows: Vec::new() }
    }

    pub(crate) fn push<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.to_vec());
    }
}

/// A table of times: minimum, median, interquartile range and n, and the speed-up over the first row.
pub fn times(figures: &Figures, table: Table) -> FormattedTable {
    let mut shown = FormattedTable::new(["version", "fastest", "median", "interquartile range", "n", "speed-up"]);
    let rows = rows(figures, table);
    let Some(baseline) = rows.first() else { return shown };
    for row in &rows {
        let range = match row.times.quartiles {
            Some([lower, upper]) => format!("{} – {}", seconds(lower), seconds(upper)),
            None => "not recorded".to_owned(),
        };
        shown.push([
            row.label.clone(),
            seconds(row.times.min),
            seconds(row.times.median),
            range,
            row.times.repeats.to_string(),
            significant(baseline.times.median / row.times.median),
        ]);
    }
    shown
}

/// The speed-ups and serial fractions of maximum and product by number of threads. There is no
/// serial fraction for more threads than cores, since Amdahl's law assumes one processor per
/// thread.
pub(crate) fn by_threads(figures: &Figures) -> FormattedTable {
    let mut shown =
        FormattedTable::new(["threads", "max: speed-up", "serial fraction", "X·Xᵀ: speed-up", "serial fraction"]);
    let (maximum, product) = (&figures.maximum.rayon, &figures.product.rayon);
    let (Some(one), Some(other)) = (maximum.first(), product.first()) else { return shown };
    for on in maximum {
        let Some(same) = product.iter().find(|product| product.threads == on.threads) else { continue };
        let [a, b] = [cores::speedup(one, on), cores::speedup(other, same)];
        let is_oversubscribed = on.threads > figures.machine.cores;
        let fraction = |speedup| {
            let fraction = cores::serial_fraction(speedup, on.threads).filter(|_| !is_oversubscribed);
            fraction.map_or("–".to_owned(), significant)
        };
        let note = if is_oversubscribed { " (over-subscribed)" } else { "" };
        shown.push([format!("{}{note}", on.threads), significant(a), fraction(a), significant(b), fraction(b)]);
    }
    shown
}

/// The roofs by number of threads.
pub(crate) fn roofs(figures: &Figures) -> FormattedTable {
    let mut shown = FormattedTable::new(["threads", "reading", "multiply-adds, f32", "n"]);
    for roofs in &figures.roofs {
        shown.push([
            threads_on(roofs.threads, figures.machine.cores),
            bandwidth(roofs.bytes_per_second()),
            operations(roofs.operations_per_second()),
            roofs.reading.repeats.to_string(),
        ]);
    }
    shown
}

/// The interpreter's instruction counts.
pub(crate) fn counts(figures: &Figures) -> FormattedTable {
    let mut shown =
        FormattedTable::new(["rung", "thread instructions", "warp instructions", "loaded sectors", "needed / issued"]);
    if let Counts::Counted(counts) = &figures.counts {
        for (index, rung) in counts.rungs.iter().enumerate() {
            let number = |count: u64| grouped(count);
            shown.push([
                rung.name.clone(),
                number(rung.thread_instructions),
                number(rung.warp_instructions),
                number(rung.loaded_sectors),
                percent(needed_share(counts, index)),
            ]);
        }
    }
    shown
}

/// The shapes of the network's matrices, by layer.
pub(crate) fn shapes(figures: &Figures) -> FormattedTable {
    let mut shown = FormattedTable::new(["layer", "inputs", "weights", "biases", "activations", "parameters"]);
    let Training { sizes, batch, .. } = &figures.training;
    for (index, pair) in sizes.windows(2).enumerate() {
        let (inputs, outputs) = (pair[0], pair[1]);
        let shape = |rows: usize, columns: usize| format!("{rows} × {columns}");
        let parameters = (inputs as u128 + 1) * outputs as u128;
        shown.push([
            (index + 1).to_string(),
            shape(*batch, inputs),
            shape(inputs, outputs),
            shape(1, outputs),
            shape(*batch, outputs),
            grouped(parameters),
        ]);
    }
    shown
}

/// The training runs.
pub(crate) fn training(figures: &Figures) -> FormattedTable {
    let mut shown = FormattedTable::new(["seed", "training time", "validation accuracy", "test accuracy"]);
    for run in &figures.training.runs {
        let validation = run.curve.last().map_or("–".to_owned(), |point| crate::words::accuracy(point.accuracy));
        shown.push([
            run.seed.to_string(),
            seconds(run.seconds()),
            validation,
            crate::words::accuracy(run.test_accuracy),
        ]);
    }
    shown
}

/// The phases of a training step by number of threads.
pub(crate) fn steps(figures: &Figures) -> FormattedTable {
    let columns = ["threads", "first layer", "other layers", "update", "waiting", "step", "speed-up"];
    let mut shown = FormattedTable::new(columns);
    let Some(one) = figures.training.steps.first() else { return shown };
    for step in &figures.training.steps {
        let times = [step.first_layer, step.other_layers, step.update, step.meetings, step.seconds()].map(seconds);
        let [first_layer, other_layers, update, meetings, whole] = times;
        let speedup = significant(one.seconds() / step.seconds());
        shown.push([step.threads.to_string(), first_layer, other_layers, update, meetings, whole, speedup]);
    }
    shown
}

/// The machine's properties, as names and values.
pub(crate) fn machine(figures: &Figures) -> FormattedTable {
    let machine = &figures.machine;
    let caches = machine.caches.iter().map(|cache| {
        let shared = match cache.shared_by {
            0 | 1 => "per core".to_owned(),
            n => format!("shared by {n}"),
        };
        format!("L{}: {}, {shared}", cache.level, crate::words::bytes(cache.bytes))
    });
    let caches: Vec<String> = caches.collect();
    let mut shown = FormattedTable::new(["", ""]);
    let mut fact = |name: &str, value: String| shown.push([name.to_owned(), value]);
    fact("Processor", format!("{}; kernels use {}", machine.processor, machine.instruction_set));
    fact("Available cores", machine.cores.to_string());
    fact("Caches", if caches.is_empty() { "unknown".to_owned() } else { caches.join("; ") });
    fact("Memory", machine.memory.map_or("unknown".to_owned(), crate::words::bytes));
    fact("GPU", machine.gpu.clone());
    fact("System", machine.system.clone());
    fact("Compiler", machine.compiler.clone());
    let peers = &figures.peers.names;
    fact("Python", if peers.is_empty() { "not measured".to_owned() } else { peers.join(", ") });
    fact("Date", figures.made.date.clone());
    shown
}
