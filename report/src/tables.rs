//! Tables as the template shows them: every cell is a text.

use serde::Serialize;

use crate::figures::{Counts, Figures};
use crate::statements::{cores, needed_share};
use crate::timed::{Table, rows};
use crate::words::{bandwidth, grouped, operations, percent, seconds, significant, threads};

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// The columns' names.
    pub columns: Vec<String>,
    /// The rows' cells, as many as there are columns.
    pub rows: Vec<Vec<String>>,
}

impl Shown {
    fn new<const N: usize>(columns: [&str; N]) -> Self {
        Self { columns: columns.map(str::to_owned).to_vec(), rows: Vec::new() }
    }

    fn push<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.to_vec());
    }
}

/// A table of times: the fastest, the median, the middle half and n; by how much each row is faster than the first.
pub fn times(figures: &Figures, table: Table) -> Shown {
    let mut shown = Shown::new(["version", "fastest", "median", "middle half", "n", "speed-up"]);
    let rows = rows(figures, table);
    let Some(baseline) = rows.first() else { return shown };
    for row in &rows {
        let middle = match row.times.quartiles {
            Some([lower, upper]) => format!("{} – {}", seconds(lower), seconds(upper)),
            None => "not recorded".to_owned(),
        };
        shown.push([
            row.label.clone(),
            seconds(row.times.min),
            seconds(row.times.median),
            middle,
            row.times.repeats.to_string(),
            significant(baseline.times.median / row.times.median),
        ]);
    }
    shown
}

/// The speed-ups of maximum and product by number of threads, beside the ideal.
pub(crate) fn by_threads(figures: &Figures) -> Shown {
    let mut shown = Shown::new(["threads", "max: speed-up", "serial fraction", "X·Xᵀ: speed-up", "serial fraction"]);
    let (maximum, product) = (&figures.maximum.rayon, &figures.product.rayon);
    let (Some(one), Some(other)) = (maximum.first(), product.first()) else { return shown };
    for on in maximum {
        let Some(beside) = product.iter().find(|beside| beside.threads == on.threads) else { continue };
        let [a, b] = [cores::speedup(one, on), cores::speedup(other, beside)];
        let fraction = |speedup| cores::serial_fraction(speedup, on.threads).map_or("–".to_owned(), significant);
        shown.push([on.threads.to_string(), significant(a), fraction(a), significant(b), fraction(b)]);
    }
    shown
}

/// What the machine does at most.
pub(crate) fn ceiling(figures: &Figures) -> Shown {
    let mut shown = Shown::new(["threads", "reading", "multiply-adds, f32", "n"]);
    for ceiling in &figures.ceiling {
        shown.push([
            threads(ceiling.threads),
            bandwidth(ceiling.bytes_per_second()),
            operations(ceiling.operations_per_second()),
            ceiling.reading.repeats.to_string(),
        ]);
    }
    shown
}

/// What the interpreter counted.
pub(crate) fn counts(figures: &Figures) -> Shown {
    let mut shown = Shown::new(["rung", "instructions of threads", "of warps", "loaded sectors", "needed of issued"]);
    if let Counts::Counted(counts) = &figures.counts {
        for (place, rung) in counts.rungs.iter().enumerate() {
            let number = |count: u64| grouped(&count.to_string());
            shown.push([
                rung.name.clone(),
                number(rung.thread_instructions),
                number(rung.warp_instructions),
                number(rung.loaded_sectors),
                percent(needed_share(counts, place)),
            ]);
        }
    }
    shown
}

/// The trainings.
pub(crate) fn training(figures: &Figures) -> Shown {
    let mut shown = Shown::new(["seed", "training time", "validation accuracy", "test accuracy"]);
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

/// The machine's facts, name and value.
pub(crate) fn machine(figures: &Figures) -> Shown {
    let machine = &figures.machine;
    let caches = machine.caches.iter().map(|cache| {
        let shared = match cache.shared_by {
            0 | 1 => "a core".to_owned(),
            n => format!("shared by {n}"),
        };
        format!("level {}: {}, {shared}", cache.level, crate::words::bytes(cache.bytes))
    });
    let caches: Vec<String> = caches.collect();
    let mut shown = Shown::new(["", ""]);
    let mut fact = |name: &str, value: String| shown.push([name.to_owned(), value]);
    fact("Processor", format!("{}; kernels use {}", machine.processor, machine.instruction_set));
    fact("Cores for this process", machine.cores.to_string());
    fact("Caches", if caches.is_empty() { "not told by the system".to_owned() } else { caches.join("; ") });
    fact("Memory", machine.memory.map_or("not told by the system".to_owned(), crate::words::bytes));
    fact("GPU", machine.gpu.clone());
    fact("System", machine.system.clone());
    fact("Compiler", machine.compiler.clone());
    let peers = &figures.peers.names;
    fact("Python", if peers.is_empty() { "not measured".to_owned() } else { peers.join(", ") });
    fact("Date", figures.made.date.clone());
    shown
}
