//! A missing or broken Python library loses only its own times.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// A script's output if importing `library` runs `code`. `None` without NumPy.
fn output(script: &str, arguments: &[&str], library: &str, code: &str) -> Option<Value> {
    let python = test_support::python_with_numpy()?;
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join(library)).unwrap();
    std::fs::write(folder.path().join(library).join("__init__.py"), code).unwrap();
    let mut command = Command::new(python);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(script)).args(arguments);
    command.env("PYTHONPATH", folder.path()).env("PYTHONDONTWRITEBYTECODE", "1").env_remove("MNIST_DIR");
    let output = command.output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_str(stdout.lines().last().unwrap()).unwrap())
}

/// Code of a broken package, and the expected reason in its row.
const BROKEN: [(&str, &str); 6] = [
    ("raise OSError('libc10.so: cannot open')", "OSError: libc10.so: cannot open"),
    ("raise RuntimeError('built for\\nanother NumPy')", "RuntimeError: built for another NumPy"),
    ("raise ImportError('undefined symbol')", "ImportError: undefined symbol"),
    ("import sys; sys.exit('no licence')", "SystemExit: no licence"),
    ("print('a line of output'); import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
    ("", "AttributeError: module "),
];

#[test]
fn peers_a_broken_pytorch_loses_its_own_row_only() {
    for (code, reason) in BROKEN {
        let arguments = ["--images", "100", "--repeats", "1"];
        let Some(object) = output("network.py", &arguments, "torch", code) else { return };
        assert!(object["failed"]["PyTorch"].as_str().unwrap().starts_with(reason), "{object}");
        assert!(object["seconds"]["NumPy"]["min"].as_f64().unwrap() > 0.0, "{object}");
        assert_eq!((&object["seconds"]["PyTorch"], object["missing"].as_object().unwrap().len()), (&Value::Null, 0));
    }
}

#[test]
fn peers_a_broken_numba_loses_its_own_rows_only() {
    for (code, reason) in BROKEN {
        let arguments = ["--size", "10", "10", "--repeats", "1"];
        let Some(object) = output("max.py", &arguments, "numba", code) else { return };
        for label in ["Numba", "Numba parallel"] {
            assert!(object["failed"][label].as_str().unwrap().starts_with(reason), "{object}");
        }
        let seconds = object["seconds"].as_object().unwrap();
        assert_eq!(seconds.keys().collect::<Vec<_>>(), ["NumPy"], "{object}");
    }
}

#[test]
fn peers_a_broken_gpu_library_is_skipped() {
    for (code, _) in BROKEN {
        for library in ["torch", "numba", "cupy"] {
            expect_all_skipped("gpu_max.py", library, code, &["CuPy", "Numba", "PyTorch"]);
        }
        for library in ["torch", "cupy"] {
            expect_all_skipped("gpu_regressor.py", library, code, &["CuPy", "PyTorch"]);
        }
    }
}

/// Asserts that a script of GPU peers times nothing and gives a reason for each peer.
fn expect_all_skipped(script: &str, library: &str, code: &str, peers: &[&str]) {
    let Some(object) = output(script, &["--repeats", "1"], library, code) else { return };
    assert_eq!(object["seconds"], serde_json::json!({}), "{object}");
    let skipped = object["skipped"].as_object().unwrap();
    assert_eq!(skipped.keys().collect::<Vec<_>>(), peers, "{object}");
}
