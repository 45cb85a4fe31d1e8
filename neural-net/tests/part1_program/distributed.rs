//! `--distributed`: ranks that are threads, and ranks started by `mpiexec` if available.

use mpi_driver::{Ranks, ranks_by};
use test_support::{Need, skip};

use crate::support::program::{ProgramRun, Sandbox, training};

/// Runs the program on threads, as if MPI were unavailable.
fn on_threads(sandbox: &Sandbox, epochs: usize, more: &[&str]) -> ProgramRun {
    let mut command = sandbox.command(&training(epochs, more));
    ProgramRun::of(command.env("MPI_LIBRARY", "there-is-none.so").output().unwrap())
}

/// The accuracies of the epochs, in percent.
fn accuracies(run: &ProgramRun) -> Vec<f64> {
    let lines = run.stdout.lines().filter_map(|line| line.split_once(", accuracy "));
    lines.map(|(_, accuracy)| accuracy.trim_end_matches(" %.").parse().unwrap()).collect()
}

#[test]
fn part1_program_trains_the_same_on_any_number_of_ranks() {
    let sandbox = Sandbox::new();
    let more = ["--target-accuracy", "0", "--batch-size", "50", "--optimizer", "adam", "--learning-rate", "0.003"];
    let alone = sandbox.train(4, &more).success();
    for (ranks, all_reduce) in [("1", "ring"), ("2", "mpi"), ("3", "ring"), ("5", "naive")] {
        let distributed = ["--distributed", "sync", "-n", ranks, "--allreduce", all_reduce];
        let run = on_threads(&sandbox, 4, &[&more[..], &distributed].concat());
        assert_eq!(run.code, Some(0), "{run:?}");
        assert!(
            run.stderr
                .starts_with("the environment variable MPI_LIBRARY names there-is-none.so, which cannot be used (")
                && run.stderr.ends_with("; the ranks are threads\n")
                && run.stderr.lines().count() == 1,
            "{}",
            run.stderr
        );
        assert!(run.stdout.contains(&format!("{ranks} rank")), "{}", run.stdout);
        assert_eq!(run.stdout.matches("Test Accuracy").count(), 1, "{}", run.stdout);
        // One of 100 validation images may be borderline.
        for (got, expected) in accuracies(&run).iter().zip(accuracies(&alone)) {
            assert!((got - expected).abs() <= 1.0, "{ranks} ranks: {got} instead of {expected}");
        }
    }
}

#[test]
fn part1_program_resumes_with_another_number_of_ranks() {
    let sandbox = Sandbox::new();
    let more = ["--target-accuracy", "0", "--distributed", "sync", "--checkpoint", "run", "--momentum", "0.5"];
    let run = on_threads(&sandbox, 2, &[&more[..], &["-n", "3"]].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    let run = on_threads(&sandbox, 3, &[&more[..], &["-n", "2", "--resume"]].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stdout.contains("Resuming after epoch 2 and 0 steps."), "{}", run.stdout);
    // On one rank too, without messages.
    let run = sandbox.train(4, &["--target-accuracy", "0", "--checkpoint", "run", "--resume"]).success();
    assert!(run.stdout.contains("Resuming after epoch 3 and 0 steps."), "{}", run.stdout);
    // An existing checkpoint is not overwritten, and the other ranks end too.
    let run = on_threads(&sandbox, 4, &[&more[..], &["-n", "3"]].concat());
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("add --resume to resume from it"), "{}", run.stderr);
}

/// The saved networks are equal byte for byte, on the CPU and on simulated GPUs.
#[test]
fn part1_program_trains_reproducibly_on_any_number_of_ranks() {
    let sandbox = Sandbox::new();
    let small = ["--layers", "784,10", "--batch-size", "100"];
    for (device, more) in [("cpu", &["--batch-size", "50", "--optimizer", "adam"][..]), ("simulator", &small)] {
        let mut files = Vec::new();
        for ranks in ["1", "2", "3"] {
            let flags = ["--target-accuracy", "0", "--distributed", "sync", "-n", ranks, "--reproducible"];
            let saved = ["--save", "net.safetensors", "--device", device];
            let run = on_threads(&sandbox, 2, &[&flags[..], &saved, more].concat());
            assert_eq!(run.code, Some(0), "{run:?}");
            assert!(run.stdout.contains(if device == "cpu" { " of one thread" } else { " on GPU simulator" }));
            files.push(std::fs::read(sandbox.path("net.safetensors")).unwrap());
        }
        assert!(files.windows(2).all(|pair| pair[0] == pair[1]), "{device}");
    }
}

#[test]
fn part1_program_has_larger_batches_on_more_ranks_if_their_share_is_given() {
    let sandbox = Sandbox::new();
    let more = ["--target-accuracy", "0", "--distributed", "sync", "--batch-per-rank", "25", "--checkpoint", "run"];
    let run = on_threads(&sandbox, 1, &[&more[..], &["-n", "3"]].concat());
    assert!(run.stdout.contains("batches of 75,"), "{run:?}");
    let run = on_threads(&sandbox, 2, &[&more[..], &["-n", "2", "--resume"]].concat());
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("--batch-per-rank differs from the checkpoint"), "{}", run.stderr);
    let more = ["--target-accuracy", "0", "--distributed", "async", "--batch-per-rank", "25"];
    let run = on_threads(&sandbox, 1, &[&more[..], &["-n", "3"]].concat());
    assert!(run.stdout.contains("batches of 25,"), "{run:?}");
}

#[test]
fn part1_program_trains_by_workers_and_masters() {
    let sandbox = Sandbox::new();
    let more = ["--distributed", "async", "--target-accuracy", "0", "--checkpoint", "run"];
    let run = on_threads(&sandbox, 3, &[&more[..], &["-n", "4", "--masters", "2"]].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stdout.contains("2 workers of one thread"), "{}", run.stdout);
    assert!(run.stdout.contains("Staleness of gradients: mean "), "{}", run.stdout);
    assert_eq!(run.stdout.matches("Test Accuracy").count(), 1, "{}", run.stdout);
    let run = on_threads(&sandbox, 4, &[&more[..], &["-n", "2", "--resume"]].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stdout.contains("Resuming after epoch 3 and 0 steps."), "{}", run.stdout);
    assert!(run.stdout.contains("mean 0.00; 0: 100.0 %"), "a single worker: {}", run.stdout);
    for (flags, part) in [
        (["-n", "2", "--masters", "2"], "with --masters 2, no worker is left of 2 ranks"),
        (["-n", "3", "--optimizer", "adam"], "--distributed async trains by --optimizer sgd"),
    ] {
        let run = on_threads(&sandbox, 1, &[&more[..4], &flags].concat());
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains(part), "{}", run.stderr);
    }
}

#[test]
fn part1_program_warns_of_ranks_without_images() {
    let sandbox = Sandbox::new();
    for (ranks, batch, warning) in [
        ("7", "3", "warning: 7 ranks share batches of 3 images: 4 ranks have no image, and"),
        ("3", "2", "warning: 3 ranks share batches of 2 images: 1 rank has no image, and"),
    ] {
        let more = ["--distributed", "sync", "-n", ranks, "--batch-size", batch, "--target-accuracy", "0"];
        let run = on_threads(&sandbox, 1, &more);
        assert_eq!(run.code, Some(0), "{run:?}");
        assert_eq!(run.stderr.matches("warning").count(), 1, "{run:?}");
        assert!(run.stderr.contains(warning) && run.stderr.contains(&format!(" or -n {batch}")), "{}", run.stderr);
    }
    let run = on_threads(&sandbox, 1, &["--distributed", "sync", "-n", "3", "--batch-size", "3"]);
    assert!(!run.stderr.contains("warning"), "{run:?}");
}

#[test]
fn part1_program_rejects_flags_that_ranks_cannot_have() {
    let sandbox = Sandbox::new();
    for (more, part) in [
        (&["--distributed", "async", "--device", "simulator"][..], "--distributed async trains on the CPU"),
        (&["--distributed", "async", "--reproducible"], "--distributed async is never reproducible"),
        (&["--distributed", "sync", "--gpu-path", "persistent"], "--distributed trains by launches for each step"),
        (
            &["--distributed", "sync", "--reproducible", "--allreduce", "mpi"],
            "'--reproducible' cannot be used with '--allreduce",
        ),
        (&["--distributed", "sync", "--batch-per-rank", "8", "--batch-size", "8"], "cannot be used with"),
        (&["--distributed", "sync", "-n", "0"], "at least 1 rank is needed, at most 256"),
        (&["--distributed", "together"], "possible values: sync, async"),
        (&["-n", "3"], "--distributed <MODE>"),
    ] {
        let run = sandbox.train(1, more);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains(part), "{more:?}: {}", run.stderr);
    }
}

/// The program's path.
fn program() -> std::path::PathBuf {
    assert_cmd::cargo::cargo_bin!("neural-net").to_path_buf()
}

#[test]
fn part1_program_trains_on_the_ranks_of_mpiexec() {
    let mpiexec = match Ranks::find().unwrap() {
        Ranks::ByMpiexec(mpiexec) => mpiexec,
        // Or an mpiexec with a library for another processor.
        other => return skip(Need::Mpi, &format!("{other:?}; {}", mpi_driver::INSTALL)),
    };
    let sandbox = Sandbox::new();
    let more = ["--target-accuracy", "0", "--distributed", "sync", "--batch-size", "50"];
    let alone = sandbox.train(2, &more[..2]);
    // Once started by itself, once by mpiexec.
    let own = sandbox.train(2, &[&more[..], &["-n", "2"]].concat());
    let mut command = ranks_by(&mpiexec, 3);
    let by_mpiexec = sandbox.isolate(&mut command).arg(program()).args(training(2, &more)).output().unwrap();
    for (run, ranks) in [(own, 2), (ProgramRun::of(by_mpiexec), 3)] {
        assert_eq!(run.code, Some(0), "{run:?}");
        assert!(run.stdout.contains(&format!("{ranks} ranks of one thread")), "{}", run.stdout);
        assert_eq!(run.stdout.matches("Test Accuracy").count(), 1, "{}", run.stdout);
        assert_eq!(accuracies(&run).len(), accuracies(&alone).len());
    }

    let by_masters = ["--distributed", "async", "-n", "4", "--masters", "2", "--target-accuracy", "0"];
    let run = sandbox.train(2, &by_masters);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stdout.contains("Staleness of gradients: mean "), "{}", run.stdout);

    // Ranks that train different networks.
    let mut other = crate::support::small_dataset();
    other.train.pixels[[3, 300]] ^= 1;
    crate::support::write_dataset(&sandbox.path("other"), &other);
    for (flags, what) in [
        (&["--seed", "7"][..], "rank 1 has other flags than rank 0"),
        (&["--data", "other"], "rank 1 has other images than rank 0"),
        (&["--data", "other", "--seed", "7"], "rank 1 has other flags and other images than rank 0"),
    ] {
        let mut command = ranks_by(&mpiexec, 1);
        sandbox.isolate(&mut command).arg(program()).args(training(2, &more)).args([":", "-n", "1"]);
        let own = training(2, &more).into_iter().filter(|argument| argument != "--data" && argument != "digits");
        let data = if flags.contains(&"--data") { &[][..] } else { &["--data", "digits"] };
        command.arg(program()).args(own).args(data).args(flags);
        let run = ProgramRun::of(command.output().unwrap());
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains(what), "{what}: {}", run.stderr);
    }
}

/// The processes with this text in their command line, and their programs.
#[cfg(target_os = "linux")]
fn processes_with(part: &str) -> Vec<(u32, String)> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let numbered = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbered
        .filter_map(|id: u32| {
            let line = std::fs::read(format!("/proc/{id}/cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line);
            line.contains(part).then(|| (id, line.split('\0').next().unwrap_or_default().to_owned()))
        })
        .collect()
}

/// The ones that are not `mpiexec`.
#[cfg(target_os = "linux")]
fn ranks_with(part: &str) -> Vec<u32> {
    let is_rank = |(_, program): &(u32, String)| program.ends_with("neural-net");
    processes_with(part).into_iter().filter(is_rank).map(|(id, _)| id).collect()
}

/// A rank is killed while all train. The others end, and the checkpoint stays valid.
#[cfg(target_os = "linux")]
#[test]
fn part1_program_ends_all_ranks_if_one_is_killed() {
    use std::process::{Command, Stdio};

    use neural_net::checkpoint;
    use test_support::wait_until;

    let mpiexec = match Ranks::find().unwrap() {
        Ranks::ByMpiexec(mpiexec) => mpiexec,
        // Or an mpiexec with a library for another processor.
        other => return skip(Need::Mpi, &format!("{other:?}; {}", mpi_driver::INSTALL)),
    };
    let sandbox = Sandbox::new();
    let directory = sandbox.path("killed-ranks");
    let name = directory.to_str().unwrap();
    let more = ["--target-accuracy", "0", "--distributed", "sync", "--checkpoint", name];
    for victim in 0..3 {
        let mut command = ranks_by(&mpiexec, 3);
        sandbox.isolate(&mut command).arg(program()).args(training(100_000, &more));
        let before = checkpoint::load(&directory).unwrap().map_or(0, |kept| kept.run.progress.epoch);
        if before > 0 {
            command.arg("--resume");
        }
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until("two epochs", || {
            checkpoint::load(&directory).unwrap().is_some_and(|kept| kept.run.progress.epoch > before + 1)
        });
        let mut ranks = ranks_with(name);
        ranks.sort_unstable();
        assert_eq!(ranks.len(), 3);
        let killed = Command::new("kill").args(["-9", &ranks[victim].to_string()]).status().unwrap();
        assert!(killed.success());
        wait_until("mpiexec's end", || child.try_wait().unwrap().is_some());
        wait_until("the end of all ranks", || ranks_with(name).is_empty());
        assert!(checkpoint::load(&directory).unwrap().unwrap().run.progress.epoch > before);
    }
}

/// The process that starts the ranks is asked to end, either alone or, as by Ctrl-C, with all
/// processes of the terminal. It is also killed. In each case, no process is left, and the training
/// run is saved once.
#[cfg(target_os = "linux")]
#[test]
fn part1_program_ends_its_ranks_with_itself_and_saves_once() {
    use std::fs::File;
    use std::os::unix::process::CommandExt;
    use std::path::Path;
    use std::process::{Command, Stdio};

    use neural_net::checkpoint;
    use test_support::{wait_for, wait_until};

    if !matches!(Ranks::find(), Ok(Ranks::ByMpiexec(_))) {
        return skip(Need::Mpi, mpi_driver::INSTALL);
    }
    let sandbox = Sandbox::new();
    for (signal, to_group, code) in
        [("TERM", false, Some(143)), ("INT", false, Some(130)), ("INT", true, Some(130)), ("KILL", false, None)]
    {
        let directory = sandbox.path(format!("ended-{signal}-{to_group}"));
        let name = directory.to_str().unwrap();
        let more = ["--target-accuracy", "0", "--distributed", "sync", "-n", "3", "--checkpoint", name];
        let program = sandbox.command(&training(100_000, &more));
        // The test runner may ignore SIGINT, for example in the background.
        let mut command = Command::new("env");
        command.arg("--default-signal=INT,TERM").arg(program.get_program()).args(program.get_args());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.current_dir(program.get_current_dir().unwrap_or(Path::new(".")));
        command.stdout(Stdio::null()).stderr(File::create(sandbox.path("stderr")).unwrap()).process_group(0);
        let mut child = command.spawn().unwrap();
        wait_until("an epoch", || {
            checkpoint::load(&directory).unwrap().is_some_and(|kept| kept.run.progress.epoch > 1)
        });
        assert_eq!(ranks_with(name).len(), 4, "three ranks and the process that has started them");
        let target = format!("{}{}", if to_group { "-" } else { "" }, child.id());
        assert!(Command::new("kill").args(["-s", signal, "--", &target]).status().unwrap().success());
        let status = wait_for("the program's end", || child.try_wait().unwrap());
        assert_eq!(status.code(), code, "{signal}");
        if code.is_some() {
            let stderr = std::fs::read_to_string(sandbox.path("stderr")).unwrap();
            assert_eq!(stderr.matches("Interrupted after epoch").count(), 1, "{signal}: {stderr}");
            assert_eq!(stderr.matches("steps, and saved.").count(), 1, "{signal}: {stderr}");
        }
        wait_until("the end of all processes", || processes_with(name).is_empty());
        assert!(checkpoint::load(&directory).unwrap().unwrap().run.progress.epoch > 1);
    }
}
