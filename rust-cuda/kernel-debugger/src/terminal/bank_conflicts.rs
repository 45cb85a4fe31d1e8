//! The last access of a warp to a memory: the bytes it touched, and the number of passes it took.

use cuda_launch::counted;
use kernel_launch::Argument;
use ptx_interpreter::ObservedAccess;
use ptx_interpreter::memory::{BusiestBank, busiest_bank, global_pattern, shared_pattern};
use ptx_interpreter::semantics::LANES;
use ptx_interpreter::syntax::Space;

use crate::Stopped;

/// The last access of a warp to shared or to global memory.
pub(super) struct LastAccess<'s> {
    /// The accesses to this block's memory.
    accesses: Vec<&'s ObservedAccess>,
    /// The bank with the most passes, if there is a conflict.
    conflict: Option<BusiestBank>,
    /// Description and cost of the access.
    pub(super) text: String,
}

impl<'s> LastAccess<'s> {
    /// The last access of a warp of the block to a memory of this space. `None` if there is none.
    pub(super) fn of(stopped: &'s Stopped<'_>, warp: u32, space: Space) -> Option<Self> {
        let block = stopped.block.number();
        let all = stopped.accesses.last_of_warp((block, warp), space);
        let first = all.first()?;
        let head = head(stopped, first);
        let (text, conflict) = match addresses(all) {
            // Copies that end together count as several accesses.
            None => (format!("{head}: {} accesses", all.len()), None),
            Some((addresses, active)) if space == Space::Shared => {
                let pattern = shared_pattern(&addresses, active, first.bytes);
                let has_conflict = pattern.wavefronts > pattern.min_wavefronts;
                let conflict = busiest_bank(&addresses, active, first.bytes).filter(|_| has_conflict);
                let text = match conflict {
                    None => format!("{head}: {}, no bank conflict", counted(pattern.wavefronts as usize, "wavefront")),
                    Some(BusiestBank { bank, words, lanes }) => format!(
                        "{head}: {} wavefronts, {} is the least: bank {bank} is accessed at {words} words by {}",
                        pattern.wavefronts,
                        pattern.min_wavefronts,
                        lanes_in_words(lanes)
                    ),
                };
                (text, conflict)
            }
            Some((addresses, active)) => {
                let pattern = global_pattern(&addresses, active, first.bytes);
                let sectors = counted(pattern.sectors as usize, "sector");
                (format!("{head}: {sectors} of 32 bytes, {} is the least", pattern.min_sectors), None)
            }
        };
        let accesses = all.iter().filter(|access| access.owner == block).collect();
        Some(Self { accesses, conflict, text })
    }

    /// The lanes that touched some of `bytes` bytes at an address: bit i is lane i.
    pub(super) fn lanes_at(&self, address: u64, bytes: usize) -> u32 {
        let touches = |access: &&&ObservedAccess| {
            access.address < address + bytes as u64 && address < access.address + access.bytes as u64
        };
        self.accesses.iter().filter(touches).fold(0, |lanes, access| lanes | access.step.lanes)
    }

    /// Whether `lanes` conflict with others in a bank of the bytes at an address.
    pub(super) fn is_in_conflict(&self, address: u64, bytes: usize, lanes: u32) -> bool {
        let banks = || (address / 4..(address + bytes as u64).div_ceil(4)).map(|word| (word % 32) as u32);
        self.conflict.is_some_and(|busiest| lanes & busiest.lanes != 0 && banks().any(|bank| bank == busiest.bank))
    }
}

/// Name of the shared variable or buffer that a lane accessed, and the offset in it.
pub(super) fn accessed_memory(stopped: &Stopped<'_>, access: &ObservedAccess) -> Option<(String, u64)> {
    let inside = |start: u64, bytes: u64| access.address.checked_sub(start).filter(|offset| *offset < bytes);
    if access.space == Space::Shared {
        let is_own = access.owner == stopped.block.number();
        let mut shared = stopped.shared().filter(|_| is_own);
        return shared
            .find_map(|(name, range)| Some((name.to_owned(), inside(range.extent.start, range.extent.bytes)?)));
    }
    stopped.launch.arguments().iter().find_map(|argument| match argument {
        Argument::Buffer { name, element, shape, address, .. } => {
            let bytes = shape.iter().product::<usize>() * element.bytes();
            Some((name.clone(), inside(*address, bytes as u64)?))
        }
        Argument::Value { .. } | Argument::Structure { .. } => None,
    })
}

/// Source line and opcode of an access, and the memory of its first lane.
fn head(stopped: &Stopped<'_>, access: &ObservedAccess) -> String {
    let pc = access.step.pc;
    let text = &stopped.lines.place(pc).text;
    let words = text.split_whitespace().filter(|word| !word.starts_with('@'));
    let opcode = words.map(|word| word.trim_end_matches(';')).next().unwrap_or_default();
    let line = stopped.lines.source(pc).map(|(_, line)| format!("line {line}, ")).unwrap_or_default();
    let memory = accessed_memory(stopped, access).map(|(name, _)| format!(" {name}")).unwrap_or_default();
    format!("{line}{opcode}{memory}")
}

/// The address of each lane, and the mask of lanes that have one. `None` if a lane has several.
fn addresses(accesses: &[ObservedAccess]) -> Option<([u64; LANES], u32)> {
    let (mut addresses, mut active) = ([0; LANES], 0);
    for access in accesses {
        if active & access.step.lanes != 0 {
            return None;
        }
        active |= access.step.lanes;
        addresses[access.step.lanes.trailing_zeros() as usize % LANES] = access.address;
    }
    Some((addresses, active))
}

/// `lanes 0, 8, 16, 24`, `lanes 0–15`.
fn lanes_in_words(lanes: u32) -> String {
    let mut parts = Vec::new();
    let mut lane = 0;
    while lane < LANES as u32 {
        let run = (lanes >> lane).trailing_ones();
        match run {
            0 => {}
            1 | 2 => parts.extend((lane..lane + run).map(|lane| lane.to_string())),
            _ => parts.push(format!("{lane}–{}", lane + run - 1)),
        }
        lane += run + 1;
    }
    format!("{} {}", if lanes.count_ones() == 1 { "lane" } else { "lanes" }, parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_named_in_runs() {
        assert_eq!(lanes_in_words(1 | 1 << 8 | 1 << 16 | 1 << 24), "lanes 0, 8, 16, 24");
        assert_eq!(lanes_in_words(u32::MAX), "lanes 0–31");
        assert_eq!(lanes_in_words(0b1011), "lanes 0, 1, 3");
        assert_eq!(lanes_in_words(1 << 31), "lane 31");
    }
}
