//! The runner's command line.

use std::path::Path;
use std::process::Command;

use crate::{emulated, text};

#[test]
fn wrong_options_are_one_line_and_exit_with_2() {
    for (options, message) in [
        (&["--devices", "sm_1"][..], "error: CUDA_EMULATOR_DEVICES is \"sm_1\": it must be a list of sm_70, "),
        (&["--orders", "0"], "error: CUDA_EMULATOR_ORDERS is \"0\": it must be a number from 1 to 1000000\n"),
    ] {
        let output = emulated(options, Path::new("true"), &[]);
        assert_eq!(output.status.code(), Some(2));
        let said = text(&output);
        assert!(said.starts_with(message) && said.lines().count() == 1, "{said}");
    }
    let output = emulated(&[], Path::new("/no/such/program"), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output).starts_with("error: /no/such/program: "), "{}", text(&output));
}

#[test]
#[cfg(unix)]
fn the_programs_exit_code_is_passed_on() {
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 128 + 9)] {
        let output = emulated(&[], Path::new("sh"), &["-c", script]);
        assert_eq!(output.status.code(), Some(code), "{script}");
        assert!(text(&output).contains("CUDA emulator: 0 kernels, 0 launches, 0 instructions, 0 faults"));
    }
}

#[test]
#[cfg(unix)]
fn a_signal_ends_the_program_and_then_the_runner() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    for (signal, code) in [("TERM", 7), ("HUP", 8), ("INT", 9)] {
        let mut runner = Command::new(env!("CARGO_BIN_EXE_cuda-emulate"));
        // The script looks for the file for ten minutes.
        let script = "trap 'exit 7' TERM; trap 'exit 8' HUP; echo ready; for i in $(seq 6000); do sleep 0.1; test -e \"$0\" && exit 9; done";
        let folder = tempfile::tempdir().unwrap();
        let end = folder.path().join("end");
        runner.args(["run", "sh", "-c", script]).arg(&end).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = runner.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        let sent = Command::new("kill").args(["-s", signal, &process.id().to_string()]).status().unwrap();
        assert!(sent.success());
        if signal == "INT" {
            // A terminal would send the signal to the program too.
            std::fs::write(&end, "").unwrap();
        }
        let output = process.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{signal}: {}", text(&output));
        assert!(text(&output).contains("CUDA emulator: 0 kernels"), "{signal}: {}", text(&output));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn faults_are_written_as_json_and_captured() {
    let Some(program) = crate::c::compiled("faults") else {
        return test_support::skip(
            test_support::Need::Cc,
            "it needs a C compiler for Linux, by the name in CC, else cc",
        );
    };
    let folder = tempfile::tempdir().unwrap();
    let (json, capture) = (folder.path().join("report.json"), folder.path().join("capture"));
    let options =
        ["--like-a-gpu", "--fail-on-fault", "--json", json.to_str().unwrap(), "--capture", capture.to_str().unwrap()];
    let output = emulated(&options, &program, &[]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let [fault] = &report["faults"].as_array().unwrap()[..] else { panic!("{report}") };
    assert_eq!((&fault["rule"], &fault["error"]), (&"out-of-bounds".into(), &"CUDA_ERROR_ILLEGAL_ADDRESS".into()));
    assert_eq!((&fault["kernel"], &fault["place"]["ptx_line"]), (&"far".into(), &33.into()));
    let launch: serde_json::Value =
        serde_json::from_slice(&std::fs::read(capture.join("launch.json")).unwrap()).unwrap();
    assert_eq!((&launch["kernel"], &launch["arguments"][0]["shape"]), (&"far".into(), &serde_json::json!([4])));
    std::fs::remove_file(program).unwrap();
}

#[test]
fn the_library_is_found() {
    let output = Command::new(env!("CARGO_BIN_EXE_cuda-emulate")).arg("library").output().unwrap();
    assert!(Path::new(text(&output).trim()).is_file(), "{}", text(&output));
}
