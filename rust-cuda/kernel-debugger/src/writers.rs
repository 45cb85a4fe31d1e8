//! The last writer of each word of global and shared memory.

use std::collections::HashMap;
use std::sync::Arc;

use cuda_launch::LaunchConfig;
use kernel_launch::takes_turns;
use ptx_interpreter::semantics::LANES;
use ptx_interpreter::syntax::Space;
use ptx_interpreter::{Access, ObservedAccess};

/// Number of 4-byte words on a page.
const PAGE_WORDS: usize = 256;

/// The last writers of a page's words, packed; 0 for none.
type Packed = [u64; PAGE_WORDS];

/// Bits of a packed writer for the thread. A block has at most 1024 threads.
const THREAD_BITS: u32 = 10;

/// Bits of a packed writer for the instruction, counted from 1.
const INSTRUCTION_BITS: u32 = 22;

/// A thread's write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writer {
    /// Number of the thread's block.
    pub block: u32,
    /// Number of the thread in its block.
    pub thread: u32,
    /// Index of the instruction.
    pub pc: usize,
}

impl Writer {
    /// The thread of an access.
    pub(crate) fn of(access: &ObservedAccess) -> Self {
        let step = access.step;
        let thread = step.warp * LANES as u32 + step.lanes.trailing_zeros();
        Self { block: step.block, thread, pc: step.pc }
    }

    /// The writer packed into eight bytes. If the kernel has millions of instructions, 0, as for no
    /// writer.
    fn packed(self) -> u64 {
        let instruction = self.pc as u64 + 1;
        if instruction >> INSTRUCTION_BITS > 0 {
            return 0;
        }
        (u64::from(self.block) << THREAD_BITS | u64::from(self.thread)) << INSTRUCTION_BITS | instruction
    }

    fn unpacked(packed: u64) -> Option<Self> {
        let instruction = packed & ((1 << INSTRUCTION_BITS) - 1);
        let thread = packed >> INSTRUCTION_BITS & ((1 << THREAD_BITS) - 1);
        let block = (packed >> (INSTRUCTION_BITS + THREAD_BITS)) as u32;
        Some(Self { block, thread: thread as u32, pc: instruction.checked_sub(1)? as usize })
    }
}

/// The last writers of words. Snapshots share pages until one is written again.
#[derive(Clone, Debug)]
pub(crate) struct Writers {
    pages: HashMap<Page, Arc<Packed>>,
    /// Whether blocks run one after the other, so an earlier block's shared memory can be dropped.
    forgets_blocks: bool,
    block: u32,
    /// Number of pages copied since the last snapshot.
    copied: usize,
}

/// A page: the block that owns its shared memory (`None` for global memory), and its number.
type Page = (Option<u32>, u64);

impl Writers {
    pub(crate) fn new(config: LaunchConfig) -> Self {
        Self { pages: HashMap::new(), forgets_blocks: !takes_turns(config), block: 0, copied: 0 }
    }

    /// Records a write. Other accesses have no effect.
    pub(crate) fn record(&mut self, access: &ObservedAccess) {
        let owner = match access.space {
            Space::Shared => Some(access.owner),
            Space::Global => None,
            _ => return,
        };
        if access.access == Access::Read || access.bytes == 0 {
            return;
        }
        if self.forgets_blocks && std::mem::replace(&mut self.block, access.step.block) != access.step.block {
            self.pages.retain(|(owner, _), _| owner.is_none());
        }
        let writer = Writer::of(access).packed();
        for word in access.address / 4..(access.address + access.bytes as u64).div_ceil(4) {
            let page = self.pages.entry((owner, word / PAGE_WORDS as u64));
            let page = page.or_insert_with(|| Arc::new([0; PAGE_WORDS]));
            self.copied += usize::from(Arc::strong_count(page) > 1);
            Arc::make_mut(page)[word as usize % PAGE_WORDS] = writer;
        }
    }

    /// The last writer of the word at an address of global memory, or of a block's shared memory.
    pub(crate) fn last_writer(&self, owner: Option<u32>, address: u64) -> Option<Writer> {
        let word = address / 4;
        Writer::unpacked(self.pages.get(&(owner, word / PAGE_WORDS as u64))?[word as usize % PAGE_WORDS])
    }

    /// Size in bytes of what a snapshot does not share: the pages copied since the previous
    /// snapshot.
    pub(crate) fn bytes(&self) -> usize {
        let page = size_of::<Packed>();
        self.pages.len() * size_of::<(Page, usize)>() + self.copied * page
    }

    /// Restarts the count of copied pages.
    pub(crate) fn begin_snapshot(&mut self) {
        self.copied = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_are_packed_without_loss() {
        for writer in [
            Writer { block: 0, thread: 0, pc: 0 },
            Writer { block: u32::MAX, thread: 1023, pc: (1 << INSTRUCTION_BITS) - 2 },
            Writer { block: 7, thread: 31, pc: 12 },
        ] {
            assert_eq!(Writer::unpacked(writer.packed()), Some(writer));
        }
        assert_eq!(Writer::unpacked(0), None);
        assert_eq!(Writer { block: 1, thread: 2, pc: 1 << INSTRUCTION_BITS }.packed(), 0);
    }
}
