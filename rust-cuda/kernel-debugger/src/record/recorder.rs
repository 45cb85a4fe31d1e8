//! The recording run: an observer that turns the instructions of a block into frames.

use std::ops::{ControlFlow, Range};

use cuda_launch::Dim3;
use kernel_launch::{ElementType, Launch};
use ptx_interpreter::memory::{global_pattern, shared_pattern};
use ptx_interpreter::semantics::LANES;
use ptx_interpreter::syntax::Space;
use ptx_interpreter::{
    Access, Fault, FaultKind, MemoryRange, ObservedAccess, Observer, Place, Step, StoppedBlock, StoppedWarp, Waits,
};

use super::Options;
use super::document::{
    Code, Document, FaultNote, File, Foreign, Frames, Group, MemoryImage, Offsets, Path, Pattern, Source, Status,
    Thread,
};
use super::memories::{Memory, fault_place};
use super::outline::warp_and_lane;
use super::sources::Sources;
use crate::lines::Lines;

/// Records the frames of a block.
pub(super) struct Recorder<'r> {
    launch: &'r Launch,
    lines: &'r Lines,
    block: u32,
    /// Range of the block's instructions to record.
    range: Range<u64>,
    memories: Vec<Memory>,
    /// The block's fault, and whether it occurs at the block's last instruction.
    fault: Option<(&'r Fault, bool)>,
    /// Number of instructions that all blocks have issued, and number that this block has issued.
    time: u64,
    issued: u64,
    /// Whether the next stop is after the last frame.
    is_over: bool,
    /// Whether the last frame belongs to a fault that is not caused by an instruction of the block.
    has_fault_frame: bool,
    images: Vec<MemoryImage>,
    frames: Frames,
    /// Time, warp and instruction of the last frame.
    last: [i64; 3],
    existing: Vec<u32>,
    statuses: Vec<Status>,
    /// The last status of each warp.
    known: Vec<(u32, Vec<Path>)>,
    /// The accesses of the last frame.
    current: Vec<Lane>,
    /// Writes by other blocks since the last frame: memory, offset and size.
    foreign: Vec<(usize, u64, usize)>,
    foreign_bytes: Vec<Foreign>,
}

/// A lane's access.
struct Lane {
    lane: u32,
    /// Index of the memory, if it is recorded.
    memory: Option<usize>,
    space: Space,
    address: u64,
    access: Access,
    bytes: usize,
    /// The bytes after the access.
    written: Option<String>,
}

impl<'r> Recorder<'r> {
    pub(super) fn new(
        launch: &'r Launch,
        lines: &'r Lines,
        (block, range): (u32, Range<u64>),
        memories: Vec<Memory>,
        fault: Option<(&'r Fault, bool)>,
    ) -> Self {
        Self {
            launch,
            lines,
            block,
            range,
            memories,
            fault,
            time: 0,
            issued: 0,
            is_over: false,
            has_fault_frame: false,
            images: Vec::new(),
            frames: Frames::default(),
            last: [0; 3],
            existing: Vec::new(),
            statuses: Vec::new(),
            known: Vec::new(),
            current: Vec::new(),
            foreign: Vec::new(),
            foreign_bytes: Vec::new(),
        }
    }

    /// Number of recorded instructions.
    pub(super) fn recorded(&self) -> usize {
        self.frames.lanes.len() - usize::from(self.has_fault_frame)
    }

    /// Whether all instructions of the range have been issued.
    fn is_complete(&self) -> bool {
        self.issued >= self.range.end
    }

    /// Whether the range's last instruction is at fault. Its writes do not happen.
    fn ends_at_fault(&self) -> bool {
        self.is_complete() && self.fault.is_some_and(|(_, is_last)| is_last)
    }

    /// Begins the frame of an instruction.
    fn begin_frame(&mut self, time: u64, step: Step, skipped: u32) {
        let now = [time as i64, i64::from(step.warp), step.pc as i64];
        for ((column, now), last) in
            [&mut self.frames.time, &mut self.frames.warp, &mut self.frames.pc].into_iter().zip(now).zip(&mut self.last)
        {
            column.push(now - *last);
            *last = now;
        }
        self.frames.lanes.push(step.lanes);
        self.frames.skipped.push(skipped);
    }

    /// Adds the last frame's accesses to that frame.
    fn end_frame(&mut self) {
        if self.frames.accesses.len() == self.frames.lanes.len() {
            return;
        }
        let lanes = std::mem::take(&mut self.current);
        self.frames.patterns.push(patterns(&lanes));
        self.frames.accesses.push(self.groups(lanes));
    }

    fn groups(&self, lanes: Vec<Lane>) -> Vec<Group> {
        let mut groups = Vec::new();
        for lanes in in_groups(lanes) {
            let first = &lanes[0];
            let (memory, start) = match first.memory {
                Some(memory) => (memory as i64, self.memories[memory].extent.start),
                None => (-1, 0),
            };
            let kind = match first.access {
                Access::Read => 0,
                Access::Write => 1,
                Access::Atomic => 2,
            };
            let mask = lanes.iter().fold(0, |mask, lane| mask | 1 << lane.lane);
            let offsets: Vec<u64> = lanes.iter().map(|lane| lane.address - start).collect();
            let differences: Vec<i64> =
                offsets.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]).cast_signed()).collect();
            let is_strided = differences.windows(2).all(|pair| pair[0] == pair[1]);
            let offsets = match is_strided {
                true => Offsets::Strided(offsets[0], differences.first().copied().unwrap_or(0)),
                false => Offsets::Scattered([offsets[0].cast_signed()].into_iter().chain(differences).collect()),
            };
            let bytes = first.bytes as u32;
            let written = lanes.into_iter().map(|lane| lane.written.unwrap_or_default()).collect();
            groups.push(Group(memory, kind, bytes, mask, offsets, written));
        }
        groups
    }

    /// Reads the bytes written since the last stop. The shared memory read belongs to the recorded
    /// block.
    fn settle(&mut self, block: &StoppedBlock<'_>) {
        let is_own = block.number() == self.block;
        let memories = &self.memories;
        let can_read = |memory: usize| is_own || memories[memory].shared.is_none();
        for lane in &mut self.current {
            let Some(memory) = lane.memory.filter(|memory| can_read(*memory)) else { continue };
            if lane.access != Access::Read && lane.written.is_none() {
                let offset = lane.address - memories[memory].extent.start;
                lane.written = memories[memory].range(block).map(|range| hex(&range, offset as usize, lane.bytes));
            }
        }
        let (ready, later) = self.foreign.drain(..).partition(|(memory, _, _)| can_read(*memory));
        self.foreign = later;
        let ready: Vec<(usize, u64, usize)> = ready;
        for (memory, offset, bytes) in ready {
            if let Some(range) = memories[memory].range(block) {
                let frame = self.frames.lanes.len();
                self.foreign_bytes.push(Foreign(frame, memory, offset, hex(&range, offset as usize, bytes)));
            }
        }
    }

    /// Records the content of the memories before the first frame.
    fn begin(&mut self, block: &StoppedBlock<'_>) {
        self.existing = block.warps().map(|warp| warp.existing()).collect();
        self.known = self.existing.iter().map(|_| (0, Vec::new())).collect();
        for memory in &self.memories {
            let Some(range) = memory.range(block) else { continue };
            let (rows, columns) = &memory.window;
            let (element, whole) = (memory.element.bytes(), memory.extent.bytes as usize);
            let mut image = String::new();
            for (row, column) in rows.clone().flat_map(|row| columns.clone().map(move |column| (row, column))) {
                let offset = (row * memory.columns + column) * element;
                let inside = element.min(whole.saturating_sub(offset));
                image.push_str(&hex(&range, offset, inside));
                image.extend(std::iter::repeat_n('-', (element - inside) * 2));
            }
            self.images.push(MemoryImage {
                name: memory.name.clone(),
                space: if memory.shared.is_some() { "shared" } else { "global" },
                address: memory.extent.start,
                bytes: memory.extent.bytes,
                element: memory.element.name(),
                typed: memory.is_typed,
                linear: memory.is_linear,
                rows: memory.rows,
                columns: memory.columns,
                window: [rows.start, columns.start, rows.len(), columns.len()],
                image,
            });
        }
    }

    /// Records the state of each warp that has changed since its last status. Returns the lanes
    /// that the frame's instruction skips.
    fn record_statuses(&mut self, frame: usize, step: Option<Step>, block: &StoppedBlock<'_>) -> u32 {
        let mut skipped = 0;
        for warp in block.warps() {
            let mut paths: Vec<Path> = paths(&warp).collect();
            if let Some(step) = step.filter(|step| step.warp == warp.number()) {
                let is_current = |path: &Path| path.0 == step.pc && path.1 & step.lanes == step.lanes && path.2 == 0;
                if let Some(index) = paths.iter().position(is_current) {
                    skipped = paths.remove(index).1 & !step.lanes;
                }
            }
            let status = (warp.exited(), paths);
            let known = &mut self.known[warp.number() as usize];
            if *known != status {
                known.clone_from(&status);
                self.statuses.push(Status(frame, warp.number(), status.0, status.1));
            }
        }
        skipped
    }

    /// Index of the memory that contains an access.
    fn find(&self, access: &ObservedAccess) -> Option<usize> {
        if access.space == Space::Shared && access.owner != self.block {
            return None;
        }
        let holds = |memory: &Memory| memory.offset_of(access.space, access.address, access.bytes).is_some();
        self.memories.iter().position(holds)
    }

    /// Converts the recording for the page.
    pub(super) fn into_document(
        mut self,
        sources: &Sources,
        options: &Options,
        fault: Option<&Fault>,
        (first, issued): (u64, u64),
    ) -> Document {
        self.end_frame();
        let config = self.launch.config();
        let array = |size: Dim3| [size.x, size.y, size.z];
        let note = self.fault.map(|(fault, is_last)| self.fault_note(fault, is_last, sources));
        let other_fault = match note {
            None => fault.map(|fault| sources.shorten(&fault.to_string())),
            Some(_) => None,
        };
        guess_types(&mut self.images, &self.frames);
        let code = (0..self.lines.instructions()).map(|pc| self.code(pc, sources)).collect();
        let file = |(name, text): (&str, Option<&str>)| File { name: name.to_owned(), text: text.map(str::to_owned) };
        Document {
            kernel: self.launch.kernel().to_owned(),
            ptx: options.ptx.clone(),
            grid: array(config.grid),
            block: array(config.block),
            index: array(config.grid.index_of(self.block.into())),
            first,
            issued,
            existing: self.existing,
            files: sources.files().map(file).collect(),
            code,
            memories: self.images,
            frames: self.frames,
            statuses: self.statuses,
            foreign: self.foreign_bytes,
            fault: note,
            other_fault,
        }
    }

    fn code(&self, pc: usize, sources: &Sources) -> Code {
        let place = self.lines.place(pc);
        let call = place.source.as_ref().and_then(|source| source.inlined_at.as_deref());
        let call = call.and_then(|call| Some(Source(sources.index(&call.file)? as i64, call.line, call.column)));
        let source = match (self.lines.source(pc), &place.source) {
            (Some((file, line)), named) => {
                let column = named.as_ref().filter(|source| source.line == line).map_or(0, |source| source.column);
                Source(sources.index(file).map_or(-1, |index| index as i64), line, column)
            }
            (None, _) => Source(-1, 0, 0),
        };
        let is_barrier = u8::from(self.lines.is_barrier(pc));
        Code(place.line, place.text.to_string(), source, is_barrier, call.unwrap_or(Source(-1, 0, 0)))
    }

    fn fault_note(&self, fault: &Fault, is_last: bool, sources: &Sources) -> FaultNote {
        let config = self.launch.config();
        let source = |place: &Place| match &place.source {
            Some(source) => {
                Source(sources.index(&source.file).map_or(-1, |index| index as i64), source.line, source.column)
            }
            None => Source(-1, 0, 0),
        };
        let thread = |block: Dim3, thread: Dim3, access: String, place: &Place| {
            let (warp, lane) = warp_and_lane(thread, config.block);
            let name = format!("block {block}, thread {thread}");
            let recorded = block == config.grid.index_of(self.block.into());
            Thread { name, warp, lane, recorded, access, source: source(place) }
        };
        let (access, other) = match &fault.kind {
            FaultKind::Race { access, other_access, other_block, other_thread, other_place, .. }
            | FaultKind::SameValueRace { access, other_access, other_block, other_thread, other_place, .. } => {
                (access.to_string(), Some((other_block, other_thread, other_access.to_string(), other_place)))
            }
            FaultKind::Access { access, .. } => (access.to_string(), None),
            _ => (String::new(), None),
        };
        let place = fault_place(fault, self.memories.iter().map(|memory| &memory.extent));
        let cell = place.and_then(|(extent, offset, bytes)| {
            Some((self.memories.iter().position(|memory| memory.extent == extent)?, offset, bytes))
        });
        FaultNote {
            text: sources.shorten(&fault.to_string()),
            issued: is_last,
            kind: sources.shorten(&fault.kind.to_string()),
            thread: thread(fault.block, fault.thread, access, &fault.place),
            other: other.map(|(block, of, access, place)| thread(*block, *of, access, place)),
            cell,
        }
    }
}

impl Observer for Recorder<'_> {
    fn stops_before(&mut self, step: Step) -> bool {
        self.time += 1;
        self.is_over = self.ends_at_fault();
        let is_own = step.block == self.block;
        self.issued += u64::from(is_own);
        self.is_over |= self.issued > self.range.end;
        let waits = || {
            let written = |lane: &Lane| lane.access != Access::Read && lane.space == Space::Global;
            !self.foreign.is_empty() || self.current.iter().any(written)
        };
        self.is_over || self.issued > self.range.start && (is_own || waits())
    }

    fn stop(&mut self, step: Step, block: &StoppedBlock<'_>) -> ControlFlow<()> {
        if self.is_over && self.fault.is_some() {
            return ControlFlow::Break(());
        }
        self.settle(block);
        if step.block != self.block {
            return ControlFlow::Continue(());
        }
        self.end_frame();
        if self.is_over {
            return ControlFlow::Break(());
        }
        let frame = self.frames.lanes.len();
        if frame == 0 {
            self.begin(block);
        }
        let skipped = self.record_statuses(frame, Some(step), block);
        self.begin_frame(self.time - 1, step, skipped);
        ControlFlow::Continue(())
    }

    fn fault(&mut self, _: &Fault, block: &StoppedBlock<'_>) {
        let Some((fault, false)) = self.fault else { return };
        if block.number() != self.block || !self.is_complete() || self.frames.lanes.is_empty() {
            return;
        }
        // The fault is not tied to an instruction: a last frame shows which threads wait.
        self.settle(block);
        self.end_frame();
        self.record_statuses(self.frames.lanes.len(), None, block);
        let (warp, _) = warp_and_lane(fault.thread, block.config().block);
        self.has_fault_frame = true;
        self.begin_frame(self.time, Step { block: self.block, warp, pc: fault.pc, lanes: 0, path: 0 }, 0);
    }

    fn access(&mut self, access: ObservedAccess) {
        if self.issued <= self.range.start || self.is_over {
            return;
        }
        let memory = self.find(&access);
        let ObservedAccess { step, space, address, bytes, access, .. } = access;
        if step.block == self.block {
            let lane = step.lanes.trailing_zeros();
            self.current.push(Lane { lane, memory, space, address, access, bytes, written: None });
        } else if let Some(memory) = memory.filter(|_| access != Access::Read) {
            let offset = address - self.memories[memory].extent.start;
            if self.memories[memory].shows(offset, bytes) {
                self.foreign.push((memory, offset, bytes));
            }
        }
    }
}

/// Groups the accesses by memory, kind and size, in the order in which they happened. Each lane
/// occurs at most once per group.
fn in_groups(lanes: Vec<Lane>) -> Vec<Vec<Lane>> {
    let mut groups: Vec<Vec<Lane>> = Vec::new();
    for lane in lanes {
        let key = |lane: &Lane| (lane.memory, lane.space as u8, lane.access as u8, lane.bytes);
        let fits =
            |group: &Vec<Lane>| key(&group[0]) == key(&lane) && group.last().is_some_and(|last| last.lane < lane.lane);
        match groups.iter_mut().find(|group| fits(group)) {
            Some(group) => group.push(lane),
            None => groups.push(vec![lane]),
        }
    }
    groups
}

/// The bank conflicts and coalescing of a frame's accesses.
fn patterns(lanes: &[Lane]) -> Vec<Pattern> {
    let mut groups: Vec<(Space, Access, usize, u32, [u64; LANES])> = Vec::new();
    for Lane { lane, space, access, bytes, address, .. } in lanes {
        let fits = |group: &&mut (Space, Access, usize, u32, [u64; LANES])| {
            (group.0, group.1, group.2) == (*space, *access, *bytes) && group.3 >> lane == 0
        };
        match groups.iter_mut().find(fits) {
            Some(group) => {
                group.3 |= 1 << lane;
                group.4[*lane as usize] = *address;
            }
            None => {
                let mut addresses = [0; LANES];
                addresses[*lane as usize] = *address;
                groups.push((*space, *access, *bytes, 1 << lane, addresses));
            }
        }
    }
    let pattern = |(space, _, bytes, active, addresses): &(Space, Access, usize, u32, [u64; LANES])| match space {
        Space::Shared => {
            let pattern = shared_pattern(addresses, *active, *bytes);
            Pattern(1, pattern.wavefronts, pattern.min_wavefronts)
        }
        _ => {
            let pattern = global_pattern(addresses, *active, *bytes);
            Pattern(0, pattern.sectors, pattern.min_sectors)
        }
    };
    groups.iter().map(pattern).collect()
}

/// The paths of a warp's lanes.
fn paths(warp: &StoppedWarp<'_>) -> impl Iterator<Item = Path> {
    warp.paths().map(|path| {
        let waits = match path.waits {
            None => 0,
            Some(Waits::Barrier(_)) => 1,
            Some(Waits::ClusterBarrier) => 2,
            Some(Waits::Lanes) => 3,
        };
        Path(path.pc, path.lanes, waits)
    })
}

/// Bytes of a memory in hexadecimal, with two dashes for each byte that was never written.
fn hex(range: &MemoryRange<'_>, offset: usize, bytes: usize) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut content = vec![0; bytes];
    if range.read(offset, &mut content).is_none() {
        return "--".repeat(bytes);
    }
    let is_all_written = range.is_written(offset, bytes);
    let mut text = String::with_capacity(bytes * 2);
    for (index, byte) in content.into_iter().enumerate() {
        if is_all_written || range.is_written(offset + index, 1) {
            text.push(DIGITS[usize::from(byte >> 4)].into());
            text.push(DIGITS[usize::from(byte & 15)].into());
        } else {
            text.push_str("--");
        }
    }
    text
}

/// Guesses the type of an untyped memory. Replaces the default float by an integer of the same
/// size, unless all values are plausible floats: 0, or of magnitude 2⁻⁴⁰ to 2⁴⁰.
fn guess_types(images: &mut [MemoryImage], frames: &Frames) {
    for (index, image) in images.iter_mut().enumerate().filter(|(_, image)| !image.typed) {
        let (bytes, integer) = match ElementType::ALL.into_iter().find(|element| element.name() == image.element) {
            Some(ElementType::F32) => (4, ElementType::U32),
            Some(ElementType::F64) => (8, ElementType::U64),
            _ => continue,
        };
        let groups = frames.accesses.iter().flatten().filter(|group| group.0 == index as i64);
        let written = groups.map(|group| &*group.5).chain([&*image.image]);
        let mut words = written.flat_map(|text| text.as_bytes().chunks_exact(bytes * 2)).filter(|word| word[0] != b'-');
        let is_float = |word: &[u8]| {
            let digit = |digit: u8| u64::from((digit as char).to_digit(16).unwrap_or(0));
            let pairs = word.chunks_exact(2).rev();
            let bits = pairs.fold(0, |bits, pair| bits << 8 | digit(pair[0]) << 4 | digit(pair[1]));
            let value = if bytes == 4 { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) };
            value == 0.0 || (2.0_f64.powi(-40)..2.0_f64.powi(40)).contains(&value.abs())
        };
        let mut values = 0;
        if !words.all(|word| {
            values += u32::from(word.iter().any(|digit| *digit != b'0'));
            is_float(word)
        }) || values == 0
        {
            image.element = integer.name();
        }
    }
}
