//! The program prints its checks and times or one JSON object, writes pictures, and rejects invalid
//! input with one line and exit code 2.

use std::path::Path;

use assert_cmd::cargo::cargo_bin_cmd;
use filters::picture::{read_grey, write_png};
use ndarray::Array2;
use serde_json::Value;

/// Returns the program's exit code, stdout and stderr.
fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = cargo_bin_cmd!("filters").args(arguments).output().unwrap();
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
fn filters_program_checks_every_version_and_times_the_cpus() {
    let (code, stdout, stderr) = run(&["-c", "1", "--size", "230", "210", "--repeats", "2", "--device", "simulator"]);
    assert_eq!(code, Some(0), "{stderr}");
    let mut expected = Vec::new();
    for size in ["3×3", "5×5", "7×7"] {
        expected.extend(["trivial", "rayon"].map(|version| format!("[+] correlation_{version} {size} passed")));
        expected.push(format!("[+] correlation_gpu {size} passed (simulator, the first 200 × 200)"));
    }
    expected
        .extend(["sobel", "scharr", "sobel_5x3", "sobel_5x5"].map(|name| format!("[+] sobel_operator {name} passed")));
    expected.extend(["[+] correlation_rayon neighbours passed", "[+] All tests passed"].map(str::to_owned));
    for size in ["3×3", "5×5", "7×7"] {
        expected.extend(["Trivial", "Rayon"].map(|version| format!("[*] {version} {size}: ")));
        expected.push(format!("[*] Speed-up Rayon {size} over Trivial {size}: "));
    }
    expected
        .extend(["sobel", "scharr", "sobel_5x3", "sobel_5x5", "neighbours"].map(|name| format!("[*] Rayon {name}: ")));
    expected.extend(["[*] Sobel operator: ", "[*] CUDA: not timed: the simulator was asked for"].map(str::to_owned));
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines.len(), expected.len(), "{stdout}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(&expected), "{expected:?}: {stdout}");
    }
    assert!(stdout.contains("n = 2, 3×3 separable: 3 + 3 multiply-adds, 1 thread)"), "{stdout}");
    assert!(stdout.contains("n = 2, 3×3 not separable: 9 multiply-adds, 1 thread)"), "{stdout}");
}

#[test]
fn filters_program_prints_one_json_object_for_a_kernel_of_any_size() {
    let arguments =
        ["--json", "-c", "2", "--size", "70", "31", "--kernel", "4", "90", "--repeats", "2", "--seed", "9", "--ladder"];
    let (code, stdout, stderr) = run(&[&arguments[..], &["--device", "simulator"]].concat());
    assert_eq!(code, Some(0), "{stderr}");
    let object: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&object["program"], &object["size"]), (&"filters".into(), &serde_json::json!([70, 31])));
    assert_eq!((&object["cores"], &object["seed"]), (&2.into(), &9.into()));
    for rung in ["1 naive", "2 shared tile", "3 register rows"] {
        assert_eq!(object["checks"][format!("correlation_gpu 4×90, rung {rung}")], true, "{stdout}");
    }
    for version in ["trivial_4x90", "rayon_4x90", "rayon_sobel", "sobel_operator"] {
        assert!(object["seconds"][version]["min"].as_f64().unwrap() > 0.0, "{stdout}");
    }
    assert!(object["speedup"]["rayon_4x90_over_trivial_4x90"]["min"].as_f64().unwrap() > 0.0);
}

#[test]
fn filters_program_overwrites_no_image_that_it_reads() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("sobel.png");
    write_png(&image, &Array2::from_elem((9, 9), 7)).unwrap();
    let before = std::fs::read(&image).unwrap();
    let out = folder.path().join(".");
    let message = rejection(&["--image", image.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    assert!(message.contains("--out ") && message.contains("which is read: choose another place"), "{message}");
    assert_eq!(std::fs::read(&image).unwrap(), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn filters_program_writes_the_pictures_of_all_filters() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new/folder");
    let arguments = ["--size", "40", "60", "--repeats", "1", "--device", "simulator", "--out"];
    let (code, stdout, stderr) = run(&[&arguments[..], &[out.to_str().unwrap()]].concat());
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.starts_with("[*] Wrote 6 pictures to "), "{stdout}");
    for name in ["image", "sobel", "scharr", "sobel_5x3", "sobel_5x5", "neighbours"] {
        let picture = read_grey(&out.join(format!("{name}.png"))).unwrap();
        assert_eq!(picture.dim(), (40, 60));
        assert!(picture.iter().any(|&grey| grey > 200) && picture.iter().any(|&grey| grey < 100), "{name}");
    }
    let image = out.join("image.png");
    let (code, stdout, stderr) =
        run(&["--image", image.to_str().unwrap(), "--repeats", "1", "--device", "simulator", "--json"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(serde_json::from_str::<Value>(&stdout).unwrap()["size"], serde_json::json!([40, 60]));
}

#[test]
fn filters_program_reads_a_jpeg() {
    let jpeg = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/correlation/colours.jpg");
    let (code, stdout, stderr) = run(&["--image", jpeg.to_str().unwrap(), "--repeats", "1", "--device", "simulator"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("[+] All tests passed"), "{stdout}");
}

#[test]
fn filters_program_rejects_files_that_are_no_pictures() {
    let this = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program.rs");
    let message = rejection(&["--image", this]);
    assert!(
        message.ends_with("program.rs: neither a JPEG nor a PNG file: export the picture as one of them"),
        "{message}"
    );
    let message = rejection(&["--image", "/nowhere/picture.jpg"]);
    assert!(message.starts_with("error: /nowhere/picture.jpg: cannot be read: "), "{message}");
    let message = rejection(&["--image", this, "--size", "3", "4"]);
    assert!(message.contains("--size") && message.contains("--image"), "{message}");
}

#[test]
fn filters_program_rejects_sizes_out_of_range() {
    for arguments in [["--size", "0", "5"], ["--kernel", "3", "0"]] {
        let message = rejection(&arguments);
        assert!(message.contains(arguments[0]) && message.contains("1 or more"), "{message}");
    }
    let message = rejection(&["--kernel", "257", "1"]);
    assert!(message.contains("a kernel of 257 × 1: at most 256 rows and columns"), "{message}");
    let size = usize::MAX.to_string();
    let message = rejection(&["--size", &size, "2"]);
    assert!(message.contains("more memory than can be counted"), "{message}");
}

/// The PTX is checked on the interpreter and never timed.
#[test]
fn filters_program_interprets_the_ptx() {
    if !gpu_testing::require_ptx(&kernels_gpu::PTX) {
        return;
    }
    let (code, stdout, stderr) = run(&["--device", "ptx", "--size", "33", "47", "--repeats", "1", "--ladder"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert_eq!(stdout.matches(" passed (PTX interpreter, sm_90)").count(), 9, "{stdout}");
}
