//! Records in the buffer of what kernels say. `cuda_launch::message` has their layout.

use core::arch::asm;

use super::thread;

/// A record that a thread writes. Without a buffer, or room in it, what is written is lost.
pub struct Record {
    start: *mut u32,
    next: *mut u32,
}

/// Words before the first record.
const FIRST: u32 = 2;
/// Words of a record before its values.
const HEADER_WORDS: u32 = 10;

impl Record {
    /// Reserves a record of the message `number`, whose values have this number of words.
    #[inline(never)]
    pub fn begin(number: u64, words: u32) -> Self {
        let none = Self { start: core::ptr::null_mut(), next: core::ptr::null_mut() };
        let address: u64;
        // SAFETY: `cuda_builder` declares the variable in PTX that mentions it; the host sets it between launches only.
        unsafe {
            asm!("ld.global.u64 {0}, [__cuda_std_messages];", out(reg64) address, options(nostack, preserves_flags));
        }
        if address == 0 {
            return none;
        }
        let buffer = address as *mut u32;
        let words = HEADER_WORDS + words;
        let reserved: u32;
        // SAFETY: the variable has the address of a buffer, whose first word counts what is reserved.
        let capacity = unsafe {
            asm!(
                "atom.global.add.u32 {0}, [{1}], {2};", out(reg32) reserved, in(reg64) address, in(reg32) words,
                options(nostack, preserves_flags)
            );
            buffer.add(1).read_volatile() - FIRST
        };
        if words > capacity || reserved > capacity - words {
            return none;
        }
        // SAFETY: the words from there on are within the buffer, and no other thread's.
        let start = unsafe { buffer.add((FIRST + reserved) as usize) };
        let mut record = Self { start, next: start };
        record.word(words);
        record.word(0);
        record.word(number as u32);
        record.word((number >> 32) as u32);
        let (block, index) = (thread::block_idx(), thread::thread_idx());
        for word in [block.x, block.y, block.z, index.x, index.y, index.z] {
            record.word(word);
        }
        record
    }

    /// Writes the next word.
    #[inline(always)]
    pub fn word(&mut self, word: u32) {
        if !self.start.is_null() {
            // SAFETY: `begin` has reserved as many words as are written.
            unsafe {
                self.next.write_volatile(word);
                self.next = self.next.add(1);
            }
        }
    }

    /// Completes the record: the host sees all of it, even if the thread stops now.
    #[inline(never)]
    pub fn end(self) {
        if !self.start.is_null() {
            thread::system_fence();
            // SAFETY: as above.
            unsafe { self.start.add(1).write_volatile(1) };
            thread::system_fence();
        }
    }
}
