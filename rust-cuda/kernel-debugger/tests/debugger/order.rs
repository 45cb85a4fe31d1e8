//! The order in which warps execute: by source lines, round-robin, or one warp after the other.

use std::ops::ControlFlow;
use std::process::Command;

use kernel_debugger::Lines;
use kernel_launch::Launch;
use ptx_interpreter::{Fault, FaultKind, LaunchError, ObservedAccess, Observer, Step, StoppedBlock};

use crate::support::{self, Case};

/// Warp and line of each instruction of block 0, in the order of execution.
struct Order<'l> {
    lines: &'l Lines,
    executed: Vec<(u32, u32)>,
}

impl Observer for Order<'_> {
    fn stops_before(&mut self, step: Step) -> bool {
        if step.block == 0 {
            self.executed.push((step.warp, self.lines.source(step.pc).map_or(0, |(_, line)| line)));
        }
        false
    }

    fn stop(&mut self, _: Step, _: &StoppedBlock<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn fault(&mut self, _: &Fault, _: &StoppedBlock<'_>) {}

    fn access(&mut self, _: ObservedAccess) {}
}

/// The lines that warps execute, in execution order, and the fault.
fn turns(launch: &Launch) -> (Vec<(u32, u32)>, Option<Box<Fault>>) {
    let lines = Lines::new(launch);
    let mut order = Order { lines: &lines, executed: Vec::new() };
    let fault = match launch.run(&mut order) {
        Ok(_) => None,
        Err(LaunchError::Fault(fault)) => Some(fault),
        Err(error) => panic!("{error}"),
    };
    let mut turns = order.executed;
    turns.dedup();
    (turns, fault)
}

fn race(order: &str) -> Case {
    let out = r#"{"name": "out", "type": "u32", "shape": [64], "values": "unwritten"}"#;
    let text = support::seeded_bug_file("missing_second_barrier", 1, [64, 1], out);
    assert!(text.contains(r#""order": "warps", "#));
    Case::of(support::open(seeded_bugs::PTX[0].text(), &text.replacen(r#""order": "warps", "#, order, 1)))
}

/// Without an order in the launch file, each warp executes a line, then the next warp executes the
/// same line.
#[test]
fn warps_advance_together_line_by_line() {
    if support::is_stale() {
        return;
    }
    for case in [support::max_of([40, 16], 2, 320), race("")] {
        let (turns, _) = turns(case.launch());
        let warps = turns.iter().map(|(warp, _)| warp + 1).max().unwrap() as usize;
        assert!(turns.len() > 4 * warps, "{turns:?}");
        let rounds = turns.chunks_exact(warps);
        assert!(warps > 1 && rounds.len() > 4);
        for round in rounds {
            let expected: Vec<(u32, u32)> = (0..warps as u32).map(|warp| (warp, round[0].1)).collect();
            assert_eq!(round, expected);
        }
    }
}

#[test]
fn one_warp_after_the_other_runs_up_to_the_barrier() {
    if support::is_stale() {
        return;
    }
    let (turns, _) = turns(race(r#""order": "warps", "#).launch());
    let barrier = seeded_bugs::marked_line("overwrote").unwrap() + 1;
    let first: Vec<_> = turns.iter().take_while(|(warp, _)| *warp == 0).collect();
    assert_eq!(first.last().unwrap().1, barrier);
    assert!(first.len() > 3, "{first:?}");
}

/// Both orders find the race. With one warp ahead it is a read of overwritten data, otherwise a
/// write after a read.
#[test]
fn a_race_is_found_in_both_orders() {
    if support::is_stale() {
        return;
    }
    for (order, expected) in [
        ("", "race: writes `values[0]`, which block (0, 0, 0), thread (63, 0, 0) reads at "),
        (r#""order": "warps", "#, "race: reads `values[31]`, which block (0, 0, 0), thread (31, 0, 0) writes at "),
    ] {
        let fault = turns(race(order).launch()).1.unwrap();
        assert!(matches!(fault.kind, FaultKind::Race { .. }) && fault.to_string().contains(expected), "{fault}");
    }
}

/// The commands' option overrides the launch file's key.
#[test]
fn the_commands_take_an_order() {
    if support::is_stale() {
        return;
    }
    let directory = tempfile::TempDir::new().unwrap();
    let out = r#"{"name": "out", "type": "u32", "shape": [64], "values": "unwritten"}"#;
    let text = support::seeded_bug_file("missing_second_barrier", 1, [64, 1], out);
    let launch = support::write(directory.path(), seeded_bugs::PTX[0].text(), &text);
    let record = |options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kernel-debugger"));
        command.arg("record").arg(&launch).arg("--output").arg(directory.path().join("page.html")).args(options);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap())
    };
    let (as_in_file, by_lines) = (record(&[]), record(&["--order", "lines"]));
    assert!(as_in_file.1.contains("reads `values[31]`"), "{as_in_file:?}");
    assert!(by_lines.1.contains("writes `values[0]`"), "{by_lines:?}");
    let (code, text) = record(&["--order", "rows"]);
    assert!(code == Some(2) && text.contains("`rows` is no order: write ascending, "), "{text}");
    assert!(text.contains("or lines or warps, which are orders within a block"), "{text}");
    // The schedule that a fault names.
    let (code, text) = record(&["--order", "descending"]);
    assert!(code == Some(0) && text.contains(" (order: descending)"), "{code:?} {text}");
}
