//! Buffers in the interpreter's device memory.

use std::marker::PhantomData;
use std::ops::Range;
use std::rc::Rc;

use cuda_std::{BufferMut, BufferRef, Element};

use super::Interpreter;
use crate::bytes::{bytes_of, bytes_of_mut};
use crate::storage::Storage;
use crate::{Error, Unwritten};

/// Elements in the interpreter's device memory. Dropping it frees the memory.
#[derive(Debug)]
pub(crate) struct InterpreterBuffer<T: Element> {
    address: u64,
    length: usize,
    /// The last kernel that could have written to it.
    writer: Option<&'static str>,
    interpreter: Rc<Interpreter>,
    elements: PhantomData<T>,
}

impl<T: Element> InterpreterBuffer<T> {
    /// A buffer of `length` uninitialized elements.
    pub(crate) fn uninitialized(interpreter: &Rc<Interpreter>, length: usize) -> Result<Self, Error> {
        let bytes = (length as u64).saturating_mul(size_of::<T>() as u64);
        let address = interpreter.machine.borrow_mut().allocate(bytes)?;
        Ok(Self { address, length, writer: None, interpreter: Rc::clone(interpreter), elements: PhantomData })
    }

    pub(crate) fn fill_with_zero_bytes(&mut self) -> Result<(), Error> {
        let bytes = self.length * size_of::<T>();
        Ok(self.interpreter.machine().memory().fill_zero(self.address, bytes)?)
    }

    fn address_of(&self, index: usize) -> u64 {
        self.address + (index * size_of::<T>()) as u64
    }
}

impl<T: Element> Storage<T> for InterpreterBuffer<T> {
    fn buffer_ref(&self) -> BufferRef<'_, T> {
        BufferRef::Device { memory: self.interpreter.memory, address: self.address, length: self.length }
    }

    fn buffer_mut(&mut self) -> BufferMut<'_, T> {
        self.writer = self.interpreter.launching();
        BufferMut::Device { memory: self.interpreter.memory, address: self.address, length: self.length }
    }

    fn len(&self) -> usize {
        self.length
    }

    fn copy_from(&mut self, first: usize, values: &[T]) -> Result<(), Error> {
        Ok(self.interpreter.machine().memory().write(self.address_of(first), bytes_of(values))?)
    }

    fn unwritten(&self, range: Range<usize>) -> Result<Option<Unwritten>, Error> {
        // If a captured launch did not run, its results are missing.
        if self.interpreter.has_skipped() {
            return Ok(None);
        }
        let machine = self.interpreter.machine();
        let is_missing = |element: usize| {
            let missing = machine.memory().first_uninitialised(self.address_of(element), size_of::<T>());
            missing.map(|byte| byte.is_some())
        };
        let elements = range.len();
        let missing = machine.memory().first_uninitialised(self.address_of(range.start), elements * size_of::<T>())?;
        let Some(byte) = missing else { return Ok(None) };
        let first = range.start + byte / size_of::<T>();
        let mut count = 0;
        for element in first..range.end {
            count += usize::from(is_missing(element)?);
        }
        Ok(Some(Unwritten { first, count, elements, kernel: self.writer, parameter: None }))
    }

    fn copy_to(&self, first: usize, values: &mut [T]) -> Result<(), Error> {
        Ok(self.interpreter.machine().memory().read(self.address_of(first), bytes_of_mut(values))?)
    }
}

impl<T: Element> Drop for InterpreterBuffer<T> {
    fn drop(&mut self) {
        let freed = self.interpreter.machine.borrow_mut().free(self.address);
        // A second panic would hide the first.
        assert!(freed.is_ok() || std::thread::panicking(), "the buffer's address was allocated and not yet freed");
    }
}
