//! Notes: what is no fault of a launch, and an author should know.

use std::collections::BTreeMap;

use super::fault::Fault;
use crate::program::Place;

/// What would be a fault by stricter options, and how often it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The first one. It has no others.
    pub fault: Fault,
    /// Their number, at the same line and of the same kind; of races, with the same other line. Of instructions without source
    /// lines, at the same instructions.
    pub count: u64,
}

/// The notes of a launch, in the order of the PTX: by instruction, other instruction and kind.
pub(super) type Notes = BTreeMap<(usize, usize, &'static str), Note>;

/// Adds notes of the same launch.
pub(super) fn add(notes: &mut Notes, others: Notes) {
    for (key, note) in others {
        let count = note.count;
        notes.entry(key).and_modify(|known| known.count += count).or_insert(note);
    }
}

/// The notes of a report: those of the same source lines are one, and so are those of the same two lines of a race in either order.
pub(super) fn by_line(notes: Notes) -> Vec<Note> {
    let line = |place: &Place| match &place.source {
        Some(source) => (source.file.clone(), source.line),
        None => (place.text.clone(), place.line),
    };
    let lines = |fault: &Fault| {
        let mut lines = [Some(line(&fault.place)), fault.kind.other_place().map(line)];
        lines.sort();
        (fault.kind.id(), lines)
    };
    let mut merged: Vec<Note> = Vec::new();
    for note in notes.into_values() {
        match merged.iter_mut().find(|known| lines(&known.fault) == lines(&note.fault)) {
            Some(known) => known.count += note.count,
            None => merged.push(note),
        }
    }
    merged
}
