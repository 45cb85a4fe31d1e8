//! Two processes on one checkpoint directory: one trains, the other is rejected, and nothing is lost.

use std::fs;
use std::process::Stdio;

use crate::support::names_in;
use crate::support::program::{Place, Run, small};
use neural_net::checkpoint;
use neural_net::files::DirectoryLock;

#[test]
fn part1_program_rejects_a_directory_that_another_process_trains_in() {
    let place = Place::new();
    let lock = DirectoryLock::acquire(&place.path("run")).unwrap();
    let expected = format!(
        "error: run: process {} writes there: wait until it has ended, or choose another directory",
        std::process::id()
    );
    for more in [&["--checkpoint", "run"][..], &["--checkpoint", "run", "--resume"]] {
        let run = place.run(&small(&[more, &["--epochs", "1"]].concat()));
        assert_eq!((run.code, run.stderr.trim_end(), run.stdout.as_str()), (Some(2), expected.as_str(), ""));
    }
    assert_eq!(names_in(&place.path("run")), [".lock"]);
    drop(lock);
    place.run(&small(&["--checkpoint", "run", "--epochs", "1"])).success();
    assert_eq!(names_in(&place.path("run")), [checkpoint::FILE_NAME]);
}

/// A refusal of what the arguments say leaves no directory.
#[test]
fn part1_program_makes_no_directory_for_a_training_that_cannot_begin() {
    let place = Place::new();
    place.refusal(&["--checkpoint", "a/run", "--data", "gone"]);
    assert_eq!(names_in(&place.path(".")), ["digits"]);
}

/// Forty times two that start at the same time, one of them killed now and then.
#[test]
fn part1_program_run_twice_at_once_trains_once() {
    let place = Place::new();
    let command = |directory: &str| {
        place.command(&small(&["--checkpoint", directory, "--resume", "--epochs", "3", "--device", "cpu", "-c", "1"]))
    };
    assert!(command("alone").output().unwrap().status.success());
    let alone = checkpoint::load(&place.path("alone")).unwrap().unwrap();
    let mut rejected = 0;
    for round in 0..40 {
        let directory = format!("run-{round}");
        let start = || command(&directory).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut both = [start(), start()];
        let ids = both.each_ref().map(std::process::Child::id);
        if round % 4 == 3 {
            std::thread::sleep(std::time::Duration::from_millis(round));
            both[0].kill().unwrap();
        }
        let runs = both.map(|child| Run::of(child.wait_with_output().unwrap()));
        for (run, other) in runs.iter().zip([ids[1], ids[0]]) {
            match run.code {
                // Where the first has ended before the second begins, that one resumes what is finished.
                Some(0) => assert!(
                    run.stderr.is_empty() || run.stderr.starts_with("no checkpoint in run-"),
                    "round {round}: {run:?}"
                ),
                Some(2) => {
                    rejected += 1;
                    let expected = format!("error: {directory}: process {other} writes there: ");
                    assert!(run.stderr.starts_with(&expected) && run.stderr.lines().count() == 1, "{run:?}");
                }
                None => {}
                Some(code) => panic!("round {round}: code {code}: {run:?}"),
            }
        }
        if round % 4 == 3 {
            // Whatever is left is resumed.
            let run = Run::of(command(&directory).output().unwrap());
            assert_eq!(run.code, Some(0), "{run:?}");
        } else {
            assert!(runs.iter().any(|run| run.code == Some(0)), "round {round}: {runs:?}");
        }
        let kept = checkpoint::load(&place.path(&directory)).unwrap().unwrap();
        assert_eq!(kept.parameters, alone.parameters, "round {round}");
        assert_eq!(names_in(&place.path(&directory)), [checkpoint::FILE_NAME]);
        fs::remove_dir_all(place.path(&directory)).unwrap();
    }
    assert!(rejected >= 10, "{rejected} of 40 were rejected: the others did not meet");
}
