//! Memory changes since the last stop.

use ptx_interpreter::MemoryRange;
use ptx_interpreter::syntax::Space;

use crate::Stopped;

/// Maximum number of bytes copied at a stop.
const MAX_BYTES: u64 = 1 << 20;

/// Copies of shared memory and then of buffers, as far as they fit.
#[derive(Debug, Default)]
pub(super) struct Copies {
    block: u32,
    ranges: Vec<Copy>,
}

#[derive(Debug)]
struct Copy {
    space: Space,
    start: u64,
    /// The bytes. `None` for bytes that were never written.
    bytes: Vec<Option<u8>>,
}

impl Copies {
    pub(super) fn new(stopped: &Stopped<'_>) -> Self {
        let mut left = MAX_BYTES;
        let ranges = stopped.block.shared().chain(stopped.block.global());
        let ranges = ranges.filter_map(|range| {
            left = left.checked_sub(range.extent.bytes)?;
            let bytes = (0..range.extent.bytes as usize).map(|offset| byte(&range, offset)).collect();
            Some(Copy { space: range.extent.space, start: range.extent.start, bytes })
        });
        Self { ranges: ranges.collect(), block: stopped.block.number() }
    }

    /// Whether any of `bytes` bytes at an offset have changed or were written for the first time.
    /// Always false for memory without a copy and for another block's shared memory.
    pub(super) fn differ(&self, stopped: &Stopped<'_>, range: &MemoryRange<'_>, offset: usize, bytes: usize) -> bool {
        if range.extent.space == Space::Shared && stopped.block.number() != self.block {
            return false;
        }
        let is_range = |copy: &&Copy| (copy.space, copy.start) == (range.extent.space, range.extent.start);
        let Some(copy) = self.ranges.iter().find(is_range) else { return false };
        (offset..offset + bytes).any(|offset| copy.bytes.get(offset) != Some(&byte(range, offset)))
    }
}

fn byte(range: &MemoryRange<'_>, offset: usize) -> Option<u8> {
    let mut byte = [0];
    range.is_written(offset, 1).then(|| range.read(offset, &mut byte))??;
    Some(byte[0])
}
