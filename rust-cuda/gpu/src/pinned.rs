//! Page-locked host memory.

use std::fmt;
use std::ops::{Deref, DerefMut};

use cuda_std::Element;

use crate::storage::HostStorage;

/// Page-locked ("pinned") host memory, used as a slice. The GPU accesses it by DMA without a
/// staging copy, which makes [`Buffer::copy_from`](crate::Buffer::copy_from) and
/// [`copy_to`](crate::Buffer::copy_to) faster. It is scarcer than pageable memory. A GPU device
/// keeps up to 64 MiB of dropped memory for later buffers of the same size.
///
/// On the simulator and the interpreter it is a `Vec`.
pub struct PinnedBuffer<T: Element> {
    storage: Box<dyn HostStorage<T>>,
}

impl<T: Element + fmt::Debug> fmt::Debug for PinnedBuffer<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(formatter)
    }
}

impl<T: Element> PinnedBuffer<T> {
    pub(crate) fn new(storage: Box<dyn HostStorage<T>>) -> Self {
        Self { storage }
    }
}

impl<T: Element> Deref for PinnedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.storage
    }
}

impl<T: Element> DerefMut for PinnedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.storage
    }
}
