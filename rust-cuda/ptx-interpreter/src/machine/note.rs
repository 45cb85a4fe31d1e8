//! Notes: what is no fault of a launch, and an author should know.

use std::collections::BTreeMap;

use super::fault::Fault;
use crate::program::Place;

/// The notes of a launch, what stricter options would call a fault, in the order of the PTX: by instruction, other instruction and kind.
pub(super) type Notes = BTreeMap<(usize, usize, &'static str), Fault>;

/// Adds notes of the same launch.
pub(super) fn add(notes: &mut Notes, others: Notes) {
    for (key, note) in others {
        let count = note.count;
        notes.entry(key).and_modify(|known| known.count += count).or_insert(note);
    }
}

/// The notes of a report: those of the same source lines are one, and so are those of the same two lines of a race in either order.
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
