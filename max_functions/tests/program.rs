//! The program prints the homework's lines or one JSON object, and rejects invalid input with one line and exit code 2.

use std::thread::available_parallelism;

use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::Value;

/// Returns the program's exit code, stdout and stderr.
fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = cargo_bin_cmd!("max_functions").args(arguments).output().unwrap();
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

#[test]
fn part2_program_prints_the_homeworks_lines() {
    let (code, stdout, stderr) = run(&["-c", "2", "--device", "simulator"]);
    assert_eq!(code, Some(0), "{stderr}");
    let lines: Vec<&str> = stdout.lines().collect();
    let checks =
        ["[+] max_cpu passed", "[+] max_rayon passed", "[+] max_gpu passed (simulator)", "[+] All tests passed"];
    assert_eq!(lines[..4], checks);
    let starts = ["[*] CPU: ", "[*] Rayon: ", "[*] Speed-up Rayon over CPU: ", "[*] CUDA: not timed: "];
    for (line, start) in lines[4..].iter().zip(starts) {
        assert!(line.starts_with(start), "{line}");
    }
    assert_eq!(lines.len(), 8, "{stdout}");
    assert!(lines[5].ends_with("n = 20, 2 threads)"), "{stdout}");
}

#[test]
fn part2_program_takes_a_size() {
    let (code, stdout, stderr) = run(&["--size", "7", "13"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("[+] All tests passed"), "{stdout}");
}

#[test]
fn part2_program_prints_one_json_object() {
    let (code, stdout, stderr) = run(&["--json", "-c", "1", "--size", "70", "130", "--repeats", "3", "--seed", "9"]);
    assert_eq!(code, Some(0), "{stderr}");
    let object: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(object["program"], "max_functions");
    assert_eq!(object["size"], serde_json::json!([70, 130]));
    assert_eq!((&object["cores"], &object["seed"]), (&1.into(), &9.into()));
    assert_eq!(object["checks"], serde_json::json!({ "max_cpu": true, "max_rayon": true, "max_gpu": true }));
    for version in ["cpu", "rayon"] {
        let seconds = &object["seconds"][version];
        let (min, median) = (seconds["min"].as_f64().unwrap(), seconds["median"].as_f64().unwrap());
        assert!(0.0 < min && min <= median, "{stdout}");
        assert_eq!(seconds["repeats"], 3);
    }
    assert!(object["speedup"]["rayon_over_cpu"]["min"].as_f64().unwrap() > 0.0);
}

#[test]
fn part2_program_rejects_zero_cores() {
    let message = rejection(&["-c", "0"]);
    assert!(message.contains("--cores") && message.contains("at least 1 worker thread"), "{message}");
}

#[test]
fn part2_program_warns_of_more_cores_than_there_are() {
    let cores = available_parallelism().unwrap().get() + 1;
    let (code, stdout, stderr) = run(&["-c", &cores.to_string(), "--size", "10", "10"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.starts_with(&format!("warning: {cores} worker threads")) && stderr.lines().count() == 1, "{stderr}");
    assert!(stdout.contains("[+] All tests passed") && !stdout.contains("warning"), "{stdout}");
}

#[test]
fn part2_program_rejects_an_empty_size() {
    let message = rejection(&["--size", "0", "5"]);
    assert!(message.contains("--size") && message.contains("1 or more"), "{message}");
}

#[test]
fn part2_program_rejects_zero_repeats() {
    let message = rejection(&["--repeats", "0"]);
    assert!(message.contains("--repeats") && message.contains("at least 1 repeat"), "{message}");
}

/// The limits keep start-up short and the vector of times within memory.
#[test]
fn part2_program_rejects_more_threads_and_repeats_than_it_can_count() {
    for threads in ["1025", "4294967296", "18446744073709551615"] {
        let message = rejection(&["-c", threads]);
        assert!(message.contains("--cores") && message.contains("at most 1024"), "{message}");
    }
    for repeats in ["1000001", "9223372036854775808", "18446744073709551615"] {
        let message = rejection(&["--repeats", repeats]);
        assert!(message.contains("--repeats") && message.contains("at most 1000000"), "{message}");
    }
}

/// If KERNELS_CPU were ignored, a comparison of two instruction sets would compare one set with itself.
#[test]
fn part2_program_rejects_an_unknown_or_unsupported_instruction_set() {
    let lacking = if cfg!(target_arch = "aarch64") { "avx2" } else { "neon" };
    for (set, why) in [("typo", "that is no instruction set"), (lacking, "this processor lacks that instruction set")] {
        let output = cargo_bin_cmd!("max_functions").env("KERNELS_CPU", set).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.as_slice(), stderr.lines().count()), (Some(2), &b""[..], 1));
        assert!(stderr.starts_with(&format!("error: KERNELS_CPU={set}: {why}: choose portable")), "{stderr}");
    }
}

/// A terminal would interpret control characters, and an argument may be a file name from an
/// untrusted source.
#[test]
fn part2_program_escapes_control_characters_of_its_arguments() {
    let message = rejection(&["\u{1b}[31m\u{202e}x"]);
    assert!(message.contains("\\u001b[31m\\u202ex") && !message.contains('\u{1b}'), "{message}");
}

#[test]
#[cfg(target_os = "linux")]
fn part2_program_rejects_a_size_beyond_the_memory_in_one_line() {
    let (code, stdout, stderr) = run(&["--size", "10000000", "10000000"]);
    assert_eq!((code, stdout.as_str(), stderr.lines().count()), (Some(2), "", 1), "{stderr}");
    assert!(stderr.contains("10000000 × 10000000") && stderr.contains("choose a smaller size"), "{stderr}");
}

#[test]
fn part2_program_rejects_a_size_that_overflows_in_one_line() {
    let size = usize::MAX.to_string();
    let (code, stdout, stderr) = run(&["--size", &size, "2"]);
    assert_eq!((code, stdout.as_str(), stderr.lines().count()), (Some(2), "", 1), "{stderr}");
    assert!(stderr.contains("more memory than can be counted"), "{stderr}");
}

/// The PTX is checked on the interpreter and never timed.
#[test]
fn part2_program_interprets_the_ptx() {
    if !gpu_testing::require_ptx(&kernels_gpu::PTX) {
        return;
    }
    let (code, stdout, stderr) = run(&["--device", "ptx", "--size", "33", "17", "-c", "1", "--repeats", "2"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    let lines: Vec<&str> = stdout.lines().collect();
    assert!(lines.contains(&"[+] max_gpu passed (PTX interpreter, sm_90)"), "{stdout}");
    assert!(lines.contains(&"[+] All tests passed"), "{stdout}");
    let about_cuda: Vec<&str> = lines.into_iter().filter(|line| line.contains("CUDA")).collect();
    assert_eq!(about_cuda, ["[*] CUDA: not timed: the PTX interpreter was asked for"], "{stdout}");

    let (code, stdout, stderr) = run(&["--device", "ptx", "--size", "33", "17", "--repeats", "2", "--json"]);
    assert_eq!(code, Some(0), "{stderr}");
    let object: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(object["device"], "PTX interpreter, sm_90");
    assert_eq!(object["checks"]["max_gpu"], true);
    let timed = object["seconds"].as_object().unwrap();
    assert!(!timed.is_empty() && timed.keys().all(|version| !version.contains("cuda")), "{stdout}");
}

#[test]
fn part2_program_lists_every_device() {
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
fn part2_program_with_cuda_requested_says_why_it_cannot_use_it() {
    let output = cargo_bin_cmd!("max_functions")
        .args(["--device", "cuda", "--size", "5", "5"])
        .env("CUDA_DRIVER_LIBRARY", "/nonexistent/libcuda.so.1")
        .output()
        .unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("error: no CUDA driver") && stderr.lines().count() == 1, "{stderr}");
}
