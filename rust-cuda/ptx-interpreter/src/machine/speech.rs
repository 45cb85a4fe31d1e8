//! Messages of Rust kernels: the machine reads the buffer of `cuda_launch::message` after a launch.

use cuda_launch::message::{BUFFER, BUFFER_WORDS, FIRST, LOST, Message, MessageKind, Messages};
use cuda_launch::{Dim3, LaunchConfig};

use super::printed::{PrintBuffer, Printed};
use crate::memory::{Extent, GlobalMemory, GlobalView};

/// The messages of a module, and the buffer that its threads write them to.
#[derive(Debug)]
pub(super) struct Speech {
    messages: Messages,
    buffer: u64,
}

impl Speech {
    /// Allocates the buffer, if the text declares messages and has the variable for its address.
    pub(super) fn new(text: &str, variables: &[Extent], memory: &mut GlobalMemory) -> Option<Self> {
        let messages = Messages::of(text)?;
        let variable = variables.iter().find(|variable| &*variable.name == BUFFER)?.start;
        let bytes = 4 * BUFFER_WORDS;
        let buffer = memory.allocate_named("messages", bytes as u64).ok()?;
        memory.fill_zero(buffer, bytes).ok()?;
        memory.write(buffer + 4, &(BUFFER_WORDS as u32).to_le_bytes()).ok()?;
        memory.write(variable, &buffer.to_le_bytes()).ok()?;
        Some(Self { messages, buffer })
    }

    /// The buffer's address.
    pub(super) fn buffer(&self) -> u64 {
        self.buffer
    }

    /// The words of the buffer up to the reserved ones.
    fn words(&self, view: &GlobalView) -> Vec<u32> {
        let (allocation, offset) = view.find(self.buffer, 4 * BUFFER_WORDS).expect("the machine's own allocation");
        let region = &view.allocations()[allocation].region;
        let reserved = region.load(offset, 4) as usize;
        let mut bytes = vec![0; 4 * BUFFER_WORDS.min(FIRST + reserved)];
        region.read(offset, &mut bytes);
        bytes.chunks_exact(4).map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes"))).collect()
    }

    /// Takes the contents of the buffer, so a later launch begins with an empty one. Texts printed
    /// by threads go to `printed`.
    pub(super) fn take(&self, view: &GlobalView, printed: Option<&PrintBuffer>, config: LaunchConfig) {
        let words = self.words(view);
        if words[0] == 0 {
            return;
        }
        let (messages, lost) = self.messages.read(&words);
        if let Some(printed) = printed {
            let mut prints = messages.into_iter().filter(|message| message.kind == MessageKind::Print);
            let grid = config.grid;
            let all_fit =
                prints.all(|Message { text, block, thread, .. }| printed.add(Printed::line(text, block, thread, grid)));
            if lost > 0 || !all_fit {
                // Uses the last block's first thread, so the text comes last.
                let last = Dim3 { x: grid.x - 1, y: grid.y - 1, z: grid.z - 1 };
                printed.add_last(Printed::line(LOST.to_owned(), last, Dim3 { x: 0, y: 0, z: 0 }, grid));
            }
        }
        let (allocation, offset) = view.find(self.buffer, 4 * words.len()).expect("the machine's own allocation");
        let region = &view.allocations()[allocation].region;
        region.fill_zero(offset, 4);
        region.fill_zero(offset + 8, 4 * (words.len() - 2));
    }

    /// The panic message of a thread of a block.
    pub(super) fn panic(&self, view: &GlobalView, (block, thread): (Dim3, Dim3)) -> Option<Message> {
        let (messages, _) = self.messages.read(&self.words(view));
        let is_its_own = |message: &Message| {
            message.kind == MessageKind::Panic && (message.block, message.thread) == (block, thread)
        };
        messages.into_iter().rfind(is_its_own)
    }
}
