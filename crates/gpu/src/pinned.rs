//! Page-locked host memory.

use std::ops::{Deref, DerefMut};

use cuda_std::Element;

use crate::Error;
use crate::cuda::CudaPinned;
use crate::device::Backend;

/// Page-locked ("pinned") host memory, used as a slice. The GPU accesses it by DMA without a staging copy, so that
/// [`Buffer::copy_from`](crate::Buffer::copy_from) and [`copy_to`](crate::Buffer::copy_to) are faster. It is scarcer
/// than pageable memory.
///
/// On the simulator and the interpreter it is a `Vec`.
#[derive(Debug)]
pub struct PinnedBuffer<T: Element> {
    storage: PinnedStorage<T>,
}

#[derive(Debug)]
enum PinnedStorage<T: Element> {
    Cuda(CudaPinned<T>),
    Host(Vec<T>),
}

impl<T: Element> PinnedBuffer<T> {
    pub(crate) fn zeroed(backend: &Backend, length: usize) -> Result<Self, Error>
    where
        T: Default,
    {
        let storage = match backend {
            Backend::Simulator { .. } | Backend::Interpreter(_) => PinnedStorage::Host(vec![T::default(); length]),
            Backend::Cuda(cuda) => PinnedStorage::Cuda(CudaPinned::filled(cuda, T::default(), length)?),
        };
        Ok(Self { storage })
    }
}

impl<T: Element> Deref for PinnedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.storage {
            PinnedStorage::Cuda(buffer) => buffer.as_slice(),
            PinnedStorage::Host(values) => values,
        }
    }
}

impl<T: Element> DerefMut for PinnedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.storage {
            PinnedStorage::Cuda(buffer) => buffer.as_mut_slice(),
            PinnedStorage::Host(values) => values,
        }
    }
}
