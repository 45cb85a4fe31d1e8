//! Device memory as buffers use it.

use std::ops::{DerefMut, Range};

use cuda_std::simulator::SimulatorBuffer;
use cuda_std::{BufferMut, BufferRef, Element};

use crate::{Error, Unwritten};

/// Elements in one device's memory.
pub(crate) trait Storage<T: Element> {
    /// The buffer as an argument of a kernel that reads it.
    fn buffer_ref(&self) -> BufferRef<'_, T>;
    /// The buffer as an argument of a kernel that writes it.
    fn buffer_mut(&mut self) -> BufferMut<'_, T>;
    fn len(&self) -> usize;
    /// Overwrites the elements `first..first + values.len()`, which must be in bounds.
    fn copy_from(&mut self, first: usize, values: &[T]) -> Result<(), Error>;
    /// Reads the elements `first..first + values.len()`, which must be in bounds.
    fn copy_to(&self, first: usize, values: &mut [T]) -> Result<(), Error>;
    /// The elements in `range`, which must be in bounds.
    fn to_vec(&self, range: Range<usize>) -> Result<Vec<T>, Error> {
        let mut values = vec![T::POISON; range.len()];
        self.copy_to(range.start, &mut values)?;
        Ok(values)
    }

    /// The elements in `range`, which must be in bounds, that were never written. None if there are
    /// none, or if the device does not track this.
    fn unwritten(&self, range: Range<usize>) -> Result<Option<Unwritten>, Error>;
}

impl<T: Element> Storage<T> for SimulatorBuffer<T> {
    fn buffer_ref(&self) -> BufferRef<'_, T> {
        BufferRef::Simulator(self)
    }

    fn buffer_mut(&mut self) -> BufferMut<'_, T> {
        BufferMut::Simulator(self)
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn copy_from(&mut self, first: usize, values: &[T]) -> Result<(), Error> {
        self.copy_from_slice_at(first, values);
        Ok(())
    }

    fn copy_to(&self, first: usize, values: &mut [T]) -> Result<(), Error> {
        values.copy_from_slice(&self.as_slice()[first..first + values.len()]);
        Ok(())
    }

    fn unwritten(&self, range: Range<usize>) -> Result<Option<Unwritten>, Error> {
        let elements = range.len();
        let (kernel, parameter) = self.last_writer().unzip();
        let found = SimulatorBuffer::unwritten(self, range);
        Ok(found.map(|(first, count)| Unwritten { first, count, elements, kernel, parameter }))
    }
}

/// A device's host memory.
pub(crate) trait HostStorage<T>: DerefMut<Target = [T]> {}

impl<T, S: DerefMut<Target = [T]>> HostStorage<T> for S {}
