//! `cargo xtask profiles`: every timed function in the dev profile beside the release profile, in one run.
//!
//! `cargo run` builds the dev profile, so what it times must be compiled there as in a release: optimised, and without debug
//! assertions or overflow checks, its own or those of generic code that is inlined into it. A dependency's profile decides the
//! second, and no other test shows it.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::thread::available_parallelism;

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Value, json};
use timing::program::CHECK_FAILED;
use timing::{Measurement, format_seconds, say};

use crate::peers::rust_program::OurTime;
use crate::peers::table::aligned;
use crate::programs::{Executables, Profile, Program, TIME_PREDICTION};

/// Largest share by which the two profiles' times of a function may differ, either way.
const TOLERANCE: f64 = 0.15;

/// Options of `cargo xtask profiles`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Run this program only
    #[arg(long, value_enum, value_name = "PROGRAM")]
    only: Option<Name>,
    /// How often the two profiles take turns; the fastest of each counts
    #[arg(long, value_name = "N", default_value = "5")]
    rounds: NonZeroUsize,
    /// Print one JSON object instead of the table
    #[arg(long)]
    json: bool,
}

/// What `--only` chooses from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    Max,
    Matmul,
    Activation,
    Network,
    Prediction,
    Csv,
    Shader,
    Report,
}

/// A program that times functions.
struct Work {
    title: &'static str,
    program: Program,
    arguments: &'static str,
    /// Whether it takes `-c N`: it is run on one thread and on one for each core.
    takes_threads: bool,
    times: Times,
}

/// Where a program's times are.
#[derive(Clone, Copy)]
enum Times {
    /// In every object of its JSON that has a `min`.
    Minima,
    /// Found as `cargo xtask peers` finds one.
    One(OurTime),
}

impl Name {
    fn works(self) -> Vec<Work> {
        let work = |title, program, arguments| Work {
            title,
            program: Program::Main(program),
            arguments,
            takes_threads: true,
            times: Times::Minima,
        };
        let network = |title, arguments, time| Work { times: Times::One(time), ..work(title, "neural-net", arguments) };
        match self {
            Self::Max => vec![work("max", "max_functions", "--repeats 200")],
            Self::Matmul => vec![
                work("matmul f32", "matmul_functions", "--repeats 5 --dtype f32"),
                work("matmul f64", "matmul_functions", "--repeats 5 --dtype f64"),
            ],
            Self::Activation => vec![work("activation", "activation_functions", "--repeats 50")],
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
            Self::Prediction => vec![Work { program: TIME_PREDICTION, ..work("prediction", "", "--repeats 100") }],
            Self::Csv => vec![Work {
                program: Program::Example("regression-studio", "time_csv"),
                takes_threads: false,
                ..work("table", "", "--rows 100000 --repeats 5")
            }],
            Self::Shader => vec![work("shader", "compute-shader", "--repeats 10")],
            Self::Report => vec![Work {
                takes_threads: false,
                ..work("report", "report", "--quick --no-python --out target/profiles.pdf")
            }],
        }
    }
}

/// A function in both profiles.
#[derive(Debug, PartialEq, Serialize)]
struct Row {
    function: String,
    dev_seconds: f64,
    release_seconds: f64,
    /// The dev profile's fastest over the release profile's.
    ratio: f64,
    /// Median of the rounds' ratios: far from `ratio`, the machine was not quiet.
    median_ratio: f64,
    within: bool,
}

impl Row {
    /// The rounds' pairs of seconds in dev and release. None without a round.
    fn of(function: &str, rounds: &[(f64, f64)]) -> Option<Self> {
        let dev_seconds = Measurement::of(rounds.iter().map(|(dev, _)| *dev).collect())?.min;
        let release_seconds = Measurement::of(rounds.iter().map(|(_, release)| *release).collect())?.min;
        let median_ratio = Measurement::of(rounds.iter().map(|(dev, release)| dev / release).collect())?.median;
        let ratio = dev_seconds / release_seconds;
        let within = (1.0 / (1.0 + TOLERANCE)..=1.0 + TOLERANCE).contains(&ratio);
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

/// Runs every program in both profiles by turns, and prints the table. Exit code 1 if a function's times differ by more than
/// [`TOLERANCE`].
///
/// # Errors
/// If a program cannot be built or run, or prints no times.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let chosen = Name::value_variants().iter().filter(|name| options.only.is_none_or(|only| only == **name));
    let works: Vec<Work> = chosen.flat_map(|name| name.works()).collect();
    let programs = || works.iter().map(|work| work.program).collect();
    let dev = Executables::build(programs(), Profile::Dev)?;
    let release = Executables::build(programs(), Profile::Release)?;
    let mut rounds = BTreeMap::<String, Vec<(f64, f64)>>::new();
    for round in 1..=options.rounds.get() {
        for work in &works {
            for threads in threads_of(work) {
                eprintln!("[*] round {round} of {}: {} {}", options.rounds, work.program.name(), threads.join(" "));
                let in_dev = seconds(&dev, work, &threads)?;
                let in_release = seconds(&release, work, &threads)?;
                for (function, dev) in in_dev {
                    let release = *in_release
                        .get(&function)
                        .with_context(|| format!("the release profile's program has no time of {function}"))?;
                    rounds.entry(function).or_default().push((dev, release));
                }
            }
        }
    }
    let rows: Vec<Row> = rounds.iter().filter_map(|(function, rounds)| Row::of(function, rounds)).collect();
    let differ = rows.iter().filter(|row| !row.within).count();
    if options.json {
        say!("{}", json!({ "rounds": options.rounds, "rows": rows, "differ": differ }));
    } else {
        let heading = ["function", "dev", "release", "ratio", "median", ""].map(str::to_owned).to_vec();
        let lines: Vec<_> = std::iter::once(heading).chain(rows.iter().map(Row::cells)).collect();
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

/// The arguments that choose the threads, for each number of them.
fn threads_of(work: &Work) -> Vec<Vec<String>> {
    if !work.takes_threads {
        return vec![Vec::new()];
    }
    let cores = available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let numbers = std::collections::BTreeSet::from([NonZeroUsize::MIN, cores]);
    numbers.into_iter().map(|threads| vec!["-c".to_owned(), threads.to_string()]).collect()
}

/// Seconds by function.
fn seconds(executables: &Executables, work: &Work, threads: &[String]) -> Result<BTreeMap<String, f64>> {
    let arguments = work.arguments.split_whitespace().map(str::to_owned).chain(threads.iter().cloned());
    let run = executables.run(work.program, arguments.chain(std::iter::once("--json".to_owned())))?;
    let program = work.program.name();
    let label = [&[work.title.to_owned()], threads].concat().join(" ");
    let found = match work.times {
        Times::One(time) => BTreeMap::from([(label, time.read(&run.output, run.seconds)?)]),
        Times::Minima => {
            let json = serde_json::from_str(&run.output).with_context(|| format!("{program} printed no JSON"))?;
            minima(&json, &label)
        }
    };
    anyhow::ensure!(!found.is_empty(), "{program} printed no time");
    Ok(found)
}

/// The `min` of every object that has one, under the names on the way to it.
fn minima(value: &Value, label: &str) -> BTreeMap<String, f64> {
    /// Names that say nothing beside the others.
    const WRAPPERS: [&str; 2] = ["seconds", "times"];
    match value {
        Value::Object(fields) => match fields.get("min").and_then(Value::as_f64) {
            Some(min) => BTreeMap::from([(label.to_owned(), min)]),
            None => fields
                .iter()
                // A speed-up has a minimum too, but is no time.
                .filter(|(name, _)| *name != "speedup")
                .flat_map(|(name, value)| match WRAPPERS.contains(&name.as_str()) {
                    true => minima(value, label),
                    false => minima(value, &format!("{label} {name}")),
                })
                .collect(),
        },
        Value::Array(items) => {
            // An element is named by its threads or its batch.
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
        let within = |dev| Row::of("max", &[(dev, 1.0), (2.0 * dev, 2.0)]).unwrap().within;
        assert_eq!([0.8, 0.9, 1.0, 1.14, 1.16, 20.0].map(within), [false, true, true, true, false, false]);
        assert_eq!(Row::of("max", &[]), None);
    }
}
