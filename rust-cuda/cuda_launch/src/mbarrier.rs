//! The state of an mbarrier, a barrier in shared memory that counts arrivals and bytes.

use thiserror::Error;

/// An mbarrier (PTX ISA 9.7.13.15). Its current phase completes when all expected arrivals and all
/// expected bytes have arrived. Then the next phase begins, which expects the same number of
/// arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mbarrier {
    /// Number of arrivals per phase.
    expected: u32,
    /// Number of arrivals that the current phase still expects.
    pending: u32,
    /// Bytes that the current phase still expects. Negative if bytes arrive before the thread that
    /// expects them.
    bytes: i32,
    /// The parity of the current phase's number, starting at 0.
    parity: bool,
}

/// An invalid use of an mbarrier.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum MbarrierError {
    /// A number of arrivals out of range.
    #[error("{0} arrivals at an mbarrier: it counts 1 to 2²⁰ − 1")]
    Arrivals(u64),
    /// An operation on memory that is not an mbarrier.
    #[error("there is no mbarrier: nothing has initialised it there, or something has overwritten it")]
    NotInitialised,
    /// More arrivals than the phase expects.
    #[error(
        "{}, but the mbarrier's phase expects only {pending} more of its {expected}, and {bytes} bytes",
        crate::counted(*.arrivals as usize, "arrival")
    )]
    TooManyArrivals {
        /// Number of the thread's arrivals.
        arrivals: u32,
        /// Arrivals that the phase still expects.
        pending: u32,
        /// Number of arrivals per phase.
        expected: u32,
        /// Bytes that the phase still expects.
        bytes: i32,
    },
    /// A wait with a value that is not an mbarrier state.
    #[error("a wait for a phase by a value that no arrival at an mbarrier has returned")]
    State,
    /// A byte count out of range.
    #[error("the mbarrier's phase would expect {0} bytes: it counts up to 2²⁰ − 1, and as many that come too early")]
    Bytes(i64),
}

impl Mbarrier {
    /// Maximum number of arrivals and of bytes.
    pub const MAX: u32 = (1 << 20) - 1;

    /// Creates the mbarrier in its first phase.
    ///
    /// # Errors
    /// If the number of arrivals is 0 or above [`MAX`](Self::MAX).
    pub fn new(arrivals: u64) -> Result<Self, MbarrierError> {
        match u32::try_from(arrivals).ok().filter(|arrivals| (1..=Self::MAX).contains(arrivals)) {
            Some(expected) => Ok(Self { expected, pending: expected, bytes: 0, parity: false }),
            None => Err(MbarrierError::Arrivals(arrivals)),
        }
    }

    /// A thread expects more bytes in the current phase, and arrives. Returns whether that
    /// completes the phase.
    ///
    /// # Errors
    /// If the phase already has all of its arrivals, or the byte count is out of range.
    pub fn arrive_expecting(&mut self, bytes: u32) -> Result<bool, MbarrierError> {
        self.arrive(1, bytes, false)
    }

    /// A thread expects more bytes in the current phase, and arrives `arrivals` times. If it drops
    /// them, later phases expect that many fewer arrivals. Returns whether that completes the
    /// phase.
    ///
    /// # Errors
    /// If there are no arrivals or more than the phase still expects, or the byte count is out of
    /// range.
    pub fn arrive(&mut self, arrivals: u32, bytes: u32, drops: bool) -> Result<bool, MbarrierError> {
        let Self { expected, pending, .. } = *self;
        if arrivals == 0 {
            return Err(MbarrierError::Arrivals(0));
        }
        if arrivals > pending {
            return Err(MbarrierError::TooManyArrivals { arrivals, pending, expected, bytes: self.bytes });
        }
        self.count_bytes(bytes.into())?;
        self.pending -= arrivals;
        if drops {
            self.expected -= arrivals;
        }
        Ok(self.complete())
    }

    /// A thread expects more bytes in the current phase. Returns whether the phase is complete
    /// because they have already arrived.
    ///
    /// # Errors
    /// If the byte count is out of range.
    pub fn expect(&mut self, bytes: u32) -> Result<bool, MbarrierError> {
        self.count_bytes(bytes.into())?;
        Ok(self.complete())
    }

    /// Records the arrival of expected bytes. Returns whether that completes the phase.
    ///
    /// # Errors
    /// If the byte count is out of range.
    pub fn complete_bytes(&mut self, bytes: u32) -> Result<bool, MbarrierError> {
        self.count_bytes(-i64::from(bytes))?;
        Ok(self.complete())
    }

    /// Whether the phase with this parity is complete, which is so if it is the previous phase's
    /// parity and not the current phase's.
    pub fn has_completed(self, parity: bool) -> bool {
        parity != self.parity
    }

    /// Whether the phase of an arrival is complete, given the state that the arrival returned: the
    /// mbarrier's bits before it.
    ///
    /// # Errors
    /// If the bits are not a valid mbarrier.
    pub fn has_completed_phase_of(self, state: u64) -> Result<bool, MbarrierError> {
        let state = Self::from_bits(state).map_err(|_| MbarrierError::State)?;
        Ok(self.has_completed(state.parity))
    }

    /// The arrivals and bytes that the current phase still expects.
    pub fn missing(self) -> (u32, i32) {
        (self.pending, self.bytes)
    }

    fn count_bytes(&mut self, more: i64) -> Result<(), MbarrierError> {
        let bytes = i64::from(self.bytes) + more;
        if bytes.unsigned_abs() > Self::MAX.into() {
            return Err(MbarrierError::Bytes(bytes));
        }
        self.bytes = bytes as i32;
        Ok(())
    }

    fn complete(&mut self) -> bool {
        let is_complete = self.pending == 0 && self.bytes == 0;
        if is_complete {
            (self.pending, self.parity) = (self.expected, !self.parity);
        }
        is_complete
    }

    /// Encodes it in 64 bits: the arrivals, the bytes in two's complement, the parity, and a bit
    /// that is always set.
    pub fn to_bits(self) -> u64 {
        let Self { expected, pending, bytes, parity } = self;
        let bytes = u64::from(bytes as u32) & BYTES;
        u64::from(pending) | u64::from(expected) << 20 | bytes << 40 | u64::from(parity) << 61 | 1 << 63
    }

    /// Decodes an mbarrier.
    ///
    /// # Errors
    /// If the bits are not a valid mbarrier.
    pub fn from_bits(bits: u64) -> Result<Self, MbarrierError> {
        let count = |shift: u32| (bits >> shift) as u32 & Self::MAX;
        // Sign-extend from 21 bits.
        let bytes = (((bits >> 40 & BYTES) << 11) as u32 as i32) >> 11;
        let mbarrier = Self { expected: count(20), pending: count(0), bytes, parity: bits >> 61 & 1 == 1 };
        let is_valid = mbarrier.pending <= mbarrier.expected && mbarrier.to_bits() == bits;
        if is_valid { Ok(mbarrier) } else { Err(MbarrierError::NotInitialised) }
    }
}

/// The mask of the byte count.
const BYTES: u64 = (1 << 21) - 1;

#[cfg(test)]
mod tests {
    use super::{Mbarrier, MbarrierError};

    #[test]
    fn a_phase_ends_with_the_last_arrival_or_the_last_bytes() {
        let mut mbarrier = Mbarrier::new(2).unwrap();
        assert!(!mbarrier.has_completed(false) && mbarrier.has_completed(true));
        // Bytes may arrive before the thread that expects them.
        assert_eq!(mbarrier.complete_bytes(16), Ok(false));
        assert_eq!(mbarrier.missing(), (2, -16));
        assert_eq!(mbarrier.arrive_expecting(0), Ok(false));
        assert_eq!(mbarrier.arrive_expecting(48), Ok(false));
        let too_many = MbarrierError::TooManyArrivals { arrivals: 1, pending: 0, expected: 2, bytes: 32 };
        assert_eq!(mbarrier.arrive_expecting(0), Err(too_many));
        assert_eq!(mbarrier.complete_bytes(32), Ok(true));
        assert!(mbarrier.has_completed(false) && !mbarrier.has_completed(true));
        assert_eq!(mbarrier.arrive_expecting(0), Ok(false));
        assert_eq!(mbarrier.arrive_expecting(0), Ok(true));
        assert!(!mbarrier.has_completed(false));
    }

    #[test]
    fn arrivals_that_are_dropped_are_expected_no_more() {
        let mut mbarrier = Mbarrier::new(5).unwrap();
        assert_eq!(mbarrier.arrive(3, 8, false), Ok(false));
        let too_many = MbarrierError::TooManyArrivals { arrivals: 3, pending: 2, expected: 5, bytes: 8 };
        assert_eq!(mbarrier.arrive(3, 0, false), Err(too_many));
        assert_eq!(mbarrier.arrive(0, 0, false), Err(MbarrierError::Arrivals(0)));
        let first = mbarrier.to_bits();
        assert_eq!(mbarrier.arrive(2, 0, true), Ok(false));
        assert_eq!(mbarrier.has_completed_phase_of(first), Ok(false));
        assert_eq!(mbarrier.complete_bytes(8), Ok(true));
        assert_eq!(mbarrier.missing(), (3, 0));
        assert_eq!(mbarrier.has_completed_phase_of(first), Ok(true));
        assert_eq!(mbarrier.has_completed_phase_of(mbarrier.to_bits()), Ok(false));
        assert_eq!(mbarrier.has_completed_phase_of(1), Err(MbarrierError::State));
        // The bytes arrive before they are expected.
        assert_eq!(mbarrier.complete_bytes(4), Ok(false));
        assert_eq!(mbarrier.arrive(3, 0, true), Ok(false));
        assert_eq!(mbarrier.expect(4), Ok(true));
        // There are no further arrivals.
        assert_eq!(mbarrier.missing(), (0, 0));
        assert_eq!(Mbarrier::from_bits(mbarrier.to_bits()), Ok(mbarrier));
        assert!(mbarrier.arrive(1, 0, false).is_err());
    }

    #[test]
    fn counts_are_within_bounds() {
        assert_eq!(Mbarrier::new(0), Err(MbarrierError::Arrivals(0)));
        assert_eq!(Mbarrier::new(1 << 20), Err(MbarrierError::Arrivals(1 << 20)));
        let mut mbarrier = Mbarrier::new(u64::from(Mbarrier::MAX)).unwrap();
        mbarrier.arrive_expecting(Mbarrier::MAX).unwrap();
        assert_eq!(mbarrier.arrive_expecting(1), Err(MbarrierError::Bytes(1 << 20)));
        mbarrier.complete_bytes(Mbarrier::MAX).unwrap();
        mbarrier.complete_bytes(Mbarrier::MAX).unwrap();
        assert_eq!(mbarrier.complete_bytes(1), Err(MbarrierError::Bytes(-(1 << 20))));
    }

    #[test]
    fn bits_are_those_of_one_mbarrier() {
        for arrivals in [1, 7, Mbarrier::MAX] {
            let mut mbarrier = Mbarrier::new(arrivals.into()).unwrap();
            for bytes in [0, 16, Mbarrier::MAX] {
                assert_eq!(Mbarrier::from_bits(mbarrier.to_bits()), Ok(mbarrier));
                mbarrier.complete_bytes(bytes).unwrap();
                assert_eq!(Mbarrier::from_bits(mbarrier.to_bits()), Ok(mbarrier));
                mbarrier.arrive_expecting(bytes).unwrap();
            }
        }
        for bits in [0, 1, u64::MAX, 0x7ff4_dead_7fa4_dead, 1.0_f64.to_bits()] {
            assert_eq!(Mbarrier::from_bits(bits), Err(MbarrierError::NotInitialised));
        }
    }
}
