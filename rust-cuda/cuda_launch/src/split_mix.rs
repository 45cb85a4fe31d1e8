//! Reproducible random numbers.

/// A random number generator, given by its state (Steele, Lea and Flood, Fast Splittable
/// Pseudorandom Number Generators, OOPSLA 2014: SplitMix64).
#[derive(Clone, Copy, Debug, Default)]
pub struct SplitMix(pub u64);

impl SplitMix {
    /// The next number. The first number for a state is also a hash of the state.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ value >> 31
    }
}
