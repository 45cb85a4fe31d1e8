//! Invalid input causes exit code 2 and one clear error line before any training.

use std::fs;

use crate::support::program::{ProgramRun, Sandbox, training};
use crate::support::{NAMES, gzip, idx, names_in, small_dataset};
use image::GrayImage;
use neural_net::checkpoint;

/// The error message of a short training run with these arguments.
#[track_caller]
fn rejection(more: &[&str]) -> String {
    Sandbox::new().rejection(&training(1, more))
}

#[track_caller]
fn assert_has(message: &str, parts: &[&str]) {
    // Windows writes paths differently.
    let message = if cfg!(windows) { message.replace('\\', "/") } else { message.to_owned() };
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
}

#[test]
fn part1_program_rejects_a_missing_directory() {
    let sandbox = Sandbox::new();
    let missing = "gone/train-images-idx3-ubyte: no such file";
    assert_has(&sandbox.rejection(&["--data", "gone"]), &[missing, "MNIST's four files, or --download"]);
    let output = sandbox.command::<&str>(&[]).env("MNIST_DIR", "gone").output().unwrap();
    assert_has(&ProgramRun::of(output).rejection(), &[missing]);
}

#[test]
fn part1_program_colours_errors_only_where_it_is_wanted() {
    let sandbox = Sandbox::new();
    let message = |name: &str, value: &str| {
        let output = sandbox.command(&["--data", "gone"]).env_remove("NO_COLOR").env(name, value).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let coloured = message("CLICOLOR_FORCE", "1");
    assert!(coloured.starts_with("\u{1b}[1m\u{1b}[31merror:\u{1b}[0m "), "{coloured:?}");
    // Standard error is a pipe.
    for plain in [message("TERM", "xterm-256color"), message("NO_COLOR", "1")] {
        assert!(plain.starts_with("error: ") && !plain.contains('\u{1b}'), "{plain:?}");
    }
}

#[test]
fn part1_program_rejects_damaged_files() {
    let good = crate::support::files_of(&small_dataset());
    let changed = |from_the_end: usize| {
        let mut bytes = gzip(&good[2]);
        let index = bytes.len() - from_the_end;
        bytes[index] ^= 1;
        bytes
    };
    let cases = [
        (NAMES[0], b"".to_vec(), "the file is empty"),
        (NAMES[0], good[0][..1000].to_vec(), "cut off: 1000 bytes instead of 470416"),
        (NAMES[0], good[1].clone(), "instead of 0x00000803"),
        (NAMES[1], good[0].clone(), "instead of 0x00000801"),
        (NAMES[1], [good[1].as_slice(), b"\n"].concat(), "continues after the 608 bytes"),
        (NAMES[1], good[3].clone(), "600 images"),
        (NAMES[1], [&good[1][..100], &[10], &good[1][101..]].concat(), "label 92 is 10"),
        (NAMES[2], gzip(&good[2])[..5000].to_vec(), "cannot be read"),
        (NAMES[2], changed(5), "cannot be read"),
        (NAMES[3], idx(&[0], &[]), "invalid sizes [0]"),
    ];
    let sandbox = Sandbox::new();
    for (name, bytes, part) in cases {
        sandbox.damage(name, &bytes);
        let message = sandbox.rejection(&training(1, &[]));
        assert_has(&message, &[name, part]);
        let index = NAMES.iter().position(|&other| other == name).unwrap();
        sandbox.damage(name, &good[index]);
    }
    sandbox.train(1, &["--target-accuracy", "0"]).success();
}

#[test]
fn part1_program_rejects_test_images_of_another_size() {
    let sandbox = Sandbox::new();
    sandbox.damage(NAMES[2], &idx(&[200, 20, 20], &[0; 80_000]));
    assert_has(&sandbox.rejection(&training(1, &[])), &["28 × 28 pixels", "must be the same"]);
}

/// A header that states 1.5 GB, in a process limited to 1 GB.
#[cfg(target_os = "linux")]
#[test]
fn part1_program_allocates_no_more_than_the_file_can_contain() {
    let sandbox = Sandbox::new();
    sandbox.damage(NAMES[0], &idx(&[2_000_000, 28, 28], &[0; 784]));
    let limited = r#"ulimit -v 1000000; exec "$0" "$@""#;
    let program = sandbox.command(&training(1, &["-c", "1"]));
    let mut shell = std::process::Command::new("sh");
    sandbox.isolate(&mut shell).args(["-c", limited]).arg(program.get_program()).args(program.get_args());
    assert_has(
        &ProgramRun::of(shell.output().unwrap()).rejection(),
        &[NAMES[0], "cut off: 800 bytes instead of 1568000016"],
    );
}

#[test]
fn part1_program_rejects_invalid_layers() {
    assert_has(&rejection(&["--layers", "784,10,9"]), &["9 outputs", "needs 10"]);
    assert_has(&rejection(&["--layers", "100,10"]), &["100 inputs", "28 × 28", "784"]);
    assert_has(&rejection(&["--layers", "784"]), &["at least two"]);
    for layers in ["784,0,10", "784,ten,10", "784,,10", "784,-5,10", ""] {
        assert_has(&rejection(&["--layers", layers]), &["--layers"]);
    }
}

/// Neither overflows nor ends the process with a failed allocation.
#[cfg(target_os = "linux")]
#[test]
fn part1_program_rejects_layers_beyond_the_memory() {
    for layers in ["784,18446744073709551615,10", "784,100000000000,10"] {
        assert_has(&rejection(&["--layers", layers]), &["memory", "choose a smaller size"]);
    }
}

#[test]
fn part1_program_rejects_incompatible_functions() {
    assert_has(&rejection(&["--activation", "softmax"]), &["softmax belongs to the output layer"]);
    let message = rejection(&["--loss", "cross-entropy", "--output-activation", "relu"]);
    assert_has(&message, &["cross-entropy needs sigmoid or softmax", "relu"]);
    assert_has(&rejection(&["--activation", "swish"]), &["swish", "--activation"]);
}

#[test]
fn part1_program_rejects_numbers_out_of_range() {
    let cases = [
        ("--learning-rate", ["0", "-1", "nan", "inf", "fast"].as_slice()),
        ("--momentum", &["1", "-0.1", "nan"]),
        ("--weight-decay", &["-1", "nan", "inf"]),
        ("--batch-size", &["0", "-1", "1.5", "all", "4294967296"]),
        ("--cores", &["0", "-1", "two", "1025", "4294967296"]),
        ("--report-every", &["0", "18446744073709551615"]),
        ("--check-every", &["0", "18446744073709551615"]),
        ("--epochs", &["0", "9223372036854775808"]),
        ("--target-accuracy", &["-1", "101", "nan"]),
        ("--seed", &["-1", "1.5"]),
        ("--train-images", &["0"]),
        ("--validation-images", &["-1"]),
        ("--shuffle", &["maybe"]),
    ];
    let sandbox = Sandbox::new();
    for (flag, values) in cases {
        for value in values {
            assert_has(&sandbox.rejection(&["--data", "digits", &format!("{flag}={value}")]), &[flag]);
        }
    }
    assert_has(&sandbox.rejection(&["-c", "0"]), &["at least 1 worker thread"]);
}

#[test]
fn part1_program_rejects_more_images_than_there_are() {
    let sandbox = Sandbox::new();
    let huge = usize::MAX.to_string();
    for (train, validation) in [("501", "100"), ("600", "1"), ("500", &huge), (&huge, "100")] {
        let message =
            sandbox.rejection(&["--data", "digits", "--train-images", train, "--validation-images", validation]);
        assert_has(&message, &["the 600 of the training set", "--train-images"]);
    }
    assert_has(&sandbox.rejection(&["--data", "digits"]), &["50000 training and 10000 validation images"]);
}

#[test]
fn part1_program_rejects_a_file_that_it_cannot_write_before_it_trains() {
    let sandbox = Sandbox::new();
    for file in ["gone/model.safetensors", "digits", "new-directory/"] {
        let message = sandbox.rejection(&training(1, &["--save", file]));
        assert_has(&message, &[file, "cannot write"]);
    }
    assert_eq!(names_in(&sandbox.path("")), ["digits"]);
}

#[test]
fn part1_program_rejects_to_overwrite_a_checkpoint() {
    let sandbox = Sandbox::new();
    sandbox.train(1, &["--checkpoint", "run", "--target-accuracy", "0"]).success();
    let before = checkpoint::load(&sandbox.path("run")).unwrap();
    assert_has(&sandbox.rejection(&training(1, &["--checkpoint", "run"])), &["run", "exists", "--resume"]);
    assert!(checkpoint::load(&sandbox.path("run")).unwrap() == before);
}

#[test]
fn part1_program_rejects_to_resume_with_other_settings() {
    let sandbox = Sandbox::new();
    sandbox.train(1, &["--checkpoint", "run", "--target-accuracy", "0"]).success();
    let others = [
        ("--learning-rate", "0.2"),
        ("--layers", "784,10"),
        ("--activation", "relu"),
        ("--momentum", "0.5"),
        ("--batch-size", "full"),
        ("--gradient", "mean"),
        ("--seed", "1"),
        ("--shuffle", "false"),
        ("--preset", "notebook"),
        ("--initialization", "normal"),
        ("--weight-decay", "0.1"),
    ];
    for (flag, value) in others {
        let message = sandbox.rejection(&training(2, &["--checkpoint", "run", "--resume", flag, value]));
        assert_has(&message, &[flag, "differs from the checkpoint"]);
    }
    let both = ["--checkpoint", "run", "--resume", "--layers", "784,10", "--seed", "1"];
    let message = sandbox.rejection(&training(2, &both));
    let values = ["(784,128,64,10 there, 784,10 here)", "--seed differs from the checkpoint (0 there, 1 here)"];
    assert_has(&message, &values);
    assert_has(
        &message,
        &["omit --layers and --seed to resume, or start a new run in another directory of --checkpoint"],
    );
    let fewer = ["--data", "digits", "--checkpoint", "run", "--resume", "--train-images", "400"];
    assert_has(&sandbox.rejection(&fewer), &["--train-images"]);
}

#[test]
fn part1_program_rejects_to_resume_with_other_images() {
    let sandbox = Sandbox::new();
    sandbox.train(1, &["--checkpoint", "run", "--target-accuracy", "0"]).success();
    let mut other = small_dataset();
    other.train.pixels[[17, 300]] ^= 1;
    crate::support::write_dataset(&sandbox.path("digits"), &other);
    let message = sandbox.rejection(&training(2, &["--checkpoint", "run", "--resume"]));
    assert_has(&message, &["trained on other images"]);
}

#[test]
fn part1_program_rejects_to_resume_without_a_checkpoint_directory() {
    assert_has(&rejection(&["--resume"]), &["required arguments"]);
}

#[test]
fn part1_program_rejects_a_damaged_checkpoint() {
    let sandbox = Sandbox::new();
    sandbox.train(1, &["--checkpoint", "run", "--target-accuracy", "0"]).success();
    let path = checkpoint::path_in(&sandbox.path("run"));
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let message = sandbox.rejection(&training(2, &["--checkpoint", "run", "--resume"]));
    assert_has(&message, &["run/checkpoint.safetensors", "damaged"]);
    assert_has(&sandbox.rejection(&training(1, &["--checkpoint", "digits/t10k-labels-idx1-ubyte"])), &["t10k-labels"]);
}

#[test]
fn part1_program_rejects_models_that_it_cannot_read() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("text"), "no model").unwrap();
    for model in ["gone.safetensors", "text"] {
        assert_has(&sandbox.rejection(&["evaluate", model, "--data", "digits"]), &[model]);
        assert_has(&sandbox.rejection(&["predict", model, "0", "--data", "digits"]), &[model]);
    }
}

/// The message ends with its cause and does not repeat it.
#[test]
fn part1_program_prints_a_cause_once() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("text"), "no model").unwrap();
    sandbox.damage(NAMES[0], b"\x1f\x8brubbish");
    let arguments: [&[&str]; 3] = [&["evaluate", "gone.safetensors"], &["evaluate", "text"], &["--data", "digits"]];
    for arguments in arguments {
        let message = sandbox.rejection(arguments);
        let (rest, cause) = message.rsplit_once(": ").unwrap();
        assert!(!rest.contains(cause), "{message}");
    }
}

#[test]
fn part1_program_rejects_images_that_it_cannot_read() {
    let sandbox = Sandbox::new();
    sandbox.save_model();
    GrayImage::new(27, 28).save(sandbox.path("narrow.png")).unwrap();
    GrayImage::new(28, 28).save(sandbox.path("blank.png")).unwrap();
    fs::write(sandbox.path("text.png"), "not an image").unwrap();
    fs::write(sandbox.path("photo.png"), b"\xff\xd8\xff\xe0").unwrap();
    let cases = [
        ("200", "no test image 200: digits has 200, 0 to 199"),
        ("18446744073709551615", "no test image"),
        ("narrow.png", "narrow.png: nothing is drawn"),
        ("blank.png", "blank.png: nothing is drawn"),
        ("text.png", "not a PNG file"),
        ("photo.png", "photo.png: a JPEG file, not PNG: open it in an image program and export it as PNG"),
        ("gone.png", "gone.png: cannot be read"),
        ("digits", "digits: cannot be read"),
    ];
    for (image, part) in cases {
        assert_has(&sandbox.rejection(&["predict", "model.safetensors", image, "--data", "digits"]), &[part]);
        let both = sandbox.run(&["predict", "model.safetensors", "0", image, "--data", "digits", "--json"]);
        assert_eq!(both.stdout, "", "all or nothing");
        both.rejection();
    }
}

#[test]
fn part1_program_rejects_a_model_for_other_images() {
    let sandbox = Sandbox::new();
    sandbox.save_model();
    for (name, count) in [(NAMES[0], 600), (NAMES[2], 200)] {
        sandbox.damage(name, &idx(&[count, 10, 10], &vec![0; 100 * count as usize]));
    }
    for command in [&["evaluate", "model.safetensors"][..], &["predict", "model.safetensors", "0"]] {
        let message = sandbox.rejection(&[command, &["--data", "digits"]].concat());
        assert_has(&message, &["784 inputs", "10 × 10 pixels"]);
    }
}

/// On systems that recognize hard links as the same file.
#[cfg(unix)]
#[test]
fn part1_program_writes_to_no_file_that_it_reads() {
    let sandbox = Sandbox::new();
    let labels = fs::read(sandbox.path("digits").join(NAMES[3])).unwrap();
    let file = format!("digits/{}", NAMES[3]);
    fs::hard_link(sandbox.path(&file), sandbox.path("linked.safetensors")).unwrap();
    let data = ["--data", "digits", "--target-accuracy", "0"];
    for save in [&file, "linked.safetensors"] {
        let message = sandbox.rejection(&[&data[..], &["--save", save]].concat());
        assert_has(&message, &[&format!("--save {save} would overwrite {file}, which is read: choose another place")]);
    }
    fs::create_dir(sandbox.path("run")).unwrap();
    fs::hard_link(sandbox.path(&file), sandbox.path("run/checkpoint.safetensors")).unwrap();
    let message = sandbox.rejection(&[&data[..], &["--checkpoint", "run"]].concat());
    assert_has(&message, &["--checkpoint run/checkpoint.safetensors would overwrite", NAMES[3]]);
    assert_eq!(fs::read(sandbox.path(&file)).unwrap(), labels);

    let message = rejection(&["--checkpoint", "new", "--save", "new/checkpoint.safetensors"]);
    assert_has(&message, &["--save new/checkpoint.safetensors is the file of --checkpoint: choose another name"]);
}

#[test]
fn part1_program_replaces_only_sheets_by_a_sheet_unless_forced() {
    let sandbox = Sandbox::empty();
    let is_png = |name: &str| fs::read(sandbox.path(name)).unwrap().starts_with(b"\x89PNG");
    fs::write(sandbox.path("notes.txt"), "thoughts").unwrap();
    GrayImage::new(560, 560).save(sandbox.path("photo.png")).unwrap();
    let photo = fs::read(sandbox.path("photo.png")).unwrap();
    for name in ["notes.txt", "photo.png"] {
        let message = sandbox.rejection(&["digits", name]);
        assert_has(&message, &[name, "exists and is not a sheet of digits: choose another file, or add --force"]);
    }
    assert_eq!(fs::read_to_string(sandbox.path("notes.txt")).unwrap(), "thoughts");
    assert_eq!(fs::read(sandbox.path("photo.png")).unwrap(), photo);
    sandbox.run(&["digits", "notes.txt", "--force"]).success();
    fs::write(sandbox.path("empty.png"), "").unwrap();
    // A new file, an empty one, and sheets.
    for name in ["sheet.png", "empty.png", "sheet.png", "notes.txt"] {
        sandbox.run(&["digits", name, "--seed", "3"]).success();
        assert!(is_png(name), "{name}");
    }
}

/// The network is written to the links' target, and through a pipe.
#[cfg(unix)]
#[test]
fn part1_program_saves_through_links_and_pipes() {
    let sandbox = Sandbox::new();
    sandbox.save_model();
    let model = fs::read(sandbox.path("model.safetensors")).unwrap();
    std::os::unix::fs::symlink("target.safetensors", sandbox.path("link.safetensors")).unwrap();
    let pipe = sandbox.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read(pipe).unwrap()
    });
    for file in ["link.safetensors", "pipe"] {
        sandbox.train(3, &["--save", file, "--target-accuracy", "0"]).success();
    }
    assert_eq!(reader.join().unwrap(), model);
    assert_eq!(fs::read(sandbox.path("target.safetensors")).unwrap(), model);
    assert!(sandbox.path("link.safetensors").is_symlink() && !pipe.is_file());
}

#[test]
fn part1_program_rejects_a_sheet_that_it_cannot_write() {
    assert_has(&Sandbox::empty().rejection(&["digits", "gone/sheet.png"]), &["gone/sheet.png", "cannot be written"]);
}

/// `--download` starts cargo, which builds and runs the program that downloads.
#[test]
fn part1_program_says_what_to_do_where_cargo_cannot_download() {
    let sandbox = Sandbox::empty();
    let rejection = |cargo: &str| {
        let output = sandbox.command(&["--download", "--data", "new"]).env("CARGO", cargo).output().unwrap();
        ProgramRun::of(output).rejection()
    };
    assert_has(&rejection("gone/cargo"), &["cannot start cargo", "put MNIST's four files into new by hand"]);
    // Windows has no program that only fails.
    if cfg!(unix) {
        assert_has(&rejection("false"), &["MNIST was not downloaded", "put MNIST's four files into new by hand"]);
    }
}

#[test]
fn part1_program_distorts_images_of_28_by_28_only() {
    let sandbox = Sandbox::new();
    for (name, count) in [(NAMES[0], 600), (NAMES[2], 200)] {
        sandbox.damage(name, &idx(&[count, 10, 10], &vec![0; 100 * count as usize]));
    }
    let message = sandbox.rejection(&training(1, &["--layers", "100,10", "--augment"]));
    assert_has(&message, &["--augment distorts images of 28 × 28 pixels", "10 × 10"]);
}
