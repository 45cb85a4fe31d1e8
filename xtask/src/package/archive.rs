//! Reproducible archives of a folder: the same files give the same bytes.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tar::HeaderMode;

use super::file_name;
use crate::zipped;

/// Packs `folder` into a file in `out` with the folder's name: `.tar.gz`, or `.zip` for Windows.
///
/// # Errors
/// If a file cannot be read or the archive cannot be written.
pub(super) fn pack(folder: &Path, out: &Path, is_for_windows: bool) -> Result<PathBuf> {
    let archive = out.join(format!("{}.{}", file_name(folder), if is_for_windows { "zip" } else { "tar.gz" }));
    if is_for_windows {
        zipped::zip(folder, &archive)?;
    } else {
        tar(folder, &archive).with_context(|| format!("cannot write {}", archive.display()))?;
    }
    Ok(archive)
}

fn tar(folder: &Path, archive: &Path) -> Result<()> {
    let file = BufWriter::new(File::create(archive)?);
    let mut tar = tar::Builder::new(GzEncoder::new(file, Compression::best()));
    // Without time stamps and owners.
    tar.mode(HeaderMode::Deterministic);
    let mut paths: Vec<PathBuf> = folder.read_dir()?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    paths.sort();
    for path in paths {
        tar.append_path_with_name(&path, Path::new(&file_name(folder)).join(file_name(&path)))?;
    }
    Ok(tar.into_inner()?.finish()?.flush()?)
}

/// Unpacks an archive made by [`pack`] into `folder`.
///
/// # Errors
/// If it cannot be read, or a file cannot be written.
pub(super) fn unpack(archive: &Path, folder: &Path) -> Result<()> {
    let file = BufReader::new(File::open(archive)?);
    let is_zip = archive.extension().is_some_and(|extension| extension == "zip");
    let unpacked = if is_zip {
        zip::ZipArchive::new(file)?.extract(folder).map_err(Into::into)
    } else {
        tar::Archive::new(GzDecoder::new(file)).unpack(folder).map_err(anyhow::Error::from)
    };
    unpacked.with_context(|| format!("cannot unpack {}", archive.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_archives_are_the_same_for_the_same_files_and_unpack() {
        let made = tempfile::tempdir().unwrap();
        let archives = ["first", "second"].map(|turn| {
            let folder = made.path().join(turn).join("program-0.1.0-x86_64-linux");
            std::fs::create_dir_all(&folder).unwrap();
            let files = [("b.txt", "text"), ("a", "\0program")];
            let files = if turn == "first" { files } else { [files[1], files[0]] };
            for (name, content) in files {
                std::fs::write(folder.join(name), content).unwrap();
            }
            [false, true].map(|is_for_windows| pack(&folder, &made.path().join(turn), is_for_windows).unwrap())
        });
        for (first, second) in archives[0].iter().zip(&archives[1]) {
            assert_eq!(std::fs::read(first).unwrap(), std::fs::read(second).unwrap(), "{}", first.display());
            let unpacked = tempfile::tempdir().unwrap();
            unpack(first, unpacked.path()).unwrap();
            let read =
                |name| std::fs::read_to_string(unpacked.path().join("program-0.1.0-x86_64-linux").join(name)).unwrap();
            assert_eq!((read("a").as_str(), read("b.txt").as_str()), ("\0program", "text"));
        }
    }
}
