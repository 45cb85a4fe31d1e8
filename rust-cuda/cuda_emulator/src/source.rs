//! Lines of the source that faults are at.

use std::fs;
use std::path::PathBuf;

use ptx_interpreter::Fault;

/// Maximum size of a source file in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// Adds the text of the fault's source line, if the file is found: as it is named, or below the current directory or one of its parents.
pub(crate) fn add_line(fault: &mut Fault) {
    fault.set_source_line(|file| {
        let directory = std::env::current_dir().ok()?;
        let is_source =
            |path: &PathBuf| fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= MAX_BYTES);
        fs::read_to_string(directory.ancestors().map(|parent| parent.join(file)).find(is_source)?).ok()
    });
}
