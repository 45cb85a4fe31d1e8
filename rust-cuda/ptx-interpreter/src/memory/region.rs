//! The bytes of an allocation, and the set of initialized ones.

use std::sync::atomic::{AtomicU32, Ordering::*};
use std::sync::{Mutex, PoisonError};

use thiserror::Error;

use super::initialised::Initialised;

/// The value of a word. An uninitialized word is NaN in every float type, the largest unsigned
/// integer, or −1 as a signed integer. Words store the complements of their values because the
/// operating system provides zeros, which use no memory until written.
#[inline]
fn get(word: &AtomicU32) -> u32 {
    !word.load(Relaxed)
}

#[inline]
fn set(word: &AtomicU32, value: u32) {
    word.store(!value, Relaxed);
}

/// Locks for atomic operations of 8 and 16 bytes, which cover several words. The offset selects the
/// lock.
static STRIPES: [Mutex<()>; 64] = [const { Mutex::new(()) }; 64];

/// The host does not have enough memory.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the host cannot allocate it")]
pub struct NoHostMemory;

/// Allocates words of zeros. They use host memory only once written.
pub(super) fn zeroed(words: usize) -> Result<Box<[AtomicU32]>, NoHostMemory> {
    bytemuck::try_zeroed_slice_box(words).map_err(|()| NoHostMemory)
}

/// The little-endian bytes of one allocation, and which of them are initialized.
///
/// Blocks access it in parallel. Each access is one or two relaxed atomic accesses to a word, so a
/// race in a kernel yields some value, as on a GPU, and never undefined behavior in the
/// interpreter. An access of 8 bytes may be torn by a racing plain access; `load_whole`,
/// `store_whole` and `update` do not tear each other. No access orders others: executing a kernel's
/// fence also calls `std::sync::atomic::fence`.
///
/// Offsets are in bytes. The offset of a single access is a multiple of its size. Like a slice,
/// every method panics if an offset is out of bounds or misaligned. Callers have already resolved
/// the allocation, and a bug in them must not read or change other bytes.
#[derive(Debug)]
pub struct Region {
    bytes: usize,
    words: Box<[AtomicU32]>,
    initialised: Initialised,
    /// Whether only one host thread accesses it at a time, so updates need no synchronization.
    is_private: bool,
}

impl Region {
    /// Creates a region of `bytes` uninitialized bytes.
    ///
    /// # Panics
    /// If the host does not have enough memory.
    pub fn new(bytes: usize) -> Self {
        Self::try_new(bytes).expect("the host has memory for a block's or a thread's memory")
    }

    /// Like `new`, for memory that only one host thread accesses at a time, such as a block's
    /// shared memory. Updates, first stores and stores of less than a word are much faster, but may
    /// be lost if two threads execute them at the same time.
    pub fn private(bytes: usize) -> Self {
        Self { is_private: true, ..Self::new(bytes) }
    }

    /// Like `new`, without a panic if the host does not have enough memory.
    ///
    /// # Errors
    /// If the host does not have enough memory.
    pub fn try_new(bytes: usize) -> Result<Self, NoHostMemory> {
        let initialised = Initialised::try_new(bytes)?;
        Ok(Self { bytes, words: zeroed(bytes.div_ceil(4))?, initialised, is_private: false })
    }

    /// A copy, without a panic if the host does not have enough memory.
    ///
    /// # Errors
    /// If the host does not have enough memory.
    pub fn try_clone(&self) -> Result<Self, NoHostMemory> {
        let copy = Self { is_private: self.is_private, ..Self::try_new(self.bytes)? };
        copy.copy_from(self);
        Ok(copy)
    }

    /// Creates a region with a copy of `bytes`, all initialized.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let region = Self::new(bytes.len());
        region.write(0, bytes);
        region
    }

    /// Copies the bytes of a region of the same size, and which of them are initialized.
    ///
    /// # Panics
    /// If the sizes differ.
    pub fn copy_from(&self, source: &Self) {
        assert_eq!(self.bytes, source.bytes, "regions of the same size");
        for (word, from) in self.words.iter().zip(&source.words) {
            let value = from.load(Relaxed);
            // A word that was never written keeps using no host memory.
            if value != word.load(Relaxed) {
                word.store(value, Relaxed);
            }
        }
        self.initialised.copy_from(&source.initialised);
    }

    /// Size in bytes.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Size on the host in bytes, including the set of initialized bytes.
    pub fn host_bytes(&self) -> usize {
        size_of_val(&*self.words) + self.initialised.host_bytes()
    }

    /// Makes every byte uninitialized again, for the shared memory of the next block.
    pub fn poison(&mut self) {
        self.words.iter_mut().for_each(|word| *word.get_mut() = 0);
        self.initialised.clear();
    }

    /// Loads the 1, 2, 4 or 8 bytes at `offset`, zero-extended.
    #[inline]
    pub fn load(&self, offset: usize, bytes: usize) -> u64 {
        self.check(offset, bytes, bytes);
        let low = u64::from(get(&self.words[offset / 4]));
        match bytes {
            4 => low,
            8 => low | u64::from(get(&self.words[offset / 4 + 1])) << 32,
            _ => low >> (offset % 4 * 8) & u64::from(mask(bytes)),
        }
    }

    /// Stores the low 1, 2, 4 or 8 bytes of `value` at `offset` and marks them initialized.
    #[inline]
    pub fn store(&self, offset: usize, bytes: usize, value: u64) {
        self.check(offset, bytes, bytes);
        match bytes {
            4 => set(&self.words[offset / 4], value as u32),
            8 => {
                set(&self.words[offset / 4], value as u32);
                set(&self.words[offset / 4 + 1], (value >> 32) as u32);
            }
            _ => _ = self.update_part(offset, bytes, |_| value as u32),
        }
        self.mark_initialised(offset, bytes);
    }

    /// Loads contiguous values of 1, 2, 4 or 8 bytes starting at `offset`, one per lane.
    #[inline]
    pub fn load_run(&self, offset: usize, bytes: usize, destination: &mut [u64]) {
        self.check(offset, bytes, destination.len() * bytes);
        let count = destination.len();
        let first = offset / 4;
        match bytes {
            4 => {
                for (value, word) in destination.iter_mut().zip(&self.words[first..first + count]) {
                    *value = u64::from(get(word));
                }
            }
            8 => {
                let pairs = self.words[first..first + 2 * count].as_chunks::<2>().0;
                for (value, [low, high]) in destination.iter_mut().zip(pairs) {
                    *value = u64::from(get(low)) | u64::from(get(high)) << 32;
                }
            }
            _ => {
                for (index, value) in destination.iter_mut().enumerate() {
                    *value = self.load(offset + index * bytes, bytes);
                }
            }
        }
    }

    /// Stores the low 1, 2, 4 or 8 bytes of each value contiguously, starting at `offset`, and
    /// marks them initialized.
    #[inline]
    pub fn store_run(&self, offset: usize, bytes: usize, values: &[u64]) {
        self.check(offset, bytes, values.len() * bytes);
        let first = offset / 4;
        match bytes {
            4 => {
                for (value, word) in values.iter().zip(&self.words[first..first + values.len()]) {
                    set(word, *value as u32);
                }
            }
            8 => {
                let pairs = self.words[first..first + 2 * values.len()].as_chunks::<2>().0;
                for (value, [low, high]) in values.iter().zip(pairs) {
                    set(low, *value as u32);
                    set(high, (value >> 32) as u32);
                }
            }
            _ => {
                for (index, value) in values.iter().enumerate() {
                    self.update_part(offset + index * bytes, bytes, |_| *value as u32);
                }
            }
        }
        self.mark_initialised(offset, values.len() * bytes);
    }

    /// Like `load`, but never torn by `store_whole` or `update`. For volatile, relaxed and acquire
    /// loads.
    pub fn load_whole(&self, offset: usize, bytes: usize) -> u64 {
        self.exclusively(offset, bytes, || self.load(offset, bytes))
    }

    /// Like `store`, but never torn for `load_whole` and `update`. For volatile, relaxed and
    /// release stores.
    pub fn store_whole(&self, offset: usize, bytes: usize, value: u64) {
        self.exclusively(offset, bytes, || self.store(offset, bytes, value));
    }

    /// Replaces the 1, 2, 4 or 8 bytes at `offset` with the result of `new` and returns the old
    /// ones, atomically with respect to updates of the same size. `new` may be called several times
    /// and must not access memory.
    #[inline]
    pub fn update(&self, offset: usize, bytes: usize, mut new: impl FnMut(u64) -> u64) -> u64 {
        self.check(offset, bytes, bytes);
        let old = match bytes {
            4 => self.update_word(offset / 4, |old| new(u64::from(old)) as u32).into(),
            8 => self.exclusively(offset, bytes, || {
                let old = self.load(offset, bytes);
                self.store(offset, bytes, new(old));
                old
            }),
            _ => self.update_part(offset, bytes, |old| new(u64::from(old)) as u32).into(),
        };
        self.mark_initialised(offset, bytes);
        old
    }

    /// Like `update`, for 16 bytes.
    pub fn update_wide(&self, offset: usize, new: impl FnOnce(u128) -> u128) -> u128 {
        self.exclusively(offset, 16, || {
            let old = u128::from(self.load(offset, 8)) | u128::from(self.load(offset + 8, 8)) << 64;
            let value = new(old);
            self.store(offset, 8, value as u64);
            self.store(offset + 8, 8, (value >> 64) as u64);
            old
        })
    }

    /// Writes bytes at any offset and marks them initialized.
    pub fn write(&self, offset: usize, source: &[u8]) {
        let head = head_bytes(offset, source.len());
        let (head, rest) = source.split_at(head);
        let (words, tail) = rest.as_chunks::<4>();
        self.write_bytes(offset, head);
        let first = (offset + head.len()) / 4;
        for (word, value) in self.words[first..first + words.len()].iter().zip(words) {
            set(word, u32::from_le_bytes(*value));
        }
        self.write_bytes(offset + source.len() - tail.len(), tail);
        self.mark_initialised(offset, source.len());
    }

    /// Writes at most 16 bytes at any offset. The bytes in `unwritten` (bit i is byte i) become
    /// uninitialized, the others initialized.
    pub fn write_part(&self, offset: usize, source: &[u8], unwritten: u16) {
        self.write(offset, source);
        (0..source.len())
            .filter(|byte| unwritten >> byte & 1 == 1)
            .for_each(|byte| self.mark_uninitialised(offset + byte, 1));
    }

    /// The uninitialized ones of at most 16 bytes: bit i is byte i.
    pub fn unwritten(&self, offset: usize, bytes: usize) -> u16 {
        let missing = |byte: &usize| !self.is_initialised(offset + byte, 1);
        match self.is_initialised(offset, bytes) {
            true => 0,
            false => (0..bytes).filter(missing).fold(0, |bits, byte| bits | 1 << byte),
        }
    }

    /// Reads bytes at any offset, initialized or not.
    pub fn read(&self, offset: usize, destination: &mut [u8]) {
        let bytes = destination.len();
        let (head, rest) = destination.split_at_mut(head_bytes(offset, bytes));
        let first = (offset + head.len()) / 4;
        let (words, tail) = rest.as_chunks_mut::<4>();
        self.read_bytes(offset, head);
        for (word, value) in self.words[first..first + words.len()].iter().zip(words) {
            *value = get(word).to_le_bytes();
        }
        self.read_bytes(offset + bytes - tail.len(), tail);
    }

    /// Writes zeros at any offset and marks them initialized.
    pub fn fill_zero(&self, offset: usize, bytes: usize) {
        let head = head_bytes(offset, bytes);
        let (words, tail) = ((bytes - head) / 4, (bytes - head) % 4);
        self.write_bytes(offset, &[0; 4][..head]);
        let first = (offset + head) / 4;
        self.words[first..first + words].iter().for_each(|word| set(word, 0));
        self.write_bytes(offset + bytes - tail, &[0; 4][..tail]);
        self.mark_initialised(offset, bytes);
    }

    /// Whether all of the bytes are initialized.
    #[inline]
    pub fn is_initialised(&self, offset: usize, bytes: usize) -> bool {
        self.initialised.contains(offset, bytes)
    }

    /// A copy of the bytes with zeros for uninitialized ones, and the ranges of the initialized
    /// ones, in order.
    pub fn initialised_bytes(&self, offset: usize, bytes: usize) -> (Vec<u8>, Vec<(usize, usize)>) {
        let (mut copy, mut ranges) = (vec![0; bytes], Vec::<(usize, usize)>::new());
        for byte in (0..bytes).filter(|byte| self.is_initialised(offset + byte, 1)) {
            match ranges.last_mut().filter(|(_, end)| *end == byte) {
                Some((_, end)) => *end += 1,
                None => ranges.push((byte, byte + 1)),
            }
        }
        for (from, to) in &ranges {
            self.read(offset + from, &mut copy[*from..*to]);
        }
        (copy, ranges)
    }

    /// Offset of the first uninitialized byte, if any.
    pub fn first_uninitialised(&self, offset: usize, bytes: usize) -> Option<usize> {
        self.initialised.first_missing(offset, bytes)
    }

    /// Marks the bytes as initialized without changing them.
    #[inline]
    pub fn mark_initialised(&self, offset: usize, bytes: usize) {
        self.initialised.insert(offset, bytes, self.is_private);
    }

    /// Marks the bytes as uninitialized without changing them, for copies of uninitialized bytes.
    pub fn mark_uninitialised(&self, offset: usize, bytes: usize) {
        self.initialised.remove(offset, bytes);
    }

    /// Panics if `length` bytes at `offset` are out of bounds, or `offset` is not a multiple of `size`, a power of two.
    #[inline]
    fn check(&self, offset: usize, size: usize, length: usize) {
        let is_within = offset.checked_add(length).is_some_and(|end| end <= self.bytes);
        assert!(
            is_within && offset & size.wrapping_sub(1) == 0,
            "{length} bytes at offset {offset}, in accesses of {size} bytes, are out of bounds or misaligned in a region of {}",
            self.bytes
        );
    }

    #[inline]
    fn update_word(&self, word: usize, mut new: impl FnMut(u32) -> u32) -> u32 {
        let word = &self.words[word];
        let mut old = get(word);
        if self.is_private {
            set(word, new(old));
            return old;
        }
        loop {
            match word.compare_exchange_weak(!old, !new(old), AcqRel, Relaxed) {
                Ok(_) => return old,
                Err(found) => old = !found,
            }
        }
    }

    /// Updates 1 or 2 bytes of a word. Another thread may store to the word's other bytes at the
    /// same time.
    fn update_part(&self, offset: usize, bytes: usize, mut new: impl FnMut(u32) -> u32) -> u32 {
        let (shift, mask) = (offset % 4 * 8, mask(bytes));
        let with = |word: u32, part: u32| word & !(mask << shift) | (part & mask) << shift;
        let old = self.update_word(offset / 4, |word| with(word, new(word >> shift & mask)));
        old >> shift & mask
    }

    fn write_bytes(&self, offset: usize, source: &[u8]) {
        for (index, byte) in source.iter().enumerate() {
            self.update_part(offset + index, 1, |_| u32::from(*byte));
        }
    }

    fn read_bytes(&self, offset: usize, destination: &mut [u8]) {
        for (index, byte) in destination.iter_mut().enumerate() {
            *byte = self.load(offset + index, 1) as u8;
        }
    }

    /// Runs `access`, excluding other such calls for multi-word accesses at that offset.
    fn exclusively<R>(&self, offset: usize, bytes: usize, access: impl FnOnce() -> R) -> R {
        if bytes <= 4 || self.is_private {
            return access();
        }
        let stripe = &STRIPES[offset / 16 % STRIPES.len()];
        // A panic of `new` leaves memory unchanged, so a poisoned lock is harmless.
        let _guard = stripe.lock().unwrap_or_else(PoisonError::into_inner);
        access()
    }
}

impl Clone for Region {
    fn clone(&self) -> Self {
        self.try_clone().expect("the host has memory for a copy of a block's memory")
    }
}

/// Mask of the bits of a value of 1 or 2 bytes.
#[inline]
fn mask(bytes: usize) -> u32 {
    match bytes {
        1 => 0xff,
        2 => 0xffff,
        _ => panic!("an access of {bytes} bytes; the size must be 1, 2, 4 or 8"),
    }
}

/// Number of bytes before the next word boundary, at most `bytes`.
fn head_bytes(offset: usize, bytes: usize) -> usize {
    (offset.wrapping_neg() % 4).min(bytes)
}
