//! The set of initialized bytes of a region.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use super::region::{NoHostMemory, zeroed};

/// Number of bytes that one word of the bitmap covers.
const WORD_BYTES: usize = u32::BITS as usize;

/// A set of byte offsets of a region, as a bitmap.
#[derive(Debug)]
pub(super) struct Initialised {
    bytes: usize,
    /// One bit per byte, set if the byte is initialized. Bits beyond the last byte are never set.
    bitmap: Box<[AtomicU32]>,
    /// Number of clear bits. At 0, the usual case, the bitmap is not consulted.
    missing: AtomicUsize,
}

impl Initialised {
    /// Creates an empty set for a region of `bytes` bytes.
    pub(super) fn try_new(bytes: usize) -> Result<Self, NoHostMemory> {
        Ok(Self { bytes, bitmap: zeroed(bytes.div_ceil(WORD_BYTES))?, missing: AtomicUsize::new(bytes) })
    }

    /// Size on the host, in bytes.
    pub(super) fn host_bytes(&self) -> usize {
        size_of_val(&*self.bitmap)
    }

    pub(super) fn clear(&mut self) {
        self.bitmap.iter_mut().for_each(|word| *word.get_mut() = 0);
        *self.missing.get_mut() = self.bytes;
    }

    /// Copies the set of another region of the same size. No other thread may change either set at
    /// the same time.
    pub(super) fn copy_from(&self, source: &Self) {
        for (word, from) in self.bitmap.iter().zip(&source.bitmap) {
            let bits = from.load(Relaxed);
            if bits != word.load(Relaxed) {
                word.store(bits, Relaxed);
            }
        }
        self.missing.store(source.missing.load(Relaxed), Relaxed);
    }

    #[inline]
    pub(super) fn contains(&self, offset: usize, bytes: usize) -> bool {
        self.missing.load(Relaxed) == 0
            || bits_of(offset, bytes).all(|(word, bits)| self.bitmap[word].load(Relaxed) & bits == bits)
    }

    pub(super) fn first_missing(&self, offset: usize, bytes: usize) -> Option<usize> {
        if self.missing.load(Relaxed) == 0 {
            return None;
        }
        bits_of(offset, bytes).find_map(|(word, bits)| {
            let missing = bits & !self.bitmap[word].load(Relaxed);
            (missing != 0).then(|| word * WORD_BYTES + missing.trailing_zeros() as usize)
        })
    }

    /// Adds bytes. With `is_private`, the caller guarantees that no other thread adds bytes at the
    /// same time, which is cheaper.
    #[inline]
    pub(super) fn insert(&self, offset: usize, bytes: usize, is_private: bool) {
        if self.missing.load(Relaxed) == 0 {
            return;
        }
        let mut new = 0;
        for (word, bits) in bits_of(offset, bytes) {
            let word = &self.bitmap[word];
            let old = word.load(Relaxed);
            if old & bits == bits {
                continue;
            }
            // Only the first store to a byte needs exclusive access to the cache line.
            let old = if is_private {
                word.store(old | bits, Relaxed);
                old
            } else {
                word.fetch_or(bits, Relaxed)
            };
            new += (bits & !old).count_ones() as usize;
        }
        if new > 0 && is_private {
            // If several threads break the guarantee, lost bits are counted twice: saturate.
            self.missing.store(self.missing.load(Relaxed).saturating_sub(new), Relaxed);
        } else if new > 0 {
            self.missing.fetch_sub(new, Relaxed);
        }
    }

    /// Removes bytes.
    pub(super) fn remove(&self, offset: usize, bytes: usize) {
        for (word, bits) in bits_of(offset, bytes) {
            // The count may briefly be too high, which only costs a look at the bitmap, but never
            // too low.
            self.missing.fetch_add(bits.count_ones() as usize, Relaxed);
            let old = self.bitmap[word].fetch_and(!bits, Relaxed);
            self.missing.fetch_sub((bits & !old).count_ones() as usize, Relaxed);
        }
    }
}

/// The words of the bitmap that cover these bytes, each with the mask of their bits.
#[inline]
fn bits_of(offset: usize, bytes: usize) -> impl Iterator<Item = (usize, u32)> {
    let end = offset + bytes;
    let mut next = offset;
    std::iter::from_fn(move || {
        (next < end).then(|| {
            let (word, shift) = (next / WORD_BYTES, next % WORD_BYTES);
            let count = (WORD_BYTES - shift).min(end - next);
            next += count;
            (word, u32::MAX >> (WORD_BYTES - count) << shift)
        })
    })
}
