//! Detects launches that are repeated without effect, as in a program that loops until a change
//! that never comes.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use cuda_launch::LaunchConfig;
use ptx_interpreter::memory::GlobalMemory;

/// Number of identical launches after which memory is compared.
const EQUAL_LAUNCHES: u32 = 1000;

/// Maximum number of different launches that are counted at once.
const MAX_DIFFERENT: usize = 10_000;

/// By the hash of kernel, configuration and parameters: the number of identical launches so far,
/// and the hash of memory after the second to last.
#[derive(Debug, Default)]
pub(crate) struct Relaunches(HashMap<u64, (u32, u64)>);

impl Relaunches {
    /// Counts a finished launch. Returns the number of identical launches if it is time to compare
    /// memory and the last two left it in the same state.
    pub(crate) fn count(
        &mut self,
        (kernel, config, parameters): (&str, LaunchConfig, &[Vec<u8>]),
        memory: &GlobalMemory,
    ) -> Option<u32> {
        let mut hasher = DefaultHasher::new();
        (kernel, format!("{config:?}"), parameters).hash(&mut hasher);
        if self.0.len() >= MAX_DIFFERENT {
            self.0.clear();
        }
        let (count, before) = self.0.entry(hasher.finish()).or_default();
        *count += 1;
        if *count + 1 == EQUAL_LAUNCHES {
            *before = hash_of(memory);
        }
        if *count < EQUAL_LAUNCHES {
            return None;
        }
        let equal = std::mem::take(count);
        (*before == hash_of(memory)).then_some(equal)
    }
}

fn hash_of(memory: &GlobalMemory) -> u64 {
    const PART: usize = 64 << 10;
    let mut hasher = DefaultHasher::new();
    let mut part = vec![0; PART];
    for allocation in memory.view().allocations() {
        allocation.extent.start.hash(&mut hasher);
        let bytes = allocation.region.bytes();
        for offset in (0..bytes).step_by(PART) {
            let part = &mut part[..PART.min(bytes - offset)];
            allocation.region.read(offset, part);
            part.hash(&mut hasher);
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_launches_without_an_effect_are_told_once_in_a_thousand() {
        let mut memory = GlobalMemory::new(1 << 20);
        let address = memory.allocate(70_000).unwrap();
        let config = LaunchConfig::new(1, 32);
        let mut launches = Relaunches::default();
        let mut told = Vec::new();
        for round in 0..5000_u32 {
            // In the second thousand the last byte changes each time, as if another kernel ran in
            // between.
            if (1000..2000).contains(&round) {
                memory.write(address + 69_999, &[round as u8]).unwrap();
            }
            told.extend(launches.count(("k", config, &[vec![1]]), &memory).map(|count| (round, count)));
            assert_eq!(launches.count(("k", config, &[vec![round as u8, 2]]), &memory), None);
        }
        assert_eq!(told, [999, 2999, 3999, 4999].map(|round| (round, 1000)));
    }
}
