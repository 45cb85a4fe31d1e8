//! Counts of cases and defects, as a table and as JSON.

use serde::Serialize;

use crate::finding::Kind;

/// Counts of a target's cases by their result.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Counts {
    pub(crate) cases: u64,
    pub(crate) rejected: u64,
    pub(crate) accepted: u64,
    pub(crate) panics: u64,
    pub(crate) hangs: u64,
    pub(crate) memory: u64,
    pub(crate) wrong: u64,
    /// Peak memory of a case, in bytes.
    pub(crate) peak_bytes: u64,
    pub(crate) seconds: f64,
}

impl Counts {
    /// Counts a finding.
    pub(crate) fn count(&mut self, kind: Kind) {
        *match kind {
            Kind::Panic => &mut self.panics,
            Kind::Hang => &mut self.hangs,
            Kind::Memory => &mut self.memory,
            Kind::Wrong => &mut self.wrong,
        } += 1;
    }

    /// Adds the counts of other cases.
    pub(crate) fn add(&mut self, other: &Self) {
        self.cases += other.cases;
        self.rejected += other.rejected;
        self.accepted += other.accepted;
        self.panics += other.panics;
        self.hangs += other.hangs;
        self.memory += other.memory;
        self.wrong += other.wrong;
        self.peak_bytes = self.peak_bytes.max(other.peak_bytes);
        self.seconds += other.seconds;
    }

    /// Number of cases that showed a defect.
    pub(crate) fn found(&self) -> u64 {
        self.panics + self.hangs + self.memory + self.wrong
    }

    fn row(&self, name: &str) -> String {
        let Self { cases, rejected, accepted, panics, hangs, memory, wrong, peak_bytes, seconds } = self;
        let (rate, mebibytes) = (*cases as f64 / seconds.max(1e-9), peak_bytes.div_ceil(1 << 20));
        format!(
            "{name:<10} {cases:>9} {rejected:>9} {accepted:>9} {panics:>7} {hangs:>6} {memory:>7} {wrong:>6} {rate:>8.0} \
             {mebibytes:>7} {seconds:>8.1}"
        )
    }
}

/// A header, a row for each target, and a row of totals if there are several targets.
pub(crate) fn table(targets: &[(&str, Counts)]) -> Vec<String> {
    let header = format!(
        "{:<10} {:>9} {:>9} {:>9} {:>7} {:>6} {:>7} {:>6} {:>8} {:>7} {:>8}",
        "target", "cases", "rejected", "accepted", "panics", "hangs", "memory", "wrong", "cases/s", "MiB", "seconds"
    );
    let mut all = Counts::default();
    targets.iter().for_each(|(_, counts)| all.add(counts));
    let rows = targets.iter().map(|(name, counts)| counts.row(name));
    std::iter::once(header).chain(rows).chain((targets.len() > 1).then(|| all.row("all"))).collect()
}
