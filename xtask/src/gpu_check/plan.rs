//! The items of each phase, in the order in which they run: what decides most comes first.

/// A test program of the folder.
pub(super) struct Test {
    pub(super) package: &'static str,
    /// The test program's name, and that of its result.
    pub(super) program: &'static str,
    /// The part of the tests' names that selects those that need a GPU.
    pub(super) filter: &'static str,
    /// The tests that make the driver fail on purpose: the sanitizer would report their errors.
    pub(super) fails_on_purpose: &'static [&'static str],
    /// Whether it would take too long under the sanitizer.
    pub(super) is_long: bool,
}

const fn test(package: &'static str, program: &'static str, filter: &'static str) -> Test {
    Test { package, program, filter, fails_on_purpose: &[], is_long: false }
}

/// The tests that need a GPU.
pub(super) const TESTS: [Test; 8] = [
    Test {
        fails_on_purpose: &[
            "too_large_a_buffer_is_refused",
            "the_compilers_log_is_in_the_error",
            "a_failed_launch_is_named",
        ],
        ..test("gpu", "on_a_gpu", "")
    },
    test("max_functions", "max_gpu_is_right", "on_a_gpu"),
    test("matmul_functions", "matmul_gpu_is_right", "on_a_gpu"),
    test("activation_functions", "activation_gpu_is_right", "on_a_gpu"),
    test("neural-net", "part1_gpu_engine", "on_a_gpu"),
    test("neural-net", "part1_distributed", "on_gpus"),
    Test { is_long: true, ..test("neural-net", "part1_gpu_training", "digits_on_a_gpu") },
    test("gpu", "random_programs_on_a_gpu", "on_a_gpu"),
];

impl Test {
    /// The executable's name in the folder.
    pub(super) fn executable(&self) -> String {
        format!("{}-{}", self.package, self.program)
    }

    /// The arguments that select the tests, one at a time: each opens the GPU.
    pub(super) fn arguments(&self) -> Vec<&'static str> {
        self.filter.split(' ').filter(|filter| !filter.is_empty()).chain(["--test-threads=1"]).collect()
    }

    /// The same without the tests that fail on purpose.
    pub(super) fn arguments_under_sanitizer(&self) -> Vec<&'static str> {
        let skips = self.fails_on_purpose.iter().flat_map(|name| ["--skip", name]);
        self.arguments().into_iter().chain(skips).collect()
    }
}

/// A program whose JSON is kept.
pub(super) struct Program {
    /// Its name in the results.
    pub(super) name: &'static str,
    /// The executable's name in the folder.
    pub(super) executable: &'static str,
    pub(super) arguments: &'static [&'static str],
}

const fn program(name: &'static str, executable: &'static str, arguments: &'static [&'static str]) -> Program {
    Program { name, executable, arguments }
}

/// The executables of the programs below.
pub(super) const EXECUTABLES: [&str; 4] = ["max_functions", "matmul_functions", "activation_functions", "neural-net"];

/// The programs whose times are kept.
pub(super) const PROGRAMS: [Program; 10] = [
    program("network", "neural-net", &["--preset", "homework"]),
    program("network_steps", "neural-net", &["--preset", "homework", "--gpu-path", "steps"]),
    program("matmul_f32", "matmul_functions", &["--ladder"]),
    program("matmul_f64", "matmul_functions", &["--ladder", "--dtype", "f64"]),
    program("max", "max_functions", &[]),
    program("activation", "activation_functions", &[]),
    program("activation_100_million", "activation_functions", &["-n", "100000000", "--repeats", "5"]),
    program("network_seed_1", "neural-net", &["--preset", "homework", "--seed", "1"]),
    program("network_seed_2", "neural-net", &["--preset", "homework", "--seed", "2"]),
    program("network_notebook", "neural-net", &["--preset", "notebook"]),
];

/// The example of neural-net that measures latencies and step times.
pub(super) const SWEEP: &str = "gpu_sweep";
/// Its parts, each an item of its own.
pub(super) const SWEEP_PARTS: [&str; 3] = ["latency", "persistent", "steps"];

/// The tools of NVIDIA's compute-sanitizer that the tests are repeated under, where it is installed.
pub(super) const SANITIZER_TOOLS: [&str; 4] = ["memcheck", "racecheck", "synccheck", "initcheck"];
