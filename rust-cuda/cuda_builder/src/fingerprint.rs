use std::fmt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::BuilderError;
use crate::files::{canonical, files_below, read_with_lf};
use crate::manifest::Manifest;

/// A SHA-256 digest of all inputs of a PTX text: the sources and manifests of the crates, the flags, the architecture,
/// and the version of this builder's format.
///
/// It is the same on every machine: it does not depend on absolute paths, time stamps, line endings
/// or tool versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint(pub(crate) String);

impl Fingerprint {
    /// The digest of labeled texts and of files, or of all files in directories, with their names.
    /// Use it for other generated files that are committed with the digest of their inputs.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn of(texts: &[(&str, &str)], paths: &[&Path]) -> Result<Self, BuilderError> {
        let mut hasher = FingerprintHasher::default();
        texts.iter().for_each(|(label, text)| hasher.field(label, text.as_bytes()));
        for path in paths {
            hasher.path(path)?;
        }
        Ok(hasher.finish())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The digest of a text.
pub(crate) fn digest_of(text: &str) -> Fingerprint {
    let mut hasher = FingerprintHasher::default();
    hasher.field("text", text.as_bytes());
    hasher.finish()
}

/// A hasher for labeled fields. Each field is prefixed with its length, so different lists of
/// fields give different bytes.
#[derive(Default)]
pub(crate) struct FingerprintHasher(Sha256);

impl FingerprintHasher {
    pub(crate) fn field(&mut self, label: &str, content: &[u8]) {
        for part in [label.as_bytes(), content] {
            self.0.update((part.len() as u64).to_le_bytes());
            self.0.update(part);
        }
    }

    /// Hashes the manifest and the sources of a crate, with paths relative to its source directory.
    pub(crate) fn source_crate(&mut self, manifest: &Manifest, skipped: &[PathBuf]) -> Result<(), BuilderError> {
        self.field("crate", manifest.package.as_bytes());
        self.field("manifest", manifest.relevant_text().as_bytes());
        self.files(&manifest.source_directory(), skipped)
    }

    /// Hashes a file, or all files of a directory, with its name but not its path.
    pub(crate) fn path(&mut self, path: &Path) -> Result<(), BuilderError> {
        let name = canonical(path)?.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match path.is_dir() {
            true => {
                self.field("folder", name.as_bytes());
                self.files(path, &[])
            }
            false => self.file(&name, path),
        }
    }

    fn files(&mut self, directory: &Path, skipped: &[PathBuf]) -> Result<(), BuilderError> {
        for (name, path) in files_below(directory, skipped)? {
            self.file(&name, &path)?;
        }
        Ok(())
    }

    fn file(&mut self, name: &str, path: &Path) -> Result<(), BuilderError> {
        self.field(name, &read_with_lf(path)?);
        Ok(())
    }

    pub(crate) fn finish(self) -> Fingerprint {
        Fingerprint(hex::encode(self.0.finalize()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_sha_256_of_length_prefixed_fields() {
        // printf '\4\0\0\0\0\0\0\0text\3\0\0\0\0\0\0\0abc' | sha256sum
        assert_eq!(digest_of("abc").to_string(), "93bb7cfe0130d4082bdf289bdc8c31d64cd9b29a55b1f947b9b615960a93d24c");
    }

    #[test]
    fn field_boundaries_change_the_digest() {
        let hash = |fields: &[(&str, &str)]| {
            let mut hasher = FingerprintHasher::default();
            fields.iter().for_each(|(label, content)| hasher.field(label, content.as_bytes()));
            hasher.finish()
        };
        assert_ne!(hash(&[("a", "bc")]), hash(&[("ab", "c")]));
        assert_ne!(hash(&[("a", "b"), ("c", "d")]), hash(&[("a", "bcd")]));
    }

    #[test]
    fn a_digest_of_files_depends_on_texts_names_and_contents_but_not_on_the_directory() {
        let digest = |text: &str, name: &str, content: &str| {
            let directory = tempfile::tempdir().unwrap();
            let file = directory.path().join(name);
            std::fs::write(&file, content).unwrap();
            Fingerprint::of(&[("flags", text)], &[&file]).unwrap()
        };
        let one = digest("-O", "a.rs", "fn a() {}\n");
        assert_eq!(digest("-O", "a.rs", "fn a() {}\r\n"), one);
        for other in [digest("", "a.rs", "fn a() {}\n"), digest("-O", "b.rs", "fn a() {}\n"), digest("-O", "a.rs", "")]
        {
            assert_ne!(other, one);
        }
    }
}
