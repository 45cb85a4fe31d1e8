//! Sessions: where a launch stops, what is seen there, and the way back.

use crate::support::{self, Seen, TILE_ROWS, matmul, max, run, seeded_bug, x};
use kernel_debugger::{End, Resume, StopReason};
use ptx_interpreter::{Fault, FaultKind};

const TILES: &str = "/home/user/course/kernels-gpu/src/product/rung3_shared_tiles.rs";

/// Line of a kernel's file with this text, from 1.
fn line_with(path: &str, text: &str, number: usize) -> u32 {
    let source = std::fs::read_to_string(format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let mut lines = source.lines().enumerate().filter(|(_, line)| line.contains(text));
    lines.nth(number).unwrap().0 as u32 + 1
}

pub(crate) fn barrier_line(number: usize) -> u32 {
    line_with("kernels-gpu/src/product/rung3_shared_tiles.rs", "thread::sync_threads()", number)
}

/// The homework's product: a breakpoint after the tiles' stores, their values, over the barrier, back, and to the end.
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
        |breakpoints, lines| assert_eq!(breakpoints.set_lines(lines, TILES, [(barrier, None)]), [Some(barrier)]),
        |number, seen, stopped, breakpoints| match number {
            0 => {
                assert_eq!((&seen.reason, seen.time, seen.warp), (&StopReason::Entry, 0, (0, 0)));
                Resume::Continue
            }
            // Each warp stops at the barrier once; then both tiles are complete.
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
                breakpoints.set_lines(stopped.lines, TILES, []);
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
    // The end's values are those of the definition.
    let out = launch.read("out");
    for (row, column) in (0..TILE_ROWS).flat_map(|row| (0..TILE_ROWS).map(move |column| (row, column))) {
        let sum: f32 = (0..40).map(|p| x(row, p) * x(column, p)).sum();
        assert_eq!(f32::from_le_bytes(out[row * TILE_ROWS + column]), sum);
    }
}

/// From any stop, forward steps come to the same places as before.
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
        |breakpoints, lines| _ = breakpoints.set_lines(lines, TILES, [(barrier, None)]),
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
    let launch = matmul();
    let (_, seen) = run(
        &launch,
        |_, _| {},
        |number, _, _, _| if number < 30 { Resume::StepInstruction } else { Resume::Quit },
        Resume::Quit,
    );
    let times: Vec<u64> = seen.iter().map(|seen| seen.time).collect();
    assert_eq!(times, (0..=30).collect::<Vec<u64>>());
}

/// A stop before an instruction whose guard excludes all lanes is at the first lane of the path.
#[test]
fn an_instruction_that_no_lane_executes_has_a_lane() {
    let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry guarded() {
        .reg .pred %p<2>;\n.reg .b32 %r<2>;
        mov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 99;\n@%p1 mov.u32 %r1, 0;\nret;\n}\n";
    let text = r#"{"ptx": "kernels.ptx", "kernel": "guarded", "block": [32, 1, 1], "arguments": []}"#;
    let mut executing = Vec::new();
    run(
        &support::case(ptx, text),
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

/// The kernels with a seeded bug: the launch, and the line of the fault.
pub(crate) fn seeded_bugs() -> Vec<(&'static str, support::Case, u32)> {
    let unwritten = |name: &str, ty: &str, length: usize| {
        format!(r#"{{"name": "{name}", "type": "{ty}", "shape": [{length}], "values": "unwritten"}}"#)
    };
    let index = |name: &str, ty: &str, length: usize| unwritten(name, ty, length).replace("unwritten", "index");
    let value = |name: &str, value: u32| format!(r#"{{"name": "{name}", "type": "u32", "value": {value}}}"#);
    let out = unwritten("out", "u32", 64);
    let swapped =
        [index("x", "f32", 15), value("rows", 3), value("columns", 5), unwritten("out", "f32", 15)].join(", ");
    let bugs = [
        ("off_by_one", 4, [256, 1], [index("x", "f32", 1000), unwritten("out", "f32", 1000)].join(", ")),
        ("missing_barrier", 1, [64, 1], out.clone()),
        ("missing_second_barrier", 1, [64, 1], out.clone()),
        ("barrier_in_a_branch", 3, [64, 1], out.clone()),
        ("two_barriers", 1, [64, 1], String::new()),
        ("swapped_index", 1, [8, 8], swapped),
        ("unwritten_shared", 1, [48, 1], unwritten("out", "f32", 1)),
        ("accumulates_into_nothing", 2, [32, 1], [index("x", "f32", 64), unwritten("out", "f32", 64)].join(", ")),
        ("one_cell_for_all_blocks", 4, [32, 1], unwritten("out", "f32", 1)),
        ("reads_the_next_block", 8, [1, 1], index("values", "f32", 8)),
        ("wrong_lane", 1, [64, 1], out.clone()),
        ("lanes_that_left", 1, [32, 1], out),
        ("panics", 1, [4, 1], [index("divisors", "u32", 4), unwritten("out", "u32", 4)].join(", ")),
    ];
    let bug = |(kernel, blocks, block, arguments): (_, _, _, String)| {
        (kernel, seeded_bug(kernel, blocks, block, &arguments), seeded_bugs::marked_line(kernel).unwrap())
    };
    bugs.into_iter().map(bug).collect()
}

/// Each seeded bug: the session stops at its line before the fault ends the launch, and steps back from there.
#[test]
fn every_seeded_bug_stops_the_session_at_its_line() {
    if support::is_stale() {
        return;
    }
    for (kernel, launch, line) in seeded_bugs() {
        let fault = stops_at_the_fault(kernel, &launch, line);
        let is_race = kernel.starts_with("missing_second") || kernel.ends_with("block");
        assert!(!is_race || is_race_of_two_threads(&fault), "{kernel}: {fault}");
    }
}

/// The cooperative kernels with a bug around the grid's barrier: the launch, and the line of the fault.
pub(crate) fn bugs_around_the_grid_barrier() -> Vec<(&'static str, support::Case, u32)> {
    let buffer = |name: &str, length: usize, values: &str| {
        format!(r#"{{"name": "{name}", "type": "u32", "shape": [{length}], "values": "{values}"}}"#)
    };
    let zeros = |name: &str, length: usize| buffer(name, length, "zeros");
    let barrier = zeros("barrier", 1);
    let elements = r#"{"name": "elements", "type": "u32", "value": 100}"#;
    let bugs = [
        ("missing_grid_barrier", 8, 1, [zeros("values", 8), barrier.clone()].join(", ")),
        ("race_in_a_later_epoch", 4, 1, [zeros("values", 4), barrier.clone()].join(", ")),
        ("barrier_of_the_block", 2, 32, [zeros("values", 64), zeros("out", 64)].join(", ")),
        ("block_that_returns", 5, 32, format!("{elements}, {barrier}")),
        ("one_round_more", 3, 40, barrier.clone()),
        ("two_states", 2, 8, [zeros("a", 1), zeros("b", 1)].join(", ")),
        ("threads_that_return", 4, 32, format!("{elements}, {barrier}")),
        ("block_or_grid", 2, 32, barrier.clone()),
        ("warp_or_grid", 2, 32, barrier.clone()),
        ("waits", 2, 32, buffer("barrier", 1, "unwritten")),
        ("writes_the_state", 3, 2, barrier.clone()),
        ("panics_after_the_barrier", 3, 4, [barrier, zeros("out", 3)].join(", ")),
    ];
    let bug = |(kernel, blocks, threads, arguments): (_, _, _, String)| {
        let line = seeded_bugs::cooperative::marked_line(kernel).unwrap();
        // The race is found when the other block's value is read.
        let line = if kernel == "barrier_of_the_block" { line + 2 } else { line };
        (kernel, support::seeded_grid_bug(kernel, blocks, threads, &arguments), line)
    };
    bugs.into_iter().map(bug).collect()
}

#[test]
fn each_bug_around_the_grid_barrier_stops_at_its_line() {
    if support::is_stale() {
        return;
    }
    for (kernel, launch, line) in bugs_around_the_grid_barrier() {
        let fault = stops_at_the_fault(kernel, &launch, line);
        let is_race = ["missing_grid_barrier", "race_in_a_later_epoch", "barrier_of_the_block"].contains(&kernel);
        assert!(!is_race || is_race_of_two_threads(&fault), "{kernel}: {fault}");
    }
}

/// Runs a launch to its fault, a line back and on again. Returns the fault, which is that of `line` both times.
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
fn is_race_of_two_threads(fault: &Fault) -> bool {
    match &fault.kind {
        FaultKind::Race { other_thread, other_block, .. }
        | FaultKind::SameValueRace { other_thread, other_block, .. } => {
            (*other_block, *other_thread) != (fault.block, fault.thread)
        }
        _ => false,
    }
}

/// Breakpoints with conditions, at the kernel's entry and at a line, forwards and backwards.
#[test]
fn a_breakpoint_stops_where_its_condition_holds() {
    if support::is_stale() {
        return;
    }
    let launch = max();
    let path = "kernels-gpu/src/maximum.rs";
    let line = line_with(path, "out.set", 0);
    let condition = |text: &str| Some(text.parse().unwrap());
    let (end, seen) = run(
        &launch,
        |breakpoints, lines| {
            let set = breakpoints.set_lines(lines, path, [(line, condition("block == 3 && lane == 27 && warp < 2"))]);
            assert_eq!(set, [Some(line)]);
            breakpoints.set_entry(Some(condition("thread.x == 64 && block.x == 2 && out_ == 1")));
        },
        |number, _, stopped, breakpoints| match number {
            // All comparisons before the one with an unknown name hold.
            1 => {
                assert!(matches!(&stopped.stop.reason, StopReason::BadCondition(text) if text.contains("`out_`")));
                breakpoints.set_entry(Some(condition("thread.x == 64 && block.x == 399 || a[399][0] < 0")));
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
            // The first question, at time 65,536, is answered with yes.
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
