//! `cargo xtask package`: makes self-contained archives of the programs, with checksums, for people
//! without Rust.
//!
//! CONTRIBUTING.md explains how to make a release from them.

mod archive;
mod extension;
mod glibc;
mod notices;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail, ensure};
use command_line::say;
use sha2::{Digest, Sha256};

use crate::capture::stdout_of;
use crate::cargo::build_executables;
use crate::workspace::Workspace;
use crate::workspace_root;

/// The options of `cargo xtask package`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Make the archives for another system, such as x86_64-pc-windows-gnu, for which this machine can compile
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
    /// For Linux: run with this version of glibc and later ones, such as 2.28, instead of this machine's; needs cargo-zigbuild
    #[arg(long, value_name = "VERSION", value_parser = glibc::parse)]
    glibc: Option<glibc::Version>,
    /// Where the archives are written
    #[arg(long, value_name = "FOLDER", default_value = "target/package")]
    out: PathBuf,
}

/// A program, and the files next to it in its archive.
struct Package {
    name: &'static str,
    workspace: Workspace,
    /// The document that explains how to start it.
    readme: &'static str,
    /// Files that add it to a Linux desktop's menu.
    menu: &'static [&'static str],
}

const PACKAGES: [Package; 2] = [
    Package {
        name: "regression-studio",
        workspace: Workspace::Studio,
        readme: "regression-studio/packaging/README.txt",
        menu: &[
            "regression-studio/packaging/regression-studio.desktop",
            "regression-studio/packaging/regression-studio.svg",
        ],
    },
    Package {
        name: "kernel-debugger",
        workspace: Workspace::Toolchain,
        readme: "rust-cuda/kernel-debugger/packaging/README.txt",
        menu: &[],
    },
];

/// Included in every archive.
const LICENSES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// Maximum size of an archive in bytes.
const MAX_BYTES: u64 = 25_000_000;

/// The file with the archives' checksums, for `sha256sum --check`.
const CHECKSUMS: &str = "SHA256SUMS";

/// Makes the archives and their checksums.
///
/// # Errors
/// If a program does not build or start, or an archive cannot be written or is too large.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let system = System::of(options)?;
    let out = workspace_root().join(&options.out);
    std::fs::create_dir_all(&out).with_context(|| format!("cannot create {}", out.display()))?;
    let mut checksums = String::new();
    for package in &PACKAGES {
        let archive = make(package, &system, &out)?;
        let bytes = std::fs::read(&archive)?;
        let (name, size) = (file_name(&archive), bytes.len() as u64);
        checksums += &format!("{}  {name}\n", hex::encode(Sha256::digest(&bytes)));
        say!("[*] {}: {:.1} MB", archive.display(), size as f64 / 1e6);
        ensure!(size <= MAX_BYTES, "{name} has {size} bytes; it must not exceed {MAX_BYTES}");
    }
    let file = out.join(CHECKSUMS);
    whole_files::write_atomically(&file, checksums.as_bytes())
        .with_context(|| format!("cannot write {}", file.display()))?;
    say!("[*] {}: their checksums", file.display());
    Ok(ExitCode::SUCCESS)
}

/// The system that the programs are built for.
struct System {
    /// Its name in rustc.
    triple: String,
    is_this_one: bool,
    glibc: Option<glibc::Version>,
}

impl System {
    /// # Errors
    /// If a version of glibc is requested for a system without glibc, or rustc does not report this
    /// machine's system.
    fn of(options: &Options) -> Result<Self> {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let version = stdout_of(Command::new(rustc).arg("-vV"))?;
        let host = version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc -vV names no host")?;
        let triple = options.target.clone().unwrap_or_else(|| host.to_owned());
        ensure!(
            options.glibc.is_none() || triple.ends_with("-linux-gnu"),
            "--glibc is for Linux: {triple} has no glibc"
        );
        Ok(Self { is_this_one: triple == host, triple, glibc: options.glibc })
    }

    fn is_windows(&self) -> bool {
        self.triple.contains("windows")
    }

    fn executable(&self, program: &str) -> String {
        format!("{program}{}", if self.is_windows() { ".exe" } else { "" })
    }

    /// Its name in an archive's file name: "x86_64-linux" for x86_64-unknown-linux-gnu.
    fn name(&self) -> String {
        let mut parts = self.triple.split('-');
        let architecture = parts.next().unwrap_or_default();
        format!("{architecture}-{}", parts.find(|part| !["unknown", "pc", "apple"].contains(part)).unwrap_or_default())
    }

    /// Cargo's arguments to build `program` for it.
    fn build(&self, program: &str) -> Vec<String> {
        let (command, target) = match self.glibc {
            Some(version) => ("zigbuild", Some(format!("{}.{version}", self.triple))),
            None => ("build", (!self.is_this_one || self.is_windows()).then(|| self.triple.clone())),
        };
        let fixed = ["--release", "--locked", "--config", "profile.release.strip=\"symbols\"", "--package", program];
        let mut arguments: Vec<String> = [command].iter().chain(&fixed).map(|&argument| argument.to_owned()).collect();
        let mut flags: Vec<String> = machine_folders()
            .iter()
            .map(|(folder, name)| format!("--remap-path-prefix={}={name}", folder.display()))
            .collect();
        if self.is_windows() {
            // The compiler's libraries are linked into the program, since a machine without
            // compilers lacks them. With --target, macros are built as usual.
            flags.extend(["-C".to_owned(), "target-feature=+crt-static".to_owned()]);
        }
        // The paths of the kernels' debug names, which the packed program cannot read.
        arguments.extend(["--config".to_owned(), "env.CUDA_BUILDER_DEBUG_PATHS=\"off\"".to_owned()]);
        // A JSON array of strings is also valid TOML.
        arguments
            .extend(["--config".to_owned(), format!("target.{}.rustflags={}", self.triple, serde_json::json!(flags))]);
        arguments.extend(target.into_iter().flat_map(|target| ["--target".to_owned(), target]));
        arguments
    }
}

/// The folders of this machine that the compiler would name in programs, and their replacements.
fn machine_folders() -> Vec<(PathBuf, &'static str)> {
    let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo_home = cargo_home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let root = (workspace_root().to_owned(), ".");
    cargo_home.map(|folder| (folder, "cargo")).into_iter().chain([root]).collect()
}

/// The first folder with a path that occurs in a program's bytes.
fn named_folder<'a>(program: &[u8], folders: &'a [(PathBuf, &str)]) -> Option<&'a Path> {
    let is_named = |folder: &Path| {
        let name = folder.as_os_str().as_encoded_bytes();
        program.windows(name.len()).any(|bytes| bytes == name)
    };
    folders.iter().map(|(folder, _)| folder.as_path()).find(|folder| is_named(folder))
}

/// Builds a program and packs it. Returns the archive's path.
fn make(package: &Package, system: &System, out: &Path) -> Result<PathBuf> {
    let Package { name, workspace, readme, menu } = package;
    let arguments = system.build(name);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let hint = || match system.glibc {
        Some(_) => "cannot build it for an older glibc: pip install cargo-zigbuild ziglang",
        None => "cannot build it",
    };
    let built = build_executables(*workspace, &arguments).with_context(hint)?;
    let program = built.get(name, name)?;
    if let Some(folder) = named_folder(&std::fs::read(program)?, &machine_folders()) {
        bail!("{} names this machine's folder {}: is RUSTFLAGS set?", program.display(), folder.display());
    }

    let made = tempfile::tempdir()?;
    let folder = made.path().join(format!("{name}-{}-{}", env!("CARGO_PKG_VERSION"), system.name()));
    std::fs::create_dir(&folder)?;
    let copy = |from: &Path, to: String| {
        let to = folder.join(to);
        std::fs::copy(from, &to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
    };
    copy(program, system.executable(name))?;
    let menu = if system.triple.contains("linux") { menu } else { &[][..] };
    for file in [readme].into_iter().chain(menu).chain(&LICENSES) {
        let file = workspace_root().join(file);
        copy(&file, file_name(&file))?;
    }
    if let Some(needed) = glibc::needed(&std::fs::read(program)?) {
        let readme = folder.join("README.txt");
        let text = std::fs::read_to_string(&readme)?;
        std::fs::write(&readme, format!("{text}\nIt needs glibc {needed} or later: ldd --version prints yours.\n"))?;
        let asked = system.glibc.unwrap_or(needed);
        ensure!(needed <= asked, "{name} needs glibc {needed}, and {asked} was asked for");
    }
    let notices = notices::listing(*workspace, name, &system.triple)?;
    std::fs::write(folder.join("THIRD-PARTY.txt"), notices)?;
    if *name == "kernel-debugger" {
        extension::make(program, &system.executable(name), &system.triple, &folder)?;
    }
    let archive = archive::pack(&folder, out, system.is_windows())?;
    if system.is_this_one {
        check_start(&archive, &folder, &system.executable(name))?;
    }
    Ok(archive)
}

/// Unpacks an archive into its own folder and starts the program there.
fn check_start(archive: &Path, folder: &Path, executable: &str) -> Result<()> {
    let unpacked = tempfile::tempdir()?;
    archive::unpack(archive, unpacked.path())?;
    let program = unpacked.path().join(file_name(folder)).join(executable);
    let help = stdout_of(Command::new(&program).arg("--help").current_dir(unpacked.path()).env_clear())
        .with_context(|| format!("{executable} of {} does not start", archive.display()))?;
    ensure!(help.contains("Usage:"), "{executable} of {} prints no help", archive.display());
    Ok(())
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(triple: &str, glibc: Option<&str>) -> System {
        let glibc = glibc.map(|version| glibc::parse(version).unwrap());
        System { triple: triple.to_owned(), is_this_one: false, glibc }
    }

    #[test]
    fn package_names_systems_and_builds_for_them() {
        let names = ["x86_64-unknown-linux-gnu", "x86_64-pc-windows-gnu", "aarch64-apple-darwin"]
            .map(|triple| (system(triple, None).name(), system(triple, None).executable("p")));
        let expected = [("x86_64-linux", "p"), ("x86_64-windows", "p.exe"), ("aarch64-darwin", "p")];
        assert_eq!(names.each_ref().map(|(name, program)| (name.as_str(), program.as_str())), expected);
        let arguments = system("x86_64-unknown-linux-gnu", Some("2.28")).build("p");
        assert_eq!(arguments[0], "zigbuild");
        assert_eq!(arguments[arguments.len() - 2..], ["--target", "x86_64-unknown-linux-gnu.2.28"]);
        let arguments = system("x86_64-pc-windows-gnu", None).build("p");
        assert_eq!(arguments[0], "build");
        assert!(arguments.iter().any(|argument| argument.contains("crt-static")));
    }

    #[test]
    fn package_names_no_folder_of_this_machine() {
        for triple in ["x86_64-unknown-linux-gnu", "x86_64-pc-windows-gnu"] {
            let arguments = system(triple, None).build("p");
            let flags =
                arguments.iter().find_map(|argument| argument.strip_prefix(&format!("target.{triple}.rustflags=")));
            let flags: Vec<String> = serde_json::from_str(flags.unwrap()).unwrap();
            assert!(arguments.iter().any(|argument| argument == "env.CUDA_BUILDER_DEBUG_PATHS=\"off\""));
            let root = format!("--remap-path-prefix={}=.", workspace_root().display());
            assert!(flags.contains(&root) && flags.iter().any(|flag| flag.ends_with("=cargo")), "{flags:?}");
        }
        let folders = [(PathBuf::from("/home/me/.cargo"), "cargo"), (PathBuf::from("/home/me/project"), ".")];
        assert_eq!(named_folder(b"\0/home/me/project/src/lib.rs\0", &folders), Some(Path::new("/home/me/project")));
        assert_eq!(named_folder(b"\0cargo/registry/src/a/lib.rs\0./src/lib.rs", &folders), None);
    }

    #[test]
    fn package_refuses_a_glibc_where_there_is_none() {
        let options = Options {
            target: Some("x86_64-pc-windows-gnu".to_owned()),
            glibc: Some(glibc::parse("2.28").unwrap()),
            out: PathBuf::new(),
        };
        let refused = System::of(&options).err().map(|error| error.to_string());
        assert_eq!(refused.as_deref(), Some("--glibc is for Linux: x86_64-pc-windows-gnu has no glibc"));
    }
}
