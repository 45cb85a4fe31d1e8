//! The last memory accesses of each warp to shared and global memory.

use std::collections::HashMap;
use std::mem;

use cuda_launch::LaunchConfig;
use kernel_launch::takes_turns;
use ptx_interpreter::ObservedAccess;
use ptx_interpreter::syntax::Space;

/// For each warp, the accesses of all lanes by its last instruction that accessed shared memory,
/// and by its last one that accessed global memory.
#[derive(Clone, Debug, Default)]
pub struct LastAccesses {
    /// Accesses of the instruction that is executing.
    current: Vec<ObservedAccess>,
    /// Keyed by the block's number, the warp's index in the block, and whether the memory is
    /// shared.
    last: HashMap<(u32, u32, bool), Vec<ObservedAccess>>,
    /// Whether blocks run one after the other, so accesses of earlier blocks can be dropped.
    forgets_blocks: bool,
    block: u32,
}

impl LastAccesses {
    pub(crate) fn new(config: LaunchConfig) -> Self {
        Self { forgets_blocks: !takes_turns(config), ..Self::default() }
    }

    /// Ends the previous instruction, of any warp.
    pub(crate) fn begin_instruction(&mut self, block: u32) {
        for is_shared in [false, true] {
            let is_wanted = |access: &ObservedAccess| (access.space == Space::Shared) == is_shared;
            let Some(step) = self.current.iter().find(|access| is_wanted(access)).map(|access| access.step) else {
                continue;
            };
            let last = self.last.entry((step.block, step.warp, is_shared)).or_default();
            last.clear();
            if self.current.iter().all(is_wanted) {
                mem::swap(last, &mut self.current);
            } else {
                last.extend(self.current.iter().copied().filter(is_wanted));
            }
        }
        self.current.clear();
        if self.forgets_blocks && mem::replace(&mut self.block, block) != block {
            self.last.clear();
        }
    }

    /// Adds an access of the executing instruction.
    pub(crate) fn record(&mut self, access: ObservedAccess) {
        self.current.push(access);
    }

    /// Size in bytes of the data that it points to.
    pub(crate) fn bytes(&self) -> usize {
        let accesses = self.current.len() + self.last.values().map(Vec::len).sum::<usize>();
        accesses * size_of::<ObservedAccess>() + self.last.len() * size_of::<((u32, u32, bool), Vec<ObservedAccess>)>()
    }

    /// The accesses of a warp's last instruction that accessed the given space (shared, otherwise
    /// global), ordered by lane.
    pub fn last_of_warp(&self, (block, warp): (u32, u32), space: Space) -> &[ObservedAccess] {
        self.last.get(&(block, warp, space == Space::Shared)).map_or(&[], Vec::as_slice)
    }
}
