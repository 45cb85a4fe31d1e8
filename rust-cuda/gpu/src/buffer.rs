//! Buffers in a device's memory.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Range;

use cuda_std::{BufferMut, BufferRef, Element, Memory};

use crate::storage::Storage;
use crate::{Error, recording};

/// Elements in a device's memory. Dropping it frees the memory; during recording and replay, the
/// memory is freed afterwards. A GPU device keeps freed memory, up to an eighth of the GPU's
/// memory, for later buffers of the same size. With `GPU_MEMORY_POOL=off` in the environment it
/// keeps none.
pub struct Buffer<T: Element> {
    storage: ManuallyDrop<Box<dyn Storage<T>>>,
}

impl<T: Element> fmt::Debug for Buffer<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Buffer").field("length", &self.len()).finish_non_exhaustive()
    }
}

/// The memory of a [`Device`](crate::Device), as the type parameter of [`Kernel::Arguments`](crate::Kernel::Arguments).
#[derive(Clone, Copy, Debug)]
pub enum DeviceMemory {}

impl Memory for DeviceMemory {
    type Buffer<T: Element> = Buffer<T>;

    fn buffer_ref<T: Element>(buffer: &Buffer<T>) -> BufferRef<'_, T> {
        buffer.storage.buffer_ref()
    }

    fn buffer_mut<T: Element>(buffer: &mut Buffer<T>) -> BufferMut<'_, T> {
        buffer.storage.buffer_mut()
    }
}

impl<T: Element> Buffer<T> {
    pub(crate) fn new(storage: Box<dyn Storage<T>>) -> Self {
        Self { storage: ManuallyDrop::new(storage) }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.storage.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Overwrites all elements. The copy runs after the launches queued before it.
    ///
    /// # Errors
    /// If the lengths differ, or the GPU has failed.
    pub fn copy_from(&mut self, values: &[T]) -> Result<(), Error> {
        self.check_length("copy_from", values.len())?;
        self.copy_from_at(0, values)
    }

    /// Overwrites the elements `first..first + values.len()`. The copy runs after the launches queued before it.
    ///
    /// # Errors
    /// If the range is out of bounds, or the GPU has failed.
    pub fn copy_from_at(&mut self, first: usize, values: &[T]) -> Result<(), Error> {
        recording::forbid("copying")?;
        self.check_range("copy_from_at", first..first.saturating_add(values.len()))?;
        self.storage.copy_from(first, values)
    }

    /// Reads all elements, initialized or not. The copy runs after the launches queued before it.
    ///
    /// # Errors
    /// If the lengths differ, or one of those launches failed.
    pub fn copy_to(&self, values: &mut [T]) -> Result<(), Error> {
        recording::forbid("copying")?;
        self.check_length("copy_to", values.len())?;
        self.storage.copy_to(0, values)
    }

    /// All elements. The copy runs after the launches queued before it.
    ///
    /// # Errors
    /// If one of those launches failed. On the simulator and the interpreter also if an element is
    /// uninitialized because no kernel and no copy has written it: on a GPU its value would be
    /// undefined. Use [`to_vec_at`](Self::to_vec_at) to read a part that was written, and
    /// [`copy_to`](Self::copy_to) to read all elements, initialized or not.
    pub fn to_vec(&self) -> Result<Vec<T>, Error> {
        self.to_vec_at(0..self.len())
    }

    /// The elements in `range`. The copy runs after the launches queued before it.
    ///
    /// # Errors
    /// If the range is out of bounds, or as [`to_vec`](Self::to_vec).
    pub fn to_vec_at(&self, range: Range<usize>) -> Result<Vec<T>, Error> {
        recording::forbid("copying")?;
        self.check_range("to_vec_at", range.clone())?;
        let values = self.storage.to_vec(range.clone())?;
        match self.storage.unwritten(range)? {
            Some(unwritten) => Err(Error::Unwritten(unwritten)),
            None => Ok(values),
        }
    }

    fn check_range(&self, operation: &'static str, range: Range<usize>) -> Result<(), Error> {
        let (buffer, Range { start, end }) = (self.len(), range);
        if start <= end && end <= buffer { Ok(()) } else { Err(Error::Range { operation, buffer, start, end }) }
    }

    fn check_length(&self, operation: &'static str, slice: usize) -> Result<(), Error> {
        let buffer = self.len();
        if buffer == slice { Ok(()) } else { Err(Error::Length { operation, buffer, slice }) }
    }
}

impl<T: Element> Drop for Buffer<T> {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: the storage is taken only here, and not used afterwards.
        let storage = unsafe { ManuallyDrop::take(&mut self.storage) };
        recording::drop_after_recording(storage);
    }
}
