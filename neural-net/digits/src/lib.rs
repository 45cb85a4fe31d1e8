//! Labeled images: MNIST's files, the search for them, and synthetic digits.

pub mod builtin_digits;
pub mod convention;
pub mod drawing;
pub mod idx;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use ndarray::ArcArray2;

use convention::Convention;
use idx::IdxError;

/// The number of classes: the digits 0 … 9.
pub const CLASSES: usize = 10;

/// Seed of the built-in digits that replace a missing MNIST. It is constant, so a saved network is
/// evaluated on test images that it was not trained on.
pub const BUILTIN_SEED: u64 = 0;

/// Gray images with their labels.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelledImages {
    /// One image per row, 0 (background) … 255 (ink), *N* × (rows · columns).
    pub pixels: ArcArray2<u8>,
    /// The *N* digits, 0 … 9.
    pub labels: Vec<u8>,
    /// Rows and columns of an image.
    pub shape: (usize, usize),
}

/// A training and a test set.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// The name in printed results.
    pub name: String,
    /// Whether these are MNIST's 60,000 training and 10,000 test images with their labels, verified
    /// by checksums.
    pub is_mnist: bool,
    /// How the training images show their digits.
    pub convention: Convention,
    /// The training set. Validation images are taken from it too.
    pub train: LabelledImages,
    /// The test set, only for the final measurement.
    pub test: LabelledImages,
}

impl LabelledImages {
    /// The number of images.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are no images.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }
}

impl Dataset {
    /// MNIST if [`find_mnist`] finds it, otherwise the built-in digits.
    ///
    /// # Errors
    /// If one of MNIST's files is missing or invalid; the message names it.
    pub fn find(explicit: Option<&Path>) -> Result<Self, IdxError> {
        match find_mnist(explicit) {
            Some(directory) => Self::read(&directory),
            None => Ok(Self::builtin(BUILTIN_SEED)),
        }
    }

    /// Reads four files with MNIST's names from `directory`, in parallel on rayon's current thread
    /// pool. The data set's name is "MNIST" if they are MNIST's, otherwise the directory's name.
    ///
    /// # Errors
    /// If a file is missing or invalid; the message names it.
    pub fn read(directory: &Path) -> Result<Self, IdxError> {
        let (train, test) = rayon::join(
            || idx::read_labelled_images(directory, "train"),
            || idx::read_labelled_images(directory, "t10k"),
        );
        let (train, test) = (train?, test?);
        let is_mnist = is_mnist(&train, MNIST_TRAIN) && is_mnist(&test, MNIST_TEST);
        let name = if is_mnist { "MNIST".to_owned() } else { name_of(directory) };
        Ok(Self { name, is_mnist, convention: Convention::of(&train), train, test })
    }

    /// Draws a training set of 60,000 digits and a test set of 10,000. The same seed gives the same digits.
    pub fn builtin(seed: u64) -> Self {
        const TRAIN: usize = 60_000;
        const TEST: usize = 10_000;
        let side = builtin_digits::SIDE;
        let (pixels, labels) = builtin_digits::draw(TRAIN + TEST, seed);
        let part = |first: usize, count: usize| LabelledImages {
            pixels: ArcArray2::from_shape_fn((count, side * side), |(image, pixel)| {
                pixels[(first + image) * side * side + pixel]
            }),
            labels: labels[first..first + count].to_vec(),
            shape: (side, side),
        };
        Self {
            name: "built-in digits".to_owned(),
            is_mnist: false,
            convention: Convention::default(),
            train: part(0, TRAIN),
            test: part(TRAIN, TEST),
        }
    }
}

/// For one part of MNIST: the number of images, and the CRC-32 of their pixels and of their labels.
type Checksums = (usize, u32, u32);
const MNIST_TRAIN: Checksums = (60_000, 0x5cc4_ba61, 0xba07_e8ef);
const MNIST_TEST: Checksums = (10_000, 0xe4ca_5f57, 0xee86_04d9);

fn is_mnist(images: &LabelledImages, (count, pixels, labels): Checksums) -> bool {
    images.len() == count
        && images.shape == (28, 28)
        && crc32fast::hash(&images.labels) == labels
        && images.pixels.as_slice().is_some_and(|bytes| crc32fast::hash(bytes) == pixels)
}

/// A directory's name, or its parent's if its own says nothing about the images.
fn name_of(directory: &Path) -> String {
    let path = std::path::absolute(directory).unwrap_or_else(|_| directory.to_path_buf());
    let names: Vec<&OsStr> = path.iter().rev().collect();
    let name = names.iter().find(|name| ![OsStr::new("raw"), OsStr::new("gzip")].contains(*name));
    name.map_or_else(|| "these images".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Finds the directory of MNIST's files: `explicit` if given, otherwise the directory in the
/// environment variable `MNIST_DIR`. Otherwise it is `data/mnist` in the current directory, the
/// user's cache directory, or `data`, whichever has the files. `None` if there is none.
///
/// The files may be deeper, in `MNIST/raw`, where torchvision keeps them. A directory named by
/// `explicit` or `MNIST_DIR` is returned even without files. A wrong name then causes an error
/// later instead of silently using other data.
pub fn find_mnist(explicit: Option<&Path>) -> Option<PathBuf> {
    let named = explicit.map(Path::to_path_buf).or_else(|| {
        let from_environment = std::env::var_os("MNIST_DIR").filter(|value| !value.is_empty());
        from_environment.map(PathBuf::from)
    });
    match named {
        Some(named) => Some(with_files(&named).unwrap_or(named)),
        None => {
            let usual = [default_directories(), vec![PathBuf::from("data")]].concat();
            usual.iter().find_map(|directory| with_files(directory))
        }
    }
}

/// The first directory with one of MNIST's files: `directory` itself or the ones inside it where
/// torchvision keeps them.
fn with_files(directory: &Path) -> Option<PathBuf> {
    let places = [directory.to_path_buf(), directory.join("MNIST/raw"), directory.join("raw")];
    places.into_iter().find(|place| idx::any_file_in(place))
}

/// The target directory of a download: `explicit`, otherwise the user's cache directory, otherwise
/// `data/mnist` in the current directory.
pub fn download_directory(explicit: Option<&Path>) -> PathBuf {
    explicit.map(Path::to_path_buf).or_else(|| default_directories().pop()).unwrap_or_default()
}

/// `data/mnist` in the current directory, and the user's cache directory if there is one.
fn default_directories() -> Vec<PathBuf> {
    let cache =
        directories::ProjectDirs::from("", "", "rust-neural-net").map(|project| project.cache_dir().join("mnist"));
    [Some(PathBuf::from("data/mnist")), cache].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part1_the_built_in_test_images_follow_the_training_images_of_the_same_draw() {
        let dataset = Dataset::builtin(3);
        assert_eq!((dataset.train.len(), dataset.test.len(), dataset.is_mnist), (60_000, 10_000, false));
        let (pixels, labels) = builtin_digits::draw(70_000, 3);
        let (train, test) = pixels.split_at(60_000 * 28 * 28);
        assert!(dataset.train.pixels.iter().eq(train) && dataset.test.pixels.iter().eq(test));
        assert_eq!((&dataset.train.labels[..], &dataset.test.labels[..]), labels.split_at(60_000));
    }

    #[test]
    fn part1_the_files_are_found_where_torchvision_keeps_them() {
        let root = tempfile::tempdir().unwrap();
        for place in ["raw", "MNIST/raw", "."] {
            let directory = root.path().join(place);
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join("t10k-labels-idx1-ubyte.gz"), "").unwrap();
            assert_eq!(find_mnist(Some(root.path())), Some(directory.clone()), "{place}");
            assert_eq!(find_mnist(Some(&directory)), Some(directory.clone()), "{place}");
            std::fs::remove_file(directory.join("t10k-labels-idx1-ubyte.gz")).unwrap();
        }
        assert_eq!(find_mnist(Some(root.path())).as_deref(), Some(root.path()));
    }

    #[test]
    fn part1_images_are_called_by_their_directory() {
        let cases =
            [("a/emnist-digits", "emnist-digits"), ("a/KMNIST/raw", "KMNIST"), ("/b/EMNIST/raw/gzip", "EMNIST")];
        for (directory, name) in cases {
            assert_eq!(name_of(Path::new(directory)), name);
        }
    }

    #[test]
    fn part1_a_directory_that_is_named_is_taken_at_its_word() {
        let named = Path::new("no such directory");
        assert_eq!(find_mnist(Some(named)).as_deref(), Some(named));
        assert!(matches!(Dataset::find(Some(named)), Err(IdxError::Missing(path)) if path.starts_with(named)));
    }
}
