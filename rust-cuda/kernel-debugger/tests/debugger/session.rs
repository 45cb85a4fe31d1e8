//! Sessions: where a launch stops, what is visible there, and how it goes back.

use crate::support::{self, Seen, TILE_ROWS, matmul, max, run, x};
use kernel_debugger::{Breakpoint, End, Resume, StopReason};
use ptx_interpreter::{Fault, FaultKind};

const TILES: &str = "/home/user/course/rust-cuda/test_kernels/src/stepping.rs";

/// Line of a kernel's file with this text, from 1.
pub(crate) fn line_with(path: &str, text: &str, number: usize) -> u32 {
    let source = std::fs::read_to_string(format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let mut lines = source.lines().enumerate().filter(|(_, line)| line.contains(text));
    lines.nth(number).unwrap().0 as u32 + 1
}

pub(crate) fn barrier_line(number: usize) -> u32 {
    line_with("test_kernels/src/stepping.rs", "thread::sync_threads()", number)
}

/// The homework's product: stops after the tiles' stores, shows their values, steps over the
/// barrier, goes back and runs to the end.
#[test]
fn a_tile_is_seen_and_stepped_over_in_both_directions() {
    if support::is_stale() {
        return;
    }
    let launch = matmul();
    let barrier = barrier_line(0);
    let mut at_barrier = None;
    let (end, seen) = run(
        &launch,
        |breakpoints, lines| {
            assert_eq!(breakpoints.set_lines((launch.launch(), lines), TILES, [(barrier, None)]), [Ok(barrier)]);
        },
        |number, seen, stopped, breakpoints| match number {
            0 => {
                assert_eq!((&seen.reason, seen.time, seen.warp), (&StopReason::Entry, 0, (0, 0)));
                Resume::Continue
            }
            // Each warp stops at the barrier once. Then both tiles are complete.
            1..=32 => {
                assert_eq!((&seen.reason, seen.line), (&StopReason::Breakpoint, barrier));
                assert_eq!(seen.warp, (0, number as u32 - 1));
                if number < 32 {
                    return Resume::Continue;
                }
                for tile in stopped.block.shared() {
                    assert_eq!(tile.extent.bytes, 32 * 33 * 4);
                    for (row, column) in (0..32).flat_map(|row| (0..32).map(move |column| (row, column))) {
                        let mut bytes = [0; 4];
                        tile.read((row * 33 + column) * 4, &mut bytes).unwrap();
                        assert_eq!(f32::from_le_bytes(bytes), x(row, column));
                    }
                    assert!(!tile.is_written(32 * 4, 4), "nothing is written to the padding");
                }
                breakpoints.set_lines((stopped.launch, stopped.lines), TILES, []);
                at_barrier = Some(seen.time);
                Resume::StepLine
            }
            33 => {
                assert_eq!((&seen.reason, seen.warp), (&StopReason::Step, (0, 31)));
                assert!(seen.line > barrier && Some(seen.time) > at_barrier, "{seen:?}");
                Resume::StepBack
            }
            34 => {
                assert_eq!((seen.line, Some(seen.time), seen.warp), (barrier, at_barrier, (0, 31)));
                Resume::ToBarrier
            }
            35 => {
                assert_eq!((seen.line, seen.warp), (barrier_line(1), (0, 31)));
                Resume::Continue
            }
            _ => panic!("a stop without a breakpoint: {seen:?}"),
        },
        Resume::Quit,
    );
    assert_eq!((end, seen.len()), (End::Completed, 36));
    // The final values match the definition.
    let out = launch.read("out");
    for (row, column) in (0..TILE_ROWS).flat_map(|row| (0..TILE_ROWS).map(move |column| (row, column))) {
        let sum: f32 = (0..40).map(|p| x(row, p) * x(column, p)).sum();
        assert_eq!(f32::from_le_bytes(out[row * TILE_ROWS + column]), sum);
    }
}

/// From any stop, forward steps reach the same places as before.
#[test]
fn every_way_back_and_forth_leads_to_the_same_stops() {
    if support::is_stale() {
        return;
    }
    let launch = matmul();
    let (_, forward) = run(
        &launch,
        |_, _| {},
        |number, _, _, _| if number < 40 { Resume::StepLine } else { Resume::Quit },
        Resume::Quit,
    );
    assert_eq!(forward.len(), 41);
    assert!(forward.windows(2).all(|pair| pair[0].time < pair[1].time && pair[0].line != pair[1].line));
    let steps = |number| match number {
        0..10 | 20..25 | 30..50 => Resume::StepLine,
        10..20 | 25..30 => Resume::StepBack,
        _ => Resume::Quit,
    };
    let (_, mixed) = run(&launch, |_, _| {}, |number, _, _, _| steps(number), Resume::Quit);
    // Stops 0 to 10 go forward and 10 to 20 back.
    assert_eq!(mixed[..11], forward[..11]);
    let places = |seen: &[Seen]| seen.iter().map(|seen| (seen.time, seen.line)).collect::<Vec<_>>();
    let mut back = places(&forward[..10]);
    back.reverse();
    assert_eq!(places(&mixed[11..21]), back);
    assert_eq!(places(&mixed[21..26]), places(&forward[1..6]));
    assert_eq!(places(&mixed[31..51]), places(&forward[1..21]));
}

#[test]
fn back_to_the_previous_breakpoint_and_to_the_beginning() {
    if support::is_stale() {
        return;
    }
    let launch = matmul();
    let barrier = barrier_line(1);
    let mut times = Vec::new();
    let (end, _) = run(
        &launch,
        |breakpoints, lines| _ = breakpoints.set_lines((launch.launch(), lines), TILES, [(barrier, None)]),
        |number, seen, _, _| {
            times.push(seen.time);
            match number {
                0..3 => Resume::Continue,
                3..6 => Resume::ContinueBack,
                6 => Resume::Restart,
                _ => Resume::Quit,
            }
        },
        Resume::Quit,
    );
    assert_eq!(end, End::Quit);
    let [start, first, second, third, ..] = times[..] else { panic!("{times:?}") };
    assert_eq!(times, [start, first, second, third, second, first, start, start]);
}

#[test]
fn a_step_by_instruction_is_the_smallest() {
    if support::is_stale() {
        return;
    }
    let launch = support::matmul_by_warps();
    let (_, seen) = run(
        &launch,
        |_, _| {},
        |number, _, _, _| if number < 30 { Resume::StepInstruction } else { Resume::Quit },
        Resume::Quit,
    );
    let times: Vec<u64> = seen.iter().map(|seen| seen.time).collect();
    assert_eq!(times, (0..=30).collect::<Vec<u64>>());
}

/// Before an instruction with a guard that excludes all lanes, the stop is at the first lane of the
/// path.
#[test]
fn an_instruction_that_no_lane_executes_has_a_lane() {
    let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry guarded() {
        .reg .pred %p<2>;\n.reg .b32 %r<2>;
        mov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 99;\n@%p1 mov.u32 %r1, 0;\nret;\n}\n";
    let text = r#"{"ptx": "kernels.ptx", "kernel": "guarded", "block": [32, 1, 1], "arguments": []}"#;
    let mut executing = Vec::new();
    run(
        &support::Case::open(ptx, text),
        |_, _| {},
        |_, _, stopped, _| {
            executing.push(stopped.stop.step.lanes);
            assert_eq!(stopped.stop.lane, 0);
            Resume::StepInstruction
        },
        Resume::Quit,
    );
    assert_eq!(executing, [u32::MAX, u32::MAX, 0, u32::MAX]);
}

/// For each seeded bug, the session stops at its line before the fault ends the launch, and steps
/// back from there.
#[test]
fn every_seeded_bug_stops_the_session_at_its_line() {
    if support::is_stale() {
        return;
    }
    for (kernel, launch, line) in support::block_bugs() {
        let fault = stops_at_the_fault(kernel, &launch, line);
        let is_race = kernel.starts_with("missing_second") || kernel.ends_with("block");
        assert!(!is_race || is_race_of_two_threads(&fault), "{kernel}: {fault}");
    }
}

#[test]
fn each_bug_around_the_grid_barrier_stops_at_its_line() {
    if support::is_stale() {
        return;
    }
    for (kernel, launch, line) in support::grid_bugs() {
        let fault = stops_at_the_fault(kernel, &launch, line);
        let is_race = ["missing_grid_barrier", "race_in_a_later_epoch", "barrier_of_the_block"].contains(&kernel);
        assert!(!is_race || is_race_of_two_threads(&fault), "{kernel}: {fault}");
    }
}

/// Runs a launch to its fault, back one line and forward again. Returns the fault, which must be at
/// `line` both times.
#[track_caller]
fn stops_at_the_fault(kernel: &str, launch: &support::Case, line: u32) -> Fault {
    let (end, seen) = run(
        launch,
        |_, _| {},
        |number, _, _, _| if number == 1 { Resume::StepBack } else { Resume::Continue },
        Resume::Quit,
    );
    let [entry, at_fault, before, again] = &seen[..] else { panic!("{kernel}: {seen:?}") };
    let StopReason::Fault(fault) = &at_fault.reason else { panic!("{kernel}: {at_fault:?}") };
    assert_eq!((&entry.reason, at_fault.line), (&StopReason::Entry, line), "{kernel}: {fault}");
    assert_eq!(at_fault.warp.1, fault.thread.x / 32, "{kernel}");
    assert!(before.time < at_fault.time && before.warp == at_fault.warp, "{kernel}: {seen:?}");
    assert_eq!((again, end), (at_fault, End::Fault(fault.clone())), "{kernel}");
    Fault::clone(fault)
}

/// Whether a fault is a race that names two different threads.
pub(crate) fn is_race_of_two_threads(fault: &Fault) -> bool {
    match &fault.kind {
        FaultKind::Race { other_thread, other_block, .. }
        | FaultKind::SameValueRace { other_thread, other_block, .. } => {
            (*other_block, *other_thread) != (fault.block, fault.thread)
        }
        _ => false,
    }
}

/// Breakpoints with conditions, at the kernel's entry and at a line, forward and backward.
#[test]
fn a_breakpoint_stops_where_its_condition_holds() {
    if support::is_stale() {
        return;
    }
    let launch = max();
    let path = "test_kernels/src/stepping.rs";
    let line = line_with(path, "out.set", 0);
    let condition = |text: &str| Some(text.parse().unwrap());
    let at = |text: &str| Breakpoint { condition: condition(text) };
    let (end, seen) = run(
        &launch,
        |breakpoints, lines| {
            let of = (launch.launch(), lines);
            let set = breakpoints.set_lines(of, path, [(line, condition("block == 3 && lane == 27 && warp < 2"))]);
            assert_eq!(set, [Ok(line)]);
            breakpoints.set_entry(of, Some(at("thread.x == 64 && block.x == 2 && out[lane + 1000][0] == 1"))).unwrap();
        },
        |number, _, stopped, breakpoints| match number {
            // All comparisons before the one with a nonexistent element hold.
            1 => {
                assert!(
                    matches!(&stopped.stop.reason, StopReason::BadCondition(text) if text == "out has no [1000]: this dimension is 0..1000")
                );
                let of = (stopped.launch, stopped.lines);
                breakpoints.set_entry(of, Some(at("thread.x == 64 && block.x == 399 || a[399][0] < 0"))).unwrap();
                Resume::Continue
            }
            2 | 3 => {
                assert_eq!((&stopped.stop.reason, stopped.stop.lane), (&StopReason::Breakpoint, 27));
                Resume::Continue
            }
            // The last block's warp 2.
            4 => {
                assert_eq!((&stopped.stop.reason, stopped.stop.lane), (&StopReason::Breakpoint, 0));
                Resume::ContinueBack
            }
            5 => Resume::Quit,
            _ => Resume::Continue,
        },
        Resume::Quit,
    );
    let warps: Vec<_> = seen.iter().map(|seen| seen.warp).collect();
    assert_eq!((end, warps), (End::Quit, vec![(0, 0), (2, 2), (3, 0), (3, 1), (399, 2), (3, 1)]), "{seen:?}");
}

#[test]
fn a_write_to_a_watched_element_stops_the_launch() {
    if support::is_stale() {
        return;
    }
    let launch = max();
    let address = launch.address("out");
    let element = 777;
    let (end, seen) = run(
        &launch,
        |breakpoints, _| {
            let first = address + element * 4;
            breakpoints.set_watches(&[(first, 4)]);
        },
        |_, _, _, _| Resume::Continue,
        Resume::Quit,
    );
    let [_, written] = &seen[..] else { panic!("{seen:?}") };
    let StopReason::Write(access) = &written.reason else { panic!("{written:?}") };
    assert_eq!((access.address, access.bytes, end), (address + element * 4, 4, End::Completed));
    // 250 threads in a block.
    assert_eq!((access.step.block, access.step.warp, access.step.lanes), (3, 0, 1 << 27));
}

#[test]
fn a_user_interrupts_and_goes_back_from_the_end() {
    if support::is_stale() {
        return;
    }
    let launch = max();
    let mut is_interrupted = false;
    let (end, seen) = support::run_interrupted(
        &launch,
        |number| {
            // Answers yes to the first poll, at time 65,536.
            std::mem::replace(&mut is_interrupted, true) || number > 0
        },
        |number, seen| match number {
            0 => Resume::Continue,
            _ => {
                assert_eq!((&seen.reason, seen.time % 65_536), (&StopReason::Pause, 0));
                Resume::Quit
            }
        },
    );
    assert_eq!(end, if seen.len() > 1 { End::Quit } else { End::Completed });
    let mut ends = vec![Resume::Quit, Resume::ContinueBack, Resume::StepBack];
    let (end, seen) = support::run_to_ends(&launch, |_, _| Resume::Continue, || ends.pop().unwrap());
    let warps: Vec<_> = seen.iter().map(|seen| seen.warp).collect();
    assert_eq!((end, warps), (End::Completed, vec![(0, 0), (399, 7), (0, 0)]));
    assert_eq!((seen[0].time, seen[2].time), (0, 0));
    assert!(seen[1].time > 10_000);
}
