//! The calls and their items, in the order in which they run: what proves most comes first.

use std::time::Duration;

use clap::ValueEnum;

use crate::cargo::Workspace;

/// A part of the checks, which fits into one call of a machine that is lent for ten minutes at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Call {
    /// Starts of programs, the training step and latencies, and the tests that need a GPU
    First,
    /// The programs' times
    Times,
    /// Cycles, clocks and bank conflicts of six kernels, by Nsight Compute
    Counters,
    /// Three training steps and X·Xᵀ under compute-sanitizer
    Sanitizer,
    /// The same work in Python's libraries
    Peers,
}

impl Call {
    /// Its name, for `--only` and in the results.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Times => "times",
            Self::Counters => "counters",
            Self::Sanitizer => "sanitizer",
            Self::Peers => "peers",
        }
    }

    /// Its time limit: items that would begin later are skipped, and one that runs then is killed.
    pub(super) fn limit(self) -> Duration {
        Duration::from_secs(match self {
            Self::First => 450,
            Self::Times => 210,
            Self::Counters => 330,
            Self::Sanitizer => 330,
            Self::Peers => 240,
        })
    }
}

/// Maximum of one call, and of all calls together.
#[cfg(test)]
const MAX_CALL: Duration = Duration::from_secs(600);
#[cfg(test)]
const MAX_PLAN: Duration = Duration::from_secs(28 * 60);

/// Time limit of an item that has no longer one.
pub(super) const ITEM_LIMIT: Duration = Duration::from_secs(60);

/// A program and its arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// Its name in the results.
    pub(super) name: &'static str,
    /// The executable's name in the folder.
    pub(super) executable: &'static str,
    arguments: &'static [&'static str],
    /// Arguments of the same work at a size that the emulated driver runs in seconds.
    emulated: &'static [&'static str],
}

const fn run(name: &'static str, executable: &'static str, arguments: &'static [&'static str]) -> Run {
    Run { name, executable, arguments, emulated: arguments }
}

impl Run {
    const fn emulated(self, arguments: &'static [&'static str]) -> Self {
        Self { emulated: arguments, ..self }
    }

    /// The arguments on a GPU, or on the emulated driver.
    pub(super) fn arguments(&self, is_emulated: bool) -> &'static [&'static str] {
        if is_emulated { self.emulated } else { self.arguments }
    }
}

/// Programs that are started twice, each for a moment: the driver's cache of compiled kernels makes the second start
/// faster. The last one has the kernels that take longest to compile.
pub(super) const STARTS: [Run; 3] = [
    run("max_functions", "max_functions", &["--repeats", "1"]).emulated(&MAX_EMULATED),
    run("matmul_functions", "matmul_functions", &["--repeats", "1"]).emulated(&PRODUCT_EMULATED),
    run(SWEEP, SWEEP, &["persistent", "--repeats", "1", "--steps", "1"]),
];

const MAX_EMULATED: [&str; 5] = ["--repeats", "1", "--size", "100", "100"];
const PRODUCT_EMULATED: [&str; 5] = ["--repeats", "1", "--size", "100", "40"];
const LADDER_EMULATED: [&str; 6] = ["--ladder", "--repeats", "1", "--size", "100", "40"];
const ACTIVATION_EMULATED: [&str; 4] = ["--repeats", "1", "-n", "10000"];
/// A training run on a few of the images that the emulated driver trains on.
macro_rules! few_images {
    ($($argument:literal),*) => {
        &["--epochs", "1", "--train-images", "64", "--validation-images", "16", "--target-accuracy", "0", $($argument),*]
    };
}

/// The example of neural-net that measures latencies and step times.
pub(super) const SWEEP: &str = "gpu_sweep";
/// Its parts, each an item of its own.
pub(super) const SWEEP_PARTS: [&str; 3] = ["persistent", LATENCY, "steps"];
/// The part that is no training step.
pub(super) const LATENCY: &str = "latency";

/// A test program of the folder.
pub(super) struct Test {
    pub(super) workspace: Workspace,
    pub(super) package: &'static str,
    /// The test program's name, and that of its result.
    pub(super) program: &'static str,
    /// The part of the tests' names that selects those that need a GPU.
    pub(super) filter: &'static str,
    /// As `filter`, for those that the emulated driver runs in seconds; None if there are none.
    emulated: Option<&'static str>,
    pub(super) limit: Duration,
}

const fn test(package: &'static str, program: &'static str, filter: &'static str) -> Test {
    Test { workspace: Workspace::Homework, package, program, filter, emulated: Some(filter), limit: ITEM_LIMIT }
}

/// A test of the toolchain.
const fn of_gpu(program: &'static str, filter: &'static str) -> Test {
    Test { workspace: Workspace::Toolchain, ..test("gpu", program, filter) }
}

/// The tests that need a GPU.
pub(super) const TESTS: [Test; 12] = [
    of_gpu("on_a_gpu", ""),
    test("neural-net", "part1_gpu_engine", "on_a_gpu"),
    test("matmul_functions", "matmul_gpu_is_right", "on_a_gpu"),
    test("max_functions", "max_gpu_is_right", "on_a_gpu"),
    test("activation_functions", "activation_gpu_is_right", "on_a_gpu"),
    test("filters", "correlation_gpu_is_right", "on_a_gpu"),
    // These compare a GPU's bits with the interpreter's.
    Test { emulated: None, ..test("kernels-gpu", "every_kernel", "on_a_gpu") },
    Test { emulated: Some("runs_speaking_kernels"), ..of_gpu("interpreter", "runs_") },
    test("learn", "steps", "on_a_gpu"),
    of_gpu("random_programs_on_a_gpu", "on_a_gpu"),
    // It opens 56 devices.
    Test { limit: Duration::from_secs(100), ..test("neural-net", "part1_distributed", "on_gpus") },
    Test {
        limit: Duration::from_secs(100),
        emulated: None,
        ..test("neural-net", "part1_gpu_training", "digits_on_a_gpu")
    },
];

impl Test {
    /// The executable's name in the folder.
    pub(super) fn executable(&self) -> String {
        format!("{}-{}", self.package, self.program)
    }

    /// The arguments that select the tests on a GPU, one at a time: each opens the GPU.
    pub(super) fn arguments(&self) -> Vec<&'static str> {
        selecting(self.filter)
    }

    /// The arguments on a GPU, or on the emulated driver; None if it runs no test of this program.
    pub(super) fn arguments_on(&self, is_emulated: bool) -> Option<Vec<&'static str>> {
        if is_emulated { self.emulated.map(selecting) } else { Some(self.arguments()) }
    }
}

fn selecting(filter: &'static str) -> Vec<&'static str> {
    Some(filter).filter(|filter| !filter.is_empty()).into_iter().chain(["--test-threads=1"]).collect()
}

/// The executables of the programs below.
pub(super) const EXECUTABLES: [&str; 4] = ["max_functions", "matmul_functions", "activation_functions", "neural-net"];

/// The programs whose times are kept.
pub(super) const PROGRAMS: [Run; 9] = [
    run("network", "neural-net", &["--preset", "homework"]).emulated(few_images!["--preset", "homework"]),
    run("matmul_f32", "matmul_functions", &["--ladder"]).emulated(&LADDER_EMULATED),
    run("max", "max_functions", &[]).emulated(&MAX_EMULATED),
    run("activation", "activation_functions", &[]).emulated(&ACTIVATION_EMULATED),
    run("network_steps", "neural-net", &["--preset", "homework", "--gpu-path", "steps"]).emulated(few_images![
        "--preset",
        "homework",
        "--gpu-path",
        "steps"
    ]),
    run("matmul_f64", "matmul_functions", &["--ladder", "--dtype", "f64"]).emulated(&[
        "--ladder",
        "--repeats",
        "1",
        "--size",
        "100",
        "40",
        "--dtype",
        "f64",
    ]),
    run("network_seed_1", "neural-net", &["--preset", "homework", "--seed", "1"])
        .emulated(few_images!["--preset", "homework", "--seed", "1"]),
    run("network_seed_2", "neural-net", &["--preset", "homework", "--seed", "2"])
        .emulated(few_images!["--preset", "homework", "--seed", "2"]),
    run("network_notebook", "neural-net", &["--preset", "notebook"]).emulated(few_images!["--preset", "notebook"]),
];

/// Steps of a launch of the training kernels under Nsight Compute: fewer than the engine's first group, so that each
/// launch has as many.
pub(super) const COUNTED_STEPS: u32 = 32;

/// The kernels that Nsight Compute counts, each in its second launch of the run.
pub(super) const COUNTED: [Run; 6] = [
    run("network_train_cluster", SWEEP, &PERSISTENT).emulated(&PERSISTENT_EMULATED),
    run("network_train_homework", SWEEP, &PERSISTENT).emulated(&PERSISTENT_EMULATED),
    run("matmul_resident_f32", "matmul_functions", &["--ladder", "--repeats", "1"]).emulated(&LADDER_EMULATED),
    run("matmul_kernel_f32", "matmul_functions", &["--ladder", "--repeats", "1"]).emulated(&LADDER_EMULATED),
    run("max_kernel", "max_functions", &["--repeats", "1"]).emulated(&MAX_EMULATED),
    run("normalize_weigh_activate_kernel", "activation_functions", &["--repeats", "1"]).emulated(&ACTIVATION_EMULATED),
];
const PERSISTENT: [&str; 5] = ["persistent", "--repeats", "1", "--steps", "32"];
const PERSISTENT_EMULATED: [&str; 5] = ["persistent", "--repeats", "1", "--steps", "1"];

/// A program under a tool of NVIDIA's compute-sanitizer.
pub(super) struct Sanitized {
    pub(super) tool: &'static str,
    pub(super) executable: &'static str,
    arguments: &'static [&'static str],
    /// As in [`Run`].
    emulated: &'static [&'static str],
}

const STEPS: [&str; 7] = ["persistent", "--device", "cuda", "--repeats", "1", "--steps", "3"];
const STEPS_EMULATED: [&str; 7] = ["persistent", "--device", "cuda", "--repeats", "1", "--steps", "1"];

/// The programs under the sanitizer, and its tools.
pub(super) const SANITIZED: [Sanitized; 5] = [
    steps_under("memcheck"),
    steps_under("synccheck"),
    steps_under("racecheck"),
    product_under("memcheck"),
    product_under("initcheck"),
];
const MATMUL_TEST: &str = "matmul_functions-matmul_gpu_is_right";
const MATMUL_ARGUMENTS: [&str; 2] = ["on_a_gpu", "--test-threads=1"];

const fn steps_under(tool: &'static str) -> Sanitized {
    Sanitized { tool, executable: SWEEP, arguments: &STEPS, emulated: &STEPS_EMULATED }
}

const fn product_under(tool: &'static str) -> Sanitized {
    Sanitized { tool, executable: MATMUL_TEST, arguments: &MATMUL_ARGUMENTS, emulated: &MATMUL_ARGUMENTS }
}

impl Sanitized {
    /// The arguments on a GPU, or on the emulated driver.
    pub(super) fn arguments(&self, is_emulated: bool) -> &'static [&'static str] {
        if is_emulated { self.emulated } else { self.arguments }
    }

    /// Its name in the results.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.tool, self.executable)
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn gpu_checks_calls_fit_into_half_an_hour() {
        let limits = Call::value_variants().iter().map(|call| call.limit());
        assert!(limits.clone().all(|limit| limit < MAX_CALL));
        let sum: Duration = limits.sum();
        assert!(sum <= MAX_PLAN, "{sum:?}");
        for call in Call::value_variants() {
            assert_eq!(call.to_possible_value().unwrap().get_name(), call.name());
        }
    }

    /// The names of the tests in a package's test program, with their modules, by its sources.
    fn tests_of(workspace: Workspace, package: &str, program: &str) -> Vec<String> {
        let tests = workspace.folder().join(package).join("tests");
        let (file, folder) = (tests.join(program).with_extension("rs"), tests.join(program));
        let mut names = Vec::new();
        match file.exists() {
            true => names.extend(tests_in(&file, "")),
            false => {
                for entry in folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
                    let path: PathBuf = entry.unwrap().path();
                    let module = path.file_stem().unwrap().to_string_lossy().into_owned() + "::";
                    if path.extension().is_some_and(|extension| extension == "rs") {
                        names.extend(tests_in(&path, if module == "main::" { "" } else { &module }));
                    }
                }
            }
        }
        names
    }

    /// The functions below `#[test]`.
    fn tests_in(file: &Path, module: &str) -> Vec<String> {
        let text = std::fs::read_to_string(file).unwrap();
        let name = |rest: &str| Some(rest.split_once("fn ")?.1.split('(').next()?.to_owned());
        text.split("#[test]").skip(1).filter_map(name).map(|name| format!("{module}{name}")).collect()
    }

    #[test]
    fn gpu_check_names_tests_that_exist() {
        for test in &TESTS {
            let names = tests_of(test.workspace, test.package, test.program);
            for filter in [test.filter].into_iter().chain(test.emulated) {
                let selected = names.iter().filter(|name| name.contains(filter)).count();
                assert!(selected > 0, "{}: no test has \"{filter}\" in its name: {names:?}", test.program);
            }
        }
        let of_matmul = TESTS.iter().find(|test| test.executable() == MATMUL_TEST).unwrap();
        assert_eq!(of_matmul.arguments(), MATMUL_ARGUMENTS);
    }

    #[test]
    fn gpu_check_counts_kernels_that_exist() {
        for Run { name, executable, arguments, .. } in &COUNTED {
            let entry = format!(".visible .entry {name}(");
            assert!(kernels_gpu::PTX.iter().any(|ptx| ptx.text().contains(&entry)), "{name}");
            let is_known = EXECUTABLES.contains(executable) || *executable == SWEEP;
            assert!(is_known, "{executable}");
            if *executable == SWEEP {
                assert_eq!(arguments.last(), Some(&COUNTED_STEPS.to_string().as_str()));
            }
        }
    }
}
