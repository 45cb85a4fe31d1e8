//! Where a submission's code runs: with limits, and by bubblewrap without network, without other files, and in a process
//! space of its own that ends with it.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use child_process::Finished;

/// Limits of a test: bytes of address space, bytes of output, processes and threads.
const MEMORY: u64 = 4 << 30;
const OUTPUT: u64 = 1 << 20;
const PROCESSES: u64 = 256;

/// A way to run a submission.
pub(super) enum Sandbox {
    Bubblewrap,
    /// The limits only.
    None,
}

impl Sandbox {
    /// Bubblewrap, if it works here.
    pub(super) fn find() -> Option<Self> {
        let mut command = Self::Bubblewrap.run(Path::new("/usr/bin/true"), &[]);
        command.output().is_ok_and(|output| output.status.success()).then_some(Self::Bubblewrap)
    }

    /// The compiler: it reads everything but `class`, and writes to `writable`.
    pub(super) fn compile(
        &self,
        program: &Path,
        arguments: &[&str],
        writable: [&Path; 2],
        class: Option<&Path>,
    ) -> Command {
        let mut command = Command::new("prlimit");
        command.args(["--core=0", "--"]);
        if let Self::Bubblewrap = self {
            command.args(["bwrap", "--die-with-parent", "--unshare-all", "--ro-bind", "/", "/"]);
            command.args(["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]);
            // A checkout may be in /tmp.
            command.arg("--ro-bind").args([crate::workspace_root(), crate::workspace_root()]);
            if let Some(class) = class {
                command.arg("--tmpfs").arg(class);
            }
            for path in writable {
                command.arg("--bind").args([path, path]);
            }
        }
        command.arg(program).args(arguments);
        command
    }

    /// A test program: it reads itself and the system's libraries, and writes to memory only.
    pub(super) fn run(&self, program: &Path, arguments: &[&str]) -> Command {
        let limits = [format!("--as={MEMORY}"), format!("--fsize={OUTPUT}"), "--core=0".to_owned()];
        let mut command = Command::new("prlimit");
        command.args(&limits).arg("--");
        if let Self::Bubblewrap = self {
            // The number of root's processes has no limit, so that root does not run them.
            if rustix::process::getuid().is_root() {
                command.args(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]);
            }
            command.args(["bwrap", "--die-with-parent", "--unshare-all", "--new-session"]);
            for folder in ["/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/sys/devices/system/cpu"] {
                command.args(["--ro-bind-try", folder, folder]);
            }
            command.args(["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--ro-bind"]).args([program, program]);
            // Within the sandbox's own space of users: other processes of the user do not count.
            command.args(["--chdir", "/tmp", "/usr/bin/prlimit", &format!("--nproc={PROCESSES}"), "--"]);
        }
        command.arg(program).args(arguments);
        command
    }
}

/// Lets other users enter a folder: a test may run as one.
///
/// # Errors
/// If its permissions cannot be changed.
pub(super) fn open_to_all(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let permissions = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder, permissions).with_context(|| format!("cannot open {}", folder.display()))
}

/// What a test that did not pass says to the student.
pub(super) fn feedback(finished: &Finished, limit: Duration) -> String {
    let lines = || finished.stdout.lines().chain(finished.stderr.lines());
    if finished.status.is_none() {
        return format!("stopped after {} s: does it end?", limit.as_secs());
    }
    if lines().any(|line| line.contains("memory allocation of") || line.contains("capacity overflow")) {
        // The harness keeps what a test prints.
        return format!("it needs more than {} GiB of memory, or prints without end", MEMORY >> 30);
    }
    if finished.stdout.len() as u64 >= OUTPUT || finished.stderr.len() as u64 >= OUTPUT {
        return format!("it prints more than {} MiB", OUTPUT >> 20);
    }
    if let Some(line) = lines().find_map(|line| line.strip_prefix("Error: ")) {
        return line.to_owned();
    }
    if lines().any(|line| line.contains("has overflowed its stack")) {
        return "its recursion does not end: the stack overflows".to_owned();
    }
    if let Some(line) = lines().skip_while(|line| !line.contains("panicked at")).nth(1) {
        return format!("it panics: {line}");
    }
    format!("it ends without a result ({})", finished.ending())
}
