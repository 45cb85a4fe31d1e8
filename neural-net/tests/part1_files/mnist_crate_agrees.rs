//! The crate `mnist`, another reader of MNIST's files, reads the same bytes.

use std::fs;
use std::io::Read;
use std::path::Path;

use crate::support::{NAMES, mnist_directory, write_dataset};
use flate2::read::GzDecoder;
use mnist::{Mnist, MnistBuilder};
use ndarray::s;
use neural_net::data::convention::Convention;
use neural_net::data::{Dataset, LabelledImages};
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
    let read = Dataset::read(directory.path()).unwrap();
    assert!(read.train == drawn.train && read.test == drawn.test);
    assert_agrees(directory.path(), &read);
}

/// A set of MNIST's size with one different label is not MNIST.
#[test]
fn part1_other_labels_are_not_mnist() {
    let Some(mnist) = mnist_directory() else { return };
    let mut dataset = Dataset::read(&mnist).unwrap();
    dataset.test.labels[9_999] ^= 1;
    let directory = TempDir::new().unwrap();
    let other = directory.path().join("relabelled");
    fs::create_dir(&other).unwrap();
    write_dataset(&other, &dataset);
    let read = Dataset::read(&other).unwrap();
    assert_eq!((read.name.as_str(), read.is_mnist), ("relabelled", false));
}

#[test]
fn part1_mnist_in_other_conventions_is_recognised() {
    let Some(mnist) = mnist_directory() else { return };
    let images = Dataset::read(&mnist).unwrap().train;
    for (first, count) in [(0, 100), (100, 100), (1_000, 300), (20_000, 5_000)] {
        let pixels = images.pixels.slice(s![first..first + count, ..]).to_shared();
        let labels = images.labels[first..first + count].to_vec();
        for convention in Convention::ALL {
            let mut pixels = pixels.clone();
            pixels.rows_mut().into_iter().for_each(|mut row| convention.convert(row.as_slice_mut().unwrap(), 28));
            let images = LabelledImages { pixels, labels: labels.clone(), shape: (28, 28) };
            assert_eq!(Convention::of(&images), convention, "{count} images from {first}");
        }
    }
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
    let dataset = Dataset::read(&mnist).unwrap();
    assert_agrees(raw_files.path(), &dataset);
    assert_eq!((dataset.name.as_str(), dataset.is_mnist, dataset.convention), ("MNIST", true, Convention::default()));
    assert!(Dataset::read(raw_files.path()).unwrap() == dataset);
}
