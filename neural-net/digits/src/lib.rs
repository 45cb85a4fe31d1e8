//! Labelled images: MNIST's files, where to find them, and the digits that the program draws itself.

pub mod builtin_digits;
pub mod download;
pub mod idx;

use std::path::{Path, PathBuf};

use ndarray::{ArcArray2, Array2, s};

use idx::IdxError;
use perceptron::{Real, Samples};

/// The classes: the digits 0 … 9.
pub const CLASSES: usize = 10;

/// Seed of the built-in digits that stand in for MNIST: always the same, so that a network can be evaluated on the digits
/// that it has not seen.
pub const BUILTIN_SEED: u64 = 0;

/// Grey images with the digits they show.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelledImages {
    /// One image a row, 0 background … 255 ink, *N* × (rows · columns).
    pub pixels: ArcArray2<u8>,
    /// The digits, 0 … 9, *N* of them.
    pub labels: Vec<u8>,
    /// Rows and columns of an image.
    pub shape: (usize, usize),
}

/// A training and a test set.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// Its name, as results show it.
    pub name: String,
    /// Whether these are MNIST's files; else they are the built-in digits.
    pub is_mnist: bool,
    /// What is learned from.
    pub train: LabelledImages,
    /// What the result is measured on, seen once.
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

    /// Images `first` … `first + count − 1` as samples: pixels divided by 255, labels one-hot.
    ///
    /// # Panics
    /// If there are not so many images.
    pub fn samples<F: Real>(&self, first: usize, count: usize) -> Samples<F> {
        let pixels = self.pixels.clone().slice_move(s![first..first + count, ..]);
        let labels = &self.labels[first..first + count];
        let mut targets = vec![F::zero(); count * CLASSES];
        for (target, &label) in targets.as_chunks_mut::<CLASSES>().0.iter_mut().zip(labels) {
            target[usize::from(label)] = F::one();
        }
        let targets = match Array2::from_shape_vec((count, CLASSES), targets) {
            Ok(targets) => targets,
            Err(error) => unreachable!("a target for each class: {error}"),
        };
        match Samples::from_bytes(pixels, F::from_f64(255.0), targets) {
            Ok(samples) => samples,
            Err(error) => unreachable!("as many labels as images: {error}"),
        }
    }
}

impl Dataset {
    /// MNIST where [`find_mnist`] finds it, else the built-in digits.
    ///
    /// # Errors
    /// If one of MNIST's files is missing or wrong; the line names it.
    pub fn find(explicit: Option<&Path>) -> Result<Self, IdxError> {
        match find_mnist(explicit) {
            Some(directory) => Self::mnist(&directory),
            None => Ok(Self::builtin(BUILTIN_SEED)),
        }
    }

    /// Reads MNIST's four files from `directory`, in parallel on rayon's current thread pool.
    ///
    /// # Errors
    /// If one is missing or wrong; the line names it.
    pub fn mnist(directory: &Path) -> Result<Self, IdxError> {
        let (train, test) = rayon::join(
            || idx::read_labelled_images(directory, "train"),
            || idx::read_labelled_images(directory, "t10k"),
        );
        Ok(Self { name: "MNIST".to_owned(), is_mnist: true, train: train?, test: test? })
    }

    /// Draws 60,000 digits to train on and 10,000 to test on. The same seed gives the same digits.
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
        Self { name: "built-in digits".to_owned(), is_mnist: false, train: part(0, TRAIN), test: part(TRAIN, TEST) }
    }
}

/// Where MNIST's files are: `explicit`, else the directory that the environment variable `MNIST_DIR` names, else
/// `data/mnist` in the current directory or the user's cache directory if the files are there. None if nowhere.
///
/// The first two are taken at their word, so that a wrong one is an error rather than silently other data.
pub fn find_mnist(explicit: Option<&Path>) -> Option<PathBuf> {
    let named = explicit.map(Path::to_path_buf).or_else(|| {
        let from_environment = std::env::var_os("MNIST_DIR").filter(|value| !value.is_empty());
        from_environment.map(PathBuf::from)
    });
    named.or_else(|| usual_places().into_iter().find(|directory| idx::any_file_in(directory)))
}

/// Where a download goes: `explicit`, else the user's cache directory, else `data/mnist` in the current directory.
pub fn download_directory(explicit: Option<&Path>) -> PathBuf {
    explicit.map(Path::to_path_buf).or_else(|| usual_places().pop()).unwrap_or_default()
}

fn usual_places() -> Vec<PathBuf> {
    let cache =
        directories::ProjectDirs::from("", "", "rust-neural-net").map(|project| project.cache_dir().join("mnist"));
    [Some(PathBuf::from("data/mnist")), cache].into_iter().flatten().collect()
}
