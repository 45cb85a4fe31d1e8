//! The simulator's global memory.

use std::cell::UnsafeCell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::{BufferMut, BufferRef, Element, Memory};

/// The simulator's memory; its buffers are [`SimulatorBuffer`]s.
#[derive(Clone, Copy, Debug)]
pub enum SimulatorMemory {}

impl Memory for SimulatorMemory {
    type Buffer<T: Element> = SimulatorBuffer<T>;

    fn buffer_ref<T: Element>(buffer: &SimulatorBuffer<T>) -> BufferRef<'_, T> {
        BufferRef::Simulator(buffer)
    }

    fn buffer_mut<T: Element>(buffer: &mut SimulatorBuffer<T>) -> BufferMut<'_, T> {
        BufferMut::Simulator(buffer)
    }
}

/// A buffer in the simulator's global memory.
#[derive(Debug)]
pub struct SimulatorBuffer<T: Element> {
    elements: Vec<T>,
    /// Whether each element has been written; None if all have.
    written: Option<Box<[AtomicBool]>>,
    /// The last kernel that could write to it, and its parameter.
    writer: Option<(&'static str, &'static str)>,
}

impl<T: Element> SimulatorBuffer<T> {
    /// A buffer with the elements of `values`.
    pub fn from_slice(values: &[T]) -> Self {
        Self { elements: values.to_vec(), written: None, writer: None }
    }

    /// A buffer of `length` elements, each `value`.
    pub fn filled(value: T, length: usize) -> Self {
        Self { elements: vec![value; length], written: None, writer: None }
    }

    /// A buffer of `length` uninitialised elements. A kernel that reads one before it is written faults.
    pub fn uninitialized(length: usize) -> Self {
        let written = (0..length).map(|_| AtomicBool::new(false)).collect();
        Self { elements: vec![T::POISON; length], written: Some(written), writer: None }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// The elements. Uninitialised elements are NaN, or the largest or smallest integer.
    pub fn as_slice(&self) -> &[T] {
        &self.elements
    }

    /// A copy of the elements; see [`as_slice`](Self::as_slice).
    pub fn to_vec(&self) -> Vec<T> {
        self.elements.clone()
    }

    /// Writes all elements.
    ///
    /// # Panics
    /// If the number of values is not the number of elements.
    pub fn copy_from_slice(&mut self, values: &[T]) {
        assert_eq!(values.len(), self.elements.len(), "the number of values must be the number of elements");
        self.copy_from_slice_at(0, values);
    }

    /// Writes `values` to the elements from `first` on.
    ///
    /// # Panics
    /// If the range exceeds the buffer.
    pub fn copy_from_slice_at(&mut self, first: usize, values: &[T]) {
        let end = first + values.len();
        self.elements[first..end].copy_from_slice(values);
        if values.len() == self.elements.len() {
            self.written = None;
        } else if let Some(written) = &mut self.written {
            written[first..end].iter_mut().for_each(|written| *written.get_mut() = true);
        }
    }

    /// The index of the first uninitialised element.
    pub fn first_unwritten(&self) -> Option<usize> {
        self.unwritten(0..self.len()).map(|(first, _)| first)
    }

    /// The index of the first uninitialised element in `range`, and their number. None if there are none.
    ///
    /// # Panics
    /// If the range exceeds the buffer.
    pub fn unwritten(&self, range: Range<usize>) -> Option<(usize, usize)> {
        let start = range.start;
        let written = &self.written.as_ref()?[range];
        let mut missing = (start..).zip(written).filter(|(_, written)| !written.load(Relaxed));
        let (first, _) = missing.next()?;
        Some((first, 1 + missing.count()))
    }

    /// The last kernel that was launched with the buffer as an argument that it may write to, and the parameter's name.
    pub fn last_writer(&self) -> Option<(&'static str, &'static str)> {
        self.writer
    }

    /// Notes that `kernel` is launched with the buffer for `parameter`.
    pub(super) fn note_writer(&mut self, kernel: &'static str, parameter: &'static str) {
        self.writer = Some((kernel, parameter));
    }

    /// The elements as the threads of a launch that only reads them share them, and whether each has been written.
    pub(super) fn read_only(&self) -> (&[ReadOnly<T>], Option<&[AtomicBool]>) {
        let (pointer, length) = (self.elements.as_ptr().cast::<ReadOnly<T>>(), self.elements.len());
        // SAFETY: a `ReadOnly<T>` has the layout of T, and the elements are borrowed.
        #[allow(unsafe_code)]
        let elements = unsafe { std::slice::from_raw_parts(pointer, length) };
        (elements, self.written.as_deref())
    }

    /// The elements as the threads of a launch share them, and whether each has been written.
    pub(super) fn cells(&mut self) -> (&[T::Cell], Option<&[AtomicBool]>) {
        const { assert!(size_of::<T>() == size_of::<T::Cell>() && align_of::<T>() >= align_of::<T::Cell>()) };
        let (pointer, length) = (self.elements.as_mut_ptr().cast::<T::Cell>(), self.elements.len());
        // SAFETY: `Element` guarantees that a slice of T may be reinterpreted as cells, and the exclusive borrow that
        // there is no other reference to it.
        #[allow(unsafe_code)]
        let cells = unsafe { std::slice::from_raw_parts(pointer, length) };
        (cells, self.written.as_deref())
    }
}

/// An element that a launch only reads. Another launch may write it before this one is repeated.
#[repr(transparent)]
pub(super) struct ReadOnly<T>(UnsafeCell<T>);

// SAFETY: threads only read it, by `get`.
#[allow(unsafe_code)]
unsafe impl<T: Sync> Sync for ReadOnly<T> {}

impl<T> ReadOnly<T> {
    /// The element.
    ///
    /// # Safety
    /// Nothing writes it while the reference lives.
    #[allow(unsafe_code)]
    pub(super) unsafe fn get(&self) -> &T {
        // SAFETY: the caller upholds this function's contract.
        unsafe { &*self.0.get() }
    }
}
