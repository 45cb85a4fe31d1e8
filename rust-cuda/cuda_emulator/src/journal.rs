//! What the emulator has to say: lines on stderr, and a report in JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use cuda_launch::LaunchConfig;
use ptx_interpreter::syntax::printable;
use ptx_interpreter::{Fault, LaunchError, LaunchReport};

use crate::error::Error;
use crate::report::{FaultReport, KernelReport, Report};
use crate::source;

/// Maximum number of copies of uninitialised memory that are noted.
const MAX_COPY_NOTES: u32 = 10;

/// What has happened since the driver was initialised.
#[derive(Debug)]
pub(crate) struct Journal {
    json: Option<PathBuf>,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    kernels: BTreeMap<String, KernelReport>,
    faults: Vec<FaultReport>,
}

/// Writes a line to stderr.
pub(crate) fn note(text: &str) {
    let lines: Vec<String> = text.trim_end().lines().map(printable).collect();
    // A closed stderr is no error of the program.
    let _ = writeln!(std::io::stderr(), "CUDA emulator: {}", lines.join("\n  "));
}

/// As [`note`], the first time that there is this text.
pub(crate) fn note_once(text: &str) {
    static KNOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if KNOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned()) {
        note(text);
    }
}

/// Notes once that something is missing.
pub(crate) fn unsupported(what: &str) {
    note_once(&format!("{what} is not supported"));
}

/// Notes that bytes are copied to the host that nothing has written.
pub(crate) fn uninitialised_copy(first: usize, bytes: usize) {
    static NOTED: AtomicU32 = AtomicU32::new(0);
    if NOTED.fetch_add(1, Relaxed) < MAX_COPY_NOTES {
        note(&format!(
            "a copy of {bytes} bytes to the host reads memory that no kernel, copy or fill has written, from byte {first} on"
        ));
    }
}

/// The name of a kernel without what a compiler adds to it: that of C++ or of Numba is mangled, and names its arguments' types.
pub(crate) fn short_name(kernel: &str) -> String {
    let Some(rest) = kernel.strip_prefix("_Z") else { return kernel.to_owned() };
    let (is_nested, mut rest) = rest.strip_prefix('N').map_or((false, rest), |rest| (true, rest));
    let mut name = None;
    while let Some(digits) = rest.find(|character: char| !character.is_ascii_digit()).filter(|digits| *digits > 0) {
        let (length, after) = rest.split_at(digits);
        let length = length.parse().ok().filter(|length| *length > 0);
        let Some((part, others)) = length.and_then(|length| after.split_at_checked(length)) else { break };
        name = Some(part);
        rest = others;
        if !is_nested {
            break;
        }
    }
    name.unwrap_or(kernel).to_owned()
}

impl Journal {
    pub(crate) fn new(json: Option<PathBuf>) -> Self {
        Self { json, entries: Mutex::default() }
    }

    /// Notes a launch that has ended without a fault.
    pub(crate) fn ran(&self, report: &LaunchReport) {
        for note in &report.notes {
            let mut fault = note.fault.clone();
            source::add_line(&mut fault);
            fault.kernel = short_name(&report.kernel).into();
            note_once(&format!("{}note: {fault} [{}]", location(&fault), fault.kind.id()));
        }
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let kernel = entries.kernel(&report.kernel);
        kernel.launches += 1;
        kernel.thread_instructions += report.thread_instructions();
        kernel.warp_instructions += report.warp_instructions();
    }

    /// Reports a launch that has failed, on a device with this ordinal if there are several.
    pub(crate) fn failed(
        &self,
        (kernel, config): (&str, LaunchConfig),
        device: Option<usize>,
        code: Error,
        error: LaunchError,
    ) {
        let name = short_name(kernel);
        let LaunchError::Fault(fault) = error else { return note(&format!("{}: {error}", code.name())) };
        let others = fault.others.clone();
        let faults = [vec![*fault], others].concat();
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.kernel(kernel).launches += 1;
        let LaunchConfig { grid, block, .. } = config;
        let mut text = format!("{} in the launch of {name} (grid {grid}, block {block})", code.name());
        if let Some(ordinal) = device {
            text += &format!(" on device {ordinal}");
        }
        let lacks_lines = faults.iter().any(|fault| fault.place.source.is_none());
        for mut fault in faults {
            source::add_line(&mut fault);
            fault.kernel = name.as_str().into();
            text += &format!("\n{}error: {fault} [{}]", location(&fault), fault.kind.id());
            entries.faults.push(FaultReport::new(&fault, code));
        }
        drop(entries);
        note(&text);
        if lacks_lines {
            note_once(&format!("hint: {}", ptx_interpreter::HOW_TO_GET_LINES));
        }
        self.write();
    }

    /// The report of the process.
    pub(crate) fn report(&self) -> Report {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        Report::new(entries.kernels.values().cloned().collect(), entries.faults.clone())
    }

    /// Writes the report, if the environment asks for it.
    pub(crate) fn write(&self) {
        let Some(path) = &self.json else { return };
        let text = serde_json::to_string_pretty(&self.report()).unwrap_or_default();
        if let Err(error) = std::fs::write(path, text + "\n") {
            note_once(&format!("{}: {error}", path.display()));
        }
    }
}

impl Entries {
    fn kernel(&mut self, name: &str) -> &mut KernelReport {
        let name = short_name(name);
        let new = || KernelReport { kernel: name.clone(), ..KernelReport::default() };
        self.kernels.entry(name.clone()).or_insert_with(new)
    }
}

/// "FILE:LINE: " of the source, as compilers write it.
fn location(fault: &Fault) -> String {
    let source = fault.place.source.as_ref().map(source::of_user);
    source.map(|source| format!("{}:{}: ", source.file, source.line)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::short_name;

    #[test]
    fn mangled_names_are_shortened() {
        let numba = "_ZN6cudapy8__main__10max_kernelB2v1B94cw51cXTLSUwv1sCUt9Uw1VEw0NRRQPKzLTg4gaGKFsG2oMQGEYakJSQB1PQBk0Bynm21OiwU1a0UoLGhDpQE8oxrNQE_3dE5ArrayIiLi1E1C7mutable7alignedE";
        for (mangled, name) in [
            ("max_kernel", "max_kernel"),
            ("_Z6squarePfi", "square"),
            ("_ZN4nets5layer7forwardEPf", "forward"),
            (numba, "max_kernel"),
            ("_Z", "_Z"),
            ("_Z99short", "_Z99short"),
            // The name's end is beyond an address, beyond 64 bits, and within a character.
            ("_Z18446744073709551615short", "_Z18446744073709551615short"),
            ("_Z99999999999999999999short", "_Z99999999999999999999short"),
            ("_ZN4nets18446744073709551600layerE", "nets"),
            ("_Z1λ", "_Z1λ"),
            ("_Z0f", "_Z0f"),
            ("_ZN5", "_ZN5"),
        ] {
            assert_eq!(short_name(mangled), name);
        }
    }

    proptest! {
        #[test]
        fn any_name_is_shortened_to_a_part_of_it(name in "(_Z|_R|)N?([0-9]{0,21}\\PC{0,6}){0,5}") {
            prop_assert!(name.contains(&short_name(&name)));
        }
    }
}
