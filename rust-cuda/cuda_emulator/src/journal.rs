//! The emulator's output: lines on stderr and a report in JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use cuda_launch::LaunchConfig;
use ptx_interpreter::syntax::printable;
use ptx_interpreter::{Fault, LaunchError, LaunchReport};

use crate::error::Error;
use crate::names::{self, short_name};
use crate::report::{FaultReport, KernelReport, Report};
use crate::source;

/// Maximum number of notes about copies of uninitialized memory.
const MAX_COPY_NOTES: u32 = 10;

/// Maximum number of failed launches kept for a program that asks for them.
const MAX_FAILED: usize = 100;

/// Events since the driver was initialized.
#[derive(Debug)]
pub(crate) struct Journal {
    json: Option<PathBuf>,
    /// The file that lists the calls.
    calls: Option<Mutex<File>>,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    /// By name in the PTX.
    kernels: BTreeMap<String, KernelReport>,
    /// Each with its kernel's name in the PTX.
    faults: Vec<(String, FaultReport)>,
    live_buffers: u64,
    live_bytes: u64,
    /// Messages of the failed launches since the last [`Journal::take_failed`].
    failed: Vec<String>,
}

/// Writes a line to stderr.
pub(crate) fn note(text: &str) {
    let lines: Vec<String> = text.trim_end().lines().map(printable).collect();
    // A closed stderr is not an error of the program.
    let _ = writeln!(std::io::stderr(), "CUDA emulator: {}", lines.join("\n  "));
}

/// Formats texts as printable lines.
pub(crate) fn lines(texts: &[String]) -> String {
    texts.iter().flat_map(|text| text.lines()).map(|line| printable(line) + "\n").collect()
}

/// Like [`note`], but prints each text only once.
pub(crate) fn note_once(text: &str) {
    static KNOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if KNOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned()) {
        note(text);
    }
}

/// Notes once that something is not supported.
pub(crate) fn unsupported(what: &str) {
    note_once(&format!("{what} is not supported"));
}

/// Notes a copy of uninitialized bytes to the host.
pub(crate) fn uninitialised_copy(first: usize, bytes: usize) {
    static NOTED: AtomicU32 = AtomicU32::new(0);
    if NOTED.fetch_add(1, Relaxed) < MAX_COPY_NOTES {
        note(&format!(
            "a copy of {bytes} bytes to the host reads memory that no kernel, copy or fill has written, from byte {first} on"
        ));
    }
}

impl Journal {
    /// A journal that writes a report to `json` and the calls to `calls`.
    pub(crate) fn new(json: Option<PathBuf>, calls: Option<&Path>) -> Self {
        let calls = calls.and_then(|path| {
            let file = File::create(path);
            file.map(Mutex::new).inspect_err(|error| note(&format!("{}: {error}", path.display()))).ok()
        });
        Self { json, calls, entries: Mutex::default() }
    }

    /// Adds a call of the function `name` to the list of calls, if there is one.
    pub(crate) fn called(&self, name: &str) {
        let Some(calls) = &self.calls else { return };
        let mut file = calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = writeln!(file, "{name}") {
            note_once(&format!("the list of driver calls: {error}"));
        }
    }

    /// Records a launch that ended without an error.
    pub(crate) fn ran(&self, report: &LaunchReport) {
        report.notes.iter().for_each(|fault| note_once(&line("note", fault.clone()).1));
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let kernel = entries.kernel(&report.kernel);
        kernel.launches += 1;
        kernel.thread_instructions += report.thread_instructions();
        kernel.warp_instructions += report.warp_instructions();
        kernel.add_inexact(report.inexact().into_iter().map(|inexact| (inexact.without_count(), inexact.count)));
    }

    /// Reports a failed launch, with its device's ordinal if there are several. Errors at lines
    /// already reported for earlier launches are only counted in the report.
    pub(crate) fn failed(
        &self,
        (kernel, config): (&str, LaunchConfig),
        device: Option<usize>,
        code: Error,
        error: LaunchError,
    ) {
        let LaunchError::Fault(fault) = error else { return note(&format!("{}: {error}", code.name())) };
        let (faults, notes) = fault.into_all();
        let LaunchConfig { grid, block, .. } = config;
        let mut text = format!("{} in the launch of {} (grid {grid}, block {block})", code.name(), short_name(kernel));
        if let Some(ordinal) = device {
            text += &format!(" on device {ordinal}");
        }
        let lacks_lines = faults.iter().any(|fault| fault.place.source.is_none());
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.kernel(kernel).launches += 1;
        let mut are_known = true;
        for fault in faults {
            let (fault, line) = line("error", fault);
            text += &format!("\n{line}");
            are_known &= entries.add(kernel, FaultReport::new(&fault, code));
        }
        if !are_known {
            note(&text);
        }
        if entries.failed.len() < MAX_FAILED {
            entries.failed.push(text);
        }
        drop(entries);
        notes.into_iter().for_each(|fault| note_once(&line("note", fault).1));
        if lacks_lines {
            note_once(&format!("hint: {}", ptx_interpreter::HOW_TO_GET_LINES));
        }
        self.write();
    }

    /// The messages of up to [`MAX_FAILED`] failed launches since the last call.
    pub(crate) fn take_failed(&self) -> Vec<String> {
        std::mem::take(&mut self.entries.lock().unwrap_or_else(PoisonError::into_inner).failed)
    }

    /// The process's report.
    pub(crate) fn report(&self) -> Report {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let names = names::names(entries.kernels.keys().map(String::as_str));
        let name = |kernel: &str| names.get(kernel).cloned().unwrap_or_else(|| short_name(kernel));
        let kernels =
            entries.kernels.iter().map(|(kernel, report)| KernelReport { kernel: name(kernel), ..report.clone() });
        let faults = entries.faults.iter().map(|(kernel, fault)| FaultReport { kernel: name(kernel), ..fault.clone() });
        let (live_buffers, live_bytes) = (entries.live_buffers, entries.live_bytes);
        Report { kernels: kernels.collect(), faults: faults.collect(), live_buffers, live_bytes }
    }

    /// Writes the report at the end of the process, with the number of device buffers that are not
    /// freed and their size in bytes.
    pub(crate) fn end(&self, (buffers, bytes): (u64, u64)) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        (entries.live_buffers, entries.live_bytes) = (buffers, bytes);
        drop(entries);
        self.write();
    }

    /// Writes the report if the environment asks for it.
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
        self.kernels.entry(name.to_owned()).or_default()
    }

    /// Adds a kernel's error, or counts it if it is already known. Returns whether it is known.
    fn add(&mut self, kernel: &str, fault: FaultReport) -> bool {
        let known = self.faults.iter_mut().find(|(of, known)| of == kernel && known.is_at_line_of(&fault));
        let is_known = known.is_some();
        match known {
            Some((_, known)) => known.count_with(&fault),
            None => self.faults.push((kernel.to_owned(), fault)),
        }
        is_known
    }
}

/// The error with the source line and the kernel's name from the source, and its text in compiler
/// format: "FILE:LINE: error: FAULT".
fn line(level: &str, mut fault: Fault) -> (Fault, String) {
    source::add_line(&mut fault);
    fault.kernel = short_name(&fault.kernel).into();
    let location = source::location(&fault).map(|location| location + ": ").unwrap_or_default();
    let text = format!("{location}{level}: {fault} [{}]", fault.kind.id());
    (fault, text)
}
