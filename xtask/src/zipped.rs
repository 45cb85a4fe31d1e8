//! ZIP files, which Windows can open.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Packs a folder into the ZIP file `packed`, with the folder's name in each path. The same files
/// give the same bytes.
///
/// # Errors
/// If a file cannot be read, or the ZIP file cannot be written.
pub(crate) fn zip(folder: &Path, packed: &Path) -> Result<()> {
    let cannot = || format!("cannot write {}", packed.display());
    let mut archive = ZipWriter::new(File::create(packed).with_context(cannot)?);
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        let entries = next.read_dir().and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
        let mut paths: Vec<PathBuf> = entries.with_context(|| format!("cannot read {}", next.display()))?;
        paths.sort();
        for path in paths {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let relative = path.strip_prefix(folder.parent().unwrap_or(folder))?;
            let names: Vec<_> = relative.iter().map(OsStr::to_string_lossy).collect();
            archive.start_file(names.join("/"), SimpleFileOptions::default()).with_context(cannot)?;
            std::io::copy(&mut File::open(&path)?, &mut archive).with_context(cannot)?;
        }
    }
    archive.finish().with_context(cannot)?;
    Ok(())
}
