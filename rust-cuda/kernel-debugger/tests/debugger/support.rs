//! Launches to debug, and a scripted front end for tests.

use std::fs;
use std::path::{Path, PathBuf};

use cuda_std::PtxVariant;
use kernel_debugger::{Breakpoints, End, Front, Lines, Resume, Session, StopReason, Stopped};
use kernel_launch::{Argument, Launch, LaunchFile};
use tempfile::TempDir;
use test_support::{Need, skip};

/// Whether the PTX is older than the kernels. The calling test is then recorded as skipped.
#[track_caller]
pub(crate) fn is_stale() -> bool {
    let reason = test_kernels::PTX.iter().chain(&seeded_bugs::PTX).find_map(PtxVariant::staleness);
    reason.inspect(|reason| skip(Need::Ptx, &format!("stale PTX: {reason}"))).is_some()
}

/// Rows of X in [`matmul`]; it has 40 columns.
pub(crate) const TILE_ROWS: usize = 48;

/// Cell of X in [`matmul`]: a small integer, so sums are exact.
pub(crate) fn x(row: usize, column: usize) -> f32 {
    ((row * 40 + column) * 7 % 11) as f32
}

/// A launch with named buffers.
pub(crate) struct Case(Launch);

impl Case {
    /// The launch described by this launch file text, beside the PTX.
    pub(crate) fn open(ptx: &str, text: &str) -> Self {
        Self(open(ptx, text))
    }

    pub(crate) fn of(launch: Launch) -> Self {
        Self(launch)
    }

    pub(crate) fn launch(&self) -> &Launch {
        &self.0
    }

    pub(crate) fn address(&self, name: &str) -> u64 {
        match self.0.arguments().iter().find(|argument| argument.name() == name) {
            Some(Argument::Buffer { address, .. }) => *address,
            other => panic!("{name} is {other:?}"),
        }
    }

    /// The 4-byte elements of a buffer.
    pub(crate) fn read(&self, name: &str) -> Vec<[u8; 4]> {
        let Some(Argument::Buffer { address, shape, .. }) =
            self.0.arguments().iter().find(|argument| argument.name() == name)
        else {
            panic!("no buffer {name}")
        };
        let mut bytes = vec![0; shape.iter().product::<usize>() * 4];
        self.0.machine().memory().read(*address, &mut bytes).unwrap();
        bytes.as_chunks().0.to_vec()
    }
}

/// Opens a launch file with this text, beside the PTX.
pub(crate) fn open(ptx: &str, text: &str) -> Launch {
    let directory = TempDir::new().unwrap();
    LaunchFile::open(&write(directory.path(), ptx, text)).unwrap_or_else(|error| panic!("{error}"))
}

/// Writes a launch file, its PTX and the PTX's names to a directory.
pub(crate) fn write(directory: &Path, ptx: &str, text: &str) -> PathBuf {
    fs::write(directory.join("kernels.ptx"), ptx).unwrap();
    let origins = [&seeded_bugs::PTX[0], &test_kernels::PTX[0]];
    let origin = origins.into_iter().find(|variant| variant.text().lines().next() == ptx.lines().next());
    if let Some(names) = origin.and_then(|variant| variant.debug_file()).and_then(|path| fs::read(path).ok()) {
        fs::write(directory.join("kernels.debug"), names).unwrap();
    }
    let path = directory.join("launch.json");
    fs::write(&path, text).unwrap();
    path
}

/// X·Xᵀ of 48 × 40, computed by the third kernel of the ladder.
pub(crate) fn matmul() -> Case {
    let (ptx, text) = matmul_files();
    Case(open(ptx, &text))
}

/// [`matmul`] that runs one warp after the other.
pub(crate) fn matmul_by_warps() -> Case {
    let (ptx, text) = matmul_files();
    Case(open(ptx, &text.replacen('{', r#"{"order": "warps", "#, 1)))
}

/// X·Xᵀ of another shape.
pub(crate) fn matmul_of(rows: usize, columns: usize) -> Case {
    let text = format!(
        r#"{{"ptx": "kernels.ptx", "kernel": "matmul_tiles_f32", "block": [1024, 1, 1], "arguments": [
            {{"name": "x", "type": "f32", "shape": [{rows}, {columns}], "values": "index"}},
            {{"name": "rows", "type": "u32", "value": {rows}}},
            {{"name": "columns", "type": "u32", "value": {columns}}},
            {{"name": "out", "type": "f32", "shape": [{rows}, {rows}], "values": "unwritten"}}]}}"#
    );
    Case(open(test_kernels::PTX[0].text(), &text))
}

/// The PTX and the launch file of [`matmul`].
pub(crate) fn matmul_files() -> (&'static str, String) {
    let values: Vec<String> = (0..TILE_ROWS * 40).map(|index| x(index / 40, index % 40).to_string()).collect();
    let text = format!(
        r#"{{"ptx": "kernels.ptx", "kernel": "matmul_tiles_f32", "block": [1024, 1, 1], "arguments": [
            {{"name": "x", "type": "f32", "shape": [{TILE_ROWS}, 40], "values": [{}]}},
            {{"name": "rows", "type": "u32", "value": {TILE_ROWS}}},
            {{"name": "columns", "type": "u32", "value": 40}},
            {{"name": "out", "type": "f32", "shape": [{TILE_ROWS}, {TILE_ROWS}], "values": "unwritten"}}]}}"#,
        values.join(", ")
    );
    (test_kernels::PTX[0].text(), text)
}

/// The maximum of 1000 × 100 elements, by 400 blocks of 250 threads.
pub(crate) fn max() -> Case {
    max_of([1000, 100], 400, 250)
}

/// The maximum of matrices of another shape.
pub(crate) fn max_of(shape: [usize; 2], grid: u32, block: u32) -> Case {
    let text = format!(
        r#"{{"ptx": "kernels.ptx", "kernel": "max_kernel", "grid": [{grid}, 1, 1], "block": [{block}, 1, 1],
            "arguments": [
            {{"name": "a", "type": "i32", "shape": {shape:?}, "values": "index"}},
            {{"name": "b", "type": "i32", "shape": {shape:?}, "values": "zeros"}},
            {{"name": "out", "type": "i32", "shape": {shape:?}, "values": "unwritten"}}]}}"#
    );
    Case(open(test_kernels::PTX[0].text(), &text))
}

/// A launch of a kernel with a bug. Races with the same value are faults too.
pub(crate) fn seeded_bug(kernel: &str, blocks: u32, block: [u32; 2], arguments: &str) -> Case {
    Case(open(seeded_bugs::PTX[0].text(), &seeded_bug_file(kernel, blocks, block, arguments)))
}

/// The launch file of [`seeded_bug`]. Warps run one after the other, so each bug shows in the
/// values.
pub(crate) fn seeded_bug_file(kernel: &str, blocks: u32, [x, y]: [u32; 2], arguments: &str) -> String {
    format!(
        r#"{{"ptx": "kernels.ptx", "kernel": "{kernel}", "grid": [{blocks}, 1, 1], "block": [{x}, {y}, 1],
            "order": "warps", "strict": true, "uninitialised": "error", "same_value_races_are_faults": true, "arguments": [{arguments}]}}"#
    )
}

/// A cooperative launch of a kernel with a bug, with a low limit of instructions per block.
pub(crate) fn seeded_grid_bug(kernel: &str, blocks: u32, threads: u32, arguments: &str) -> Case {
    Case(open(
        seeded_bugs::PTX[0].text(),
        &format!(
            r#"{{"ptx": "kernels.ptx", "kernel": "{kernel}", "grid": [{blocks}, 1, 1], "block": [{threads}, 1, 1],
                "order": "warps", "cooperative": true, "block_instructions": 32768, "strict": true, "uninitialised": "error", "same_value_races_are_faults": true,
                "arguments": [{arguments}]}}"#
        ),
    ))
}

/// Launches of all kernels with a bug, and the line of each fault.
pub(crate) fn block_bugs() -> impl Iterator<Item = (&'static str, Case, u32)> {
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
    bugs.into_iter().map(|(kernel, blocks, block, arguments)| {
        (kernel, seeded_bug(kernel, blocks, block, &arguments), seeded_bugs::marked_line(kernel).unwrap())
    })
}

/// Cooperative launches of all kernels with a bug around the grid's barrier, and the line of each
/// fault.
pub(crate) fn grid_bugs() -> impl Iterator<Item = (&'static str, Case, u32)> {
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
    bugs.into_iter().map(|(kernel, blocks, threads, arguments)| {
        let line = seeded_bugs::cooperative::marked_line(kernel).unwrap();
        // The race is found when the kernel reads the other block's value.
        let line = if kernel == "barrier_of_the_block" { line + 2 } else { line };
        (kernel, seeded_grid_bug(kernel, blocks, threads, &arguments), line)
    })
}

/// A stop as seen by the front end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) reason: StopReason,
    pub(crate) time: u64,
    /// The block's number and the warp's index.
    pub(crate) warp: (u32, u32),
    pub(crate) line: u32,
}

struct Script<S, I, C> {
    seen: Vec<Seen>,
    stopped: S,
    is_interrupted: I,
    completed: C,
}

impl<S, I, C> Front for Script<S, I, C>
where
    S: FnMut(usize, &Seen, &Stopped<'_>, &mut Breakpoints) -> Resume,
    I: FnMut(usize) -> bool,
    C: FnMut() -> Resume,
{
    fn stopped(&mut self, stopped: &Stopped<'_>, breakpoints: &mut Breakpoints) -> Resume {
        let step = stopped.stop.step;
        let seen = Seen {
            reason: stopped.stop.reason.clone(),
            time: stopped.stop.time,
            warp: (step.block, step.warp),
            line: stopped.lines.source(step.pc).map_or(0, |(_, line)| line),
        };
        self.seen.push(seen.clone());
        (self.stopped)(self.seen.len() - 1, &seen, stopped, breakpoints)
    }

    fn completed(&mut self) -> Resume {
        (self.completed)()
    }

    fn is_interrupted(&mut self) -> bool {
        (self.is_interrupted)(self.seen.len())
    }
}

fn session<S, I, C>(
    case: &Case,
    prepare: impl FnOnce(&mut Breakpoints, &Lines),
    mut script: Script<S, I, C>,
) -> (End, Vec<Seen>)
where
    Script<S, I, C>: Front,
{
    let mut session = Session::new(&case.0);
    let lines = session.lines().clone();
    prepare(session.breakpoints(), &lines);
    let end = session.run(&mut script).unwrap_or_else(|error| panic!("{error}"));
    (end, script.seen)
}

/// Runs a session. `prepare` sets breakpoints; `stopped` receives the number of each stop.
pub(crate) fn run(
    case: &Case,
    prepare: impl FnOnce(&mut Breakpoints, &Lines),
    stopped: impl FnMut(usize, &Seen, &Stopped<'_>, &mut Breakpoints) -> Resume,
    at_end: Resume,
) -> (End, Vec<Seen>) {
    session(case, prepare, Script { seen: Vec::new(), stopped, is_interrupted: |_| false, completed: || at_end })
}

/// Runs a session that is interrupted when `is_interrupted` returns true. It receives the number of
/// stops so far.
pub(crate) fn run_interrupted(
    case: &Case,
    is_interrupted: impl FnMut(usize) -> bool,
    mut stopped: impl FnMut(usize, &Seen) -> Resume,
) -> (End, Vec<Seen>) {
    let stopped = |number: usize, seen: &Seen, _: &Stopped<'_>, _: &mut Breakpoints| stopped(number, seen);
    session(case, |_, _| {}, Script { seen: Vec::new(), stopped, is_interrupted, completed: || Resume::Quit })
}

/// Runs a session that continues at the kernel's end as `completed` says.
pub(crate) fn run_to_ends(
    case: &Case,
    mut stopped: impl FnMut(usize, &Seen) -> Resume,
    completed: impl FnMut() -> Resume,
) -> (End, Vec<Seen>) {
    let stopped = |number: usize, seen: &Seen, _: &Stopped<'_>, _: &mut Breakpoints| stopped(number, seen);
    session(case, |_, _| {}, Script { seen: Vec::new(), stopped, is_interrupted: |_| false, completed })
}
