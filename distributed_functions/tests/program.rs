//! Runs the program with ranks that are threads, and with `mpiexec`.

use std::process::{Command, Output};

use mpi_driver::{mpiexec, ranks_by};
use serde_json::Value;
use test_support::{Need, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_distributed_functions");

fn run(command: &mut Command, arguments: &[&str]) -> Output {
    command.args(arguments).output().expect("the program starts")
}

/// Checks the program's JSON object for this number of ranks.
fn check(output: &Output, ranks: u64) {
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
    let object: Value = serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stdout}{stderr}"));
    assert_eq!((object["ranks"].as_u64(), object["passed"].as_bool()), (Some(ranks), Some(true)), "{object}");
    let rows = object["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 3);
    for row in rows {
        assert_eq!(row["bytes_sent"], row["bytes_by_formula"], "{row}");
        for function in ["naive", "ring", "mpi"] {
            assert!(row["seconds"][function].as_f64().is_some_and(|seconds| seconds > 0.0), "{row}");
        }
    }
}

const SMALL: [&str; 5] = ["--lengths", "2,1000,50000", "--repeats", "3", "--json"];

#[test]
fn the_ranks_are_threads_if_asked_for() {
    for ranks in ["1", "3", "5"] {
        let output = run(&mut Command::new(PROGRAM), &[&SMALL[..], &["--threads", "-n", ranks]].concat());
        check(&output, ranks.parse().unwrap());
    }
    let output = run(&mut Command::new(PROGRAM), &["--threads", "-n", "2", "--lengths", "100,2000"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("All-reduce of f64 by 2 ranks: threads of one process\n"), "{text}");
    assert!(text.contains("[+] every result on every rank is the sum"), "{text}");
    assert!(text.contains("100 naive 1600 (1600), ring 1600 (1600)"), "{text}");
}

#[test]
fn the_program_starts_its_own_ranks_or_is_started_by_mpiexec() {
    let Some(mpiexec) = mpiexec() else {
        return skip(Need::Mpi, &format!("there is no mpiexec: {}", mpi_driver::INSTALL));
    };
    check(&run(&mut Command::new(PROGRAM), &[&SMALL[..], &["-n", "2"]].concat()), 2);
    check(&run(ranks_by(&mpiexec, 3).arg(PROGRAM), &SMALL), 3);
}

/// The process that starts the ranks is asked to end, or is killed. Under nohup, it ignores SIGHUP.
#[cfg(target_os = "linux")]
#[test]
fn no_rank_outlives_the_program_that_started_it() {
    use std::process::Stdio;

    use mpi_driver::Ranks;
    use test_support::{wait_for, wait_until};

    if !matches!(Ranks::find(), Ok(Ranks::ByMpiexec(_))) {
        return skip(Need::Mpi, mpi_driver::INSTALL);
    }
    let cases = [("TERM", Some(143)), ("INT", Some(130)), ("HUP", Some(129)), ("KILL", None), ("HUP TERM", Some(143))];
    for (number, (signals, code)) in cases.into_iter().enumerate() {
        // A seed that no other process uses.
        let seed = (u64::from(std::process::id()) << 8 | number as u64).to_string();
        let processes = || {
            let lines = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
                let line = std::fs::read(entry.path().join("cmdline")).ok()?;
                Some(String::from_utf8_lossy(&line).into_owned())
            });
            lines.filter(|line| line.contains(&format!("--seed\0{seed}\0"))).count()
        };
        // The test runner may ignore some of the signals, for example under nohup or in the background.
        let mut command = Command::new("env");
        let first = if signals == "HUP TERM" { "trap '' HUP; " } else { "" };
        command.args(["--default-signal=HUP,INT,TERM", "sh", "-c", &format!(r#"{first}exec "$0" "$@""#), PROGRAM]);
        command.args(["-n", "2", "--lengths", "200000", "--repeats", "1000000", "--seed", &seed]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until("two ranks beside mpiexec and the program", || processes() == 4);
        for signal in signals.split(' ') {
            assert!(Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap().success());
        }
        let status = wait_for("the program's end", || child.try_wait().unwrap());
        assert_eq!(status.code(), code, "{signals}");
        wait_until("the end of all processes", || processes() == 0);
    }
}

#[test]
fn a_simulation_has_a_row_for_each_number_of_ranks_and_a_plot() {
    let folder = tempfile::tempdir().unwrap();
    let plot = folder.path().join("plot.svg");
    let flags = ["simulate", "--ranks", "1,2,8", "--networks", "10:20,100:2", "--json", "--plot"];
    let output = run(Command::new(PROGRAM).current_dir(folder.path()), &[&flags[..], &["plot.svg"]].concat());
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    let networks = object["networks"].as_array().unwrap();
    assert_eq!(networks.len(), 2);
    for network in networks {
        let rows = network["rows"].as_array().unwrap();
        let ranks: Vec<u64> = rows.iter().map(|row| row["ranks"].as_u64().unwrap()).collect();
        assert_eq!(ranks, [1, 2, 8]);
        let speedup = |row: usize, of: &str| rows[row][of].as_f64().unwrap();
        // One rank has no messages. Its delays differ from the mean.
        assert!((speedup(0, "strong_speedup") - 1.0).abs() < 0.02 && (speedup(0, "weak_speedup") - 1.0).abs() < 0.02);
        assert!(speedup(2, "weak_speedup") > speedup(2, "strong_speedup"));
    }
    let of_8 = |network: usize| networks[network]["rows"][2]["weak_speedup"].as_f64().unwrap();
    assert!(of_8(1) > of_8(0), "the faster network");
    let svg = std::fs::read_to_string(plot).unwrap();
    assert!(svg.starts_with("<svg") && svg.matches("100 Gbit/s").count() == 3);
    assert_eq!(svg.matches("<circle").count(), 3 * 2 * 3);
    let text = run(&mut Command::new(PROGRAM), &["simulate", "--ranks", "1,2", "--networks", "10:20"]).stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("10 Gbit/s, 20 µs:\n") && text.lines().count() == 6, "{text}");
}

#[test]
fn invalid_input_is_rejected_in_one_line() {
    for (arguments, part) in [
        (&["-n", "0"][..], "at least 1 rank is needed, at most 256"),
        (&["-n", "257"], "at least 1 rank is needed"),
        (&["--repeats", "0"], "at least 1 repeat is needed"),
        (&["--lengths", "x"], "invalid"),
        (&["--threads", "--lengths", "1000000000000"], "GiB of memory"),
        (&["-n", "2", "simulate"], "cannot be used with"),
        (&["simulate", "--ranks", "4097"], "must be a number from 1 to 4096"),
        (&["simulate", "--networks", "10"], "must be GBIT:MICROSECONDS, as in 10:20"),
        (&["simulate", "--networks", "0:20"], "must be a number from 0.000001"),
        (&["simulate", "--layers", "784"], "--layers needs inputs and outputs"),
        (&["simulate", "--layers", "99999999,99999999"], "choose smaller ones"),
        (&["simulate", "--sample-time", "0", "--update-time", "0"], "a step takes no time"),
        (&["simulate", "--ranks", "2", "--networks", "0.000001:1", "--layers", "100000,100000"], "more than a day"),
        (&["simulate", "--plot", "plot.png"], ".svg"),
        (&["simulate", "--ranks", "2", "--plot", "there/is/no/folder/plot.svg"], "cannot be written"),
    ] {
        let output = run(&mut Command::new(PROGRAM), arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(part), "{arguments:?}: {error}");
    }
}
