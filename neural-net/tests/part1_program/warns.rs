//! Training that cannot work prints a warning: before it starts if its steps are too large, and
//! after the first epoch if the network predicts one class.

use crate::support::program::{ProgramRun, Sandbox, training};

/// The warnings of a successful run.
#[track_caller]
fn warnings(run: &ProgramRun) -> Vec<String> {
    assert_eq!(run.code, Some(0), "{run:?}");
    let lines: Vec<String> = run.stderr.lines().map(ToOwned::to_owned).collect();
    assert!(lines.iter().all(|line| line.starts_with("warning: ")), "{lines:?}");
    lines
}

/// Trains without a target accuracy.
fn train(sandbox: &Sandbox, epochs: usize, more: &[&str]) -> ProgramRun {
    sandbox.train(epochs, &[more, &["--target-accuracy", "0"]].concat())
}

#[test]
fn part1_program_warns_of_too_large_steps_with_ways_out_that_work() {
    let sandbox = Sandbox::new();
    for (flags, step, rate, momentum) in [
        (&["--batch-size", "128"][..], "12.8", "0.0125", " --momentum 0.9"),
        (&["--batch-size", "full"], "50", "0.0032", " --momentum 0.9"),
        (&["--batch-size", "1024", "--learning-rate", "0.02"], "10", "0.0032", " --momentum 0.9"),
        (&["--momentum", "0.9"], "16", "0.01", ""),
        (&["--momentum", "0.9", "--activation", "relu"], "16", "0.001", ""),
    ] {
        let shown = warnings(&train(&sandbox, 1, flags));
        let line = &shown[0];
        assert!(line.starts_with("warning: gradients are summed over batches of "), "{line}");
        assert!(line.contains(&format!(", is {step}; above 7 the network ends up")), "{line}");
        let ways_out = format!("; choose --learning-rate {rate}, or --optimizer adam --learning-rate 0.001{momentum}");
        assert!(line.contains(&ways_out), "{line}");
        let kept: Vec<&str> = flags.iter().copied().take_while(|&flag| flag != "--learning-rate").collect();
        for way_out in [&["--learning-rate", rate][..], &["--optimizer", "adam", "--learning-rate", "0.001"]] {
            train(&sandbox, 1, &[&kept[..], way_out].concat()).success();
        }
    }
}

#[test]
fn part1_program_warns_of_large_steps_of_means_and_not_of_the_largest_that_work() {
    let sandbox = Sandbox::new();
    let shown = warnings(&train(&sandbox, 1, &["--gradient", "mean", "--learning-rate", "8"]));
    assert!(shown[0].starts_with("warning: the effective step, the learning rate, is 8; above 7"), "{shown:?}");
    assert!(shown[0].contains("; choose --learning-rate 1.6, or --optimizer adam"), "{shown:?}");
    for works in [&["--batch-size", "64"][..], &["--batch-size", "full", "--optimizer", "adam"]] {
        let shown = warnings(&train(&sandbox, 1, works));
        assert!(!shown.iter().any(|line| line.contains("above 7")), "{shown:?}");
    }
}

#[test]
fn part1_program_warns_once_of_a_saturated_network_that_reads_one_class() {
    let sandbox = Sandbox::new();
    let flags = ["--batch-size", "100", "--learning-rate", "3", "--checkpoint", "run"];
    let run = train(&sandbox, 3, &flags);
    let shown = warnings(&run);
    assert_eq!(shown.len(), 2, "{shown:?}");
    let class = shown[1].strip_prefix("warning: after epoch 1 the network reads 100 of 100 images as class ");
    let (class, rest) = class.and_then(|class| class.split_once("; layer ")).unwrap_or_else(|| panic!("{shown:?}"));
    assert!(class.parse::<usize>().is_ok_and(|class| class < 10), "{class}");
    assert!(
        rest[1..]
            .starts_with(" is saturated, and hardly learns: the steps are too large for sigmoid and sigmoid with squared-error; choose --learning-rate 0.016, or")
    );
    // A resumed run cannot change these settings.
    train(&sandbox, 4, &[&flags[..], &["--resume"]].concat()).success();
}

/// After few images, there is no warning: the network has only just begun to learn.
#[test]
fn part1_program_does_not_warn_of_one_class_after_few_images() {
    let sandbox = Sandbox::new();
    train(&sandbox, 1, &["--batch-size", "100", "--gradient", "mean", "--learning-rate", "0.01"]).success();
}

#[test]
fn part1_program_prints_warnings_beside_json_and_by_one_rank_only() {
    let sandbox = Sandbox::new();
    let large = ["--batch-size", "100", "--learning-rate", "3", "--target-accuracy", "0"];
    let run = sandbox.train(1, &[&large[..], &["--json"]].concat());
    assert_eq!(warnings(&run).len(), 2);
    serde_json::from_str::<serde_json::Value>(&run.stdout).unwrap();

    let mut command = sandbox.command(&training(1, &[&large[..], &["--distributed", "sync", "-n", "3"]].concat()));
    let run = ProgramRun::of(command.env("MPI_LIBRARY", "there-is-none.so").output().unwrap());
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(run.stderr.matches("warning: ").count(), 2, "{}", run.stderr);
}
