//! The parts of the homework in the students' workspace, and their source files.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};

/// A part of an assignment: one package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Its name in sentences.
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
}

/// In the order in which they are written.
const PARTS: [Part; 8] = [
    Part { name: "part 1", package: "utils" },
    Part { name: "part 2", package: "max_functions" },
    Part { name: "part 3", package: "matmul_functions" },
    Part { name: "activation", package: "activation_functions" },
    Part { name: "augmentation", package: "augmentation" },
    Part { name: "filters", package: "filters" },
    Part { name: "distributed", package: "distributed_functions" },
    Part { name: "learn", package: "learn" },
];

impl Part {
    /// The parts that the workspace has.
    pub(crate) fn of_workspace(root: &Path) -> Vec<Self> {
        PARTS.into_iter().filter(|part| root.join(part.package).is_dir()).collect()
    }

    /// The paths of the source files, from the workspace's folder, sorted.
    pub(crate) fn sources(self, root: &Path) -> Result<Vec<PathBuf>> {
        let (mut sources, mut folders) = (Vec::new(), vec![Path::new(self.package).join("src")]);
        while let Some(folder) = folders.pop() {
            let cannot_read = || format!("cannot read {}", folder.display());
            for entry in fs::read_dir(root.join(&folder)).with_context(cannot_read)? {
                let entry = entry.with_context(cannot_read)?;
                let (kind, path) = (entry.file_type().with_context(cannot_read)?, folder.join(entry.file_name()));
                if kind.is_dir() {
                    folders.push(path);
                } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "rs") {
                    sources.push(path);
                }
            }
        }
        sources.sort();
        Ok(sources)
    }

    /// The source files with the times at which they were saved. A file that an editor replaces just now is missing.
    pub(crate) fn times(self, root: &Path) -> Vec<(PathBuf, Option<SystemTime>)> {
        let time = |path: PathBuf| {
            let time = fs::metadata(root.join(&path)).and_then(|metadata| metadata.modified());
            (path, time.ok())
        };
        self.sources(root).unwrap_or_default().into_iter().map(time).collect()
    }

    /// The names of the public tests, in the file's order.
    pub(crate) fn tests(self, root: &Path) -> Result<Vec<String>> {
        let path = Path::new(self.package).join("tests/public.rs");
        let text = fs::read_to_string(root.join(&path)).with_context(|| format!("cannot read {}", path.display()))?;
        let functions = text.split("#[test]").skip(1);
        let name = |after: &str| Some(after.split_once("fn ")?.1.split_once('(')?.0.to_owned());
        Ok(functions.filter_map(name).collect())
    }

    /// The source file with the function of this name. Of several, one in which it is still to be written.
    pub(crate) fn file_of(self, root: &Path, function: &str) -> Option<PathBuf> {
        Self::file_in(root, &self.sources(root).ok()?, function)
    }

    /// [`Part::file_of`] among these files.
    pub(crate) fn file_in(root: &Path, files: &[PathBuf], function: &str) -> Option<PathBuf> {
        let [plain, generic] = ["(", "<"].map(|end| format!("fn {function}{end}"));
        let not_written = format!("not_written!(\"{function}\")");
        let text = |path: &PathBuf| fs::read_to_string(root.join(path)).unwrap_or_default();
        let has = |path: &&PathBuf| text(path).contains(&plain) || text(path).contains(&generic);
        let open = files.iter().filter(has).find(|path| text(path).contains(&not_written));
        open.or_else(|| files.iter().find(has)).cloned()
    }
}
