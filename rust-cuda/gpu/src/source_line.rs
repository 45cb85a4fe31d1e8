//! The text of the source line of a fault in PTX.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptx_interpreter::{Fault, SourcePlace};

/// Maximum size of a source file in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// Adds the text of the fault's source line, if the file is found: below the current directory, or below one of its parents. The PTX
/// of a changed source is not loaded, so that the line is that of the instruction.
pub(crate) fn add_to(fault: &mut Fault) {
    let Some(source) = &fault.place.source else { return };
    let lines = std::iter::once(source).chain(source.inlined_at.as_deref());
    fault.source_line = lines.filter_map(text_of).next();
}

fn text_of(place: &SourcePlace) -> Option<Arc<str>> {
    let path = find(Path::new(&*place.file))?;
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().nth((place.line as usize).checked_sub(1)?)?.trim();
    (!line.is_empty()).then(|| line.into())
}

/// The path of a source file by its name in the PTX, which begins at the root of the project or, for the crates of `rust-cuda`, there.
fn find(file: &Path) -> Option<PathBuf> {
    let directory = std::env::current_dir().ok()?;
    let candidates = directory.ancestors().flat_map(|root| [root.join(file), root.join("rust-cuda").join(file)]);
    let is_source = |path: &PathBuf| fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= MAX_BYTES);
    candidates.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).find(is_source)
}
