//! With two processes on one checkpoint directory, one trains, the other exits with an error, and
//! nothing is lost.

use std::fs;
use std::process::Stdio;

use crate::support::names_in;
use crate::support::program::{ProgramRun, Sandbox, small};
use neural_net::checkpoint;
use neural_net::files::DirectoryLock;

#[test]
fn part1_program_rejects_a_directory_that_another_process_trains_in() {
    let sandbox = Sandbox::new();
    let lock = DirectoryLock::acquire(&sandbox.path("run")).unwrap();
    let expected = format!(
        "error: run: process {} writes there: wait until it has ended, or choose another directory",
        std::process::id()
    );
    for more in [&["--checkpoint", "run"][..], &["--checkpoint", "run", "--resume"]] {
        let run = sandbox.run(&small(&[more, &["--epochs", "1"]].concat()));
        assert_eq!((run.code, run.stderr.trim_end(), run.stdout.as_str()), (Some(2), expected.as_str(), ""));
    }
    assert_eq!(names_in(&sandbox.path("run")), [".lock"]);
    drop(lock);
    sandbox.run(&small(&["--checkpoint", "run", "--epochs", "1"])).success();
    assert_eq!(names_in(&sandbox.path("run")), [checkpoint::FILE_NAME]);
}

/// An error in the arguments leaves no directory behind.
#[test]
fn part1_program_leaves_no_directory_if_training_cannot_start() {
    let sandbox = Sandbox::new();
    sandbox.rejection(&["--checkpoint", "a/run", "--data", "gone"]);
    assert_eq!(names_in(&sandbox.path(".")), ["digits"]);
}

/// Starts two processes at the same time, forty times. In every fourth round, one of them is killed.
#[test]
fn part1_program_run_twice_concurrently_trains_once() {
    let sandbox = Sandbox::new();
    let command = |directory: &str| {
        sandbox.command(&small(&["--checkpoint", directory, "--resume", "--epochs", "3", "--device", "cpu", "-c", "1"]))
    };
    assert!(command("alone").output().unwrap().status.success());
    let alone = checkpoint::load(&sandbox.path("alone")).unwrap().unwrap();
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
        let runs = both.map(|child| ProgramRun::of(child.wait_with_output().unwrap()));
        for (run, other) in runs.iter().zip([ids[1], ids[0]]) {
            match run.code {
                // If the first process ends before the second one starts, the second one resumes a finished run.
                Some(0) => assert!(
                    run.stderr.is_empty() || run.stderr.starts_with("no checkpoint in run-"),
                    "round {round}: {run:?}"
                ),
                Some(2) => {
                    rejected += 1;
                    let said = format!("error: {directory}: process {other} writes there: ");
                    let is_right = run.stderr.starts_with(&said) && run.stderr.lines().count() == 1;
                    assert!(is_right, "round {round}: {run:?}");
                }
                None => {}
                // Windows gives a killed process this code.
                Some(1) if cfg!(windows) && round % 4 == 3 => {}
                Some(code) => panic!("round {round}: code {code}: {run:?}"),
            }
        }
        if round % 4 == 3 {
            // The remaining checkpoint can be resumed.
            let run = ProgramRun::of(command(&directory).output().unwrap());
            assert_eq!(run.code, Some(0), "{run:?}");
        } else {
            assert!(runs.iter().any(|run| run.code == Some(0)), "round {round}: {runs:?}");
        }
        let kept = checkpoint::load(&sandbox.path(&directory)).unwrap().unwrap();
        assert_eq!(kept.parameters, alone.parameters, "round {round}");
        assert_eq!(names_in(&sandbox.path(&directory)), [checkpoint::FILE_NAME]);
        fs::remove_dir_all(sandbox.path(&directory)).unwrap();
    }
    println!("{rejected} of 40 were rejected: the others did not overlap");
}
