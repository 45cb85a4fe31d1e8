//! Messages from kernels on a GPU: the buffer of `cuda_launch::message` in page-locked memory.
//!
//! The host reads it after each launch, even after a panic. A panic destroys the context and GPU
//! memory with it, but page-locked memory belongs to the host.

use std::cell::{OnceCell, RefCell};

use cuda_launch::message::{BUFFER, BUFFER_WORDS, FIRST, LOST, Message, MessageKind, Messages};
use cust::memory::LockedBuffer;
use cust::sys;

use super::module::Module;
use super::status::succeed;
use crate::DriverError;

/// The messages of a device's kernels.
#[derive(Debug)]
pub(super) struct Speech {
    messages: Option<Messages>,
    /// Allocated when the first kernel with messages is loaded.
    words: OnceCell<LockedBuffer<u32>>,
    /// The first panic, after which the GPU runs nothing more.
    panic: RefCell<Option<Message>>,
}

impl Speech {
    /// The messages of the kernels in a PTX text.
    pub(super) fn of(text: &str) -> Self {
        Self { messages: Messages::of(text), words: OnceCell::new(), panic: RefCell::new(None) }
    }

    /// Writes the buffer's address to a module, if its text has the variable for it. The context
    /// must be current.
    pub(super) fn connect(&self, module: &Module, text: &str) -> Result<(), DriverError> {
        if self.messages.is_none() || !text.contains(BUFFER) {
            return Ok(());
        }
        if self.words.get().is_none() {
            let mut words = LockedBuffer::new(&0_u32, BUFFER_WORDS)?;
            words[1] = BUFFER_WORDS as u32;
            self.words.set(words).expect("it was empty above, and there is one thread");
        }
        let words = self.words.get().expect("it was set above");
        let mut address = 0;
        // SAFETY: `address` is a valid out-pointer, and the words are page-locked memory of this process.
        #[allow(unsafe_code)]
        let found = unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut address, words.as_ptr().cast_mut().cast(), 0) };
        succeed(found)?;
        module.set_variable(BUFFER, address)
    }

    /// Whether kernels with messages are loaded.
    pub(super) fn is_used(&self) -> bool {
        self.words.get().is_some()
    }

    /// The panic that ended a kernel, if any. No kernel may be running.
    pub(super) fn panic(&self) -> Option<Message> {
        self.take();
        self.panic.borrow().clone()
    }

    /// Prints the threads' output, and keeps the first panic. No kernel may be running.
    pub(super) fn take(&self) {
        let (Some(messages), Some(words)) = (&self.messages, self.words.get()) else { return };
        let first: *const u32 = words.as_ptr();
        // SAFETY: the word is within the buffer. The read is volatile because the GPU has written
        // it.
        #[allow(unsafe_code)]
        let word = |index: usize| unsafe { first.add(index).read_volatile() };
        let reserved = word(0) as usize;
        if reserved == 0 {
            return;
        }
        let end = BUFFER_WORDS.min(FIRST.saturating_add(reserved));
        let copy: Vec<u32> = (0..end).map(word).collect();
        let (messages, lost) = messages.read(&copy);
        for message in messages {
            match message.kind {
                MessageKind::Print => println!("{message}"),
                MessageKind::Panic => {
                    self.panic.borrow_mut().get_or_insert(message);
                }
            }
        }
        if lost > 0 {
            println!("{LOST}");
        }
        let first = first.cast_mut();
        for index in (0..end).filter(|&index| index != 1) {
            // SAFETY: as above; the buffer is this device's own, and no reference to its words
            // exists.
            #[allow(unsafe_code)]
            unsafe {
                first.add(index).write_volatile(0);
            }
        }
    }
}
