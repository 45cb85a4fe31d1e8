//! Notes: findings that are not faults of a launch but that an author should know.

use std::collections::BTreeMap;

use super::fault::Fault;
use crate::program::Place;

/// The notes of a launch, which stricter options would report as faults. In the order of the PTX:
/// by instruction, other instruction and kind.
pub(super) type Notes = BTreeMap<(usize, usize, &'static str), Fault>;

/// Adds notes of the same launch.
pub(super) fn add(notes: &mut Notes, others: Notes) {
    for (key, note) in others {
        let count = note.count;
        notes.entry(key).and_modify(|known| known.count += count).or_insert(note);
    }
}

/// The notes of a report. Merges notes at the same source lines, and notes of races between the
/// same two lines in either order.
pub(super) fn by_line(notes: Notes) -> Vec<Fault> {
    let line = |place: &Place| match &place.source {
        Some(source) => (source.file.clone(), source.line),
        None => (place.text.clone(), place.line),
    };
    let lines = |fault: &Fault| {
        let mut lines = [Some(line(&fault.place)), fault.kind.other_place().map(line)];
        lines.sort();
        (fault.kind.id(), lines)
    };
    let mut merged: Vec<Fault> = Vec::new();
    for note in notes.into_values() {
        match merged.iter_mut().find(|known| lines(known) == lines(&note)) {
            Some(known) => known.count += note.count,
            None => merged.push(note),
        }
    }
    merged
}
