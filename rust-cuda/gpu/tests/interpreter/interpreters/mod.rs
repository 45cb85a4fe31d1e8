//! Interpreter devices with the test kernels' PTX, and helpers to examine their errors and results.

use std::fmt::Debug;
use std::path::Path;
use std::sync::OnceLock;

use cuda_std::Kernel;
use gpu::{Device, DeviceChoice, Error, InterpreterOptions, PtxVariant, Search};
use gpu_testing::{fresh_ptx, kernel_sources};
use ptx_interpreter::{Fault, Machine};
use test_support::{Need, is_required};

/// A device with the kernels of one PTX module. Writing the same value twice to one element is an
/// error here, since no correct test kernel has such a race. With race checks, kernels also run in
/// descending order.
pub(crate) fn device(ptx: &PtxVariant, options: InterpreterOptions) -> Device {
    let search = if options.check_races { Search::TWO } else { Search::ONE };
    let options = InterpreterOptions { same_value_races_are_faults: true, search, ..options };
    Device::interpreter(ptx, options).expect("the interpreter understands the PTX")
}

/// Runs `test` with the kernels of each PTX, once with race checks and once without.
pub(crate) fn with_and_without_races(ptx: &'static [PtxVariant], test: impl Fn(&Device)) {
    in_both_ways(&with_the_pages(ptx), test);
}

/// Like [`with_and_without_races`], but only with rustc's PTX. The page's PTX has other branches,
/// where lanes wait elsewhere for lanes that return.
pub(crate) fn of_rustc_with_and_without_races(ptx: &'static [PtxVariant], test: impl Fn(&Device)) {
    in_both_ways(fresh_ptx(ptx), test);
}

fn in_both_ways(ptx: &[PtxVariant], test: impl Fn(&Device)) {
    for check_races in [true, false] {
        let options = InterpreterOptions { check_races, ..InterpreterOptions::default() };
        ptx.iter().for_each(|ptx| test(&device(ptx, options.clone())));
    }
}

/// Runs `test` with the kernels of each PTX, with race checks.
pub(crate) fn with_races(ptx: &'static [PtxVariant], test: impl Fn(&Device)) {
    with_the_pages(ptx).iter().for_each(|ptx| test(&device(ptx, InterpreterOptions::default())));
}

/// The error of a launch of the kernel `K` at the given source line. Its message must be one line.
#[track_caller]
pub(crate) fn fault_at<K: Kernel>(kernel: &K, (file, line): (&str, u32), error: &Error) -> Fault {
    let fault = fault_of(kernel, error);
    let source = fault.place.source.as_ref().unwrap_or_else(|| panic!("no source line: {fault}"));
    assert_eq!((&*source.file, source.line), (file, line), "{fault}");
    fault
}

/// The error of a launch of the kernel `K`. Its message must be one line.
#[track_caller]
pub(crate) fn fault_of<K: Kernel>(_: &K, error: &Error) -> Fault {
    let Some(fault) = error.ptx_fault() else { panic!("no fault: {error}") };
    assert_eq!(&*fault.kernel, K::NAME, "{fault}");
    assert!(!error.to_string().contains('\n'), "{error}");
    fault.clone()
}

thread_local! {
    /// The simulator, an interpreter for each PTX of the test kernels, one for the teaching kernels
    /// compiled by docs/lab, and a GPU if there is one. They are opened once per test thread.
    static TEST_DEVICES: Vec<Device> = {
        let all = fresh_ptx(&test_kernels::PTX).iter().chain(of_the_page()[0].as_ref());
        let interpreters = all.map(|ptx| device(ptx, InterpreterOptions::default()));
        [Device::simulator()].into_iter().chain(interpreters).chain(gpu()).collect()
    };
}

/// A GPU with the test kernels, if there is one. With GPU_TESTS=require there must be one.
fn gpu() -> Option<Device> {
    let choice = match is_required(Need::Gpu) {
        true => DeviceChoice::Cuda,
        false => DeviceChoice::Auto,
    };
    let device = Device::open(choice, &test_kernels::PTX).unwrap_or_else(|error| panic!("{error}"));
    Some(device).filter(Device::is_gpu)
}

/// The teaching kernels and the seeded bugs, compiled by docs/lab instead of rustc; None if rustc's
/// PTX is stale.
fn of_the_page() -> &'static [Option<PtxVariant>; 2] {
    static OF_THE_PAGE: OnceLock<[Option<PtxVariant>; 2]> = OnceLock::new();
    OF_THE_PAGE.get_or_init(|| {
        [
            compiled_by_the_page("test_kernels/src/teaching", &test_kernels::PTX),
            compiled_by_the_page("seeded_bugs/src", &seeded_bugs::PTX),
        ]
    })
}

/// The kernels in a folder that the docs/lab compiler supports. There each kernel is a separate
/// module; here they are combined into one.
fn compiled_by_the_page(folder: &str, rustcs: &'static [PtxVariant]) -> Option<PtxVariant> {
    let rustcs = fresh_ptx(rustcs).first()?.text();
    let files = kernel_sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder), folder);
    let machine = Machine::new(rustcs).expect("the PTX is valid");
    let (mut head, mut entries) = (Vec::new(), String::new());
    for (number, name) in machine.kernels().enumerate() {
        let Ok(compiled) = kernel_language::compile(&files, name) else { continue };
        let compiled = compiled.ptx.replace("__shared_", &format!("__shared_{number}_"));
        let (declarations, entry) = compiled.split_at(compiled.find(".visible .entry").expect("it has the kernel"));
        for line in declarations.lines().filter(|line| !line.starts_with("//")) {
            if !head.contains(&line.to_owned()) {
                head.push(line.to_owned());
            }
        }
        // The page passes parameters by value, not by type, so the signature comes from rustc's
        // PTX.
        let signature = rustcs.lines().find(|line| line.contains(&format!(" {name}__signature[")));
        head.extend(signature.map(str::to_owned));
        entries += entry;
    }
    let text = format!("{}\n{entries}", head.join("\n"));
    // SAFETY: only an interpreter runs it, which checks each access.
    #[allow(unsafe_code)]
    Some(unsafe { PtxVariant::new((7, 5), text.leak()) })
}

/// The PTX and, for the seeded bugs, also the docs/lab compiler's PTX.
fn with_the_pages(ptx: &'static [PtxVariant]) -> Vec<PtxVariant> {
    let mut all = fresh_ptx(ptx).to_vec();
    if all.first().is_some_and(|first| first.text() == seeded_bugs::PTX[0].text()) {
        all.extend(of_the_page()[1]);
    }
    all
}

/// Calls `run`, which launches the test kernel `K`, on every device with all checks: the simulator,
/// an interpreter for each PTX that contains the kernel, an interpreter for the docs/lab compiler's
/// PTX if it supports the kernel, and a GPU if there is one. Returns the results with the devices'
/// names, the simulator's first.
pub(crate) fn on_every_device<K: Kernel, T>(_: &K, run: impl Fn(&Device) -> T) -> Vec<(String, T)> {
    on_all(K::NAME, &run)
}

/// The same with the kernel's name: compiled once per result type instead of once per kernel.
fn on_all<T>(kernel: &str, run: &dyn Fn(&Device) -> T) -> Vec<(String, T)> {
    let has_kernel =
        |device: &&Device| device.ptx().is_none_or(|ptx| ptx.text().contains(&format!(".visible .entry {kernel}(")));
    let results: Vec<_> = TEST_DEVICES.with(|devices| {
        devices.iter().filter(has_kernel).map(|device| (device.name().to_owned(), run(device))).collect()
    });
    assert!(results.len() >= 2, "no PTX has the kernel {kernel}");
    results
}

/// Like [`on_every_device`], but returns the simulator's result and asserts that all others equal
/// it.
#[track_caller]
pub(crate) fn same_everywhere<K: Kernel, T: PartialEq + Debug>(_: &K, run: impl Fn(&Device) -> T) -> T {
    same_on_all(K::NAME, &run)
}

#[track_caller]
fn same_on_all<T: PartialEq + Debug>(kernel: &str, run: &dyn Fn(&Device) -> T) -> T {
    let mut results = on_all(kernel, run).into_iter();
    let (_, simulated) = results.next().expect("the simulator is the first");
    for (device, result) in results {
        assert_eq!(result, simulated, "{kernel} on the {device}, and on the simulator");
    }
    simulated
}

/// The results of an unsafe kernel on all devices except the simulator, which must reject it in one
/// line.
#[track_caller]
pub(crate) fn of_pointers<K: Kernel, T: PartialEq + Debug>(
    kernel: &K,
    launch: impl Fn(&Device) -> Result<T, Error>,
) -> T {
    let mut results = on_every_device(kernel, launch).into_iter();
    let (_, simulated) = results.next().unwrap();
    let error = simulated.unwrap_err();
    assert!(error.to_string().contains("unsafe kernel") && !error.to_string().contains('\n'), "{error}");
    let results: Vec<T> =
        results.map(|(device, result)| result.unwrap_or_else(|error| panic!("{device}: {error}"))).collect();
    assert!(results.iter().all(|result| *result == results[0]), "{results:?}");
    results.into_iter().next().unwrap()
}
