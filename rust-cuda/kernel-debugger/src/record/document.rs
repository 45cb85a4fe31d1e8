//! The recording in the page's format: JSON with delta-encoded columns of numbers.

use serde::Serialize;

/// A recording.
#[derive(Debug, Serialize)]
pub(super) struct Document {
    pub(super) kernel: String,
    /// Name of the PTX file.
    pub(super) ptx: String,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    /// Index of the recorded block in the grid.
    pub(super) index: [u32; 3],
    /// Number of the block's instructions before the first recorded one, and in total.
    pub(super) first: u64,
    pub(super) issued: u64,
    /// For each warp, the lanes that hold a thread.
    pub(super) existing: Vec<u32>,
    pub(super) files: Vec<File>,
    pub(super) code: Vec<Code>,
    pub(super) memories: Vec<MemoryImage>,
    pub(super) frames: Frames,
    pub(super) statuses: Vec<Status>,
    /// Bytes written by other blocks.
    pub(super) foreign: Vec<Foreign>,
    pub(super) fault: Option<FaultNote>,
    /// Text of a fault in another block.
    pub(super) other_fault: Option<String>,
}

/// A source file. It has no text if it is not in the source root.
#[derive(Debug, Serialize)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) text: Option<String>,
}

/// An instruction: its line in the PTX, its text, its source position, whether it is a barrier, and
/// the file and line of the outermost call if it is inlined.
#[derive(Debug, Serialize)]
pub(super) struct Code(pub(super) u32, pub(super) String, pub(super) Source, pub(super) u8, pub(super) Source);

/// Index of a source file or −1, line and column.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Source(pub(super) i64, pub(super) u32, pub(super) u32);

/// A memory and its content before the first frame.
#[derive(Debug, Serialize)]
pub(super) struct MemoryImage {
    pub(super) name: String,
    pub(super) space: &'static str,
    pub(super) address: u64,
    /// Size in bytes.
    pub(super) bytes: u64,
    /// Name of the elements' type.
    pub(super) element: &'static str,
    /// Whether the type comes from the launch or the user. Otherwise it is derived from the values.
    pub(super) typed: bool,
    /// Whether a single index selects an element.
    pub(super) linear: bool,
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// First shown row and column, and number of shown rows and columns.
    pub(super) window: [usize; 4],
    /// The shown elements in hexadecimal, with dashes for bytes that were never written.
    pub(super) image: String,
}

/// The recorded instructions.
#[derive(Debug, Default, Serialize)]
pub(super) struct Frames {
    /// Number of instructions that all blocks had issued before, delta-encoded.
    pub(super) time: Vec<i64>,
    /// Warps and instructions, delta-encoded.
    pub(super) warp: Vec<i64>,
    pub(super) pc: Vec<i64>,
    /// Lanes that execute the instruction.
    pub(super) lanes: Vec<u32>,
    /// Lanes at the instruction with a false guard.
    pub(super) skipped: Vec<u32>,
    /// Accesses of the lanes.
    pub(super) accesses: Vec<Vec<Group>>,
    /// Patterns of the accesses.
    pub(super) patterns: Vec<Vec<Pattern>>,
}

/// A frame's accesses of one kind: index of the memory, or −1 if it is not shown; 0 for reads, 1
/// for writes, 2 for atomics; size in bytes; the lanes; their offsets. If the instruction writes,
/// also the resulting bytes in hexadecimal, with dashes for unwritten ones.
#[derive(Debug, Serialize)]
pub(super) struct Group(
    pub(super) i64,
    pub(super) u8,
    pub(super) u32,
    pub(super) u32,
    pub(super) Offsets,
    pub(super) String,
);

/// Offsets of consecutive lanes of a group.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Offsets {
    /// The first offset, and the constant difference between consecutive ones.
    Strided(u64, i64),
    /// The first offset, and all differences, at least two.
    Scattered(Vec<i64>),
}

/// Whether shared memory is accessed, the number of wavefronts or sectors, and their minimum.
#[derive(Debug, Serialize)]
pub(super) struct Pattern(pub(super) u8, pub(super) u32, pub(super) u32);

/// The state of a warp from a frame on: the frame, the warp, its exited lanes, and its paths. The
/// path that executes the frame's instruction is left out.
#[derive(Debug, Serialize)]
pub(super) struct Status(pub(super) usize, pub(super) u32, pub(super) u32, pub(super) Vec<Path>);

/// Index of an instruction, its lanes, and what they wait for: 0 for nothing, 1 for the block's
/// barrier, 2 for the cluster's barrier, 3 for other lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Path(pub(super) usize, pub(super) u32, pub(super) u8);

/// A write by another block before a frame: the frame, the memory's index, the offset and the
/// bytes.
#[derive(Debug, Serialize)]
pub(super) struct Foreign(pub(super) usize, pub(super) usize, pub(super) u64, pub(super) String);

/// The fault that ends the recording, at its last frame.
#[derive(Debug, Serialize)]
pub(super) struct FaultNote {
    pub(super) text: String,
    /// Whether the last frame is an issued instruction. Otherwise the fault concerns waiting
    /// threads.
    pub(super) issued: bool,
    /// The kind of fault and its numbers, without the place.
    pub(super) kind: String,
    pub(super) thread: Thread,
    /// The other thread of a race.
    pub(super) other: Option<Thread>,
    /// Index of the memory, offset (possibly outside the memory), and size of the access.
    pub(super) cell: Option<(usize, i64, usize)>,
}

/// A thread at fault.
#[derive(Debug, Serialize)]
pub(super) struct Thread {
    /// Block and thread as the fault's text names them.
    pub(super) name: String,
    pub(super) warp: u32,
    pub(super) lane: u32,
    /// Whether the thread belongs to the recorded block.
    pub(super) recorded: bool,
    /// Kind of access: reads, writes, or changes atomically.
    pub(super) access: String,
    pub(super) source: Source,
}
