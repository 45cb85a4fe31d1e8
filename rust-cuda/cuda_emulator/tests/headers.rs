//! Names, values and sizes are those of NVIDIA's cuda.h, where Python packages have installed it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_emulator::{IMPLEMENTED, RESULTS, SIZES, UNSUPPORTED, address_of};
use test_support::{Need, path_in, skip};

/// cuda.h below the folder of `FOREIGN_PYTHON`'s packages.
fn header() -> Option<PathBuf> {
    let python = path_in("FOREIGN_PYTHON", Need::ForeignPtx)?;
    let script = "import sysconfig; print(sysconfig.get_path('purelib'))";
    let output = Command::new(python).args(["-c", script]).output().ok()?;
    let packages = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()).join("nvidia");
    let folders = std::fs::read_dir(packages).ok().into_iter().flatten().flatten();
    let found = folders.map(|folder| folder.path().join("include/cuda.h")).find(|path| path.is_file());
    if found.is_none() {
        skip(Need::ForeignPtx, "the packages of $FOREIGN_PYTHON have no cuda.h");
    }
    found
}

#[test]
fn sizes_and_values_are_those_of_the_header() {
    let Some(header) = header() else { return };
    let mut program = "#include <cuda.h>\n".to_owned();
    for (name, bytes) in SIZES {
        let _ = writeln!(program, "_Static_assert(sizeof({name}) == {bytes}, \"size of {name}\");");
    }
    let text = std::fs::read_to_string(&header).unwrap();
    let known: Vec<_> = RESULTS.iter().filter(|(name, _)| text.contains(&format!(" {name} "))).collect();
    assert!(known.len() > 80, "{} results", known.len());
    for (name, value) in known {
        let _ = writeln!(program, "_Static_assert({name} == {value}, \"value of {name}\");");
    }
    for (name, value) in [
        ("CU_LAUNCH_ATTRIBUTE_COOPERATIVE", 2),
        ("CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION", 4),
        ("CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES", 8),
        ("CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 14),
        ("CU_JIT_ERROR_LOG_BUFFER", 5),
        ("CU_JIT_INPUT_LIBRARY", 4),
        ("CU_POINTER_ATTRIBUTE_RANGE_SIZE", 12),
        ("CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR", 75),
        ("CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH", 120),
        ("CU_MEMPOOL_ATTR_RELEASE_THRESHOLD", 4),
        ("CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM", 2),
    ] {
        let _ = writeln!(program, "_Static_assert({name} == {value}, \"value of {name}\");");
    }
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("header-{}.c", std::process::id()));
    std::fs::write(&file, program).unwrap();
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let compiled =
        Command::new(compiler).arg("-fsyntax-only").arg("-I").arg(header.parent().unwrap()).arg(&file).output();
    std::fs::remove_file(file).unwrap();
    let Ok(output) = compiled else { return skip(Need::Cc, "it needs a C compiler, by the name in CC, else cc") };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn every_function_of_the_header_is_exported() {
    let Some(header) = header() else { return };
    let text = std::fs::read_to_string(header).unwrap();
    // `CUresult CUDAAPI cuInit(`; the name may be defined as another before.
    let mut names = BTreeSet::new();
    for declaration in text.split("CUresult CUDAAPI ").skip(1) {
        let name = declaration.split('(').next().unwrap_or_default().trim();
        let define = format!("#define {name} ");
        let defined = text.lines().find_map(|line| line.trim().strip_prefix(&*define).map(|rest| rest.trim()));
        names.insert(defined.filter(|other| other.starts_with("cu")).unwrap_or(name).to_owned());
    }
    assert!(names.len() > 400, "{} functions", names.len());
    let missing: Vec<_> = names.iter().filter(|name| address_of(name).is_none()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn no_function_is_exported_twice() {
    let implemented: BTreeSet<&str> = IMPLEMENTED.iter().flat_map(|names| names.iter().copied()).collect();
    assert_eq!(implemented.len(), IMPLEMENTED.iter().map(|names| names.len()).sum::<usize>());
    assert!(UNSUPPORTED.iter().all(|name| !implemented.contains(name)));
    assert!(implemented.len() > 270, "{}", implemented.len());
    for name in implemented.iter().chain(UNSUPPORTED) {
        assert!(address_of(name).is_some(), "{name}");
    }
    let (all, implemented, unsupported) = (implemented.len() + UNSUPPORTED.len(), implemented.len(), UNSUPPORTED.len());
    let counts = format!(
        "Of the {all} names of functions that the library exports, {implemented} are implemented and {unsupported} are not supported"
    );
    assert!(include_str!("../../docs/emulator.md").contains(&counts), "docs/emulator.md must have: {counts}");
}
