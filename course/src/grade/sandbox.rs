//! Limits and isolation for compiling and running a submission's code. Bubblewrap isolates it from
//! the network, other files and the grader's environment, in a PID namespace that ends with it.

mod filter;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use child_process::Finished;
use command_line::warn;
use tempfile::NamedTempFile;

/// Limits of a test: bytes of address space, bytes per file, bytes of all files, open files,
/// processes and threads. The system-call filter allows only one process, so the memory limit holds
/// for the whole submission.
const MEMORY: u64 = 4 << 30;
const OUTPUT: u64 = 1 << 20;
const FILES: u64 = 64 << 20;
const OPEN_FILES: u64 = 256;
const PROCESSES: u64 = 256;

/// Limits of the judge, which runs a submission's kernels on an interpreter: bytes of address space
/// and bytes of output.
const JUDGE_MEMORY: u64 = 16 << 30;
const JUDGE_OUTPUT: u64 = 64 << 20;

/// Limits of a compilation: bytes of address space per process, bytes per file, and bytes of the
/// folder for temporary files.
pub(super) const COMPILER_MEMORY: u64 = 4 << 30;
const COMPILED: u64 = 512 << 20;
const TEMPORARY: u64 = 256 << 20;

/// PATH of the system's programs that a compilation can run, in addition to the toolchain.
const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A way to run a submission.
pub(super) enum Sandbox {
    Bubblewrap {
        /// Whether this bubblewrap can limit the size of a tmpfs (version 0.7 or newer).
        has_sizes: bool,
        /// Whether this bubblewrap can forbid further user namespaces (version 0.8 or newer).
        forbids_namespaces: bool,
        /// The system-call filter, if there is one for this processor.
        filter: Option<NamedTempFile>,
    },
    /// Only the limits.
    None,
}

/// The compiler, with the only environment variables and folders it can see.
pub(super) struct Compiler {
    cargo: PathBuf,
    /// Folders and files it may read besides the system's.
    readable: Vec<PathBuf>,
    variables: Vec<(&'static str, OsString)>,
    /// Cargo's home, and its configuration without secrets.
    home: PathBuf,
    settings: Option<NamedTempFile>,
}

impl Compiler {
    /// Finds the toolchain in use, with links resolved, and the toolchain for the kernels' PTX.
    ///
    /// # Errors
    /// If a toolchain cannot be found.
    pub(super) fn find(ptx: Option<&cuda_builder::Toolchain>) -> Result<Self> {
        let rustc = std::env::var_os("RUSTC").filter(|rustc| !rustc.is_empty()).unwrap_or_else(|| "rustc".into());
        let asked = Command::new(&rustc).args(["--print", "sysroot"]).current_dir(crate::workspace_root()).output();
        let output = asked.with_context(|| format!("cannot start {}", Path::new(&rustc).display()))?;
        ensure!(
            output.status.success(),
            "rustc names no sysroot: {}",
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
        let sysroot = PathBuf::from(String::from_utf8(output.stdout).context("the sysroot is no text")?.trim_end());
        let sysroot = canonical(&sysroot)?;
        let [cargo, rustc] = ["cargo", "rustc"].map(|name| sysroot.join("bin").join(name));
        let mut readable = vec![sysroot.clone()];
        let cargo = match cargo.is_file() {
            true => cargo,
            // Only the program, without its folder.
            false => {
                let named = std::env::var_os("CARGO").map(PathBuf::from);
                let named = named.with_context(|| format!("there is no {}: install cargo", cargo.display()))?;
                readable.push(canonical(&named)?);
                canonical(&named)?
            }
        };
        readable.extend(ptx.map(|ptx| canonical(&ptx.sysroot)).transpose()?);
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
        let home = home.context("there is no home folder: set CARGO_HOME")?;
        let path = format!("{}:{SYSTEM_PATH}", sysroot.join("bin").display());
        let mut variables = vec![("PATH", path.into()), ("CARGO_HOME", home.clone().into_os_string())];
        variables.extend(rustc.is_file().then(|| ("RUSTC", rustc.into_os_string())));
        for name in [cuda_builder::Candidate::RUSTC_VARIABLE, cuda_builder::Candidate::CARGO_VARIABLE] {
            variables.extend(std::env::var_os(name).map(|value| (name, value)));
        }
        let settings = ["config.toml", "config"].iter().find_map(|name| fs::read_to_string(home.join(name)).ok());
        let settings = settings.map(|text| in_file(settings_without_secrets(&text).as_bytes())).transpose()?;
        Ok(Self { cargo, readable, variables, home, settings })
    }

    /// Cargo for trusted code: it gets this compiler's variables in addition to the grader's
    /// environment.
    pub(super) fn trusted(&self) -> Command {
        let mut command = Command::new(&self.cargo);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
            command.env_remove(name);
        }
        command
    }
}

/// Keys of a crate source's configuration that are kept.
const ADDRESSES: [&str; 4] = ["replace-with", "registry", "directory", "local-registry"];

/// The part of cargo's configuration that determines where cargo finds crates. Names and passwords
/// in URLs are removed.
fn settings_without_secrets(text: &str) -> String {
    let settings: toml::Table = text.parse().unwrap_or_default();
    let sources = settings.get("source").and_then(toml::Value::as_table).cloned().unwrap_or_default();
    let has_secret = |value: &toml::Value| value.as_str().is_none_or(|text| text.contains('@'));
    let sources = sources.into_iter().filter_map(|(name, source)| match source {
        toml::Value::Table(mut source) => {
            source.retain(|key, value| ADDRESSES.contains(&key) && !has_secret(value));
            Some((name, toml::Value::Table(source)))
        }
        _ => None,
    });
    let sources: toml::Table = sources.collect();
    toml::Table::from_iter([("source".to_owned(), toml::Value::Table(sources))]).to_string()
}

fn canonical(path: &Path) -> Result<PathBuf> {
    path.canonicalize().with_context(|| format!("cannot find {}", path.display()))
}

/// Writes a temporary file.
fn in_file(content: &[u8]) -> Result<NamedTempFile> {
    let written = NamedTempFile::new().and_then(|mut file| file.write_all(content).map(|()| file));
    written.context("cannot write a temporary file")
}

impl Sandbox {
    /// Creates a bubblewrap sandbox.
    ///
    /// # Errors
    /// If bubblewrap does not work here.
    pub(super) fn bubblewrap() -> Result<Self> {
        let help = Command::new("bwrap").arg("--help").output().map(|output| output.stdout).unwrap_or_default();
        let has_sizes = String::from_utf8_lossy(&help).contains("--size");
        let filter = filter::one_process().map(|program| in_file(&program)).transpose()?;
        let forbids_namespaces = forbids_namespaces();
        let sandbox = Self::Bubblewrap { has_sizes, forbids_namespaces: forbids_namespaces.is_ok(), filter };
        sandbox.check()?;
        if let Err(reason) = forbids_namespaces {
            warn(format_args!(
                "submissions may have user namespaces of their own, and with them more of the kernel to attack: bwrap \
                 --disable-userns, which forbids that, does not work here ({reason}): install bubblewrap 0.8 or later"
            ));
        }
        Ok(sandbox)
    }

    /// Namespace options of a sandbox.
    fn namespaces(&self) -> &'static [&'static str] {
        match self {
            Self::Bubblewrap { forbids_namespaces: true, .. } => &NAMESPACES,
            _ => &NAMESPACES[..1],
        }
    }

    /// Checks the sandbox by running one of the system's programs the way a submission's program
    /// runs.
    ///
    /// # Errors
    /// If that program fails: the grader would otherwise blame a submission when its program fails.
    pub(super) fn check(&self) -> Result<()> {
        let folder = tempfile::Builder::new().prefix("grade-").tempdir().context("cannot create a folder")?;
        open_to_all(folder.path())?;
        let program = folder.path().join("true");
        fs::copy("/usr/bin/true", &program).context("cannot copy /usr/bin/true")?;
        let output = self.run(&program).stdin(Stdio::null()).output();
        let output = output.context("cannot start the sandbox")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "the sandbox does not work ({}): {}", output.status, said.trim_end());
        Ok(())
    }

    /// Builds the compiler's command. The compiler reads the system, the toolchain, the registry's
    /// crates and `readable`, and writes to `writable`. Its working directory is the first folder
    /// of `writable`. It sees no solutions, tests or other submissions, and only `variables` and
    /// its own environment variables.
    pub(super) fn compile(
        &self,
        compiler: &Compiler,
        arguments: &[&str],
        writable: [&Path; 2],
        readable: &[PathBuf],
        variables: &[(&'static str, OsString)],
    ) -> Command {
        let variables = || compiler.variables.iter().chain(variables);
        let mut command = Command::new("prlimit");
        command.args([format!("--as={COMPILER_MEMORY}"), format!("--fsize={COMPILED}")]).args(["--core=0", "--"]);
        command.env_clear().current_dir(writable[0]);
        match self {
            // Other processes can read the environment of the sandbox's first process, so that
            // environment is nearly empty.
            Self::Bubblewrap { .. } => {
                command.envs(path()).args(["bwrap", "--die-with-parent", "--clearenv"]).args(self.namespaces());
                for (name, value) in variables() {
                    command.arg("--setenv").arg(name).arg(value);
                }
                for folder in ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/alternatives"] {
                    // A compiler locates its sysroot relative to its libraries, so symbolic links
                    // must stay links.
                    match fs::read_link(folder) {
                        Ok(target) => command.arg("--symlink").arg(target).arg(folder),
                        Err(_) => command.args(["--ro-bind-try", folder, folder]),
                    };
                }
                self.add_system(&mut command, TEMPORARY);
                let crates = ["registry", "git"].map(|folder| compiler.home.join(folder));
                for path in compiler.readable.iter().chain(&crates).chain(readable) {
                    // The system's folders are already mounted.
                    if !path.starts_with("/usr") {
                        command.arg("--ro-bind-try").args([path, path]);
                    }
                }
                if let Some(settings) = &compiler.settings {
                    command.arg("--ro-bind").arg(settings.path()).arg(compiler.home.join("config.toml"));
                }
                for path in writable {
                    command.arg("--bind").args([path, path]);
                }
                command.args(["--remount-ro", "/", "--chdir"]).arg(writable[0]).arg("--");
            }
            Self::None => {
                command.envs(variables().map(|(name, value)| (name, value)));
            }
        }
        command.arg(&compiler.cargo).args(arguments);
        command
    }

    /// Builds the command for a submission's program. The program reads itself and the system's
    /// libraries, and writes only to memory.
    pub(super) fn run(&self, program: &Path) -> Command {
        self.confined(program, [MEMORY, OUTPUT], &[], &[])
    }

    /// Builds the command for one of the judge's test programs, which also reads `files` and has
    /// `variables`.
    pub(super) fn judge(&self, program: &Path, files: &[&Path], variables: &[(&str, OsString)]) -> Command {
        self.confined(program, [JUDGE_MEMORY, JUDGE_OUTPUT], files, variables)
    }

    fn confined(
        &self,
        program: &Path,
        [memory, output]: [u64; 2],
        files: &[&Path],
        variables: &[(&str, OsString)],
    ) -> Command {
        let limits = [format!("--as={memory}"), format!("--fsize={output}"), format!("--nofile={OPEN_FILES}")];
        let limits = limits.iter().map(String::as_str).chain(["--core=0", "--"]);
        let Self::Bubblewrap { filter, .. } = self else {
            let mut command = Command::new("prlimit");
            command.env_clear().envs(path()).env("RUST_BACKTRACE", "0");
            command.envs(variables.iter().map(|(name, value)| (name, value))).args(limits).arg(program);
            return command;
        };
        let mut command = Command::new("sh");
        command.env_clear().envs(path());
        // Bubblewrap reads the filter from an open file descriptor.
        let (script, file) = match filter {
            Some(file) => ("exec \"$@\" 3<\"$0\"", file.path()),
            None => ("exec \"$@\"", Path::new("sh")),
        };
        command.args(["-c", script]).arg(file).arg("prlimit").args(limits);
        // The process limit does not apply to root, so the programs run as another user.
        if rustix::process::getuid().is_root() {
            command.args(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]);
        }
        command.args(["bwrap", "--die-with-parent", "--new-session", "--clearenv"]).args(self.namespaces());
        command.args(["--setenv", "RUST_BACKTRACE", "0"]);
        for (name, value) in variables {
            command.arg("--setenv").arg(name).arg(value);
        }
        if filter.is_some() {
            command.args(["--seccomp", "3"]);
        }
        for folder in ["/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/sys/devices/system/cpu"] {
            command.args(["--ro-bind-try", folder, folder]);
        }
        self.add_system(&mut command, FILES);
        for file in files.iter().chain([&program]) {
            command.arg("--ro-bind").args([file, file]);
        }
        command.args(["--remount-ro", "/"]);
        // Set inside the sandbox's user namespace, where the user's other processes do not count.
        command.args(["--chdir", "/tmp", "--", "/usr/bin/prlimit", &format!("--nproc={PROCESSES}"), "--"]);
        command.arg(program);
        command
    }

    /// Adds devices, /proc, and a folder for temporary files.
    fn add_system(&self, command: &mut Command, temporary: u64) {
        command.args(["--dev", "/dev", "--remount-ro", "/dev", "--proc", "/proc"]);
        if let Self::Bubblewrap { has_sizes: true, .. } = self {
            command.args(["--size", &temporary.to_string()]);
        }
        command.args(["--tmpfs", "/tmp"]);
    }
}

/// Bubblewrap options that unshare all namespaces and forbid further user namespaces, which
/// requires an own user namespace.
const NAMESPACES: [&str; 3] = ["--unshare-all", "--unshare-user", "--disable-userns"];

/// Checks whether bubblewrap can forbid further user namespaces here, and returns the reason if
/// not.
fn forbids_namespaces() -> Result<(), String> {
    let mut command = Command::new("bwrap");
    command.args(NAMESPACES).args(["--ro-bind", "/", "/", "--proc", "/proc", "--", "/usr/bin/true"]);
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(said.trim_end().to_owned()) }
}

/// PATH for the sandbox's own programs.
fn path() -> Option<(&'static OsStr, OsString)> {
    std::env::var_os("PATH").map(|path| (OsStr::new("PATH"), path))
}

/// Lets other users enter a folder: a test may run as another user.
///
/// # Errors
/// If the folder's permissions cannot be changed.
pub(super) fn open_to_all(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let permissions = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder, permissions).with_context(|| format!("cannot open {}", folder.display()))
}

/// Fails if a command was ended by something other than cargo or a judge: by the sandbox, or by a
/// signal from the system.
///
/// # Errors
/// How the command ended.
pub(super) fn require_own_end(finished: &Finished) -> Result<()> {
    use std::os::unix::process::ExitStatusExt;
    let Some(status) = finished.status else { return Ok(()) };
    let is_own = status.code().is_some_and(|code| [0, 101].contains(&code));
    // Bubblewrap exits with 128 plus the signal number of its program.
    let signal = status.signal().or_else(|| Some(status.code()? - 128));
    if is_own || signal.is_some_and(|signal| CRASHES.contains(&signal)) {
        return Ok(());
    }
    let said = finished.stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
    bail!("the sandbox or the system has ended it ({status}): {said}")
}

/// Signals of a crashing process: SIGABRT, SIGSEGV and SIGXFSZ.
const CRASHES: [i32; 3] = [6, 11, 25];

/// Feedback for the student about a test that did not pass.
pub(super) fn feedback(finished: &Finished, limit: Duration) -> String {
    if finished.status.is_none() {
        return format!("stopped after {} s: does it end?", limit.as_secs());
    }
    let mut lines = finished.stdout.lines().chain(finished.stderr.lines());
    match lines.find_map(|line| line.strip_prefix("Error: ")) {
        Some(sentence) => sentence.to_owned(),
        None => format!("the judge ends without a result ({})", finished.ending()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bubblewrap sandbox, or `None` if bubblewrap does not work, for example in a container that
    /// forbids it.
    fn bubblewrap() -> Option<Sandbox> {
        let sandbox = Sandbox::bubblewrap();
        sandbox.inspect_err(|error| eprintln!("skipped: {error:#}")).ok()
    }

    /// A compiler that is actually a shell, with a secret in its home.
    fn shell(folder: &Path) -> Compiler {
        for (name, text) in [
            ("registry/crate", "crate"),
            ("credentials.toml", "secret"),
            ("config.toml", "[registry]\ntoken = \"secret\"\n[source.crates-io]\nreplace-with = \"mirror\"\n"),
            ("work/a", ""),
            ("target/a", ""),
        ] {
            fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
            fs::write(folder.join(name), text).unwrap();
        }
        let settings = fs::read_to_string(folder.join("config.toml")).unwrap();
        Compiler {
            cargo: "/bin/sh".into(),
            readable: Vec::new(),
            variables: vec![("PATH", SYSTEM_PATH.into()), ("CARGO_HOME", folder.into())],
            home: folder.to_owned(),
            settings: Some(in_file(settings_without_secrets(&settings).as_bytes()).unwrap()),
        }
    }

    /// Output of a script run in place of the compiler. The grader's environment contains a secret.
    fn compiled(sandbox: &Sandbox, script: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let compiler = shell(&folder);
        let writable = [&*folder.join("work"), &*folder.join("target")];
        let mut command = sandbox.compile(&compiler, &["-c", script], writable, &[], &[("GIVEN", "given".into())]);
        let output = command.output().unwrap();
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    }

    #[test]
    fn grade_compiles_with_its_own_variables_alone() {
        // Cargo has set this variable for the test process.
        assert!(std::env::var_os("CARGO_PKG_NAME").is_some());
        for sandbox in [Some(Sandbox::None), bubblewrap()].into_iter().flatten() {
            let text = compiled(&sandbox, "env; cat /proc/self/environ /proc/1/environ 2>/dev/null | tr '\\0' '\\n'");
            assert!(text.contains("GIVEN=given") && text.contains("CARGO_HOME="), "{text}");
            if let Sandbox::Bubblewrap { .. } = sandbox {
                assert!(!text.contains("CARGO_PKG_NAME"), "{text}");
            }
        }
    }

    #[test]
    fn grade_compiles_without_the_secrets_of_cargos_home() {
        let Some(sandbox) = bubblewrap() else { return };
        let text = compiled(&sandbox, "cd $CARGO_HOME && cat registry/crate && ls && cat config.toml credentials.toml");
        assert!(text.starts_with("crateconfig.toml\nregistry\ntarget\nwork\n[source.crates-io]\n"), "{text}");
        assert!(!text.contains("secret"), "{text}");
    }

    #[test]
    fn grade_compiles_where_only_two_folders_can_be_written() {
        let Some(sandbox) = bubblewrap() else { return };
        let script = "for folder in / /dev /dev/shm /usr $CARGO_HOME/registry $CARGO_HOME/target . /tmp; do
            (: > $folder/new) 2>/dev/null && echo $folder; done";
        let text = compiled(&sandbox, script);
        let folders: Vec<&str> = text.lines().collect();
        assert!(matches!(folders[..], [target, ".", "/tmp"] if target.ends_with("/target")), "{text}");
    }

    #[test]
    fn grade_limits_the_memory_and_the_files_of_a_compiler() {
        for sandbox in [Some(Sandbox::None), bubblewrap()].into_iter().flatten() {
            let text = compiled(&sandbox, "ulimit -v; ulimit -f");
            assert_eq!(text, format!("{}\n{}\n", COMPILER_MEMORY >> 10, COMPILED >> 9));
        }
        let Some(sandbox @ Sandbox::Bubblewrap { has_sizes: true, .. }) = bubblewrap() else { return };
        let blocks = format!("{}\n", TEMPORARY >> 10);
        assert!(compiled(&sandbox, "df -k --output=size /tmp").ends_with(&blocks));
    }

    /// Output of a copy of the shell, run in place of a submission's program.
    fn printed(sandbox: &Sandbox, script: &str) -> String {
        let folder = tempfile::Builder::new().prefix("grade-").tempdir().unwrap();
        open_to_all(folder.path()).unwrap();
        let program = folder.path().join("sh");
        fs::copy("/bin/sh", &program).unwrap();
        let output = sandbox.run(&program).args(["-c", script]).output().unwrap();
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    }

    #[test]
    fn grade_runs_a_submission_without_its_environment() {
        let Some(sandbox) = bubblewrap() else { return };
        let text = printed(&sandbox, "while read -r line; do echo \"$line\"; done < /proc/self/environ");
        assert!(!text.contains("CARGO_PKG_NAME"), "{text}");
        assert_eq!(printed(&sandbox, "echo \"<$CARGO_PKG_NAME $RUST_BACKTRACE>\""), "< 0>\n");
    }

    /// The judge's interpreter runs a submission's kernels.
    #[test]
    fn grade_runs_the_judge_with_its_files_and_variables_alone() {
        let folder = tempfile::Builder::new().prefix("grade-").tempdir().unwrap();
        open_to_all(folder.path()).unwrap();
        let [program, ptx, other] = ["sh", "a.ptx", "other"].map(|name| folder.path().join(name));
        fs::copy("/bin/sh", &program).unwrap();
        for file in [&ptx, &other] {
            fs::write(file, "text of a file\n").unwrap();
        }
        for sandbox in [Some(Sandbox::None), bubblewrap()].into_iter().flatten() {
            let mut judge = sandbox.judge(&program, &[&ptx], &[("HOMEWORK_SEED", "4711".into())]);
            let script = "ulimit -v; echo \"<$HOMEWORK_SEED $CARGO_PKG_NAME>\"; for file do read -r line < \"$file\" && echo \"$line\"; done";
            let output = judge.args(["-c", script, "sh"]).args([&ptx, &other]).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let read = if let Sandbox::None = sandbox { 2 } else { 1 };
            let expected = format!("{}\n<4711 >\n{}", JUDGE_MEMORY >> 10, "text of a file\n".repeat(read));
            assert_eq!(text, expected, "{}", String::from_utf8_lossy(&output.stderr));
        }
    }

    #[test]
    fn grade_runs_a_submission_as_one_process_with_its_memory() {
        let Some(sandbox @ Sandbox::Bubblewrap { filter: Some(_), .. }) = bubblewrap() else { return };
        assert_eq!(printed(&sandbox, "ulimit -v; ulimit -n"), format!("{}\n{OPEN_FILES}\n", MEMORY >> 10));
        let text = printed(&sandbox, "echo begun; /usr/bin/true & echo forked");
        assert!(text.starts_with("begun\n") && !text.contains("forked"), "{text}");
    }

    /// Inside a user namespace a process has capabilities that expose more of the kernel to
    /// attacks.
    #[test]
    fn grade_gives_a_submission_no_user_namespace_of_its_own() {
        let Some(sandbox @ Sandbox::Bubblewrap { forbids_namespaces: true, .. }) = bubblewrap() else { return };
        let script = "exec /usr/bin/unshare --user /usr/bin/echo within";
        for text in [printed(&sandbox, script), compiled(&sandbox, script)] {
            assert!(text.starts_with("unshare: unshare failed: ") && !text.contains("within"), "{text}");
        }
    }

    #[test]
    fn grade_takes_another_end_than_cargos_for_no_fault_of_a_submission() {
        use std::os::unix::process::ExitStatusExt;
        let finished = |status: Option<i32>| Finished {
            status: status.map(std::process::ExitStatus::from_raw),
            elapsed: Duration::ZERO,
            stdout: String::new(),
            stderr: "\nbwrap: Can't mount proc\n".to_owned(),
        };
        for (status, is_own) in [
            (None, true),
            (Some(0), true),
            (Some(101 << 8), true),
            (Some(6), true),
            (Some(134 << 8), true),
            (Some(137 << 8), false),
            (Some(1 << 8), false),
            (Some(9), false),
        ] {
            let result = require_own_end(&finished(status));
            assert_eq!(result.is_ok(), is_own, "{status:?}");
            assert!(result.err().is_none_or(|error| error.to_string().ends_with(": bwrap: Can't mount proc")));
        }
    }

    #[test]
    fn grade_takes_addresses_alone_of_cargos_settings() {
        let settings = "[registry]\ntoken = 's'\n[source.crates-io]\nreplace-with = 'm'\n[source.m]\nregistry = 'https://m'\n\
            token = 's'\n[source.p]\nregistry = 'https://name:s@p'\n[env]\nX = 's'\n";
        let taken: toml::Table = settings_without_secrets(settings).parse().unwrap();
        let expected = "[source]\ncrates-io.replace-with = 'm'\nm.registry = 'https://m'\np = {}\n";
        assert_eq!(taken, expected.parse::<toml::Table>().unwrap());
        assert_eq!(settings_without_secrets("no settings").trim(), "[source]");
    }
}
