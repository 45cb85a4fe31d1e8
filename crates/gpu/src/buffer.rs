//! Buffers in a device's memory.

use std::ops::Range;

use cuda_std::simulator::SimulatorBuffer;
use cuda_std::{BufferMut, BufferRef, Element, Memory};

use crate::cuda::CudaBuffer;
use crate::device::Kind;
use crate::interpreter::InterpreterBuffer;
use crate::{Error, recording};

/// Elements in the memory of a device. Dropping it frees the memory.
#[derive(Debug)]
pub struct Buffer<T: Element> {
    place: Place<T>,
}

#[derive(Debug)]
enum Place<T: Element> {
    Cuda(CudaBuffer<T>),
    Simulator(SimulatorBuffer<T>),
    Interpreter(InterpreterBuffer<T>),
}

/// The memory of a [`Device`](crate::Device): what [`Kernel::Arguments`](crate::Kernel::Arguments) is told.
#[derive(Clone, Copy, Debug)]
pub enum DeviceMemory {}

impl Memory for DeviceMemory {
    type Buffer<T: Element> = Buffer<T>;

    fn buffer_ref<T: Element>(buffer: &Buffer<T>) -> BufferRef<'_, T> {
        match &buffer.place {
            Place::Simulator(buffer) => BufferRef::Simulator(buffer),
            Place::Cuda(buffer) => {
                BufferRef::Device { memory: buffer.memory(), address: buffer.address(), length: buffer.len() }
            }
            Place::Interpreter(buffer) => {
                BufferRef::Device { memory: buffer.memory(), address: buffer.address(), length: buffer.len() }
            }
        }
    }

    fn buffer_mut<T: Element>(buffer: &mut Buffer<T>) -> BufferMut<'_, T> {
        match &mut buffer.place {
            Place::Simulator(buffer) => BufferMut::Simulator(buffer),
            Place::Cuda(buffer) => {
                BufferMut::Device { memory: buffer.memory(), address: buffer.address(), length: buffer.len() }
            }
            Place::Interpreter(buffer) => {
                BufferMut::Device { memory: buffer.memory(), address: buffer.address(), length: buffer.len() }
            }
        }
    }
}

impl<T: Element> Buffer<T> {
    pub(crate) fn from_slice(device: &Kind, values: &[T]) -> Result<Self, Error> {
        let place = match device {
            Kind::Simulator { .. } => Place::Simulator(SimulatorBuffer::from_slice(values)),
            Kind::Cuda(cuda) => {
                let mut buffer = CudaBuffer::uninitialized(cuda, values.len())?;
                buffer.copy_from(0, values)?;
                Place::Cuda(buffer)
            }
            Kind::Interpreter(interpreter) => {
                let mut buffer = InterpreterBuffer::uninitialized(interpreter, values.len())?;
                buffer.copy_from(0, values)?;
                Place::Interpreter(buffer)
            }
        };
        Ok(Self { place })
    }

    pub(crate) fn uninitialized(device: &Kind, length: usize) -> Result<Self, Error> {
        let place = match device {
            Kind::Simulator { .. } => Place::Simulator(SimulatorBuffer::uninitialized(length)),
            Kind::Cuda(cuda) => Place::Cuda(CudaBuffer::uninitialized(cuda, length)?),
            Kind::Interpreter(interpreter) => {
                Place::Interpreter(InterpreterBuffer::uninitialized(interpreter, length)?)
            }
        };
        Ok(Self { place })
    }

    pub(crate) fn zeroed(device: &Kind, length: usize) -> Result<Self, Error>
    where
        T: Default,
    {
        let place = match device {
            Kind::Simulator { .. } => Place::Simulator(SimulatorBuffer::filled(T::default(), length)),
            Kind::Cuda(cuda) => {
                let mut buffer = CudaBuffer::uninitialized(cuda, length)?;
                buffer.fill_with_zero_bytes()?;
                Place::Cuda(buffer)
            }
            Kind::Interpreter(interpreter) => {
                let mut buffer = InterpreterBuffer::uninitialized(interpreter, length)?;
                buffer.fill_with_zero_bytes()?;
                Place::Interpreter(buffer)
            }
        };
        Ok(Self { place })
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        match &self.place {
            Place::Simulator(buffer) => buffer.len(),
            Place::Cuda(buffer) => buffer.len(),
            Place::Interpreter(buffer) => buffer.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes all elements, after the launches that were queued before.
    ///
    /// # Errors
    /// If there are not as many values as elements, or the GPU has failed.
    pub fn copy_from(&mut self, values: &[T]) -> Result<(), Error> {
        self.check_length("copy_from", values.len())?;
        self.copy_from_at(0, values)
    }

    /// Writes the elements from `first` on, as many as `values`, after the launches that were queued before.
    ///
    /// # Errors
    /// If they are not all in the buffer, or the GPU has failed.
    pub fn copy_from_at(&mut self, first: usize, values: &[T]) -> Result<(), Error> {
        recording::forbid("copying")?;
        self.check_range("copy_from_at", first..first.saturating_add(values.len()))?;
        match &mut self.place {
            Place::Simulator(buffer) => buffer.copy_from_slice_at(first, values),
            Place::Cuda(buffer) => buffer.copy_from(first, values)?,
            Place::Interpreter(buffer) => buffer.copy_from(first, values)?,
        }
        Ok(())
    }

    /// Reads all elements, after the launches that were queued before.
    ///
    /// # Errors
    /// If there are not as many values as elements, or one of those launches failed.
    pub fn copy_to(&self, values: &mut [T]) -> Result<(), Error> {
        recording::forbid("copying")?;
        self.check_length("copy_to", values.len())?;
        self.read(0, values)
    }

    /// A copy of all elements, after the launches that were queued before.
    ///
    /// # Errors
    /// If one of those launches failed.
    pub fn to_vec(&self) -> Result<Vec<T>, Error> {
        self.to_vec_at(0..self.len())
    }

    /// A copy of the elements in `range`, after the launches that were queued before.
    ///
    /// # Errors
    /// If they are not all in the buffer, or one of those launches failed.
    pub fn to_vec_at(&self, range: Range<usize>) -> Result<Vec<T>, Error> {
        recording::forbid("copying")?;
        self.check_range("to_vec_at", range.clone())?;
        let mut values = vec![T::POISON; range.len()];
        self.read(range.start, &mut values)?;
        Ok(values)
    }

    /// Reads elements from `first` on; they are in the buffer.
    fn read(&self, first: usize, values: &mut [T]) -> Result<(), Error> {
        match &self.place {
            Place::Simulator(buffer) => {
                values.copy_from_slice(&buffer.as_slice()[first..first + values.len()]);
                Ok(())
            }
            Place::Cuda(buffer) => buffer.copy_to(first, values),
            Place::Interpreter(buffer) => buffer.copy_to(first, values),
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
