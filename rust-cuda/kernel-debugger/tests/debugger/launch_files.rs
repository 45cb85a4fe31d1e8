//! Unusable launch files are rejected in one line that names the file and the argument.

use kernel_launch::LaunchFile;

use std::fs;
use std::path::MAIN_SEPARATOR;

use tempfile::TempDir;

fn refusal(text: &str) -> String {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("kernels.ptx"), test_kernels::PTX[0].text()).unwrap();
    fs::write(directory.path().join("wrong.ptx"), ".version 8.0\n.target sm_80\n.address_size 64\nwrong").unwrap();
    let path = directory.path().join("launch.json");
    fs::write(&path, text).unwrap();
    let message = LaunchFile::open(&path).expect_err("the file must be refused").to_string();
    assert_eq!(message.lines().count(), 1, "{message}");
    message.replace(&format!("{}{MAIN_SEPARATOR}", directory.path().display()), "")
}

fn with_arguments(arguments: &str) -> String {
    refusal(&format!(
        r#"{{"ptx": "kernels.ptx", "kernel": "empty_kernel", "block": [1, 1, 1], "arguments": [{arguments}]}}"#
    ))
}

#[test]
fn files_that_are_no_launch() {
    assert!(refusal("{").starts_with("launch.json: EOF while parsing"));
    assert!(refusal(r#"{"kernal": 1}"#).starts_with("launch.json: unknown field `kernal`"));
    let file = |ptx: &str, kernel: &str| {
        refusal(&format!(r#"{{"ptx": "{ptx}", "kernel": "{kernel}", "block": [1, 1, 1], "arguments": []}}"#))
    };
    assert!(file("missing.ptx", "max_kernel").starts_with("missing.ptx: "));
    assert!(file("wrong.ptx", "max_kernel").starts_with("wrong.ptx: "));
    assert_eq!(file(".", "max_kernel"), ".: it is not a regular file");
    if cfg!(unix) {
        assert_eq!(file("/dev/zero", "max_kernel"), "/dev/zero: it is not a regular file");
        // /dev/zero reports a size of 0, like the buffer's.
        let stored = with_arguments(r#"{"name": "x", "type": "u32", "shape": [0], "values": {"file": "/dev/zero"}}"#);
        assert!(stored.ends_with("/dev/zero: it is not a regular file"), "{stored}");
    }
    let message = file("kernels.ptx", "maximum");
    assert!(message.starts_with("kernels.ptx has no kernel maximum; it has "), "{message}");
    assert!(message.contains("max_kernel, "), "{message}");
}

#[test]
fn arguments_that_do_not_fit() {
    for (arguments, expected) in [
        (r#"{"name": "n", "type": "u32", "value": -1}"#, "argument n: -1 is no u32"),
        (r#"{"name": "n", "type": "u8", "value": 256}"#, "argument n: 256 is no u8"),
        (r#"{"name": "n", "type": "i32", "value": 2147483648}"#, "argument n: 2147483648 is no i32"),
        (r#"{"name": "x", "type": "u8", "shape": [300], "values": "index"}"#, "argument x: 256 is no u8"),
        (
            r#"{"name": "x", "type": "f32", "shape": [2, 2], "values": [1, 2, 3]}"#,
            "argument x: 3 values for 4 elements",
        ),
        (
            r#"{"name": "x", "type": "f32", "shape": [2]}"#,
            r#"argument x: a buffer has "type", "shape" and "values", any other argument "type" and "value", or "bytes""#,
        ),
        (
            r#"{"name": "x", "type": "f64", "shape": [1000000, 1000000, 1000000, 1000000], "values": "zeros"}"#,
            "argument x: all buffers together have more than 256 MiB; make them smaller",
        ),
        (
            r#"{"name": "a", "type": "u8", "shape": [200000000], "values": "unwritten"},
               {"name": "b", "type": "u8", "shape": [100000000], "values": "unwritten"}"#,
            "argument b: all buffers together have more than 256 MiB; make them smaller",
        ),
    ] {
        assert_eq!(with_arguments(arguments), format!("launch.json: {expected}"));
    }
    assert!(with_arguments(r#"{"name": "x", "type": "f16", "value": 1}"#).contains("unknown variant `f16`"));
}

#[test]
fn the_examples_are_launches() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("launches");
    let paths: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!paths.is_empty());
    for path in paths {
        let launch = LaunchFile::open(&path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(path.file_stem().unwrap(), launch.kernel());
    }
}
