//! Coalescing of global accesses and bank conflicts of shared accesses, per warp.
//!
//! Global memory is transferred in sectors of 32 bytes. Four sectors make a line of 128 bytes. A
//! warp's access takes one transaction per sector that it touches (CUDA C++ Best Practices Guide,
//! "Coalesced Access to Global Memory").
//!
//! Shared memory has 32 banks. Successive 4-byte words are in successive banks. Each bank serves
//! one word at a time, and lanes that access the same word share it (CUDA C++ Programming Guide,
//! "Shared Memory" of compute capability 5.x and later). The number of wavefronts, in the
//! profiler's terms, is the maximum number of distinct words in one bank. With 8 bytes per lane,
//! the two half-warps are served one after the other; with 16 bytes, the four quarter-warps. A GPU
//! may pair lanes better if some are inactive or share words. This is not modeled.

/// The lanes of a warp.
const LANES: usize = 32;

/// Sectors and lines touched by a warp's access to global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GlobalPattern {
    /// Number of 32-byte sectors with an accessed byte.
    pub sectors: u32,
    /// Number of sectors that the accessed bytes would fill if they were contiguous: distinct bytes divided by 32,
    /// rounded up.
    pub min_sectors: u32,
    /// Number of 128-byte lines with an accessed byte.
    pub lines: u32,
}

/// Wavefronts taken by a warp's access to shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedPattern {
    /// Number of passes over the banks.
    pub wavefronts: u32,
    /// Number of passes without bank conflicts.
    pub min_wavefronts: u32,
}

/// The bank that needs the most passes in a warp's access to shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusiestBank {
    /// Index of the bank, below 32.
    pub bank: u32,
    /// Number of distinct words accessed in the bank, served one after the other.
    pub words: u32,
    /// The lanes that access it: bit i is lane i.
    pub lanes: u32,
}

/// The pattern of an access of `bytes` (1 to 16) at each address with its bit set in `active`.
///
/// The addresses are in global memory. None may wrap around the end of the address space.
#[inline]
pub fn global_pattern(addresses: &[u64; LANES], active: u32, bytes: usize) -> GlobalPattern {
    let bytes = bytes as u64;
    if active == u32::MAX
        && let Some(stride) = stride(addresses)
        && let Some(pattern) = strided(addresses[0], stride, bytes)
    {
        return pattern;
    }
    let mut sorted = [0; LANES];
    let count = compact(addresses, active, &mut sorted);
    let sorted = &mut sorted[..count];
    // No early exit, so the compiler can vectorize the comparison.
    if sorted.windows(2).fold(false, |descends, pair| descends | (pair[0] > pair[1])) {
        sorted.sort_unstable();
    }
    scattered(sorted, bytes)
}

/// The pattern of an access to `bytes` (1 to 16) bytes of shared memory at each address with its
/// bit set in `active`. Each address must be a multiple of `bytes`.
#[inline]
pub fn shared_pattern(addresses: &[u64; LANES], active: u32, bytes: usize) -> SharedPattern {
    let groups = lane_groups(bytes);
    if active == u32::MAX
        && let Some(stride) = stride(addresses)
    {
        let min_wavefronts = groups as u32;
        // With a stride of 2ⁿ times an odd number, groups of 2ⁿ words share a bank, at most all 32.
        let words = stride / 4;
        if stride == 0 || stride == bytes as u64 {
            return SharedPattern { wavefronts: min_wavefronts, min_wavefronts };
        } else if groups == 1 && stride.is_multiple_of(4) {
            return SharedPattern { wavefronts: 1 << words.trailing_zeros().min(5), min_wavefronts };
        }
    }
    let lanes = LANES / groups;
    let mut pattern = SharedPattern::default();
    for group in 0..groups {
        let active = active >> (group * lanes) & u32::MAX >> (LANES - lanes);
        if active != 0 {
            pattern.wavefronts += wavefronts(&addresses[group * lanes..][..lanes], active, bytes as u64);
            pattern.min_wavefronts += 1;
        }
    }
    pattern
}

/// The busiest bank of an access like in [`shared_pattern`], over all groups of lanes that are
/// served together. The first one in case of a tie; `None` if no lane is active.
pub fn busiest_bank(addresses: &[u64; LANES], active: u32, bytes: usize) -> Option<BusiestBank> {
    let lanes = LANES / lane_groups(bytes);
    let words = |lane: usize| addresses[lane] / 4..addresses[lane] / 4 + bytes.div_ceil(4) as u64;
    let mut busiest: Option<BusiestBank> = None;
    for first in (0..LANES).step_by(lanes) {
        let mut accessed: Vec<(u64, u64, usize)> = (first..first + lanes)
            .filter(|lane| active >> lane & 1 == 1)
            .flat_map(|lane| words(lane).map(move |word| (word % 32, word, lane)))
            .collect();
        accessed.sort_unstable();
        for of_bank in accessed.chunk_by(|one, other| one.0 == other.0) {
            let words = of_bank.chunk_by(|one, other| one.1 == other.1).count() as u32;
            if busiest.is_none_or(|busiest| busiest.words < words) {
                let lanes = of_bank.iter().fold(0, |lanes, (_, _, lane)| lanes | 1 << lane);
                busiest = Some(BusiestBank { bank: of_bank[0].0 as u32, words, lanes });
            }
        }
    }
    busiest
}

/// Number of groups of a warp's lanes that are served one after the other.
fn lane_groups(bytes: usize) -> usize {
    bytes.div_ceil(4).next_power_of_two().clamp(1, LANES)
}

/// The difference between consecutive addresses, modulo 2⁶⁴, if it is constant.
#[inline]
pub fn stride(addresses: &[u64; LANES]) -> Option<u64> {
    let stride = addresses[1].wrapping_sub(addresses[0]);
    let (mut difference, mut expected) = (0, addresses[0]);
    // No early exit, so the compiler can vectorize the comparison.
    for address in addresses {
        difference |= address ^ expected;
        expected = expected.wrapping_add(stride);
    }
    (difference == 0).then_some(stride)
}

/// The pattern of 32 accesses at a constant stride. `None` if accesses may overlap partially or
/// straddle two sectors.
#[inline]
fn strided(first: u64, stride: u64, bytes: u64) -> Option<GlobalPattern> {
    if !bytes.is_power_of_two() || bytes > 16 || (first | stride) & (bytes - 1) != 0 {
        return None;
    }
    if stride == 0 {
        return Some(GlobalPattern { sectors: 1, min_sectors: 1, lines: 1 });
    }
    let last = first.wrapping_add(stride.wrapping_mul(LANES as u64 - 1));
    let (first, last) = (first.min(last), first.max(last));
    let step = stride.min(stride.wrapping_neg());
    // A stride of at most a block skips none. A longer stride puts each access into its own block.
    let blocks = |size| if step > size { LANES as u32 } else { (last / size - first / size + 1) as u32 };
    Some(GlobalPattern { sectors: blocks(32), min_sectors: bytes as u32, lines: blocks(128) })
}

/// Copies the active addresses to the front of `into` and returns their number.
fn compact(addresses: &[u64; LANES], mut active: u32, into: &mut [u64; LANES]) -> usize {
    if active == u32::MAX {
        *into = *addresses;
        return LANES;
    }
    let mut count = 0;
    while active != 0 {
        into[count] = addresses[active.trailing_zeros() as usize];
        count += 1;
        active &= active - 1;
    }
    count
}

/// The pattern of accesses at ascending addresses, which may overlap.
fn scattered(sorted: &[u64], bytes: u64) -> GlobalPattern {
    let mut pattern = GlobalPattern::default();
    if sorted.is_empty() {
        return pattern;
    }
    let low_bits = sorted.iter().fold(0, |bits, address| bits | address);
    if bytes.is_power_of_two() && bytes <= 16 && low_bits & (bytes - 1) == 0 {
        // No access straddles two sectors, and two accesses overlap only if they are equal.
        let changes = |shift: u32| {
            let pairs = sorted.iter().zip(&sorted[1..]);
            pairs.fold(1, |count, (a, b)| count + u32::from(a >> shift != b >> shift))
        };
        let distinct = u64::from(changes(0)) * bytes;
        return GlobalPattern { sectors: changes(5), min_sectors: distinct.div_ceil(32) as u32, lines: changes(7) };
    }
    // Everything below these bounds is already counted.
    let (mut sector, mut line, mut byte) = (0, 0, 0);
    let mut distinct = 0;
    for &start in sorted {
        let end = start + bytes;
        let (sector_end, line_end) = ((end - 1) / 32 + 1, (end - 1) / 128 + 1);
        pattern.sectors += (sector_end - sector.max(start / 32).min(sector_end)) as u32;
        pattern.lines += (line_end - line.max(start / 128).min(line_end)) as u32;
        distinct += end - byte.max(start).min(end);
        (sector, line, byte) = (sector_end, line_end, end);
    }
    pattern.min_sectors = distinct.div_ceil(32) as u32;
    pattern
}

/// The maximum number of distinct words in one bank.
fn wavefronts(addresses: &[u64], active: u32, bytes: u64) -> u32 {
    let words = bytes.div_ceil(4);
    // The first word of each bank, usually the only one.
    let mut first = [0; 32];
    let mut seen = 0_u32;
    let mut others = [0_u64; LANES];
    let mut count = 0;
    let mut left = active;
    while left != 0 {
        let address = addresses[left.trailing_zeros() as usize];
        left &= left - 1;
        for word in address / 4..address / 4 + words {
            let bank = (word % 32) as usize;
            if seen >> bank & 1 == 0 {
                seen |= 1 << bank;
                first[bank] = word;
            } else if first[bank] != word {
                // At most 32 words in total: the size of a group of lanes ensures this.
                others[count] = word;
                count += 1;
            }
        }
    }
    match others.get_mut(..count) {
        None | Some([]) => 1,
        Some(others) => 1 + max_words_per_bank(others),
    }
}

/// The maximum number of distinct words in one bank, among `words`. Reorders `words`.
fn max_words_per_bank(words: &mut [u64]) -> u32 {
    // Sort by bank, then by word.
    words.iter_mut().for_each(|word| *word = word.rotate_right(5));
    words.sort_unstable();
    let (mut max, mut run) = (1, 1);
    for pair in words.windows(2) {
        if pair[0] >> 59 != pair[1] >> 59 {
            run = 1;
        } else if pair[0] != pair[1] {
            run += 1;
            max = max.max(run);
        }
    }
    max
}
