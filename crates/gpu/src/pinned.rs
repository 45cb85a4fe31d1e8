//! Memory of the host that the GPU can reach.

use std::ops::{Deref, DerefMut};

use cuda_std::Element;

use crate::Error;
use crate::cuda::CudaPinned;
use crate::device::Kind;

/// Memory of the host, used as a slice, that the system keeps where it is ("page-locked"): the GPU reads and writes it
/// directly, so that [`Buffer::copy_from`](crate::Buffer::copy_from) and [`copy_to`](crate::Buffer::copy_to) are
/// faster. There is less of it than of other memory.
///
/// Where there is no GPU it is a `Vec`.
#[derive(Debug)]
pub struct PinnedBuffer<T: Element> {
    place: Place<T>,
}

#[derive(Debug)]
enum Place<T: Element> {
    Cuda(CudaPinned<T>),
    Host(Vec<T>),
}

impl<T: Element> PinnedBuffer<T> {
    pub(crate) fn zeroed(device: &Kind, length: usize) -> Result<Self, Error>
    where
        T: Default,
    {
        let place = match device {
            Kind::Simulator { .. } | Kind::Interpreter(_) => Place::Host(vec![T::default(); length]),
            Kind::Cuda(cuda) => Place::Cuda(CudaPinned::filled(cuda, T::default(), length)?),
        };
        Ok(Self { place })
    }
}

impl<T: Element> Deref for PinnedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.place {
            Place::Cuda(buffer) => buffer.as_slice(),
            Place::Host(values) => values,
        }
    }
}

impl<T: Element> DerefMut for PinnedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.place {
            Place::Cuda(buffer) => buffer.as_mut_slice(),
            Place::Host(values) => values,
        }
    }
}
