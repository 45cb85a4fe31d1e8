//! A failing training run names the cause, and each command line that it recommends trains.

use std::path::Path;

use crate::support::mnist_directory;
use crate::support::program::{ProgramRun, Sandbox, training};

/// Trains on the CPU with a target accuracy that few networks reach.
fn run(sandbox: &Sandbox, data: &Path, flags: &[&str]) -> ProgramRun {
    let data = data.to_str().unwrap();
    let run = sandbox.run(&[&["--data", data, "--device", "cpu", "--target-accuracy", "99.9"], flags].concat());
    assert_eq!(run.code, Some(1), "{flags:?}: {run:?}");
    run
}

/// The test accuracy in percent.
fn accuracy(run: &ProgramRun) -> f64 {
    let line = run.stdout.lines().find_map(|line| line.strip_prefix("Test Accuracy: "));
    line.and_then(|line| line.split_once(" %")).map(|(percent, _)| percent.parse().unwrap()).unwrap()
}

/// `flags`, with the recommended values replacing the original ones.
fn replaced<'a>(flags: &[&'a str], advised: &'a str) -> Vec<&'a str> {
    let advised: Vec<&str> = advised.split(' ').collect();
    let kept = flags.chunks(2).filter(|pair| !advised.contains(&pair[0])).flatten().copied();
    kept.chain(advised.iter().copied()).collect()
}

/// Runs `flags`, finds `cause` in the last warning, and checks that each recommended command line
/// trains to at least `percent`.
#[track_caller]
fn assert_advice_trains(data: &Path, flags: &[&str], cause: &str, percent: f64) {
    let sandbox = Sandbox::new();
    let failed = run(&sandbox, data, flags);
    let warning = failed.stderr.lines().rfind(|line| line.starts_with("warning: after epoch "));
    let warning = warning.unwrap_or_else(|| panic!("{flags:?} warn of nothing: {failed:?}"));
    assert!(warning.contains(cause), "{flags:?}: {warning}");
    let (_, advice) = warning.split_once("; choose ").unwrap_or_else(|| panic!("{warning}"));
    for advised in advice.split(", or ") {
        let flags = replaced(flags, advised);
        let trained = run(&sandbox, data, &flags);
        assert!(accuracy(&trained) >= percent, "{flags:?}: {} % after {warning}", accuracy(&trained));
        assert!(accuracy(&trained) > accuracy(&failed) + 5.0, "{flags:?}");
    }
}

#[test]
fn part1_program_explains_a_collapse_after_the_first_epoch() {
    let Some(mnist) = mnist_directory() else { return };
    let flags = ["--activation", "relu", "--output-activation", "softmax", "--epochs", "2"];
    assert_advice_trains(&mnist, &flags, "after 93", 92.0);
}

#[test]
fn part1_program_explains_steps_that_are_too_large_under_momentum() {
    let Some(mnist) = mnist_directory() else { return };
    let images = ["--train-images", "20000", "--epochs", "2"];
    for flags in [
        &["--activation", "relu", "--output-activation", "softmax", "--momentum", "0.9"][..],
        &["--activation", "relu", "--momentum", "0.9", "--learning-rate", "0.01"],
        &["--activation", "tanh", "--momentum", "0.9"],
        &["--momentum", "0.99"],
        &["--optimizer", "adam", "--learning-rate", "0.1"],
    ] {
        assert_advice_trains(&mnist, &[flags, &images].concat(), "the steps are too large for", 80.0);
    }
}

#[test]
fn part1_program_explains_deep_sigmoids_decay_and_tiny_rates() {
    let Some(mnist) = mnist_directory() else { return };
    let images = ["--train-images", "20000", "--epochs", "2"];
    for (flags, cause) in [
        (["--layers", "784,64,64,64,64,10"], "gradients vanish in 4 hidden layers of sigmoid"),
        (["--layers", "784,32,32,32,32,32,32,10"], "gradients vanish in 6 hidden layers of sigmoid"),
        (["--weight-decay", "1"], "--weight-decay 1 pulls the weights to 0"),
        (["--learning-rate", "1e-20"], "the steps are too small"),
        (["--learning-rate", "0.0001"], "the steps are too small"),
    ] {
        assert_advice_trains(&mnist, &[&flags[..], &images].concat(), cause, 75.0);
    }
}

#[test]
fn part1_program_explains_narrow_layers_and_few_steps() {
    let Some(mnist) = mnist_directory() else { return };
    for (flags, cause) in [
        (["--layers", "784,1,10", "--train-images", "20000", "--epochs", "3"], "hidden layer 1 has 1 unit, too few"),
        (
            ["--layers", "784,128,2,10", "--train-images", "20000", "--epochs", "3"],
            "hidden layer 2 has 2 units, too few",
        ),
        (["--seed", "1", "--train-images", "2000", "--epochs", "5"], "it has had few steps"),
    ] {
        assert_advice_trains(&mnist, &flags, cause, 75.0);
    }
}

#[test]
fn part1_program_explains_overfitting() {
    let Some(mnist) = mnist_directory() else { return };
    let flags = ["--train-images", "100", "--epochs", "300", "--report-every", "100", "--batch-size", "10"];
    assert_advice_trains(&mnist, &flags, "it has memorized the training images: 100 training images are few", 80.0);
    // Without validation images, the test images reveal it.
    let apart = [&flags[..], &["--validation-images", "0"]].concat();
    assert_advice_trains(&mnist, &apart, "it has memorized the training images", 80.0);
}

#[test]
fn part1_program_says_nothing_of_a_run_that_trains() {
    let Some(mnist) = mnist_directory() else { return };
    for flags in [
        &["--epochs", "2"][..],
        &["--epochs", "1", "--optimizer", "adam"],
        &["--preset", "notebook", "--epochs", "400"],
    ] {
        let run = run(&Sandbox::new(), &mnist, flags);
        assert!(!run.stderr.contains("warning"), "{flags:?}: {run:?}");
    }
}

#[test]
fn part1_program_explains_asynchronous_training_and_advises_synchronous() {
    let Some(mnist) = mnist_directory() else { return };
    let sandbox = Sandbox::new();
    let asynchronous = |images: &str| {
        let mut command = sandbox.command(&["--distributed", "async", "-n", "6", "--masters", "2", "--epochs", "1"]);
        command.args(["--target-accuracy", "99.9", "--train-images", images, "--data"]).arg(&mnist);
        ProgramRun::of(command.env("MPI_LIBRARY", "there-is-none.so").output().unwrap())
    };
    let run = asynchronous("12000");
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stdout.contains("results differ from run to run. With --distributed sync they do not."), "{run:?}");
    let warning = run.stderr.lines().find(|line| line.starts_with("warning: after")).unwrap();
    assert!(warning.contains("the 4 asynchronous workers use gradients that are about 3 updates stale"), "{warning}");
    assert!(warning.ends_with("; choose --distributed sync"), "{warning}");
}

#[test]
fn part1_program_takes_percentages_and_says_so() {
    let sandbox = Sandbox::new();
    for flag in ["--stop-at", "--target-accuracy"] {
        for (share, percent) in [("0.9", "90"), ("0.958", "95.8"), ("1", "100")] {
            let message = sandbox.rejection(&training(1, &[flag, share]));
            assert!(message.contains(flag) && message.contains("is in percent"), "{message}");
            assert!(message.contains(&format!("for {percent} % give {percent}")), "{message}");
        }
    }
}

#[test]
fn part1_program_rejects_rates_beyond_f32_and_decay_that_grows() {
    let sandbox = Sandbox::new();
    for rate in ["1e-50", "1e300"] {
        let message = sandbox.rejection(&training(1, &["--learning-rate", rate]));
        assert!(message.contains("must be a 32-bit number") && message.contains(rate), "{message}");
    }
    for flags in [
        &["--weight-decay", "1000"][..],
        &["--weight-decay", "39", "--momentum", "0.9"],
        &["--weight-decay", "3000", "--optimizer", "adam"],
    ] {
        let message = sandbox.rejection(&training(1, flags));
        assert!(message.contains(&format!("--weight-decay {} with --learning-rate", flags[1])), "{message}");
    }
    let diverges = ["--activation", "relu", "--output-activation", "identity", "--learning-rate", "1"];
    let run = sandbox.train(3, &diverges);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("the loss is no longer finite"), "{run:?}");
    assert!(
        run.stderr.contains("; choose a smaller learning rate: --learning-rate 0.01, or --optimizer adam"),
        "{run:?}"
    );
    let advised = replaced(&diverges, "--learning-rate 0.01");
    assert_eq!(sandbox.train(3, &[&advised[..], &["--target-accuracy", "0"]].concat()).code, Some(0));
}
