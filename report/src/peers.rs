//! Times the same exercises in Python, if available, within a time limit.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::Times;
use crate::figures::{Exercise, PeerTime, Peers};
use crate::words::{listed, threads as on_threads};

/// Environment variables from which BLAS, OpenMP and Numba take their number of threads at load time.
const THREAD_VARIABLES: [&str; 5] =
    ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS"];

/// The settings of the peers' measurement.
#[derive(Clone, Debug)]
pub struct PeerOptions {
    /// The Python interpreter. `None` measures no peers.
    pub python: Option<OsString>,
    /// The folders of the scripts.
    pub scripts: Scripts,
    /// Time limit of one script.
    pub limit: Duration,
    /// Time limit of all scripts together.
    pub budget: Duration,
    /// Number of repeats for each peer, and for the interpreted loops.
    pub repeats: [usize; 2],
    /// Number of threads for multi-threaded peers.
    pub cores: usize,
}

/// The folders of the scripts.
#[derive(Clone, Debug)]
pub struct Scripts {
    /// The scripts shared with `cargo xtask peers`.
    pub xtask: PathBuf,
    /// The report's own scripts.
    pub report: PathBuf,
}

impl Scripts {
    /// The folders in the workspace that this program was built in.
    pub fn of_workspace() -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self { xtask: here.join("../xtask/peers"), report: here.join("peers") }
    }
}

/// A script to run.
struct Job {
    exercise: Exercise,
    script: PathBuf,
    threads: usize,
    repeats: usize,
    /// Labels of the peers with times to use; empty for all.
    labels: &'static [&'static str],
    /// Rows and columns of a correlation's kernel. They are appended to the labels.
    kernel: Option<usize>,
}

impl Job {
    fn name(&self) -> String {
        self.script.file_name().unwrap_or_default().display().to_string()
    }

    fn on_its_threads(&self) -> String {
        format!("{} on {}", self.name(), on_threads(self.threads))
    }

    fn label(&self, label: String) -> String {
        match self.kernel {
            Some(size) => format!("{label}, {size} × {size}"),
            None => label,
        }
    }
}

/// Measures the homework's peers. Calls `progress` with each script's name before it runs.
pub fn measure(options: &PeerOptions, progress: impl FnMut(&str)) -> Peers {
    measure_jobs(&clock(), options, &jobs(options), progress)
}

/// Time since this call.
fn clock() -> impl Fn() -> Duration {
    let start = Instant::now();
    move || start.elapsed()
}

/// Measures the peers of the correlation with kernels of these sizes, on one thread. A label ends
/// with its size, for example "SciPy, 3 × 3".
pub fn measure_correlation(options: &PeerOptions, sizes: &[usize], progress: impl FnMut(&str)) -> Peers {
    let job = |&size: &usize| Job {
        exercise: Exercise::Correlation,
        script: options.scripts.xtask.join("correlation.py"),
        threads: 1,
        repeats: options.repeats[0],
        labels: &[],
        kernel: Some(size),
    };
    measure_jobs(&clock(), options, &sizes.iter().map(job).collect::<Vec<_>>(), progress)
}

/// Measures as many jobs as fit in the budget, according to the clock, which starts at zero.
fn measure_jobs(
    clock: &dyn Fn() -> Duration,
    options: &PeerOptions,
    jobs: &[Job],
    mut progress: impl FnMut(&str),
) -> Peers {
    let mut peers = Peers::default();
    let Some(python) = &options.python else {
        peers.missing.push("Python's libraries were not measured, as requested".to_owned());
        return peers;
    };
    let over = format!("the {} s for all of Python's scripts were over", options.budget.as_secs_f64());
    for (index, job) in jobs.iter().enumerate() {
        let name = job.name();
        let left = options.budget.saturating_sub(clock());
        if left.is_zero() {
            let rest: Vec<String> = jobs[index..].iter().map(Job::on_its_threads).collect();
            let were = if rest.len() == 1 { "was" } else { "were" };
            peers.missing.push(format!("{} {were} not started: {over}", listed(&rest)));
            break;
        }
        progress(&name);
        match run(clock, python, job, options.limit.min(left)) {
            Ok(output) => {
                let without_numpy = output.missing.values().any(|package| package == "numpy");
                take(&mut peers, job, output);
                if without_numpy {
                    peers
                        .missing
                        .push("NumPy and Numba were not measured: the package numpy is not installed".to_owned());
                    break;
                }
            }
            Err(Failure::NoPython(error)) => {
                let python = python.display();
                peers
                    .missing
                    .push(format!("Python's libraries were not measured: {python} cannot be started ({error})"));
                break;
            }
            Err(Failure::TimeLimit) => {
                let reason = match left < options.limit {
                    true => over.clone(),
                    false => format!("it was stopped after its time limit of {} s", options.limit.as_secs_f64()),
                };
                peers.missing.push(format!("{} was not measured: {reason}", job.on_its_threads()));
            }
            Err(Failure::Script(reason)) => {
                peers.missing.push(format!("{} was not measured: {reason}", job.on_its_threads()));
            }
        }
    }
    peers.missing.dedup();
    peers
}

fn jobs(options: &PeerOptions) -> Vec<Job> {
    let [repeats, interpreted] = options.repeats;
    let script = |name: &str| options.scripts.xtask.join(name);
    let mut jobs = vec![
        Job {
            exercise: Exercise::Maximum,
            script: options.scripts.report.join("python_max.py"),
            threads: 1,
            repeats: interpreted,
            labels: &[],
            kernel: None,
        },
        Job {
            exercise: Exercise::Maximum,
            script: script("max.py"),
            threads: 1,
            repeats,
            labels: &["NumPy", "Numba"],
            kernel: None,
        },
        Job {
            exercise: Exercise::Product,
            script: script("matmul.py"),
            threads: 1,
            repeats,
            labels: &[],
            kernel: None,
        },
        Job {
            exercise: Exercise::Activation,
            script: script("activation.py"),
            threads: 1,
            repeats,
            labels: &[],
            kernel: None,
        },
    ];
    if options.cores > 1 {
        let threads = options.cores;
        let parallel: &[&str] = &["Numba parallel"];
        jobs.insert(
            2,
            Job {
                exercise: Exercise::Maximum,
                script: script("max.py"),
                threads,
                repeats,
                labels: parallel,
                kernel: None,
            },
        );
        jobs.push(Job {
            exercise: Exercise::Product,
            script: script("matmul.py"),
            threads,
            repeats,
            labels: &[],
            kernel: None,
        });
    }
    jobs
}

/// The output of a script.
#[derive(Debug, Deserialize)]
struct Output {
    peer: String,
    seconds: BTreeMap<String, Times>,
    #[serde(default)]
    missing: BTreeMap<String, String>,
}

fn take(peers: &mut Peers, job: &Job, output: Output) {
    let wanted = |label: &String| job.labels.is_empty() || job.labels.contains(&label.as_str());
    for name in output.peer.split(", ").filter(|name| !name.is_empty()) {
        if !peers.names.iter().any(|known| known == name) {
            peers.names.push(name.to_owned());
        }
    }
    for (label, times) in output.seconds.into_iter().filter(|(label, _)| wanted(label)) {
        let label = job.label(label);
        peers.times.push(PeerTime { exercise: job.exercise, label, threads: job.threads, times });
    }
    for (label, package) in output.missing.into_iter().filter(|(label, _)| wanted(label)) {
        let line = format!("{label} was not measured: the package {package} is not installed");
        if !peers.missing.contains(&line) {
            peers.missing.push(line);
        }
    }
}

enum Failure {
    NoPython(std::io::Error),
    TimeLimit,
    Script(String),
}

fn run(clock: &dyn Fn() -> Duration, python: &OsStr, job: &Job, limit: Duration) -> Result<Output, Failure> {
    let script = |error: std::io::Error| Failure::Script(error.to_string());
    let threads = job.threads.to_string();
    // Files instead of pipes: this process would have to drain pipes while the script runs.
    let (mut stdout, mut stderr) = (tempfile::tempfile().map_err(script)?, tempfile::tempfile().map_err(script)?);
    let mut command = Command::new(python);
    command.arg(&job.script).args(["--repeats", &job.repeats.to_string()]);
    if let Some(size) = job.kernel.map(|size| size.to_string()) {
        command.args(["--kernel", &size, &size]);
    }
    if job.script.file_name() != Some(OsStr::new("python_max.py")) {
        command.args(["--threads", &threads]);
    }
    command.env("PYTHONDONTWRITEBYTECODE", "1").envs(THREAD_VARIABLES.map(|variable| (variable, &threads)));
    command.stdin(Stdio::null());
    command.stdout(stdout.try_clone().map_err(script)?).stderr(stderr.try_clone().map_err(script)?);
    let start = clock();
    let mut child = command.spawn().map_err(Failure::NoPython)?;
    let is_over = || clock().saturating_sub(start) >= limit;
    let status = child_process::wait_or_kill(&mut child, is_over).map_err(script)?.ok_or(Failure::TimeLimit)?;
    if !status.success() {
        let text = contents(&mut stderr).map_err(script)?;
        let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no message").trim().to_owned();
        return Err(Failure::Script(last));
    }
    let text = contents(&mut stdout).map_err(script)?;
    serde_json::from_str(&text).map_err(|error| Failure::Script(format!("its output could not be parsed ({error})")))
}

fn contents(file: &mut std::fs::File) -> std::io::Result<String> {
    file.rewind()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// The peers as measured by the shell script `script`, which replaces each Python script.
    ///
    /// The interpreter is `sh`, not an executable file written here. A process that another test
    /// starts at the same time inherits the descriptor of a file being written, and Linux does not
    /// execute a file that is open for writing.
    fn peers_of(script: &str) -> Peers {
        peers_within(script, 10 * LIMIT)
    }

    /// The time limit of a script.
    const LIMIT: Duration = Duration::from_secs(60);

    /// A script that does not end. It advances the clock by [`LIMIT`].
    const ENDLESS: &str = r#"echo >> "$(dirname "$0")/moved"; exec sleep 600"#;

    /// The peers, measured with a clock that only [`ENDLESS`] scripts advance.
    fn peers_within(script: &str, budget: Duration) -> Peers {
        let folder = tempfile::tempdir().unwrap();
        for name in ["python_max.py", "max.py", "matmul.py", "activation.py", "correlation.py"] {
            std::fs::write(folder.path().join(name), script).unwrap();
        }
        let moved = folder.path().join("moved");
        let clock = || LIMIT * std::fs::read(&moved).map_or(0, |lines| u32::try_from(lines.len()).unwrap());
        let options = options(folder.path(), budget);
        measure_jobs(&clock, &options, &jobs(&options), |_| {})
    }

    fn options(scripts: &Path, budget: Duration) -> PeerOptions {
        PeerOptions {
            python: Some("sh".into()),
            scripts: Scripts { xtask: scripts.into(), report: scripts.into() },
            limit: LIMIT,
            budget,
            repeats: [2, 1],
            cores: 2,
        }
    }

    #[test]
    fn peers_of_the_correlation_are_labelled_with_the_kernels_size() {
        let folder = tempfile::tempdir().unwrap();
        // The arguments are --repeats 2 --kernel ROWS COLUMNS --threads 1.
        let script = r#"printf '{"peer": "SciPy 1.17", "missing": {"Numba": "numba"},
            "seconds": {"SciPy": {"min": 0.01, "median": 0.0%s%s, "repeats": 2}}}' $4 $5"#;
        std::fs::write(folder.path().join("correlation.py"), script).unwrap();
        let peers = measure_correlation(&options(folder.path(), 10 * LIMIT), &[3, 5], |_| {});
        let labels: Vec<(&str, f64)> =
            peers.times.iter().map(|time| (time.label.as_str(), time.times.median)).collect();
        assert_eq!(labels, [("SciPy, 3 × 3", 0.033), ("SciPy, 5 × 5", 0.055)]);
        assert_eq!(peers.missing, ["Numba was not measured: the package numba is not installed"]);
    }

    #[test]
    fn only_the_requested_labels_of_each_script_are_used() {
        let script = r#"case "$0" in
            *python_max*) echo '{"peer": "Python 3", "seconds": {"Python loops over lists": {"min": 0.1, "median": 0.2, "repeats": 1}}}';;
            *max.py*) echo '{"peer": "NumPy 2, Numba 0.6", "missing": {"Numba": "numba", "Numba parallel": "numba"},
                "seconds": {"NumPy": {"min": 0.001, "median": 0.002, "repeats": 2}}}';;
            *) exit 1;;
        esac"#;
        let peers = peers_of(script);
        let labels: Vec<(&str, usize)> = peers.times.iter().map(|time| (time.label.as_str(), time.threads)).collect();
        assert_eq!(labels, [("Python loops over lists", 1), ("NumPy", 1)]);
        assert_eq!(peers.names, ["Python 3", "NumPy 2", "Numba 0.6"]);
        assert_eq!(
            peers.missing[..2],
            [
                "Numba was not measured: the package numba is not installed",
                "Numba parallel was not measured: the package numba is not installed",
            ]
        );
        assert!(
            peers.missing[2].ends_with("matmul.py on 1 thread was not measured: no message"),
            "{:?}",
            peers.missing
        );
    }

    #[test]
    fn a_script_that_hangs_is_stopped_and_named() {
        let peers = peers_of(ENDLESS);
        assert!(peers.times.is_empty());
        let reason = "python_max.py on 1 thread was not measured: it was stopped after its time limit of 60 s";
        assert_eq!(peers.missing[0], reason);
        assert_eq!(peers.missing.len(), 6, "{:?}", peers.missing);
    }

    #[test]
    fn scripts_without_time_left_are_named_and_not_started() {
        let reasons = [
            "python_max.py on 1 thread was not measured: it was stopped after its time limit of 60 s",
            "max.py on 1 thread was not measured: the 100 s for all of Python's scripts were over",
            "max.py on 2 threads, matmul.py on 1 thread, activation.py on 1 thread and matmul.py on 2 threads were not started: the 100 s \
             for all of Python's scripts were over",
        ];
        assert_eq!(peers_within(ENDLESS, Duration::from_secs(100)).missing, reasons);
    }

    #[test]
    fn invalid_times_are_reported_and_discarded() {
        let peers = peers_of(r#"echo '{"peer": "", "seconds": {"NumPy": {"min": 0, "median": 0, "repeats": 1}}}'"#);
        assert!(peers.times.is_empty());
        assert!(peers.missing[0].contains("its output could not be parsed"), "{:?}", peers.missing);
    }

    #[test]
    fn without_python_a_single_reason_is_reported() {
        let options = PeerOptions {
            python: Some("/nowhere/python".into()),
            scripts: Scripts::of_workspace(),
            limit: Duration::from_secs(1),
            budget: Duration::from_secs(1),
            repeats: [1, 1],
            cores: 2,
        };
        let peers = measure(&options, |_| {});
        assert_eq!(peers.missing.len(), 1);
        assert!(peers.missing[0].contains("/nowhere/python cannot be started"), "{:?}", peers.missing);
        let none = measure(&PeerOptions { python: None, ..options }, |_| {});
        assert_eq!(none.missing.len(), 1);
    }
}
