//! The program prints its checks and times or one JSON object, and rejects invalid input with one line and exit code 2.

use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::Value;

const CHECKS: [&str; 12] = [
    "normalize",
    "weigh",
    "activate",
    "normalize_rayon",
    "weigh_rayon",
    "activate_rayon",
    "fused_rayon",
    "normalize_gpu",
    "weigh_gpu",
    "activate_gpu",
    "fused_gpu",
    "fused_fast_gpu",
];

/// Returns the program's exit code, stdout and stderr.
fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = cargo_bin_cmd!("activation_functions").args(arguments).output().unwrap();
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
fn activation_program_checks_every_version_and_times_the_cpus() {
    let (code, stdout, stderr) = run(&["-c", "2", "--repeats", "3", "--device", "simulator"]);
    assert_eq!(code, Some(0), "{stderr}");
    let lines: Vec<&str> = stdout.lines().collect();
    for (line, check) in lines.iter().zip(CHECKS) {
        let place = if check.ends_with("_gpu") { "(simulator, " } else { "(largest error " };
        assert!(line.starts_with(&format!("[+] {check} passed {place}")), "{stdout}");
    }
    let starts = [
        "[+] All tests passed",
        "[*] CPU: ",
        "[*] Rayon: ",
        "[*] Rayon fused: ",
        "[*] Speed-up Rayon over CPU: ",
        "[*] Speed-up Rayon fused over CPU: ",
        "[*] Speed-up Rayon fused over Rayon: ",
        "[*] CUDA: not timed: the simulator was asked for",
    ];
    assert_eq!(lines.len(), CHECKS.len() + starts.len(), "{stdout}");
    assert!(lines[CHECKS.len()..].iter().zip(starts).all(|(line, start)| line.starts_with(start)), "{stdout}");
}

#[test]
fn activation_program_simulates_the_first_million_of_more() {
    let (code, stdout, stderr) = run(&["-n", "1000003", "--device", "simulator", "--repeats", "1"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("[+] fused_gpu passed (simulator, the first 1000000, largest error "), "{stdout}");
}

#[test]
fn activation_program_takes_any_number() {
    for number in ["1", "3", "1023"] {
        let (code, stdout, stderr) = run(&["-n", number, "--repeats", "1", "--device", "simulator"]);
        assert_eq!(code, Some(0), "{stderr}");
        assert!(stdout.contains("[+] All tests passed"), "{stdout}");
    }
}

#[test]
fn activation_program_prints_one_json_object() {
    let arguments = ["--json", "-c", "1", "-n", "70001", "--repeats", "3", "--seed", "9", "--device", "simulator"];
    let (code, stdout, stderr) = run(&arguments);
    assert_eq!(code, Some(0), "{stderr}");
    let object: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(object["program"], "activation_functions");
    assert_eq!((&object["n"], &object["cores"], &object["seed"]), (&70_001.into(), &1.into(), &9.into()));
    for check in CHECKS {
        assert_eq!(object["checks"][check], true, "{stdout}");
        let error = object["largest_errors"][check].as_f64().unwrap();
        assert!((0.0..=1e-6).contains(&error), "{check}: {error}");
    }
    for version in ["cpu", "rayon", "rayon_fused"] {
        let seconds = &object["seconds"][version];
        let (min, median) = (seconds["min"].as_f64().unwrap(), seconds["median"].as_f64().unwrap());
        assert!(0.0 < min && min <= median, "{stdout}");
        assert_eq!(seconds["repeats"], 3);
    }
    assert_eq!(object["seconds"].as_object().unwrap().len(), 3, "the simulator is never timed: {stdout}");
    assert!(object["speedup"]["rayon_fused_over_cpu"]["min"].as_f64().unwrap() > 0.0);
}

#[test]
fn activation_program_rejects_numbers_out_of_range() {
    for number in ["0", "-1", "many", "1.5"] {
        let message = rejection(&[&format!("-n={number}")]);
        assert!(message.contains("--number") && message.contains("1 or more"), "{message}");
    }
    let message = rejection(&["-n", "100000001"]);
    assert!(message.contains("at most 100000000 values: choose a smaller number"), "{message}");
}

#[test]
fn activation_program_rejects_zero_cores_and_repeats() {
    let message = rejection(&["-c", "0"]);
    assert!(message.contains("--cores") && message.contains("at least 1 worker thread"), "{message}");
    let message = rejection(&["--repeats", "0"]);
    assert!(message.contains("--repeats") && message.contains("at least 1 repeat"), "{message}");
}

#[test]
fn activation_program_rejects_more_repeats_than_it_can_count() {
    for repeats in ["1000001", "9223372036854775808", "18446744073709551615"] {
        let message = rejection(&["--repeats", repeats]);
        assert!(message.contains("--repeats") && message.contains("at most 1000000"), "{message}");
    }
}

#[test]
fn activation_program_rejects_an_unknown_device() {
    let message = rejection(&["--device", "abacus"]);
    assert!(message.contains("--device") && message.contains("abacus"), "{message}");
}

/// `--device cuda` without a driver is an error. The test does not depend on this machine's driver.
#[test]
fn activation_program_with_cuda_requested_says_why_it_cannot_use_it() {
    let output = cargo_bin_cmd!("activation_functions")
        .args(["--device", "cuda", "-n", "5"])
        .env("CUDA_DRIVER_LIBRARY", "/nonexistent/libcuda.so.1")
        .output()
        .unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("error: no CUDA driver") && stderr.lines().count() == 1, "{stderr}");
}
