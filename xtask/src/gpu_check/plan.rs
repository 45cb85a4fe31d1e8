//! The items in execution order, the most important ones first.

use std::time::Duration;

use super::python::{self, Script};
use crate::workspace::Workspace;

/// A child process with a time limit and a stored result.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    /// Two starts of a program, both timed.
    Start(&'static Run),
    /// A part of [`SWEEP`].
    Sweep(&'static str),
    Test(&'static Test),
    Program(&'static Run),
    Peers(&'static Script),
    /// A kernel profiled by Nsight Compute.
    Counted(&'static Run),
    /// A program checked by compute-sanitizer.
    Sanitized(&'static Sanitized),
}

impl Item {
    /// Its unique name, for the list of items that did not run.
    pub(super) fn name(self) -> String {
        match self {
            Self::Start(run) => format!("start of {}", run.name),
            Self::Sweep(part) => format!("{SWEEP} {part}"),
            Self::Test(test) => format!("test {}", test.program),
            Self::Program(run) => format!("program {}", run.name),
            Self::Peers(script) => format!("peers {}", script.name),
            Self::Counted(run) => format!("ncu {}", run.name),
            Self::Sanitized(sanitized) => sanitized.name(),
        }
    }
}

/// All items, the most important ones first: a deadline leaves out the least important ones.
pub(super) fn items() -> Vec<Item> {
    let (first_tests, other_tests) = TESTS.split_at(FIRST_TESTS);
    let mut items: Vec<Item> = STARTS.iter().map(Item::Start).collect();
    items.extend(MACHINE_PARTS.map(Item::Sweep));
    items.extend(first_tests.iter().map(Item::Test));
    items.extend(STEP_PARTS.map(Item::Sweep));
    items.extend(PROGRAMS.iter().map(Item::Program));
    items.extend(python::RUNS.iter().map(Item::Peers));
    items.extend(COUNTED.iter().map(Item::Counted));
    items.extend(SANITIZED.iter().map(Item::Sanitized));
    items.extend(other_tests.iter().map(Item::Test));
    items
}

/// Time limit of an item without a longer one.
pub(super) const ITEM_LIMIT: Duration = Duration::from_secs(60);

/// A program and its arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// Its name in the results.
    pub(super) name: &'static str,
    /// The executable's name in the folder.
    pub(super) executable: &'static str,
    arguments: &'static [&'static str],
    /// Arguments for the same work at a size that the emulated driver runs in seconds.
    emulated: &'static [&'static str],
}

const fn run(name: &'static str, executable: &'static str, arguments: &'static [&'static str]) -> Run {
    Run { name, executable, arguments, emulated: arguments }
}

impl Run {
    const fn emulated(self, arguments: &'static [&'static str]) -> Self {
        Self { emulated: arguments, ..self }
    }

    /// The arguments for a GPU or for the emulated driver.
    pub(super) fn arguments(&self, is_emulated: bool) -> &'static [&'static str] {
        if is_emulated { self.emulated } else { self.arguments }
    }
}

/// Programs that are started twice, each for a moment. The driver's cache of compiled kernels makes
/// the second start faster. The last program has the kernels that take longest to compile.
pub(super) static STARTS: [Run; 2] = [
    run("max_functions", "max_functions", &["--repeats", "1"]).emulated(&MAX_EMULATED),
    run(SWEEP, SWEEP, &["persistent", "--repeats", "1", "--steps", "1"]),
];

const MAX_EMULATED: [&str; 5] = ["--repeats", "1", "--size", "100", "100"];
const LADDER_EMULATED: [&str; 6] = ["--ladder", "--repeats", "1", "--size", "100", "40"];
const ACTIVATION_EMULATED: [&str; 4] = ["--repeats", "1", "-n", "10000"];
/// A training run on the few images for the emulated driver.
macro_rules! few_images {
    ($($argument:literal),*) => {
        &["--epochs", "1", "--train-images", "64", "--validation-images", "16", "--target-accuracy", "0", $($argument),*]
    };
}

/// The example of neural-net that measures latencies, rates, copies and step times.
pub(super) const SWEEP: &str = "gpu_sweep";
/// Its parts other than training steps. They measure a start, and what the limits of all times are
/// computed from.
pub(super) const MACHINE_PARTS: [&str; 4] = ["start", LATENCY, RATES, COPIES];
pub(super) const LATENCY: &str = "latency";
pub(super) const RATES: &str = "rates";
pub(super) const COPIES: &str = "copies";
/// Its parts that are training steps.
pub(super) const STEP_PARTS: [&str; 3] = ["persistent", "steps", "adam"];

/// A test program in the folder.
#[derive(Debug)]
pub(super) struct Test {
    pub(super) workspace: Workspace,
    pub(super) package: &'static str,
    /// Name of the test program and of its result.
    pub(super) program: &'static str,
    /// The part of a test's name that selects the tests that need a GPU.
    pub(super) filter: &'static str,
    /// The same for tests that the emulated driver runs in seconds; `None` if there are none.
    emulated: Option<&'static str>,
    pub(super) limit: Duration,
}

const fn test(package: &'static str, program: &'static str, filter: &'static str) -> Test {
    Test { workspace: Workspace::Homework, package, program, filter, emulated: Some(filter), limit: ITEM_LIMIT }
}

/// A test program of the toolchain.
const fn of_gpu(program: &'static str, filter: &'static str) -> Test {
    Test { workspace: Workspace::Toolchain, ..test("gpu", program, filter) }
}

/// The tests that need a GPU.
pub(super) static TESTS: [Test; 12] = [
    test("neural-net", "part1_gpu_engine", "on_a_gpu"),
    // These compare a GPU's bits with the interpreter's.
    Test { emulated: None, ..test("kernels-gpu", "every_kernel", "on_a_gpu") },
    test("matmul_functions", "matmul_gpu_is_right", "on_a_gpu"),
    Test {
        limit: Duration::from_secs(100),
        emulated: None,
        ..test("neural-net", "part1_gpu_training", "digits_on_a_gpu")
    },
    test("filters", "correlation_gpu_is_right", "on_a_gpu"),
    of_gpu("on_a_gpu", ""),
    test("max_functions", "max_gpu_is_right", "on_a_gpu"),
    test("activation_functions", "activation_gpu_is_right", "on_a_gpu"),
    Test { emulated: Some("runs_speaking_kernels"), ..of_gpu("interpreter", "runs_") },
    test("learn", "steps", "on_a_gpu"),
    of_gpu("random_programs_on_a_gpu", "on_a_gpu"),
    // It opens 56 devices.
    Test { limit: Duration::from_secs(100), ..test("neural-net", "part1_distributed", "on_gpus") },
];

/// How many of them run before the timings: the tests of the kernels that change most.
const FIRST_TESTS: usize = 5;

impl Test {
    /// The executable's name in the folder.
    pub(super) fn executable(&self) -> String {
        format!("{}-{}", self.package, self.program)
    }

    /// The arguments that select the GPU tests. They run one at a time, since each opens the GPU.
    pub(super) fn arguments(&self) -> Vec<&'static str> {
        selecting(self.filter)
    }

    /// The arguments for a GPU or for the emulated driver; `None` if the emulated driver runs no
    /// test of this program.
    pub(super) fn arguments_on(&self, is_emulated: bool) -> Option<Vec<&'static str>> {
        if is_emulated { self.emulated.map(selecting) } else { Some(self.arguments()) }
    }
}

fn selecting(filter: &'static str) -> Vec<&'static str> {
    Some(filter).filter(|filter| !filter.is_empty()).into_iter().chain(["--test-threads=1"]).collect()
}

/// The executables of the programs below.
pub(super) const EXECUTABLES: [&str; 4] = ["max_functions", "matmul_functions", "activation_functions", "neural-net"];

/// The programs with times to keep.
pub(super) static PROGRAMS: [Run; 9] = [
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

/// Steps per launch of the training kernels under Nsight Compute. It is less than the engine's
/// first group, so each launch has the same number.
pub(super) const COUNTED_STEPS: u32 = 32;

/// The kernels for Nsight Compute to profile, each in its second launch of the run.
pub(super) static COUNTED: [Run; 4] = [
    run("network_train_cluster", SWEEP, &PERSISTENT).emulated(&PERSISTENT_EMULATED),
    run("network_train_small__142", SWEEP, &ADAM).emulated(&ADAM_EMULATED),
    run("matmul_tensor_f32", "matmul_functions", &["--ladder", "--repeats", "1"]).emulated(&LADDER_EMULATED),
    run("normalize_weigh_activate_kernel", "activation_functions", &["--repeats", "1"]).emulated(&ACTIVATION_EMULATED),
];
const ADAM: [&str; 5] = ["adam", "--repeats", "1", "--steps", "32"];
const ADAM_EMULATED: [&str; 5] = ["adam", "--repeats", "1", "--steps", "1"];
const PERSISTENT: [&str; 5] = ["persistent", "--repeats", "1", "--steps", "32"];
const PERSISTENT_EMULATED: [&str; 5] = ["persistent", "--repeats", "1", "--steps", "1"];

/// A program to check with a tool of NVIDIA's compute-sanitizer.
#[derive(Debug)]
pub(super) struct Sanitized {
    pub(super) tool: &'static str,
    pub(super) executable: &'static str,
    arguments: &'static [&'static str],
    /// As in [`Run`].
    emulated: &'static [&'static str],
}

const STEPS: [&str; 7] = ["persistent", "--device", "cuda", "--repeats", "1", "--steps", "3"];
const STEPS_EMULATED: [&str; 7] = ["persistent", "--device", "cuda", "--repeats", "1", "--steps", "1"];

/// The programs to check with the sanitizer, and the tools to use.
pub(super) static SANITIZED: [Sanitized; 5] = [
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
    /// The arguments for a GPU or for the emulated driver.
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
    fn gpu_checks_items_have_names_of_their_own_in_the_order_of_their_value() {
        let names: Vec<String> = items().into_iter().map(Item::name).collect();
        let unique: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!((names.len(), names[0].as_str()), (unique.len(), "start of max_functions"));
        let place = |name: &str| names.iter().position(|other| other == name).unwrap_or_else(|| panic!("{name}"));
        let order = [
            "gpu_sweep latency",
            "test part1_gpu_engine",
            "test correlation_gpu_is_right",
            "gpu_sweep adam",
            "program network",
            "peers regressor",
            "ncu network_train_cluster",
            "memcheck gpu_sweep",
            "test on_a_gpu",
        ];
        assert!(order.is_sorted_by_key(|name| place(name)), "{names:?}");
    }

    /// The names of the tests in a package's test program, with their modules, found in its sources.
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
