//! Lines of the source that faults are at.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptx_interpreter::{Fault, SourcePlace};

/// Maximum size of a source file in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// Adds the text of the fault's source line, if the file is found.
pub(crate) fn add_line(fault: &mut Fault) {
    let Some(source) = &fault.place.source else { return };
    let lines = std::iter::once(source).chain(source.inlined_at.as_deref());
    fault.source_line = lines.filter_map(text_of).next();
}

fn text_of(place: &SourcePlace) -> Option<Arc<str>> {
    let text = fs::read_to_string(find(Path::new(&*place.file))?).ok()?;
    let line = text.lines().nth((place.line as usize).checked_sub(1)?)?.trim();
    (!line.is_empty()).then(|| line.into())
}

/// The file of this name: as it is, or below the current directory or one of its parents.
fn find(file: &Path) -> Option<PathBuf> {
    let directory = std::env::current_dir().ok()?;
    let is_source = |path: &PathBuf| fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= MAX_BYTES);
    directory.ancestors().map(|parent| parent.join(file)).find(is_source)
}
