//! MNIST's four files, which the folder carries where they are known when it is made.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use neural_net::data::download::MNIST_FILES;
use timing::say;

/// What is said where the files are not there.
pub(super) const MISSING: &str = "MNIST is missing: the network is timed on built-in digits, and not beside its peers; set \
                                  MNIST_DIR when making the folder, or for sh run.sh";

const FOLDER: &str = "mnist";

/// Copies the files from `$MNIST_DIR`, if that is set, compressed or not.
pub(super) fn carry(folder: &Path) -> Result<()> {
    let Some(source) = from_environment() else {
        say!("[*] {MISSING}");
        return Ok(());
    };
    copy(&source, &folder.join(FOLDER))
}

/// The folder's own files, else `$MNIST_DIR`.
pub(super) fn directory(folder: &Path) -> Option<PathBuf> {
    Some(folder.join(FOLDER)).filter(|own| own.is_dir()).or_else(from_environment)
}

fn from_environment() -> Option<PathBuf> {
    std::env::var_os("MNIST_DIR").filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn copy(source: &Path, target: &Path) -> Result<()> {
    std::fs::create_dir_all(target).with_context(|| format!("cannot create {}", target.display()))?;
    for file in &MNIST_FILES {
        let raw = file.name.trim_end_matches(".gz");
        let name = if source.join(raw).exists() { raw } else { file.name };
        std::fs::copy(source.join(name), target.join(name))
            .with_context(|| format!("cannot copy {name} from MNIST_DIR, {}", source.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpu_check_carries_mnists_files_raw_or_compressed() {
        let base = std::env::temp_dir().join(format!("gpu-check-mnist-{}", std::process::id()));
        let (source, target) = (base.join("source"), base.join("target"));
        std::fs::create_dir_all(&source).unwrap();
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
}
