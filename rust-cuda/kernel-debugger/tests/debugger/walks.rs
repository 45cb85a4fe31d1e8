//! Random walks through launches, forward and backward. Each command leads where a record of the
//! whole launch says, however often snapshots are taken.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;

use kernel_debugger::{
    Breakpoint, Breakpoints, End, Front, Lines, Resume, Session, SnapshotPolicy, StopReason, Stopped, Value,
};
use kernel_launch::{Argument, Launch};
use ptx_interpreter::syntax::Space;
use ptx_interpreter::{Access, Fault, LaunchError, ObservedAccess, Observer, Step, StoppedBlock};

use crate::support::{self, Case};

/// Frequent snapshots, with and without room for all of them, rare ones, and none.
const POLICIES: [SnapshotPolicy; 4] =
    [policy(1, 1 << 30), policy(3, 1 << 20), policy(300, 1 << 30), policy(u64::MAX, 0)];

const fn policy(interval: u64, max_bytes: usize) -> SnapshotPolicy {
    SnapshotPolicy { interval, bytes_per_instruction: usize::MAX, max_bytes, max_count: 500 }
}

/// A launch in clusters of two blocks that write to each other's shared memory, with source lines.
const CLUSTER: &str = r#".version 8.0
.target sm_90
.address_size 64
.file 1 "kernel-debugger/swap.rs"
.shared .align 4 .b8 room[256];
.visible .entry swap(.param .u64 swap_param_0, .param .u64 swap_param_1)
{
    .reg .pred p; .reg .b32 r<20>; .reg .b64 d<9>;
    .loc 1 1 1
    ld.param.u64 d1, [swap_param_0];
    mov.u32 r1, %tid.x; mov.u32 r2, %ctaid.x; mov.u32 r3, %ntid.x; mad.lo.u32 r4, r2, r3, r1;
    .loc 1 2 1
    mul.wide.u32 d2, r4, 4; add.u64 d3, d1, d2;
    mov.u32 r5, room; mad.lo.u32 r6, r1, 4, r5;
    .loc 1 3 1
    mov.u32 r7, %cluster_ctarank; xor.b32 r7, r7, 1; mapa.shared::cluster.u32 r8, r6, r7; mov.u32 r9, 0;
    .loc 1 4 1
    LOOP: barrier.cluster.arrive; barrier.cluster.wait;
    .loc 1 5 1
    add.u32 r10, r4, r9; st.shared::cluster.u32 [r8], r10;
    .loc 1 6 1
    barrier.cluster.arrive; barrier.cluster.wait;
    .loc 1 7 1
    ld.shared.u32 r11, [r6]; st.global.u32 [d3], r11;
    .loc 1 8 1
    add.u32 r9, r9, 1; setp.lt.u32 p, r9, 3; @p bra LOOP;
    .loc 1 9 1
    barrier.cluster.arrive; barrier.cluster.wait;
    ret;
}
"#;

/// A launch that stores a never-written value in the second iteration of a loop. The interpreter
/// detects this after the store.
const LEAK: &str = r#".version 8.0
.target sm_80
.address_size 64
.file 1 "kernel-debugger/leak.rs"
.visible .entry leak(.param .u64 leak_param_0, .param .u64 leak_param_1)
{
    .local .align 8 .b8 own[8];
    .reg .pred p; .reg .b32 r<20>; .reg .b64 d<9>;
    .loc 1 1 1
    mov.u32 r0, 0; ld.param.u64 d1, [leak_param_0]; mov.u32 r1, %tid.x; mul.wide.u32 d2, r1, 4; add.u64 d3, d1, d2;
    .loc 1 2 1
    mov.u32 r5, own; st.local.u32 [r5], r1; mov.u32 r9, 0;
    .loc 1 3 1
    LOOP: ld.local.u32 r2, [r5];
    .loc 1 4 1
    st.global.u32 [d3], r2; bar.sync 0;
    .loc 1 5 1
    add.u32 r5, r5, 4; add.u32 r9, r9, 1; setp.lt.u32 p, r9, 2; @p bra LOOP;
    ret;
}
"#;

/// A complete record of a launch, instruction by instruction.
#[derive(Default)]
struct Record {
    steps: Vec<Step>,
    /// The accesses, each with the time of its instruction.
    accesses: Vec<(usize, ObservedAccess)>,
    /// Hashes of the visible state before each instruction, and at a fault.
    views: Vec<u64>,
    fault: Option<Fault>,
}

/// A hash of the memory and registers visible at a stop.
fn view(step: Step, block: &StoppedBlock<'_>, names: &[String]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for range in block.global().chain(block.shared()) {
        let mut bytes = vec![0; range.extent.bytes as usize];
        range.read(0, &mut bytes).unwrap();
        bytes.hash(&mut hasher);
        range.is_written(0, bytes.len()).hash(&mut hasher);
    }
    let warp = block.warps().nth(step.warp as usize).unwrap();
    names.iter().for_each(|name| warp.register(name).unwrap().hash(&mut hasher));
    hasher.finish()
}

fn registers(launch: &Launch) -> Vec<String> {
    launch.machine().code(launch.kernel()).unwrap().registers().map(|(name, _)| name.to_owned()).collect()
}

struct Recorder {
    record: Record,
    names: Vec<String>,
}

impl Observer for Recorder {
    fn stops_before(&mut self, step: Step) -> bool {
        self.record.steps.push(step);
        true
    }

    fn stop(&mut self, step: Step, block: &StoppedBlock<'_>) -> ControlFlow<()> {
        self.record.views.push(view(step, block, &self.names));
        ControlFlow::Continue(())
    }

    fn fault(&mut self, fault: &Fault, block: &StoppedBlock<'_>) {
        let step = Step { block: block.number(), warp: fault.thread.x / 32, pc: fault.pc, lanes: 0, path: 0 };
        self.record.views.push(view(step, block, &self.names));
        self.record.fault = Some(fault.clone());
    }

    fn access(&mut self, access: ObservedAccess) {
        self.record.accesses.push((self.record.steps.len() - 1, access));
    }
}

/// The destination of a command.
#[derive(Clone, Debug, PartialEq)]
enum Place {
    /// A stop before the instruction at a time.
    Stop(StopReason, usize),
    /// The fault, or the kernel's end.
    End,
}

/// A user who gives random commands and checks the destination of each.
struct Walker<'r> {
    launch: &'r Launch,
    record: &'r Record,
    names: Vec<String>,
    lines: Lines,
    /// For each instruction, whether it begins a line of its warp.
    begins: Vec<bool>,
    random: u64,
    left: usize,
    expected: Place,
    /// The lines with a breakpoint for warp 1 only.
    breakpoints: HashSet<u32>,
    has_entry: bool,
    watch: Option<(u64, u64)>,
    /// Number of stops before the end, and at the end.
    stops: [usize; 2],
}

impl<'r> Walker<'r> {
    fn new(launch: &'r Launch, record: &'r Record, lines: Lines, seed: u64) -> Self {
        let mut last = std::collections::HashMap::new();
        let begins = record.steps.iter().map(|step| {
            let line = lines.source(step.pc);
            last.insert((step.block, step.warp), line) != Some(line)
        });
        let begins = begins.collect();
        let (names, expected) = (registers(launch), Place::Stop(StopReason::Entry, 0));
        let (breakpoints, has_entry, watch) = (HashSet::new(), false, None);
        let random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let (left, stops) = (60, [0; 2]);
        Self { launch, record, names, lines, begins, random, left, expected, breakpoints, has_entry, watch, stops }
    }

    /// A number below `bound` (xorshift64).
    fn below(&mut self, bound: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 20) as usize % bound
    }

    fn is_breakpoint(&self, time: usize) -> bool {
        let step = self.record.steps[time];
        let line = self.lines.source(step.pc).filter(|(file, _)| *file == self.file()).map(|(_, line)| line);
        let at_line = self.begins[time] && line.is_some_and(|line| self.breakpoints.contains(&line));
        at_line && step.warp == 1 || self.has_entry && step.pc == 0
    }

    /// The file of the kernel's first instruction.
    fn file(&self) -> &str {
        self.lines.source(0).unwrap().0
    }

    /// The first write to the watched memory by an instruction.
    fn write(&self, time: usize) -> Option<ObservedAccess> {
        let (start, bytes) = self.watch?;
        let first = self.record.accesses.partition_point(|(at, _)| *at < time);
        let accesses = self.record.accesses[first..].iter().take_while(|(at, _)| *at == time);
        let overlaps = |access: &ObservedAccess| access.address < start + bytes && start < access.address + 4;
        let mut writes = accesses.map(|(_, access)| *access).filter(|access| access.access != Access::Read);
        writes.find(|access| matches!(access.space, Space::Global | Space::Shared) && overlaps(access))
    }

    /// Whether the function of one instruction equals the other's, or is called by it.
    fn is_called_by(&self, pc: usize, other: usize) -> bool {
        let mut frame = self.lines.frame(pc);
        while frame != self.lines.frame(other) && frame != 0 {
            frame = self.lines.information().frame(frame).caller;
        }
        frame == self.lines.frame(other)
    }

    /// The destination of a command from a time, found by searching the record.
    fn destination(&self, resume: Resume, time: usize, of: Step) -> Place {
        let steps = &self.record.steps;
        let is_own = |step: &Step| (step.block, step.warp) == (of.block, of.warp);
        let last = |happens: &dyn Fn(usize) -> bool| match (0..time).rev().find(|at| happens(*at)) {
            Some(at) => Place::Stop(StopReason::Step, at),
            None => Place::Stop(StopReason::Entry, 0),
        };
        match resume {
            Resume::StepBack => return last(&|at| is_own(&steps[at]) && self.begins[at]),
            Resume::ContinueBack => return last(&|at| self.is_breakpoint(at)),
            Resume::Restart => return Place::Stop(StopReason::Entry, 0),
            _ => {}
        }
        let config = self.launch.config();
        let has_ended = |step: &Step| step.block != of.block && !config.cooperative && config.cluster == 1;
        let is_barrier = |step: &Step| {
            let text = &self.lines.place(step.pc).text;
            text.contains("bar.sync") || text.contains("barrier.sync") || text.contains("cluster.wait")
        };
        let mut own_steps = 0;
        for (at, step) in steps.iter().enumerate().skip(time + 1) {
            if let Some(write) = self.write(at - 1) {
                return Place::Stop(StopReason::Write(write), at);
            }
            if self.is_breakpoint(at) {
                return Place::Stop(StopReason::Breakpoint, at);
            }
            own_steps += usize::from(is_own(step));
            let line = self.lines.source(step.pc);
            let reached = match resume {
                Resume::StepLine => is_own(step) && line.is_some() && line != self.lines.source(of.pc),
                Resume::StepOver => {
                    let is_inner =
                        self.is_called_by(step.pc, of.pc) && self.lines.frame(step.pc) != self.lines.frame(of.pc);
                    is_own(step) && line.is_some() && line != self.lines.source(of.pc) && !is_inner
                }
                Resume::StepOut => {
                    is_own(step)
                        && line.is_some()
                        && line != self.lines.source(of.pc)
                        && !self.is_called_by(step.pc, of.pc)
                }
                Resume::StepInstruction => is_own(step),
                Resume::ToBarrier => is_own(step) && own_steps > 1 && is_barrier(step),
                _ => continue,
            };
            if reached || has_ended(step) {
                return Place::Stop(StopReason::Step, at);
            }
        }
        Place::End
    }

    /// Compares the last writer of a random buffer element with the record.
    fn check_writer(&mut self, stopped: &Stopped<'_>, time: usize) {
        let buffers = self.launch.arguments().iter().filter_map(|argument| match argument {
            Argument::Buffer { name, element, shape, address, .. } if element.bytes() == 4 => {
                Some((name.clone(), shape.clone(), *address))
            }
            _ => None,
        });
        for (name, shape, address) in buffers.collect::<Vec<_>>() {
            let length: usize = shape.iter().product();
            let index = self.below(length);
            let slices = match shape[..] {
                [_, columns] => format!("[{}][{}]", index / columns, index % columns),
                _ => format!("[{index}]"),
            };
            let query = format!("{name}{slices}").parse().unwrap();
            let warp = stopped.block.warps().next().unwrap();
            let Ok(Value::Matrix(cell)) = stopped.evaluate(&query, &warp, None) else { panic!("{name} is a buffer") };
            let address = address + index as u64 * 4;
            let is_write = |(at, access): &&(usize, ObservedAccess)| {
                let overlaps = access.address < address + 4 && address < access.address + access.bytes as u64;
                *at < time && access.space == Space::Global && access.access != Access::Read && overlaps
            };
            let expected = self.record.accesses.iter().rev().find(is_write).map(|(_, access)| {
                (access.step.block, access.step.warp * 32 + access.step.lanes.trailing_zeros(), access.step.pc)
            });
            let found = stopped.writer(&cell, 0).map(|writer| (writer.block, writer.thread, writer.pc));
            // The writes of an instruction at fault are recorded, though it has not executed them.
            if !matches!(stopped.stop.reason, StopReason::Fault(_)) {
                assert_eq!(found, expected, "the writer of {name}{slices} at time {time}");
            }
        }
    }

    /// The next command, from a time.
    fn command(&mut self, time: usize, of: Step) -> Resume {
        let at_end = time == self.record.steps.len();
        self.stops[usize::from(at_end)] += 1;
        if self.left == 0 {
            return Resume::Quit;
        }
        self.left -= 1;
        let resume = match self.below(if at_end { 12 } else { 40 }) {
            0..6 => Resume::StepBack,
            6..10 => Resume::ContinueBack,
            10 if at_end => Resume::Restart,
            11 if at_end => Resume::StepBack,
            10..13 => Resume::Restart,
            13..16 => Resume::StepLine,
            16..18 => Resume::StepOver,
            18..20 => Resume::StepOut,
            20..26 => Resume::StepInstruction,
            26..30 => Resume::ToBarrier,
            _ => Resume::Continue,
        };
        self.expected = self.destination(resume, time, of);
        resume
    }

    /// Sets different breakpoints and watches another element, or none.
    fn change(&mut self, breakpoints: &mut Breakpoints) {
        let file = self.file().to_owned();
        let sources = (0..self.record.steps.len()).map(|time| self.lines.source(self.record.steps[time].pc).unwrap());
        let mut known: Vec<u32> = sources.filter(|(name, _)| *name == file).map(|(_, line)| line).collect();
        known.sort_unstable();
        known.dedup();
        self.breakpoints = (0..self.below(3)).map(|_| known[self.below(known.len())]).collect();
        let condition = || Some("warp == 1".parse().unwrap());
        self.has_entry = self.below(5) == 0;
        let of = (self.launch, &self.lines);
        // With a single warp, these breakpoints are rejected; they would never stop.
        breakpoints.set_lines(of, &file, self.breakpoints.iter().map(|line| (*line, condition())));
        breakpoints.set_entry(of, self.has_entry.then(Breakpoint::default)).unwrap();
        let writes = self.record.accesses.iter().filter(|(_, access)| access.access != Access::Read);
        let writes: Vec<u64> = writes.map(|(_, access)| access.address).collect();
        self.watch = (self.below(2) == 0 && !writes.is_empty()).then(|| (writes[self.below(writes.len())], 4));
        breakpoints.set_watches(self.watch.as_slice());
    }
}

/// Whether two faults are equal, where only one may have the source's name of a shared variable.
fn is_same(fault: &Fault, plain: &Fault) -> bool {
    let mut plain = plain.clone();
    if let (Some(memory), Some(named)) = (plain.kind.memory_mut(), fault.clone().kind.memory_mut()) {
        memory.name = named.name.clone();
    }
    *fault == plain
}

impl Front for Walker<'_> {
    fn stopped(&mut self, stopped: &Stopped<'_>, breakpoints: &mut Breakpoints) -> Resume {
        let (stop, time) = (stopped.stop, stopped.stop.time as usize);
        let seen = match &stop.reason {
            StopReason::Fault(fault) => {
                assert!(is_same(fault, self.record.fault.as_ref().unwrap()), "{fault}");
                Place::End
            }
            reason => {
                assert_eq!(stop.step, self.record.steps[time]);
                Place::Stop(reason.clone(), time)
            }
        };
        assert_eq!(seen, self.expected, "{} commands are left", self.left);
        assert!(view(stop.step, stopped.block, &self.names) == self.record.views[time], "values at time {time}");
        self.check_writer(stopped, time);
        if self.below(4) == 0 {
            self.change(breakpoints);
        }
        self.command(time, stop.step)
    }

    fn completed(&mut self) -> Resume {
        assert_eq!((&self.expected, &self.record.fault), (&Place::End, &None));
        self.command(self.record.steps.len(), *self.record.steps.last().unwrap())
    }

    fn is_interrupted(&mut self) -> bool {
        false
    }
}

/// Walks through a launch with each policy.
#[track_caller]
fn walk(name: &str, case: &Case, walks: u64) {
    let launch = case.launch();
    let mut recorder = Recorder { record: Record::default(), names: registers(launch) };
    let result = launch.run(&mut recorder);
    let record = recorder.record;
    assert!(matches!(result, Ok(true) | Err(LaunchError::Fault(_))), "{name}: {result:?}");
    let written = memory(launch);
    let mut stops = [0; 2];
    for (seed, policy) in (0..walks).flat_map(|seed| POLICIES.map(|policy| (seed, policy))) {
        let mut session = Session::new(launch).with_snapshots(policy);
        let mut walker = Walker::new(launch, &record, session.lines().clone(), seed + 1);
        let end = session.run(&mut walker).unwrap();
        match end {
            End::Completed => assert_eq!(memory(launch), written, "{name}"),
            End::Fault(fault) => assert!(is_same(&fault, record.fault.as_ref().unwrap()), "{name}: {fault}"),
            End::Quit => assert_eq!(walker.left, 0, "{name}"),
        }
        stops = [stops[0] + walker.stops[0], stops[1] + walker.stops[1]];
    }
    assert!(stops[0] > 40 && stops[1] > 10, "{name}: {stops:?} stops before the end and at it");
}

/// The bytes of all buffers.
fn memory(launch: &Launch) -> Vec<Vec<u8>> {
    let read = |argument: &Argument| {
        let Argument::Buffer { address, shape, element, .. } = argument else { return Vec::new() };
        let mut bytes = vec![0; shape.iter().product::<usize>() * element.bytes()];
        launch.machine().memory().read(*address, &mut bytes).unwrap();
        bytes
    };
    launch.arguments().iter().map(read).collect()
}

fn buffer(name: &str, length: usize) -> String {
    format!(r#"{{"name": "{name}", "type": "u32", "shape": [{length}], "values": "zeros"}}"#)
}

#[test]
fn blocks_one_after_the_other() {
    if support::is_stale() {
        return;
    }
    walk("max", &support::max_of([10, 11], 3, 40), 12);
}

#[test]
fn a_block_of_1024_threads() {
    if support::is_stale() {
        return;
    }
    walk("matmul", &support::matmul_of(8, 3), 1);
}

#[test]
fn blocks_of_a_cooperative_launch_and_of_a_cluster() {
    if support::is_stale() {
        return;
    }
    let arguments = format!(r#"{{"name": "rounds", "type": "u32", "value": 2}}, {}"#, buffer("barrier", 1));
    let cooperative = format!(
        r#"{{"ptx": "kernels.ptx", "kernel": "grid_barriers", "grid": [3, 1, 1], "block": [40, 1, 1],
            "cooperative": true, "arguments": [{arguments}]}}"#
    );
    walk("cooperative", &Case::open(test_kernels::PTX[0].text(), &cooperative), 6);
    let cluster = format!(
        r#"{{"ptx": "kernels.ptx", "kernel": "swap", "grid": [4, 1, 1], "block": [40, 1, 1], "cluster": 2,
            "arguments": [{}]}}"#,
        buffer("out", 160)
    );
    walk("cluster", &Case::open(CLUSTER, &cluster), 6);
}

/// Races, which a replay does not check, and other faults.
#[test]
fn launches_that_end_at_a_fault() {
    if support::is_stale() {
        return;
    }
    let out = buffer("out", 64);
    for (kernel, blocks) in [("missing_second_barrier", 1), ("barrier_in_a_branch", 3), ("wrong_lane", 1)] {
        walk(kernel, &support::seeded_bug(kernel, blocks, [64, 1], &out), 6);
    }
    let leak = format!(
        r#"{{"ptx": "kernels.ptx", "kernel": "leak", "block": [64, 1, 1], "arguments": [{}]}}"#,
        buffer("out", 64)
    );
    walk("leak", &Case::open(LEAK, &leak), 6);
    let arguments = [buffer("values", 4), buffer("barrier", 1)].join(", ");
    walk("race_in_a_later_epoch", &support::seeded_grid_bug("race_in_a_later_epoch", 4, 1, &arguments), 6);
}
