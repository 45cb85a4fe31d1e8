//! The program prints the homework's lines or one JSON object, and rejects invalid input with one line and exit code 2.

use std::thread::available_parallelism;

use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::Value;

/// Returns the program's exit code, stdout and stderr.
fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = cargo_bin_cmd!("matmul_functions").args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Returns the single message on stderr for rejected input. Asserts exit code 2 and an empty stdout.
fn rejection(arguments: &[&str]) -> String {
    let (code, stdout, stderr) = run(arguments);
    assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
    let messages: Vec<&str> = stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(messages.len(), 1, "{stderr}");
    messages[0].to_owned()
}

/// Whether `stdout` has the lines of a successful run with 2 threads.
fn has_the_homeworks_lines(stdout: &str) -> bool {
    let starts = [
        "[+] matmul_transpose_trivial passed",
        "[+] matmul_transpose_rayon passed",
        "[+] matmul_transpose_gpu passed (simulator)",
        "[+] All tests passed",
        "[*] Trivial: ",
        "[*] Rayon: ",
        "[*] Speed-up Rayon over Trivial: ",
        "[*] CUDA: not timed: ",
    ];
    let lines: Vec<&str> = stdout.lines().collect();
    lines.len() == starts.len()
        && lines.iter().zip(starts).all(|(line, start)| line.starts_with(start))
        && lines[5].ends_with(", 2 threads)")
}

#[test]
fn part3_program_prints_the_homeworks_lines() {
    let (code, stdout, stderr) = run(&["-c", "2", "--repeats", "2", "--device", "simulator"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(has_the_homeworks_lines(&stdout), "{stdout}");
}

#[test]
fn part3_program_takes_a_type() {
    for dtype in ["f32", "f64"] {
        let (code, stdout, stderr) = run(&["-c", "2", "--dtype", dtype, "--size", "50", "20", "--device", "simulator"]);
        assert_eq!(code, Some(0), "{stderr}");
        assert!(has_the_homeworks_lines(&stdout), "{stdout}");
    }
}

#[test]
fn part3_program_checks_every_rung_of_the_ladder() {
    for dtype in ["f32", "f64"] {
        let (code, stdout, stderr) =
            run(&["--ladder", "--device", "simulator", "--size", "130", "20", "--dtype", dtype]);
        assert_eq!(code, Some(0), "{stderr}");
        for rung in ["1 naive", "2 symmetry", "3 shared tiles", "4 register tiles", "5 wide, buffered"] {
            let line = format!("[+] matmul_transpose_gpu, rung {rung} passed (simulator)");
            assert!(stdout.lines().any(|found| found == line), "{line}: {stdout}");
        }
        for rung in ["7 all multiprocessors", "8 tensor cores", "9 one block, tensor cores"] {
            let passed = stdout.contains(&format!("rung {rung} passed (simulator)"));
            // Rung 7 has a kernel in f32 alone.
            assert_eq!(passed, dtype == "f32" || !rung.starts_with('7'), "{rung}: {stdout}");
        }
    }
}

#[test]
fn part3_program_simulates_a_part_of_a_large_matrix() {
    let (code, stdout, stderr) = run(&["--size", "20", "3000", "--device", "simulator", "--repeats", "1"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("[+] matmul_transpose_gpu passed (simulator, the first 20 × 128)\n"), "{stdout}");
}

#[test]
fn part3_program_rejects_an_unknown_type() {
    let message = rejection(&["--dtype", "f16"]);
    assert!(message.contains("--dtype") && message.contains("f16"), "{message}");
}

#[test]
fn part3_program_takes_a_size() {
    let (code, stdout, stderr) = run(&["--size", "7", "13"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("[+] All tests passed"), "{stdout}");
}

#[test]
fn part3_program_prints_one_json_object() {
    let (code, stdout, stderr) = run(&["--json", "-c", "1", "--size", "70", "130", "--repeats", "3", "--dtype", "f64"]);
    assert_eq!(code, Some(0), "{stderr}");
    let object: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(object["program"], "matmul_functions");
    assert_eq!(object["size"], serde_json::json!([70, 130]));
    assert_eq!((&object["cores"], &object["dtype"]), (&1.into(), &"f64".into()));
    let checks = serde_json::json!({ "matmul_transpose_trivial": true, "matmul_transpose_rayon": true, "matmul_transpose_gpu": true });
    assert_eq!(object["checks"], checks);
    for version in ["trivial", "rayon"] {
        let seconds = &object["seconds"][version];
        let (min, median) = (seconds["min"].as_f64().unwrap(), seconds["median"].as_f64().unwrap());
        assert!(0.0 < min && min <= median, "{stdout}");
        assert_eq!(seconds["repeats"], 3);
    }
    assert!(object["speedup"]["rayon_over_trivial"]["min"].as_f64().unwrap() > 0.0);
}

#[test]
fn part3_program_rejects_zero_cores() {
    let message = rejection(&["-c", "0"]);
    assert!(message.contains("--cores") && message.contains("at least 1 worker thread"), "{message}");
}

#[test]
fn part3_program_warns_of_more_cores_than_there_are() {
    let cores = available_parallelism().unwrap().get() + 1;
    let (code, stdout, stderr) = run(&["-c", &cores.to_string(), "--size", "10", "10"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.starts_with(&format!("warning: {cores} worker threads")) && stderr.lines().count() == 1, "{stderr}");
    assert!(stdout.contains("[+] All tests passed") && !stdout.contains("warning"), "{stdout}");
}

#[test]
fn part3_program_rejects_an_empty_size() {
    let message = rejection(&["--size", "0", "5"]);
    assert!(message.contains("--size") && message.contains("1 or more"), "{message}");
}

#[test]
fn part3_program_rejects_zero_repeats() {
    let message = rejection(&["--repeats", "0"]);
    assert!(message.contains("--repeats") && message.contains("at least 1 repeat"), "{message}");
}

#[test]
fn part3_program_rejects_more_repeats_than_it_can_count() {
    for repeats in ["1000001", "9223372036854775808", "18446744073709551615"] {
        let message = rejection(&["--repeats", repeats]);
        assert!(message.contains("--repeats") && message.contains("at most 1000000"), "{message}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn part3_program_rejects_a_size_beyond_the_memory_in_one_line() {
    let (code, stdout, stderr) = run(&["--size", "10000000", "10000000"]);
    assert_eq!((code, stdout.as_str(), stderr.lines().count()), (Some(2), "", 1), "{stderr}");
    assert!(stderr.contains("10000000 × 10000000") && stderr.contains("choose a smaller size"), "{stderr}");
}

#[test]
fn part3_program_rejects_a_size_that_overflows_in_one_line() {
    let size = usize::MAX.to_string();
    let (code, stdout, stderr) = run(&["--size", &size, "2"]);
    assert_eq!((code, stdout.as_str(), stderr.lines().count()), (Some(2), "", 1), "{stderr}");
    assert!(stderr.contains("more memory than can be counted"), "{stderr}");
}

/// The PTX is checked on the interpreter and never timed.
#[test]
fn part3_program_interprets_the_ptx() {
    if !gpu_testing::require_ptx(&kernels_gpu::PTX) {
        return;
    }
    let (code, stdout, stderr) = run(&["--device", "ptx", "--size", "33", "17", "-c", "1", "--repeats", "2"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    let lines: Vec<&str> = stdout.lines().collect();
    assert!(lines.contains(&"[+] matmul_transpose_gpu passed (PTX interpreter, sm_90)"), "{stdout}");
    assert!(lines.contains(&"[+] All tests passed"), "{stdout}");
    let about_cuda: Vec<&str> = lines.into_iter().filter(|line| line.contains("CUDA")).collect();
    assert_eq!(about_cuda, ["[*] CUDA: not timed: the PTX interpreter was asked for"], "{stdout}");

    let (code, stdout, stderr) = run(&["--device", "ptx", "--size", "33", "17", "--repeats", "2", "--json"]);
    assert_eq!(code, Some(0), "{stderr}");
    let object: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(object["device"], "PTX interpreter, sm_90");
    assert_eq!(object["checks"]["matmul_transpose_gpu"], true);
    let timed = object["seconds"].as_object().unwrap();
    assert!(!timed.is_empty() && timed.keys().all(|version| !version.contains("cuda")), "{stdout}");
}

#[test]
fn part3_program_lists_every_device() {
    let (code, stdout, stderr) = run(&["--help"]);
    assert_eq!(code, Some(0), "{stderr}");
    let (_, of_device) = stdout.split_once("--device <DEVICE>").expect("help has the option");
    let values = of_device.lines().map(str::trim).skip_while(|line| *line != "Possible values:").skip(1);
    let values = values.take_while(|line| !line.is_empty()).filter_map(|line| line.strip_prefix("- "));
    let values = values.map(|line| line.split(':').next().unwrap());
    assert_eq!(values.collect::<Vec<_>>(), ["auto", "cuda", "simulator", "ptx"], "{stdout}");
    assert!(rejection(&["--device", "gpu"]).contains("'gpu'"));
}

/// `--device cuda` without a driver is an error. The test does not depend on this machine's driver.
#[test]
fn part3_program_with_cuda_requested_says_why_it_cannot_use_it() {
    let output = cargo_bin_cmd!("matmul_functions")
        .args(["--device", "cuda", "--size", "5", "5"])
        .env("CUDA_DRIVER_LIBRARY", "/nonexistent/libcuda.so.1")
        .output()
        .unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("error: no CUDA driver") && stderr.lines().count() == 1, "{stderr}");
}
