//! The images that the networks train on, in the format of MNIST's four files. They are MNIST's own
//! if those are available when the folder is made, otherwise the built-in digits. The programs and
//! their peers always train on the same images.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use command_line::say;
use flate2::Compression;
use flate2::write::GzEncoder;
use neural_net::data::idx::FILES;
use neural_net::data::{BUILTIN_SEED, Dataset, LabelledImages};

/// The files' folder inside the main folder.
const FOLDER: &str = "digits";
/// The folder for the files that [`few`] writes.
const FEW_FOLDER: &str = "few-digits";
/// Name of the images that [`few`] writes.
pub(super) const FEW: &str = "100 built-in digits";

/// Copies the four files to the folder, from `$MNIST_DIR` if it is set, compressed or not. Returns
/// the images' name.
///
/// # Errors
/// If a file cannot be read or written.
pub(super) fn carry(folder: &Path) -> Result<String> {
    let target = folder.join(FOLDER);
    std::fs::create_dir_all(&target).with_context(|| format!("cannot create {}", target.display()))?;
    match std::env::var_os("MNIST_DIR").filter(|value| !value.is_empty()) {
        Some(source) => {
            copy(Path::new(&source), &target)?;
            Ok(Dataset::read(&target)?.name)
        }
        None => {
            say!("[*] MNIST_DIR is not set: the networks are timed on built-in digits, and so are their peers");
            let digits = Dataset::builtin(BUILTIN_SEED);
            write(&digits.train, "train", &target)?;
            write(&digits.test, "t10k", &target).map(|()| digits.name)
        }
    }
}

/// Writes four files with 80 training and 20 test images into the folder and returns their folder.
/// The emulated driver would take a minute to evaluate MNIST's 10000 images.
///
/// # Errors
/// If a file cannot be written.
pub(super) fn few(folder: &Path) -> Result<PathBuf> {
    let target = folder.join(FEW_FOLDER);
    std::fs::create_dir_all(&target).with_context(|| format!("cannot create {}", target.display()))?;
    let digits = Dataset::builtin(BUILTIN_SEED);
    write(&first(&digits.train, 80), "train", &target)?;
    write(&first(&digits.test, 20), "t10k", &target)?;
    Ok(target)
}

/// The first `count` images of a part.
fn first(part: &LabelledImages, count: usize) -> LabelledImages {
    LabelledImages {
        pixels: part.pixels.slice(ndarray::s![..count, ..]).to_shared(),
        labels: part.labels[..count].to_vec(),
        shape: part.shape,
    }
}

/// The folder's files.
pub(super) fn directory(folder: &Path) -> Option<PathBuf> {
    Some(folder.join(FOLDER)).filter(|own| own.is_dir())
}

fn copy(source: &Path, target: &Path) -> Result<()> {
    for (stem, kind) in FILES {
        let raw = format!("{stem}-{kind}");
        let name = if source.join(&raw).exists() { raw } else { format!("{raw}.gz") };
        std::fs::copy(source.join(&name), target.join(&name))
            .with_context(|| format!("cannot copy {name} from MNIST_DIR, {}", source.display()))?;
    }
    Ok(())
}

/// Writes a part's images and labels as gzip-compressed IDX files.
fn write(part: &LabelledImages, name: &str, target: &Path) -> Result<()> {
    let (rows, columns) = part.shape;
    let pixels: Vec<u8> = part.pixels.iter().copied().collect();
    write_idx(&target.join(format!("{name}-images-idx3-ubyte.gz")), &[part.len(), rows, columns], &pixels)?;
    write_idx(&target.join(format!("{name}-labels-idx1-ubyte.gz")), &[part.len()], &part.labels)
}

/// Writes an IDX file of bytes: two zeros, the type 8, the number of dimensions, each size in 4
/// bytes, big-endian, and the data.
fn write_idx(path: &Path, sizes: &[usize], data: &[u8]) -> Result<()> {
    let mut header = vec![0, 0, 8, u8::try_from(sizes.len()).context("IDX counts its dimensions in a byte")?];
    for &size in sizes {
        header.extend(u32::try_from(size).context("IDX counts in 32 bits")?.to_be_bytes());
    }
    let encode = || -> std::io::Result<Vec<u8>> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&header)?;
        encoder.write_all(data)?;
        encoder.finish()
    };
    encode().and_then(|bytes| std::fs::write(path, bytes)).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpu_check_carries_mnists_files_raw_or_compressed() {
        let base = std::env::temp_dir().join(format!("gpu-check-mnist-{}", std::process::id()));
        let (source, target) = (base.join("source"), base.join("target"));
        std::fs::create_dir_all(&source).unwrap();
        std::fs::create_dir_all(&target).unwrap();
        let names = ["train-images-idx3-ubyte", "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz"];
        for name in names {
            std::fs::write(source.join(name), name).unwrap();
        }
        let error = format!("{:#}", copy(&source, &target).unwrap_err());
        std::fs::write(source.join("t10k-labels-idx1-ubyte.gz"), "last").unwrap();
        let copied = copy(&source, &target);
        let contents = names.map(|name| std::fs::read_to_string(target.join(name)).unwrap_or_default());
        std::fs::remove_dir_all(&base).unwrap();
        assert!(error.starts_with("cannot copy t10k-labels-idx1-ubyte.gz from MNIST_DIR"), "{error}");
        assert!(copied.is_ok());
        assert_eq!(contents, names);
    }
    #[test]
    fn gpu_check_writes_images_that_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let digits = Dataset::builtin(BUILTIN_SEED);
        let read = Dataset::read(&few(folder.path()).unwrap()).unwrap();
        assert_eq!((read.train, read.test), (first(&digits.train, 80), first(&digits.test, 20)));
    }
}
