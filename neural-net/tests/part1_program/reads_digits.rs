//! The subcommands `evaluate`, `predict` and `digits` agree with the library.

use crate::support::images_file;
use crate::support::program::Sandbox;
use image::{GrayImage, RgbImage};
use ndarray::{Array1, Array2};
use neural_net::data::convention::Convention;
use neural_net::data::drawing::{self, Background};
use neural_net::data::{Dataset, ToSamples};
use neural_net::model_file::{self, Model};
use neural_net::network::{Network, argmax};
use neural_net::{Activation, Architecture};
use serde_json::Value;

/// The predictions that the program prints as JSON.
#[track_caller]
fn predictions(sandbox: &Sandbox, more: &[&str]) -> Vec<Value> {
    let arguments = [&["predict", "model.safetensors", "--data", "digits", "--json"], more].concat();
    let run = sandbox.run(&arguments).success();
    let object: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(object["program"], "neural-net predict");
    object["predictions"].as_array().unwrap().clone()
}

fn probabilities(prediction: &Value) -> Vec<f64> {
    let values = prediction["probabilities"].as_array().unwrap();
    values.iter().map(|value| value.as_f64().unwrap()).collect()
}

/// A test image of the small data set.
fn test_image(index: usize) -> GrayImage {
    let pixels = crate::support::small_dataset().test.pixels.row(index).to_vec();
    GrayImage::from_raw(28, 28, pixels).unwrap()
}

#[test]
fn part1_program_evaluates_what_it_saved_to_the_same_accuracy() {
    let sandbox = Sandbox::new();
    let trained = sandbox.save_model();
    let accuracy = trained.stdout.lines().last().unwrap();
    let run = sandbox.run(&["evaluate", "model.safetensors", "--data", "digits"]).success();
    let origin = "Data: digits from digits, 600 training and 200 test images. Target accuracy: none, since their checksums differ from the original MNIST's.";
    assert_eq!(run.stdout.lines().collect::<Vec<_>>(), [origin, "Trained on: digits", accuracy]);

    let run = sandbox.run(&["evaluate", "model.safetensors", "--data", "digits", "--json", "-c", "1"]).success();
    let object: Value = serde_json::from_str(&run.stdout).unwrap();
    let percent = format!("Test Accuracy: {:.2} %", 100.0 * object["test_accuracy"].as_f64().unwrap());
    assert!(accuracy.starts_with(&percent), "{accuracy} and {percent}");
    assert_eq!(object["test_images"], 200);

    // Without --data, the images are the built-in digits, which it was not trained on.
    let run = sandbox.run(&["evaluate", "model.safetensors"]);
    assert_eq!(run.code, Some(0));
    let warning =
        "warning: the network was trained on digits, but the test images are built-in digits: give --data DIR";
    assert_eq!(run.stderr.trim_end(), warning);
}

/// A network trained on images of another convention reports it, keeps it, and reads the same PNG files.
#[test]
fn part1_program_keeps_the_convention_of_its_images() {
    let upright = Sandbox::new();
    upright.save_model();
    test_image(0).save(upright.path("digit.png")).unwrap();
    let expected = &predictions(&upright, &["digit.png"])[0];
    for (convention, words) in
        Convention::ALL.into_iter().zip(["", "dark on light", "transposed", "dark on light, and transposed"])
    {
        let sandbox = Sandbox::new();
        let mut dataset = crate::support::small_dataset();
        for images in [&mut dataset.train, &mut dataset.test] {
            for mut image in images.pixels.rows_mut() {
                convention.convert(image.as_slice_mut().unwrap(), 28);
            }
        }
        crate::support::write_dataset(&sandbox.path("digits"), &dataset);
        let run = sandbox.train(20, &["--save", "model.safetensors", "--checkpoint", "run", "--learning-rate", "0.02"]);
        assert_eq!(run.code, Some(0), "{run:?}");
        let note = run.stderr.contains(&format!("note: the images of digits are {words}"));
        assert_eq!(note, convention != Convention::default(), "{}", run.stderr);
        for file in ["model.safetensors", "run/checkpoint.safetensors"] {
            assert_eq!(model_file::load(&sandbox.path(file)).unwrap().convention, convention, "{file}");
        }
        sandbox.train(21, &["--checkpoint", "run", "--resume", "--learning-rate", "0.02"]);
        assert_eq!(model_file::load(&sandbox.path("run/checkpoint.safetensors")).unwrap().convention, convention);

        // Only a transposition keeps the bits of the training run, apart from the initial weights.
        // The digit still has to be recognized.
        test_image(0).save(sandbox.path("digit.png")).unwrap();
        let read = predictions(&sandbox, &["digit.png", "0"]);
        assert_eq!(read[0]["digit"], read[1]["digit"], "{convention}");
        assert_eq!(read[0]["digit"], expected["digit"], "{convention}");
        let changes = read[0]["changes"].to_string();
        assert_eq!(changes.contains(&convention.to_string()), convention != Convention::default(), "{changes}");

        // On images with MNIST's convention.
        crate::support::write_dataset(&sandbox.path("digits"), &crate::support::small_dataset());
        let run = sandbox.run(&["evaluate", "model.safetensors", "--data", "digits"]);
        assert_eq!(run.stderr.contains("it cannot read them"), convention != Convention::default(), "{}", run.stderr);
    }
}

#[test]
fn part1_program_evaluates_a_checkpoint() {
    let sandbox = Sandbox::new();
    let trained = sandbox.train(2, &["--checkpoint", "run", "--momentum", "0.5", "--target-accuracy", "0"]).success();
    let run = sandbox.run(&["evaluate", "run/checkpoint.safetensors", "--data", "digits"]).success();
    assert_eq!(run.stdout.lines().last(), trained.stdout.lines().last());
}

#[test]
fn part1_program_reads_test_images_as_the_library_does() {
    let sandbox = Sandbox::new();
    sandbox.save_model();
    let network = model_file::load(&sandbox.path("model.safetensors")).unwrap().network;
    let test = Dataset::read(&sandbox.path("digits")).unwrap().test;
    let samples = test.samples(0, 10);
    let read = predictions(&sandbox, &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    assert_eq!(read.len(), 10);
    for (index, prediction) in read.iter().enumerate() {
        let outputs = network.predict(samples.input(index));
        assert_eq!(prediction["image"], index.to_string());
        assert_eq!(prediction["label"], test.labels[index]);
        assert_eq!(prediction["digit"], argmax(&outputs));
        // A sigmoid's outputs are not the probabilities of ten digits.
        assert_eq!(prediction["probabilities"], Value::Null);
        let read: Vec<f64> = serde_json::from_value(prediction["outputs"].clone()).unwrap();
        assert_eq!(read.len(), 10);
        for (read, output) in read.iter().zip(&outputs) {
            assert!((read - f64::from(*output)).abs() < 1e-6, "{read} and {output}");
        }
    }
}

#[test]
fn part1_program_prints_the_probabilities_of_softmax_and_other_outputs_as_they_are() {
    let sandbox = Sandbox::new();
    sandbox.save_model();
    let run = sandbox.run(&["predict", "model.safetensors", "0", "--data", "digits"]).success();
    assert!(run.stdout.contains(" with output 0.") && !run.stdout.contains('%'), "{}", run.stdout);
    let softmax = ["--output-activation", "softmax", "--save", "model.safetensors", "--target-accuracy", "0"];
    sandbox.train(3, &softmax).success();
    let read = probabilities(&predictions(&sandbox, &["0"])[0]);
    assert!((read.iter().sum::<f64>() - 1.0).abs() < 1e-5, "{read:?}");
    let digit = predictions(&sandbox, &["0"])[0]["digit"].clone();
    let run = sandbox.run(&["predict", "model.safetensors", "0", "--data", "digits"]).success();
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines.len(), 12, "{}", run.stdout);
    let label = crate::support::small_dataset().test.labels[0];
    assert!(lines[1].starts_with(&format!("0: {digit} with probability ")), "{}", lines[1]);
    assert!(lines[1].ends_with(&format!(" %, labelled {label}")), "{}", lines[1]);
    for (line, digit) in lines[2..].iter().zip(0..) {
        assert!(line.trim_start().starts_with(&format!("{digit} ")), "{line}");
    }
}

#[test]
fn part1_program_reads_a_png_file_as_it_reads_the_test_image() {
    let sandbox = Sandbox::new();
    sandbox.save_model();
    // In MNIST's format, the file keeps its pixels.
    let mut dataset = crate::support::small_dataset();
    let drawn = Array2::from_shape_vec((28, 28), test_image(3).into_raw()).unwrap();
    let digit = drawing::find_digit(drawn, 28, Background::Dark).unwrap().pixels;
    dataset.test.pixels.row_mut(3).assign(&digit.flatten());
    sandbox.damage("t10k-images-idx3-ubyte", &images_file(&dataset.test));
    let light_on_dark = GrayImage::from_raw(28, 28, digit.into_iter().collect()).unwrap();
    let mut dark_on_light = light_on_dark.clone();
    image::imageops::invert(&mut dark_on_light);
    let coloured = RgbImage::from_fn(28, 28, |x, y| image::Rgb([light_on_dark[(x, y)].0[0]; 3]));
    light_on_dark.save(sandbox.path("light.png")).unwrap();
    dark_on_light.save(sandbox.path("dark.png")).unwrap();
    coloured.save(sandbox.path("colour.png")).unwrap();

    let read = [predictions(&sandbox, &["3", "light.png", "colour.png"]), predictions(&sandbox, &["dark.png"])];
    let read = read.concat();
    assert_eq!(read.len(), 4);
    for prediction in &read {
        assert_eq!(prediction["digit"], read[0]["digit"], "{}", prediction["image"]);
        assert_eq!(prediction["outputs"], read[0]["outputs"], "{}", prediction["image"]);
    }
    assert_eq!(read[1]["label"], Value::Null);
}

#[test]
fn part1_program_notes_another_object_in_a_png_file() {
    let sandbox = Sandbox::new();
    sandbox.save_model();
    let mut two = GrayImage::new(56, 28);
    image::imageops::replace(&mut two, &test_image(0), 0, 0);
    image::imageops::replace(&mut two, &test_image(1), 28, 0);
    two.save(sandbox.path("two.png")).unwrap();
    let run = sandbox.run(&["predict", "model.safetensors", "two.png"]);
    assert_eq!(run.code, Some(0));
    let note = "note: two.png: 1 other object beside the one that is read, which has the most ink: crop the image to one digit";
    assert_eq!(run.stderr.trim_end(), note);
}

#[test]
fn part1_program_reads_a_png_file_without_a_data_set() {
    let sandbox = Sandbox::new();
    sandbox.save_model();
    test_image(0).save(sandbox.path("digit.png")).unwrap();
    std::fs::remove_dir_all(sandbox.path("digits")).unwrap();
    let run = sandbox.run(&["predict", "model.safetensors", "digit.png"]).success();
    assert!(run.stdout.starts_with("digit.png: "), "{}", run.stdout);
    assert_eq!(run.stdout.lines().count(), 11, "{}", run.stdout);
}

/// Outputs that are not probabilities: −3, −2, … 6; in the last case, with ReLU, only zeros.
#[test]
fn part1_program_prints_probabilities_only_if_the_outputs_are_some() {
    let sandbox = Sandbox::new();
    for (output, shift) in [(Activation::Identity, 3.0), (Activation::Relu, 3.0), (Activation::Relu, 30.0)] {
        let architecture = Architecture::new(vec![784, 10], Activation::Sigmoid, output).unwrap();
        let biases = Array1::from_iter((0_u8..10).map(|digit| f32::from(digit) - shift));
        let network = Network::new(architecture, vec![Array2::zeros((784, 10))], vec![biases]).unwrap();
        let model = Model { network, dataset: "nothing".to_owned(), convention: Default::default() };
        model_file::save(&sandbox.path("model.safetensors"), &model).unwrap();
        let prediction = &predictions(&sandbox, &["0"])[0];
        assert_eq!(prediction["probabilities"], Value::Null, "{output:?}: {prediction}");
        let run = sandbox.run(&["predict", "model.safetensors", "0", "--data", "digits"]).success();
        assert!(!run.stdout.contains("NaN") && !run.stdout.contains("probability"), "{}", run.stdout);
    }
}

#[test]
fn part1_program_draws_a_sheet_of_digits() {
    let sandbox = Sandbox::empty();
    let run = sandbox.run(&["digits", "sheet.png"]).success();
    assert_eq!(run.stdout, "200 built-in digits drawn to sheet.png\n");
    let sheet = image::open(sandbox.path("sheet.png")).unwrap().into_luma8();
    assert_eq!(sheet.dimensions(), (20 * 56, 10 * 56));
    assert!(sheet.pixels().any(|pixel| pixel.0[0] > 150) && sheet.pixels().any(|pixel| pixel.0[0] == 0));

    sandbox.run(&["digits", "same.png"]).success();
    sandbox.run(&["digits", "other.png", "--seed", "1"]).success();
    let bytes = |name: &str| std::fs::read(sandbox.path(name)).unwrap();
    assert!(bytes("same.png") == bytes("sheet.png") && bytes("other.png") != bytes("sheet.png"));
}
