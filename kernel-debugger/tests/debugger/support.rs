//! Launches to debug, and a front that a test scripts.

use std::fs;
use std::path::{Path, PathBuf};

use cuda_std::PtxVariant;
use kernel_debugger::{
    Argument, Breakpoints, End, Front, Launch, LaunchFile, Lines, Resume, Session, StopReason, Stopped,
};
use tempfile::TempDir;
use test_skips::{Need, skip};

/// Whether the PTX is older than the kernels; the calling test is then recorded as skipped.
#[track_caller]
pub(crate) fn is_stale() -> bool {
    let reason = kernels_gpu::PTX.iter().chain(&seeded_bugs::PTX).find_map(PtxVariant::staleness);
    reason.inspect(|reason| skip(Need::Ptx, &format!("stale PTX: {reason}"))).is_some()
}

/// Rows of X in [`matmul`]; it has 40 columns.
pub(crate) const TILE_ROWS: usize = 48;

/// Cell of X in [`matmul`]: a small integer, so that sums are exact.
pub(crate) fn x(row: usize, column: usize) -> f32 {
    ((row * 40 + column) * 7 % 11) as f32
}

/// A launch with its buffers' names.
pub(crate) struct Case(Launch);

impl Case {
    pub(crate) fn launch(&self) -> &Launch {
        &self.0
    }

    pub(crate) fn address(&self, name: &str) -> u64 {
        match self.0.arguments().iter().find(|argument| argument.name() == name) {
            Some(Argument::Buffer { address, .. }) => *address,
            other => panic!("{name} is {other:?}"),
        }
    }

    /// The elements of a buffer of 4-byte ones.
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

/// Opens a launch file with this content, beside the PTX.
pub(crate) fn open(ptx: &str, text: &str) -> Launch {
    let directory = TempDir::new().unwrap();
    LaunchFile::open(&write(directory.path(), ptx, text)).unwrap_or_else(|error| panic!("{error}"))
}

/// The launch of a launch file with this content, beside the PTX.
pub(crate) fn case(ptx: &str, text: &str) -> Case {
    Case(open(ptx, text))
}

/// Writes a launch file and its PTX to a directory.
pub(crate) fn write(directory: &Path, ptx: &str, text: &str) -> PathBuf {
    fs::write(directory.join("kernels.ptx"), ptx).unwrap();
    let path = directory.join("launch.json");
    fs::write(&path, text).unwrap();
    path
}

/// X·Xᵀ of 48 × 40 by the third rung.
pub(crate) fn matmul() -> Case {
    let (ptx, text) = matmul_files();
    Case(open(ptx, &text))
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
    (kernels_gpu::PTX[0].text(), text)
}

/// The maximum of 1000 × 100 by 400 blocks of 250 threads.
pub(crate) fn max() -> Case {
    let text = r#"{"ptx": "kernels.ptx", "kernel": "max_kernel", "grid": [400, 1, 1], "block": [250, 1, 1], "arguments": [
        {"name": "a", "type": "i32", "shape": [1000, 100], "values": "index"},
        {"name": "b", "type": "i32", "shape": [1000, 100], "values": "zeros"},
        {"name": "out", "type": "i32", "shape": [1000, 100], "values": "unwritten"}]}"#;
    Case(open(kernels_gpu::PTX[0].text(), text))
}

/// A launch of a kernel with a bug; races of the same value are faults too.
pub(crate) fn seeded_bug(kernel: &str, blocks: u32, block: [u32; 2], arguments: &str) -> Case {
    Case(open(seeded_bugs::PTX[0].text(), &seeded_bug_file(kernel, blocks, block, arguments)))
}

/// The launch file of [`seeded_bug`].
pub(crate) fn seeded_bug_file(kernel: &str, blocks: u32, [x, y]: [u32; 2], arguments: &str) -> String {
    format!(
        r#"{{"ptx": "kernels.ptx", "kernel": "{kernel}", "grid": [{blocks}, 1, 1], "block": [{x}, {y}, 1],
            "same_value_races_are_faults": true, "arguments": [{arguments}]}}"#
    )
}

/// A cooperative launch of a kernel with a bug, with a low limit of instructions per block.
pub(crate) fn seeded_grid_bug(kernel: &str, blocks: u32, threads: u32, arguments: &str) -> Case {
    Case(open(
        seeded_bugs::PTX[0].text(),
        &format!(
            r#"{{"ptx": "kernels.ptx", "kernel": "{kernel}", "grid": [{blocks}, 1, 1], "block": [{threads}, 1, 1],
                "cooperative": true, "block_instructions": 32768, "same_value_races_are_faults": true,
                "arguments": [{arguments}]}}"#
        ),
    ))
}

/// What a front has seen of a stop.
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

/// Runs a session: `prepare` sets breakpoints, `stopped` gets the number of each stop.
pub(crate) fn run(
    case: &Case,
    prepare: impl FnOnce(&mut Breakpoints, &Lines),
    stopped: impl FnMut(usize, &Seen, &Stopped<'_>, &mut Breakpoints) -> Resume,
    at_end: Resume,
) -> (End, Vec<Seen>) {
    session(case, prepare, Script { seen: Vec::new(), stopped, is_interrupted: |_| false, completed: || at_end })
}

/// Runs a session that is interrupted where `is_interrupted`, which gets the number of stops so far, says so.
pub(crate) fn run_interrupted(
    case: &Case,
    is_interrupted: impl FnMut(usize) -> bool,
    mut stopped: impl FnMut(usize, &Seen) -> Resume,
) -> (End, Vec<Seen>) {
    let stopped = |number: usize, seen: &Seen, _: &Stopped<'_>, _: &mut Breakpoints| stopped(number, seen);
    session(case, |_, _| {}, Script { seen: Vec::new(), stopped, is_interrupted, completed: || Resume::Quit })
}

/// Runs a session that goes on at the kernel's end as `completed` says.
pub(crate) fn run_to_ends(
    case: &Case,
    mut stopped: impl FnMut(usize, &Seen) -> Resume,
    completed: impl FnMut() -> Resume,
) -> (End, Vec<Seen>) {
    let stopped = |number: usize, seen: &Seen, _: &Stopped<'_>, _: &mut Breakpoints| stopped(number, seen);
    session(case, |_, _| {}, Script { seen: Vec::new(), stopped, is_interrupted: |_| false, completed })
}
