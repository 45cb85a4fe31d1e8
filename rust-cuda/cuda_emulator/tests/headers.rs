//! Names, values and sizes match NVIDIA's cuda.h, if Python packages have installed it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_emulator::properties::{self, Layout};
use cuda_emulator::{
    IMPLEMENTED, RESULTS, RUNTIME_IMPLEMENTED, RUNTIME_RESULTS, RUNTIME_SIZES, RUNTIME_UNSUPPORTED, SIZES, UNSUPPORTED,
    address_of,
};
use test_support::{Need, path_in, skip};

/// A header in the packages folder of `FOREIGN_PYTHON`.
fn header(name: &str) -> Option<PathBuf> {
    let python = path_in("FOREIGN_PYTHON", Need::ForeignPtx)?;
    let script = "import sysconfig; print(sysconfig.get_path('purelib'))";
    let output = Command::new(python).args(["-c", script]).output().ok()?;
    let packages = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()).join("nvidia");
    let folders = std::fs::read_dir(packages).ok().into_iter().flatten().flatten();
    let found = folders.map(|folder| folder.path().join("include").join(name)).find(|path| path.is_file());
    if found.is_none() {
        skip(Need::ForeignPtx, &format!("the packages of $FOREIGN_PYTHON have no {name}"));
    }
    found
}

#[test]
fn sizes_and_values_are_those_of_the_header() {
    let Some(header) = header("cuda.h") else { return };
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
        ("CUDA_ARRAY3D_CUBEMAP", 4),
        ("CU_AD_FORMAT_FLOAT", 0x20),
        ("CU_RESOURCE_TYPE_PITCH2D", 3),
        ("CU_TR_ADDRESS_MODE_BORDER", 3),
        ("CU_TRSF_SEAMLESS_CUBEMAP", 0x40),
        ("CU_RES_VIEW_FORMAT_FLOAT_1X32", 22),
        ("CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM", 2),
    ] {
        let _ = writeln!(program, "_Static_assert({name} == {value}, \"value of {name}\");");
    }
    assert_compiles("driver", &program, &header);
}

#[test]
fn the_runtimes_sizes_and_values_are_those_of_its_header() {
    let Some(header) = header("driver_types.h") else { return };
    let text = std::fs::read_to_string(&header).unwrap();
    let mut program = "#include <stddef.h>\n#include <driver_types.h>\n#include <texture_types.h>\n".to_owned();
    for (name, bytes) in RUNTIME_SIZES {
        let _ = writeln!(program, "_Static_assert(sizeof({name}) == {bytes}, \"size of {name}\");");
    }
    let known: Vec<_> = RUNTIME_RESULTS.iter().filter(|(name, _)| text.contains(&format!(" {name} "))).collect();
    assert!(known.len() > 120, "{} results", known.len());
    for (name, value) in known {
        let _ = writeln!(program, "_Static_assert({name} == {value}, \"value of {name}\");");
    }
    let layout = if text.contains(" clockRate;") { Layout::Twelve } else { Layout::Thirteen };
    let bytes = properties::size(layout);
    let _ = writeln!(program, "_Static_assert(sizeof(struct cudaDeviceProp) == {bytes}, \"size of cudaDeviceProp\");");
    for (name, offset) in properties::offsets(layout) {
        let field = format!("offsetof(struct cudaDeviceProp, {name})");
        let _ = writeln!(program, "_Static_assert({field} == {offset}, \"{field}\");");
    }
    assert_compiles("runtime", &program, &header);
}

/// The macros from crt/host_defines.h that the headers need. That file belongs to the compiler's
/// package.
const HOST_DEFINES: &str = "#define __device_builtin__\n#define __cudart_builtin__\n#define CUDARTAPI\n\
    #define __align__(bytes) __attribute__((aligned(bytes)))\n#define __builtin_align__(bytes) __align__(bytes)\n";

/// Asserts that a C program that includes a header compiles.
fn assert_compiles(name: &str, program: &str, header: &Path) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("crt")).unwrap();
    std::fs::write(folder.join("crt/host_defines.h"), HOST_DEFINES).unwrap();
    let file = folder.join("program.c");
    std::fs::write(&file, program).unwrap();
    let mut compiler = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    compiler.arg("-fsyntax-only").arg("-I").arg(header.parent().unwrap()).arg("-I").arg(&folder).arg(&file);
    let compiled = compiler.output();
    std::fs::remove_dir_all(folder).unwrap();
    let Ok(output) = compiled else { return skip(Need::Cc, "it needs a C compiler, by the name in CC, else cc") };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn every_function_of_the_header_is_exported() {
    let Some(header) = header("cuda.h") else { return };
    let text = std::fs::read_to_string(header).unwrap();
    // `CUresult CUDAAPI cuInit(`. The name may be defined as another name earlier.
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
    let of_runtime: BTreeSet<&str> = RUNTIME_IMPLEMENTED.iter().flat_map(|names| names.iter().copied()).collect();
    assert!(RUNTIME_UNSUPPORTED.iter().all(|name| !of_runtime.contains(name)));
    let (all, unsupported) = (of_runtime.len() + RUNTIME_UNSUPPORTED.len(), RUNTIME_UNSUPPORTED.len());
    let of_runtime = format!("Of {all} names of the runtime library, {unsupported} are not supported");
    assert!(include_str!("../../docs/emulator.md").contains(&of_runtime), "docs/emulator.md must have: {of_runtime}");
    let (all, implemented, unsupported) = (implemented.len() + UNSUPPORTED.len(), implemented.len(), UNSUPPORTED.len());
    let counts = format!(
        "Of the {all} names of functions that the library exports, {implemented} are implemented and {unsupported} are not supported"
    );
    assert!(include_str!("../../docs/emulator.md").contains(&counts), "docs/emulator.md must have: {counts}");
}
