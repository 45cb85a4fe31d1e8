//! Functions that launch kernels.

use std::cell::{OnceCell, RefCell};
use std::fmt::Display;

use cuda_std::PtxVariant;
use gpu::{Device, InterpreterOptions, SimulatorOptions};
use ptx_interpreter::{Access, AccessedSpace};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use teaching_tests::{Failure, call, check};

/// Environment variable with the path of the PTX that the grader compiled from the submission's
/// kernels.
const PTX: &str = "HOMEWORK_PTX";

/// A kernel launch, with the number of global-memory elements it reads and writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The kernel's name.
    pub kernel: String,
    /// Number of blocks.
    pub blocks: u64,
    /// Total number of threads in all blocks.
    pub threads: u64,
    /// Elements read.
    pub loads: u64,
    /// Elements written, with or without atomics.
    pub stores: u64,
}

thread_local! {
    static LAST: RefCell<Vec<Launch>> = const { RefCell::new(Vec::new()) };
    /// The device of [`require_kernels`].
    static INTERPRETER: OnceCell<Option<Device>> = const { OnceCell::new() };
}

/// In the runner: executes `run` on a simulator and returns the result with the launches. Two
/// threads that write the same element are an error, even if they write the same value.
///
/// # Errors
/// The errors of `run`.
pub fn by_simulator<T>(run: impl FnOnce(&Device) -> Result<T, String>) -> Result<(T, Vec<Launch>), String> {
    let options = SimulatorOptions { same_value_races_are_faults: true, ..SimulatorOptions::default() };
    let device = Device::simulator_with(options);
    device.take_simulator_reports();
    let result = run(&device)?;
    let launches = device.take_simulator_reports().into_iter().map(|(kernel, report)| Launch {
        kernel: kernel.to_owned(),
        blocks: report.blocks,
        threads: report.threads,
        loads: report.global_loads,
        stores: report.global_stores + report.atomics,
    });
    Ok((result, launches.collect()))
}

/// In the judge: calls a function of the submission that launches kernels, and returns its result
/// of `elements` elements.
///
/// # Errors
/// The errors of [`call`](crate::call).
pub fn on_gpu<R: DeserializeOwned>(function: &str, arguments: &impl Serialize, elements: usize) -> Result<R, String> {
    LAST.take();
    let (result, launches): (R, Vec<Launch>) = crate::call(function, arguments, elements)?;
    LAST.set(launches);
    Ok(result)
}

/// Launches made by the last call of [`on_gpu`], recorded by the simulator in the submission's
/// process.
fn last_launches() -> Vec<Launch> {
    LAST.with_borrow(Clone::clone)
}

/// Returns the only launch of the last [`on_gpu`] call, which called `function`.
///
/// # Errors
/// If the call made no launch or several.
pub fn only_launch(function: &str) -> Result<Launch, Failure> {
    match &last_launches()[..] {
        [launch] => Ok(launch.clone()),
        launches => Err(format!("{function}: it launches {} kernels, expected one", launches.len()).into()),
    }
}

/// Returns the first of `names` that the last call of [`on_gpu`] launched, or `names[0]` if it
/// launched none.
pub fn launched_of(names: &[&'static str]) -> &'static str {
    let launches = last_launches();
    let is_launched = |name: &&&str| launches.iter().any(|launch| launch.kernel == **name);
    names.iter().find(is_launched).or(names.first()).copied().unwrap_or_default()
}

/// Checks that the last call of [`on_gpu`] launched only these kernels, and that each wrote at
/// least `elements` elements: results not computed by kernels do not count.
///
/// # Errors
/// A sentence that states the difference.
pub fn require_writes(kernels: &[&str], elements: usize) -> Result<(), String> {
    let launches = last_launches();
    if elements == 0 {
        return Ok(());
    }
    for kernel in kernels {
        let stores: u64 = launches.iter().filter(|launch| launch.kernel == *kernel).map(|launch| launch.stores).sum();
        if stores < elements as u64 {
            return Err(match launches.iter().any(|launch| launch.kernel == *kernel) {
                true => format!("{kernel} writes {stores} elements, expected {elements}"),
                false => format!("it does not launch {kernel}"),
            });
        }
    }
    match launches.iter().find(|launch| !kernels.contains(&&*launch.kernel)) {
        Some(other) => Err(format!("it launches {}, expected {}", other.kernel, kernels.join(", "))),
        None => Ok(()),
    }
}

/// The interpreter with the PTX of the submission's kernels, in the judge's own process. `None`
/// without a PTX toolchain.
///
/// # Errors
/// If the interpreter cannot load the PTX.
pub fn of_interpreter() -> Result<Option<Device>, Failure> {
    interpreter(InterpreterOptions { same_value_races_are_faults: true, ..InterpreterOptions::default() })
}

/// [`of_interpreter`] without the race check, for counting only.
///
/// # Errors
/// If the interpreter cannot load the PTX.
pub fn of_interpreter_without_races() -> Result<Option<Device>, Failure> {
    interpreter(InterpreterOptions { check_races: false, ..InterpreterOptions::default() })
}

#[allow(unsafe_code)]
fn interpreter(options: InterpreterOptions) -> Result<Option<Device>, Failure> {
    let Some(path) = std::env::var_os(PTX) else { return Ok(None) };
    let text = std::fs::read_to_string(path).map_err(|error| format!("the kernels' PTX cannot be read: {error}"))?;
    // SAFETY: only the interpreter runs the PTX, and it checks each access.
    let variant = unsafe { PtxVariant::new((7, 5), text.leak()) };
    check("the kernels", Device::interpreter(&variant, options)).map(Some)
}

/// In the judge: checks what the submission's compiled kernels compute when the judge launches
/// them. Results that the submission computed in another way do not count.
///
/// # Errors
/// The errors of `run`, which launches the kernels, and of `verify`, as a sentence.
pub fn require_kernels<T, E: Display>(
    run: impl FnOnce(&Device) -> Result<T, E>,
    verify: impl FnOnce(T) -> Result<(), String>,
) -> Result<(), String> {
    INTERPRETER.with(|cell| {
        if cell.get().is_none() {
            let device = of_interpreter_without_races().map_err(|failure| format!("{failure:?}"))?;
            drop(cell.set(device));
        }
        match cell.get() {
            Some(Some(device)) => {
                let result = call(|| run(device)).and_then(verify);
                device.take_ptx_reports();
                result.map_err(|error| format!("the kernels' own results, from PTX: {error}"))
            }
            _ => Ok(()),
        }
    })
}

/// The launches that `run` makes on the interpreter, with the interpreter's own counts.
///
/// # Errors
/// The errors of `run`.
pub fn launched<T>(device: &Device, run: impl FnOnce(&Device) -> Result<T, String>) -> Result<Vec<Launch>, String> {
    device.take_ptx_reports();
    run(device)?;
    let launches = device.take_ptx_reports().into_iter().map(|report| {
        let lanes = |accesses: &[Access]| -> u64 {
            let spaces = [AccessedSpace::Global, AccessedSpace::Generic];
            let pairs = spaces.iter().flat_map(|&space| accesses.iter().map(move |&access| (space, access)));
            pairs.map(|(space, access)| report.accesses(space, access).lanes).sum()
        };
        Launch {
            kernel: report.kernel.to_string(),
            blocks: report.blocks,
            threads: report.threads,
            loads: lanes(&[Access::Read]),
            stores: lanes(&[Access::Write, Access::Atomic]),
        }
    });
    Ok(launches.collect())
}
