//! The crate `mnist`, another reader of MNIST's files, reads the same bytes.

use std::fs;
use std::io::Read;
use std::path::Path;

use crate::support::{NAMES, mnist_directory, write_dataset};
use flate2::read::GzDecoder;
use mnist::{Mnist, MnistBuilder};
use neural_net::data::Dataset;
use tempfile::TempDir;

/// Reads raw files with the crate `mnist`, which supports MNIST's sizes only.
#[track_caller]
fn assert_agrees(raw_files: &Path, dataset: &Dataset) {
    let Mnist { trn_img, trn_lbl, val_img, val_lbl, tst_img, tst_lbl } = MnistBuilder::new()
        .base_path(raw_files.to_str().unwrap())
        .label_format_digit()
        .training_set_length(60_000)
        .validation_set_length(0)
        .test_set_length(10_000)
        .finalize();
    assert!(val_img.is_empty() && val_lbl.is_empty());
    assert!(trn_img == dataset.train.pixels.as_slice().unwrap(), "training images");
    assert!(trn_lbl == dataset.train.labels, "training labels");
    assert!(tst_img == dataset.test.pixels.as_slice().unwrap(), "test images");
    assert!(tst_lbl == dataset.test.labels, "test labels");
}

#[test]
fn part1_mnist_crate_agrees_on_the_builtin_digits() {
    let directory = TempDir::new().unwrap();
    let drawn = Dataset::builtin(0);
    write_dataset(directory.path(), &drawn);
    let read = Dataset::mnist(directory.path()).unwrap();
    assert!(read.train == drawn.train && read.test == drawn.test);
    assert_agrees(directory.path(), &read);
}

#[test]
fn part1_mnist_crate_agrees_on_mnist() {
    let Some(mnist) = mnist_directory() else { return };
    let raw_files = TempDir::new().unwrap();
    for name in NAMES {
        let bytes = match fs::read(mnist.join(name)) {
            Ok(bytes) => bytes,
            Err(_) => {
                let mut bytes = Vec::new();
                let compressed = fs::File::open(mnist.join(format!("{name}.gz"))).unwrap();
                GzDecoder::new(compressed).read_to_end(&mut bytes).unwrap();
                bytes
            }
        };
        fs::write(raw_files.path().join(name), bytes).unwrap();
    }
    let dataset = Dataset::mnist(&mnist).unwrap();
    assert_agrees(raw_files.path(), &dataset);
    assert!(Dataset::mnist(raw_files.path()).unwrap() == dataset);
}
