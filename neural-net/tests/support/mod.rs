//! Helpers for several test files: small data sets on disk, and the program in a temporary directory.

#![allow(dead_code, reason = "each test file uses some of it")]

pub(crate) mod cases;
pub(crate) mod program;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use ndarray::ArcArray2;
use neural_net::data::builtin_digits::{SIDE, draw};
use neural_net::data::{Dataset, LabelledImages};

/// Number of images in the training part of [`small_dataset`].
pub(crate) const TRAIN_IMAGES: usize = 600;
/// Number of images in the test part of [`small_dataset`].
pub(crate) const TEST_IMAGES: usize = 200;

/// The names of MNIST's four files.
pub(crate) const NAMES: [&str; 4] =
    ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"];

/// A training set of 600 built-in digits and a test set of 200.
pub(crate) fn small_dataset() -> Dataset {
    let (pixels, labels) = draw(TRAIN_IMAGES + TEST_IMAGES, 1);
    let (train_pixels, test_pixels) = pixels.split_at(TRAIN_IMAGES * SIDE * SIDE);
    let (train_labels, test_labels) = labels.split_at(TRAIN_IMAGES);
    let part = |pixels: &[u8], labels: &[u8]| LabelledImages {
        pixels: ArcArray2::from_shape_vec((labels.len(), SIDE * SIDE), pixels.to_vec()).unwrap(),
        labels: labels.to_vec(),
        shape: (SIDE, SIDE),
    };
    Dataset {
        name: "digits".to_owned(),
        is_mnist: false,
        convention: Default::default(),
        train: part(train_pixels, train_labels),
        test: part(test_pixels, test_labels),
    }
}

/// An IDX file of bytes with the given sizes, which need not match the content.
pub(crate) fn idx(sizes: &[u32], content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, sizes.len() as u8];
    bytes.extend(sizes.iter().flat_map(|size| size.to_be_bytes()));
    bytes.extend(content);
    bytes
}

/// The IDX file of the pixels.
pub(crate) fn images_file(images: &LabelledImages) -> Vec<u8> {
    let (rows, columns) = images.shape;
    idx(&[images.len() as u32, rows as u32, columns as u32], images.pixels.as_slice().unwrap())
}

/// The IDX file of the labels.
pub(crate) fn labels_file(images: &LabelledImages) -> Vec<u8> {
    idx(&[images.len() as u32], &images.labels)
}

/// The four files of a data set, in the order of [`NAMES`].
pub(crate) fn files_of(dataset: &Dataset) -> [Vec<u8>; 4] {
    let Dataset { train, test, .. } = dataset;
    [images_file(train), labels_file(train), images_file(test), labels_file(test)]
}

/// Compresses like `gzip`.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Writes a data set's four files, uncompressed, into a new directory.
pub(crate) fn write_dataset(directory: &Path, dataset: &Dataset) {
    fs::create_dir_all(directory).unwrap();
    for (name, bytes) in NAMES.iter().zip(files_of(dataset)) {
        fs::write(directory.join(name), bytes).unwrap();
    }
}

/// All names in a directory, including hidden ones, sorted.
pub(crate) fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The directory of the real MNIST. Without it, the calling test is skipped.
#[track_caller]
pub(crate) fn mnist_directory() -> Option<PathBuf> {
    test_support::path_in("MNIST_DIR", test_support::Need::Mnist)
}
