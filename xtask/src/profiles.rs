//! `cargo xtask profiles`: compares the times of every timed function in the dev and release profiles.
//!
//! `cargo run` builds the dev profile, so timed code must be compiled there like in a release:
//! optimized, without debug assertions and overflow checks. These checks may also come from a
//! dependency's generic code that is inlined into the timed code. The dependency's profile controls
//! them, and no other test detects them.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::thread::available_parallelism;

use anyhow::{Context, Result};
use clap::ValueEnum;
use command_line::CHECK_FAILED;
use command_line::say;
use serde::Serialize;
use serde_json::{Value, json};
use timing::{Measurement, format_seconds};

use crate::peers::rust_program::OurTime;
use crate::peers::table::aligned;
use crate::programs::{Executables, Profile, Program, TIME_CORRELATION, TIME_PREDICTION};

/// Largest fraction by which the two profiles' times of a function may differ, in either direction.
///
/// The same instructions at other addresses took up to 1.22 times as long (`max_cpu`, in two
/// builds). Code that is not optimized or has checks takes at least 1.4 times as long.
const TOLERANCE: f64 = 0.25;

/// Options of `cargo xtask profiles`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Run this program only
    #[arg(long, value_enum, value_name = "PROGRAM")]
    only: Option<Name>,
    /// Rounds in which the two profiles alternate; the fastest of each counts
    #[arg(long, value_name = "N", default_value = "5")]
    rounds: NonZeroUsize,
    /// Print one JSON object instead of the table
    #[arg(long)]
    json: bool,
}

/// Values of `--only`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    Max,
    Matmul,
    Activation,
    Correlation,
    Network,
    Prediction,
    Csv,
    Shader,
    Report,
}

/// A program that times functions.
struct TimedProgram {
    title: &'static str,
    program: Program,
    arguments: &'static str,
    /// Whether it accepts `-c N`. Then it runs once with one thread and once with one thread per core.
    takes_threads: bool,
    times: Times,
}

/// Source of a program's times.
#[derive(Clone, Copy)]
enum Times {
    /// Every object in its JSON that has a `min`.
    Minima,
    /// The time that `cargo xtask peers` reads.
    One(OurTime),
}

impl Name {
    fn timed_programs(self) -> Vec<TimedProgram> {
        let timed = |title, program, arguments| TimedProgram {
            title,
            program: Program::Main(program),
            arguments,
            takes_threads: true,
            times: Times::Minima,
        };
        let network =
            |title, arguments, time| TimedProgram { times: Times::One(time), ..timed(title, "neural-net", arguments) };
        match self {
            Self::Max => vec![timed("max", "max_functions", "--repeats 200")],
            Self::Matmul => vec![
                timed("matmul f32", "matmul_functions", "--repeats 5 --dtype f32"),
                timed("matmul f64", "matmul_functions", "--repeats 5 --dtype f64"),
            ],
            Self::Activation => vec![timed("activation", "activation_functions", "--repeats 50")],
            Self::Correlation => vec![TimedProgram {
                program: TIME_CORRELATION,
                ..timed("correlation 5×5", "", "--kernel 5 5 --repeats 50")
            }],
            Self::Network => vec![
                network("epoch", "--preset homework --device cpu --epochs 3 --target-accuracy 0", OurTime::Epoch),
                network(
                    "notebook",
                    "--preset notebook --device cpu --epochs 200 --report-every 10 --target-accuracy 0",
                    OurTime::Iteration,
                ),
                network(
                    "start to end",
                    "--preset homework --device cpu --epochs 1 --target-accuracy 0",
                    OurTime::Process,
                ),
            ],
            Self::Prediction => {
                vec![TimedProgram { program: TIME_PREDICTION, ..timed("prediction", "", "--repeats 100") }]
            }
            Self::Csv => vec![TimedProgram {
                program: Program::Example("regression-studio", "time_csv"),
                takes_threads: false,
                ..timed("table", "", "--rows 100000 --repeats 5")
            }],
            Self::Shader => vec![timed("shader", "compute-shader", "--repeats 30")],
            Self::Report => vec![TimedProgram {
                takes_threads: false,
                ..timed("report", "report", "--quick --no-python --out target/profiles.pdf")
            }],
        }
    }
}

/// The times of a function in both profiles.
#[derive(Debug, PartialEq, Serialize)]
struct FunctionRow {
    function: String,
    dev_seconds: f64,
    release_seconds: f64,
    /// Fastest time in the dev profile divided by the fastest in the release profile.
    ratio: f64,
    /// Median of the rounds' ratios. A value far from `ratio` means that the machine was not idle.
    median_ratio: f64,
    /// False if both ratios exceed the tolerance on the same side.
    within: bool,
}

impl FunctionRow {
    /// Builds a row from the rounds' pairs of seconds in dev and release. `None` if there are no rounds.
    fn of(function: &str, rounds: &[(f64, f64)]) -> Option<Self> {
        let dev_seconds = Measurement::of(rounds.iter().map(|(dev, _)| *dev).collect())?.min;
        let release_seconds = Measurement::of(rounds.iter().map(|(_, release)| *release).collect())?.min;
        let median_ratio = Measurement::of(rounds.iter().map(|(dev, release)| dev / release).collect())?.median;
        let ratio = dev_seconds / release_seconds;
        let within = ratio.min(median_ratio) <= 1.0 + TOLERANCE && ratio.max(median_ratio) >= 1.0 / (1.0 + TOLERANCE);
        Some(Self { function: function.to_owned(), dev_seconds, release_seconds, ratio, median_ratio, within })
    }

    fn cells(&self) -> Vec<String> {
        vec![
            self.function.clone(),
            format_seconds(self.dev_seconds),
            format_seconds(self.release_seconds),
            format!("{:.3}", self.ratio),
            format!("{:.3}", self.median_ratio),
            if self.within { String::new() } else { "differs".to_owned() },
        ]
    }
}

/// Runs every program alternately in both profiles, and prints the table. The exit code is 1 if a
/// function's times differ by more than [`TOLERANCE`], both by their minima and by the median of
/// the rounds.
///
/// # Errors
/// If a program cannot be built or run, or prints no times.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let chosen = Name::value_variants().iter().filter(|name| options.only.is_none_or(|only| only == **name));
    let timed_programs: Vec<TimedProgram> = chosen.flat_map(|name| name.timed_programs()).collect();
    let programs = || timed_programs.iter().map(|timed| timed.program).collect();
    let dev = Executables::build(programs(), Profile::Dev)?;
    let release = Executables::build(programs(), Profile::Release)?;
    let mut rounds = BTreeMap::<String, Vec<(f64, f64)>>::new();
    for round in 1..=options.rounds.get() {
        for timed in &timed_programs {
            for threads in threads_of(timed) {
                eprintln!("[*] round {round} of {}: {} {}", options.rounds, timed.program.name(), threads.join(" "));
                let in_dev = seconds(&dev, timed, &threads)?;
                let in_release = seconds(&release, timed, &threads)?;
                for (function, dev) in in_dev {
                    let release = *in_release
                        .get(&function)
                        .with_context(|| format!("the release profile's program has no time for {function}"))?;
                    rounds.entry(function).or_default().push((dev, release));
                }
            }
        }
    }
    let rows: Vec<FunctionRow> =
        rounds.iter().filter_map(|(function, rounds)| FunctionRow::of(function, rounds)).collect();
    let differ = rows.iter().filter(|row| !row.within).count();
    if options.json {
        say!("{}", json!({ "rounds": options.rounds, "rows": rows, "differ": differ }));
    } else {
        let heading = ["function", "dev", "release", "ratio", "median", ""].map(str::to_owned).to_vec();
        let lines: Vec<_> = std::iter::once(heading).chain(rows.iter().map(FunctionRow::cells)).collect();
        say!("{}", aligned(&lines).trim_end());
        say!(
            "[*] ratio: dev / release, the fastest of {} rounds each. {} of {} functions within {:.0} %",
            options.rounds,
            rows.len() - differ,
            rows.len(),
            100.0 * TOLERANCE
        );
    }
    Ok(if differ == 0 { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

/// The thread arguments of each run of the program.
fn threads_of(timed: &TimedProgram) -> Vec<Vec<String>> {
    if !timed.takes_threads {
        return vec![Vec::new()];
    }
    let cores = available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let counts = std::collections::BTreeSet::from([NonZeroUsize::MIN, cores]);
    counts.into_iter().map(|threads| vec!["-c".to_owned(), threads.to_string()]).collect()
}

/// Seconds of each function, from one run of the program.
fn seconds(executables: &Executables, timed: &TimedProgram, threads: &[String]) -> Result<BTreeMap<String, f64>> {
    let arguments = timed.arguments.split_whitespace().map(str::to_owned).chain(threads.iter().cloned());
    let run = executables.run(timed.program, arguments.chain(std::iter::once("--json".to_owned())))?;
    let program = timed.program.name();
    let label = [&[timed.title.to_owned()], threads].concat().join(" ");
    let found = match timed.times {
        Times::One(time) => BTreeMap::from([(label, time.read(&run.output, run.seconds)?)]),
        Times::Minima => {
            let json = serde_json::from_str(&run.output).with_context(|| format!("{program} printed no JSON"))?;
            minima(&json, &label)
        }
    };
    anyhow::ensure!(!found.is_empty(), "{program} printed no time");
    Ok(found)
}

/// The `min` of every object that has one, keyed by the names on the path to it.
fn minima(value: &Value, label: &str) -> BTreeMap<String, f64> {
    /// Names that are omitted from the keys.
    const WRAPPERS: [&str; 2] = ["seconds", "times"];
    match value {
        Value::Object(fields) => match fields.get("min").and_then(Value::as_f64) {
            Some(min) => BTreeMap::from([(label.to_owned(), min)]),
            None => fields
                .iter()
                // A speed-up has a `min` too, but is not a time.
                .filter(|(name, _)| *name != "speedup")
                .flat_map(|(name, value)| match WRAPPERS.contains(&name.as_str()) {
                    true => minima(value, label),
                    false => minima(value, &format!("{label} {name}")),
                })
                .collect(),
        },
        Value::Array(items) => {
            // An element is named after its threads or its batch.
            let name = |item: &Value| {
                let of = |key: &str| Some(format!("{key} {}", item.get(key)?.as_u64()?));
                of("threads").or_else(|| of("batch"))
            };
            let named = |(index, item): (usize, &Value)| {
                minima(item, &format!("{label} {}", name(item).unwrap_or_else(|| index.to_string())))
            };
            items.iter().enumerate().flat_map(named).collect()
        }
        _ => BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_times_are_found_by_their_names_and_speedups_are_not() {
        let json = json!({ "size": [1000, 1000], "seconds": { "cpu": { "min": 2.0, "median": 3.0 }, "rayon": { "min": 1.0 } },
            "speedup": { "rayon_over_cpu": { "min": 2.0 } } });
        let expected = BTreeMap::from([("max cpu".to_owned(), 2.0), ("max rayon".to_owned(), 1.0)]);
        assert_eq!(minima(&json, "max"), expected);
    }

    #[test]
    fn profiles_elements_of_a_list_are_named_by_threads_or_batch() {
        let json = json!({ "rayon": [{ "threads": 2, "times": { "min": 1.0 } }], "batches": [{ "batch": 10, "seconds":
            { "cpu": { "min": 3.0 } } }] });
        let expected = [("report batches batch 10 cpu", 3.0), ("report rayon threads 2", 1.0)];
        assert_eq!(minima(&json, "report"), expected.map(|(name, min)| (name.to_owned(), min)).into());
    }

    #[test]
    fn profiles_a_function_differs_beyond_the_tolerance_either_way() {
        let within = |dev| FunctionRow::of("max", &[(dev, 1.0), (2.0 * dev, 2.0)]).unwrap().within;
        assert_eq!([0.7, 0.9, 1.0, 1.24, 1.26, 20.0].map(within), [false, true, true, true, false, false]);
        // One of five rounds was faster in release, as on a busy machine. The median does not differ.
        let disturbed = [(1.0, 1.0), (1.0, 0.5), (1.0, 1.0), (1.0, 1.0), (1.0, 1.0)];
        assert!(FunctionRow::of("max", &disturbed).unwrap().within);
        assert_eq!(FunctionRow::of("max", &[]), None);
    }
}
