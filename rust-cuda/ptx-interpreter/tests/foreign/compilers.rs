//! PTX from other compilers, if they are installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use test_support::{Need, skip};

/// The text of a module, and the name of its compiler.
pub(crate) struct Compiled {
    pub(crate) name: String,
    pub(crate) ptx: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/foreign")
}

/// A command's standard output as PTX. Skips the test and returns `None` if the compiler is not installed.
fn output(name: &str, command: &mut Command) -> Option<Compiled> {
    let output = match command.current_dir(folder()).env("PYTHONDONTWRITEBYTECODE", "1").output() {
        Ok(output) => output,
        Err(error) => {
            skip(Need::ForeignPtx, &format!("{name}: {}: {error}", command.get_program().display()));
            return None;
        }
    };
    let error = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(3) {
        skip(Need::ForeignPtx, &format!("{name}: {error}"));
        return None;
    }
    assert!(output.status.success(), "{name} rejects the source: {error}");
    Some(Compiled { name: name.to_owned(), ptx: String::from_utf8(output.stdout).unwrap() })
}

/// The program in `FOREIGN_CLANG`, or `clang`.
fn clang_command() -> Command {
    Command::new(std::env::var_os("FOREIGN_CLANG").unwrap_or("clang".into()))
}

/// The newest of sm_86 and sm_90 that clang supports.
fn newest_target() -> &'static str {
    let targets = clang_command().arg("--print-supported-cpus").arg("--target=nvptx64-nvidia-cuda").output();
    match targets {
        Ok(output) if String::from_utf8_lossy(&output.stderr).contains("sm_90") => "sm_90",
        _ => "sm_86",
    }
}

/// A source in this folder compiled by clang for sm_75 and the newest of sm_86 and sm_90, without
/// and with optimization.
pub(crate) fn clang(source: &str) -> Vec<Compiled> {
    clang_of(source, &["sm_75", newest_target()])
}

/// Like `clang`, for the newest target only.
pub(crate) fn clang_of_one_target(source: &str) -> Vec<Compiled> {
    clang_of(source, &[newest_target()])
}

fn clang_of(source: &str, architectures: &[&str]) -> Vec<Compiled> {
    let variants = ["-O0", "-O2"].into_iter().flat_map(|level| architectures.iter().map(move |arch| (level, arch)));
    let compiled = variants.map(|(level, architecture)| {
        let mut command = clang_command();
        command.args(["-x", "cuda", "--cuda-device-only", "-nocudalib", "-nocudainc", "-gline-tables-only", "-S"]);
        command.args(["-Xclang", "-target-feature", "-Xclang", "+ptx70", level]);
        command.arg(format!("--cuda-gpu-arch={architecture}")).arg(source).args(["-o", "-"]);
        output(&format!("clang {level}, {architecture}"), &mut command)
    });
    compiled.collect::<Option<_>>().unwrap_or_default()
}

/// The output of compile.py, run by `FOREIGN_PYTHON` or `python3`.
fn python(name: &str, arguments: &[&str]) -> Option<Compiled> {
    let mut command = Command::new(std::env::var_os("FOREIGN_PYTHON").unwrap_or("python3".into()));
    output(name, command.arg("compile.py").args(arguments))
}

/// A source in this folder compiled by NVRTC for sm_75 and sm_90, both optimized with line numbers
/// and for debugging.
pub(crate) fn nvrtc(source: &str) -> Vec<Compiled> {
    let variants = ["75", "90"].into_iter().flat_map(|arch| ["-lineinfo", "-G"].map(|option| (arch, option)));
    let compiled = variants.map(|(architecture, option)| {
        let name = format!("NVRTC {option}, sm_{architecture}");
        python(&name, &["nvrtc", source, architecture, option])
    });
    compiled.collect::<Option<_>>().unwrap_or_default()
}

/// Numba's kernels, each in its own module: optimized for sm_75, and for debugging on sm_90.
pub(crate) fn numba() -> Vec<Compiled> {
    let variants = [("75", "2"), ("90", "0")];
    let compiled = variants.map(|(architecture, level)| {
        python(&format!("Numba -O{level}, sm_{architecture}"), &["numba", architecture, level])
    });
    compiled.into_iter().collect::<Option<_>>().unwrap_or_default()
}

/// Triton's kernels, each in its own module, for sm_75 and sm_90.
pub(crate) fn triton() -> Vec<Compiled> {
    let compiled = ["75", "90"].map(|arch| python(&format!("Triton, sm_{arch}"), &["triton", arch]));
    compiled.into_iter().collect::<Option<_>>().unwrap_or_default()
}

/// A committed module, for machines without the compilers.
pub(crate) fn committed(name: &str, ptx: &str) -> Vec<Compiled> {
    vec![Compiled { name: format!("{name}, committed"), ptx: ptx.to_owned() }]
}
