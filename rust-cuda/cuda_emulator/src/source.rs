//! Source lines of errors.

use std::fs;
use std::path::{Path, PathBuf};

use ptx_interpreter::{Fault, SourcePlace};

/// Maximum size of a source file in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// The source location to report for an inlined function and its callers. It is the innermost one
/// in a file below the current directory or beside the kernel's own file. So it is the user's code
/// and not a library, such as one in a virtual environment there.
pub(crate) fn of_user(source: &SourcePlace) -> &SourcePlace {
    let calls = || std::iter::successors(Some(source), |source| source.inlined_at.as_deref());
    let kernel = calls().last().unwrap_or(source);
    let folder = |source: &SourcePlace| Path::new(&*source.file).parent().map(Path::to_owned);
    let current = std::env::current_dir().ok();
    let is_below = |source: &&SourcePlace| {
        let path = Path::new(&*source.file);
        let is_library = path.components().any(|part| part.as_os_str() == "site-packages");
        let is_file_in = |current: &PathBuf| current.join(path).starts_with(current) && current.join(path).is_file();
        !is_library && current.as_ref().is_some_and(is_file_in)
    };
    calls().find(is_below).or_else(|| calls().find(|source| folder(source) == folder(kernel))).unwrap_or(source)
}

/// "FILE:LINE" in the user's source; None if the PTX has no line information.
pub(crate) fn location(fault: &Fault) -> Option<String> {
    fault.place.source.as_ref().map(of_user).map(|source| format!("{}:{}", source.file, source.line))
}

/// Adds the text of the error's source line if the file is found: at its own path, or below the
/// current directory or one of its parents.
pub(crate) fn add_line(fault: &mut Fault) {
    fault.set_source_line(|file| {
        let directory = std::env::current_dir().ok()?;
        let is_source =
            |path: &PathBuf| fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= MAX_BYTES);
        fs::read_to_string(directory.ancestors().map(|parent| parent.join(file)).find(is_source)?).ok()
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(file: &str, inlined_at: Option<SourcePlace>) -> SourcePlace {
        SourcePlace { file: file.into(), line: 3, column: 1, inlined_at: inlined_at.map(Box::new) }
    }

    #[test]
    fn a_library_in_a_virtual_environment_of_the_user_is_none() {
        let folder = tempfile::tempdir_in(".").unwrap();
        let header = folder.path().join("lib/python3.13/site-packages/nvidia/atomics.hpp");
        fs::create_dir_all(header.parent().unwrap()).unwrap();
        fs::write(&header, "").unwrap();
        let kernel = place("/elsewhere/kernel.cu", None);
        let header = place(header.to_str().unwrap(), Some(kernel.clone()));
        assert_eq!(of_user(&header), &kernel);
    }

    #[test]
    fn the_place_to_name_is_the_users() {
        let kernel = place("/home/me/kernel.cu", None);
        let helper = place("/home/me/helper.h", Some(kernel.clone()));
        let header = place("/usr/local/cuda/include/atomics.hpp", Some(helper.clone()));
        assert_eq!(of_user(&header), &helper);
        assert_eq!(of_user(&place("/usr/local/cuda/include/atomics.hpp", Some(kernel.clone()))), &kernel);
        assert_eq!(of_user(&kernel), &kernel);
        // This file is below the current directory.
        let own = place("src/source.rs", Some(place("/elsewhere/kernel.py", None)));
        assert_eq!(of_user(&own), &own);
    }
}
