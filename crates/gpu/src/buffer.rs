//! Buffers in a device's memory.

use std::ops::Range;

use cuda_std::simulator::SimulatorBuffer;
use cuda_std::{BufferMut, BufferRef, Element, Memory};

use crate::cuda::CudaBuffer;
use crate::device::Backend;
use crate::interpreter::InterpreterBuffer;
use crate::{Error, recording};

/// Elements in the memory of a device. Dropping it frees the memory.
#[derive(Debug)]
pub struct Buffer<T: Element> {
    storage: Storage<T>,
}

#[derive(Debug)]
enum Storage<T: Element> {
    Cuda(CudaBuffer<T>),
    Simulator(SimulatorBuffer<T>),
    Interpreter(InterpreterBuffer<T>),
}

/// The memory of a [`Device`](crate::Device), as the type parameter of [`Kernel::Arguments`](crate::Kernel::Arguments).
#[derive(Clone, Copy, Debug)]
pub enum DeviceMemory {}

impl Memory for DeviceMemory {
    type Buffer<T: Element> = Buffer<T>;

    fn buffer_ref<T: Element>(buffer: &Buffer<T>) -> BufferRef<'_, T> {
        match &buffer.storage {
            Storage::Simulator(buffer) => BufferRef::Simulator(buffer),
            Storage::Cuda(buffer) => {
                BufferRef::Device { memory: buffer.memory(), address: buffer.address(), length: buffer.len() }
            }
            Storage::Interpreter(buffer) => {
                BufferRef::Device { memory: buffer.memory(), address: buffer.address(), length: buffer.len() }
            }
        }
    }

    fn buffer_mut<T: Element>(buffer: &mut Buffer<T>) -> BufferMut<'_, T> {
        match &mut buffer.storage {
            Storage::Simulator(buffer) => BufferMut::Simulator(buffer),
            Storage::Cuda(buffer) => {
                BufferMut::Device { memory: buffer.memory(), address: buffer.address(), length: buffer.len() }
            }
            Storage::Interpreter(buffer) => {
                BufferMut::Device { memory: buffer.memory(), address: buffer.address(), length: buffer.len() }
            }
        }
    }
}

impl<T: Element> Buffer<T> {
    pub(crate) fn from_slice(backend: &Backend, values: &[T]) -> Result<Self, Error> {
        let storage = match backend {
            Backend::Simulator { .. } => Storage::Simulator(SimulatorBuffer::from_slice(values)),
            Backend::Cuda(cuda) => {
                let mut buffer = CudaBuffer::uninitialized(cuda, values.len())?;
                buffer.copy_from(0, values)?;
                Storage::Cuda(buffer)
            }
            Backend::Interpreter(interpreter) => {
                let mut buffer = InterpreterBuffer::uninitialized(interpreter, values.len())?;
                buffer.copy_from(0, values)?;
                Storage::Interpreter(buffer)
            }
        };
        Ok(Self { storage })
    }

    pub(crate) fn uninitialized(backend: &Backend, length: usize) -> Result<Self, Error> {
        let storage = match backend {
            Backend::Simulator { .. } => Storage::Simulator(SimulatorBuffer::uninitialized(length)),
            Backend::Cuda(cuda) => Storage::Cuda(CudaBuffer::uninitialized(cuda, length)?),
            Backend::Interpreter(interpreter) => {
                Storage::Interpreter(InterpreterBuffer::uninitialized(interpreter, length)?)
            }
        };
        Ok(Self { storage })
    }

    pub(crate) fn zeroed(backend: &Backend, length: usize) -> Result<Self, Error>
    where
        T: Default,
    {
        let storage = match backend {
            Backend::Simulator { .. } => Storage::Simulator(SimulatorBuffer::filled(T::default(), length)),
            Backend::Cuda(cuda) => {
                let mut buffer = CudaBuffer::uninitialized(cuda, length)?;
                buffer.fill_with_zero_bytes()?;
                Storage::Cuda(buffer)
            }
            Backend::Interpreter(interpreter) => {
                let mut buffer = InterpreterBuffer::uninitialized(interpreter, length)?;
                buffer.fill_with_zero_bytes()?;
                Storage::Interpreter(buffer)
            }
        };
        Ok(Self { storage })
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        match &self.storage {
            Storage::Simulator(buffer) => buffer.len(),
            Storage::Cuda(buffer) => buffer.len(),
            Storage::Interpreter(buffer) => buffer.len(),
        }
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
        match &mut self.storage {
            Storage::Simulator(buffer) => buffer.copy_from_slice_at(first, values),
            Storage::Cuda(buffer) => buffer.copy_from(first, values)?,
            Storage::Interpreter(buffer) => buffer.copy_from(first, values)?,
        }
        Ok(())
    }

    /// Reads all elements. The copy runs after the launches queued before it.
    ///
    /// # Errors
    /// If the lengths differ, or one of those launches failed.
    pub fn copy_to(&self, values: &mut [T]) -> Result<(), Error> {
        recording::forbid("copying")?;
        self.check_length("copy_to", values.len())?;
        self.read(0, values)
    }

    /// All elements. The copy runs after the launches queued before it.
    ///
    /// # Errors
    /// If one of those launches failed.
    pub fn to_vec(&self) -> Result<Vec<T>, Error> {
        self.to_vec_at(0..self.len())
    }

    /// The elements in `range`. The copy runs after the launches queued before it.
    ///
    /// # Errors
    /// If the range is out of bounds, or one of those launches failed.
    pub fn to_vec_at(&self, range: Range<usize>) -> Result<Vec<T>, Error> {
        recording::forbid("copying")?;
        self.check_range("to_vec_at", range.clone())?;
        let mut values = vec![T::POISON; range.len()];
        self.read(range.start, &mut values)?;
        Ok(values)
    }

    /// Reads the elements `first..first + values.len()`, which must be in bounds.
    fn read(&self, first: usize, values: &mut [T]) -> Result<(), Error> {
        match &self.storage {
            Storage::Simulator(buffer) => {
                values.copy_from_slice(&buffer.as_slice()[first..first + values.len()]);
                Ok(())
            }
            Storage::Cuda(buffer) => buffer.copy_to(first, values),
            Storage::Interpreter(buffer) => buffer.copy_to(first, values),
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
