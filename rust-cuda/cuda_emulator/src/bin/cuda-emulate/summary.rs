//! Summary of what a program's processes launched.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use cuda_emulator::Report;
use cuda_launch::counted;

/// Merges the reports in a folder. A process that was killed has written none.
pub(crate) fn collect(folder: &Path) -> Report {
    let mut files: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    let mut all = Report::default();
    for file in files {
        if let Some(report) = fs::read(file).ok().and_then(|text| serde_json::from_slice(&text).ok()) {
            all.add(report);
        }
    }
    all
}

/// Describes the report: one line for the total, one for each kernel and one for each error. With
/// `fidelity`, a kernel's line lists its inexact instructions.
pub(crate) fn describe(report: &Report, fidelity: bool) -> String {
    let counted = |count: u64, noun| counted(count as usize, noun);
    let launches: u64 = report.kernels.iter().map(|kernel| kernel.launches).sum();
    let instructions: u64 = report.kernels.iter().map(|kernel| kernel.thread_instructions).sum();
    let mut text = format!(
        "CUDA emulator: {}, {}, {}, {}\n",
        counted(report.kernels.len() as u64, "kernel"),
        counted(launches, "launch"),
        counted(instructions, "instruction"),
        counted(report.faults.len() as u64, "fault")
    );
    for kernel in &report.kernels {
        let _ = writeln!(
            text,
            "  {}: {}, {} of threads",
            kernel.kernel,
            counted(kernel.launches, "launch"),
            counted(kernel.thread_instructions, "instruction")
        );
        for (instruction, count) in kernel.inexact.iter().filter(|_| fidelity) {
            let _ = writeln!(text, "    {instruction}; {count} of threads");
        }
    }
    if report.live_buffers > 0 {
        let (buffers, bytes) = (counted(report.live_buffers, "buffer"), report.live_bytes);
        let _ = writeln!(text, "  {buffers} of the device, {bytes} bytes together, not freed at the end");
    }
    for fault in &report.faults {
        let _ = write!(text, "  {}: error: {} in {}", fault.location, fault.rule, fault.kernel);
        let _ = match (fault.count, fault.launches) {
            (1, _) => writeln!(text),
            (count, 1) => writeln!(text, ": {count} times"),
            (count, launches) => writeln!(text, ": {count} times in {launches} launches"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuda_emulator::{FaultReport, KernelReport, PlaceReport};

    #[test]
    fn processes_are_summed_up() {
        let folder = tempfile::tempdir().unwrap();
        let kernel = KernelReport {
            kernel: "max_kernel".to_owned(),
            launches: 1,
            thread_instructions: 40,
            warp_instructions: 2,
            inexact: [("skipped: nanosleep.u32".to_owned(), 8)].into(),
        };
        let place = PlaceReport { ptx_line: 40, file: Some("race.py".to_owned()), line: Some(13) };
        let fault = FaultReport {
            rule: "race".to_owned(),
            error: "CUDA_ERROR_LAUNCH_FAILED".to_owned(),
            kernel: "max_kernel".to_owned(),
            block: [0; 3],
            thread: [0; 3],
            place,
            other_place: None,
            location: "race.py:13".to_owned(),
            count: 31,
            launches: 1,
            message: String::new(),
        };
        let report = Report { kernels: vec![kernel], faults: vec![fault], live_buffers: 1, live_bytes: 8 };
        for process in ["1.json", "2.json"] {
            fs::write(folder.path().join(process), serde_json::to_string(&report).unwrap()).unwrap();
        }
        fs::write(folder.path().join("3.json"), "{").unwrap();
        let report = collect(folder.path());
        let text = describe(&report, false);
        let whole = "CUDA emulator: 1 kernel, 2 launches, 80 instructions, 1 fault\n";
        let buffers = "  2 buffers of the device, 16 bytes together, not freed at the end\n";
        let kernel = "  max_kernel: 2 launches, 80 instructions of threads\n";
        assert_eq!(
            text,
            format!("{whole}{kernel}{buffers}  race.py:13: error: race in max_kernel: 62 times in 2 launches\n")
        );
        let skipped = "    skipped: nanosleep.u32; 16 of threads\n";
        assert_eq!(describe(&report, true), text.replace(kernel, &format!("{kernel}{skipped}")));
    }
}
