//! Where a submission's code is compiled and runs: with limits, and by bubblewrap without network, without other files, and in a process
//! space of its own that ends with it.

use std::path::{Path, PathBuf};
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
        let mut command = Self::Bubblewrap.run(Path::new("/usr/bin/true"));
        command.output().is_ok_and(|output| output.status.success()).then_some(Self::Bubblewrap)
    }

    /// The compiler: it reads the system, the toolchain, the registry's crates and `readable`, and writes to `writable`.
    /// Neither solutions nor tests nor other submissions are there.
    pub(super) fn compile(
        &self,
        program: &Path,
        arguments: &[&str],
        writable: [&Path; 2],
        readable: &[PathBuf],
    ) -> Command {
        let mut command = Command::new("prlimit");
        command.args(["--core=0", "--"]);
        if let Self::Bubblewrap = self {
            command.args(["bwrap", "--die-with-parent", "--unshare-all"]);
            for folder in ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/alternatives"] {
                // A compiler finds its sources by where its libraries are: links stay links.
                match std::fs::read_link(folder) {
                    Ok(target) => command.arg("--symlink").arg(target).arg(folder),
                    Err(_) => command.args(["--ro-bind-try", folder, folder]),
                };
            }
            command.args(["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]);
            let homes =
                [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")].into_iter().filter_map(|(name, folder)| {
                    let named = std::env::var_os(name).map(PathBuf::from);
                    named.or_else(|| Some(std::env::home_dir()?.join(folder)))
                });
            let above = program.parent().and_then(Path::parent).map(Path::to_owned);
            for path in homes.chain(above).chain(readable.iter().cloned()) {
                command.arg("--ro-bind-try").args([&path, &path]);
            }
            for path in writable {
                command.arg("--bind").args([path, path]);
            }
        }
        command.arg(program).args(arguments);
        command
    }

    /// A submission's program: it reads itself and the system's libraries, and writes to memory only.
    pub(super) fn run(&self, program: &Path) -> Command {
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
        command.arg(program);
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
    if finished.status.is_none() {
        return format!("stopped after {} s: does it end?", limit.as_secs());
    }
    let mut lines = finished.stdout.lines().chain(finished.stderr.lines());
    match lines.find_map(|line| line.strip_prefix("Error: ")) {
        Some(sentence) => sentence.to_owned(),
        None => format!("the judge ends without a result ({})", finished.ending()),
    }
}
