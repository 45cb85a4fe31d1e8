//! Global memory, as the types of a kernel's parameters.

use std::any::Any;
use std::ops::{Index, Range};
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::atomic::Atomic;
use super::buffer::ReadOnly;
use super::fault::{self, Access, FaultKind, Place, SourceLocation};
use super::saved::Saved;
use super::shadow::Conflict;
use super::{current, synchronization, watchdog};
use crate::{ArgumentError, AtomicElement, BufferMut, BufferRef, Element, F32x4, Memory, QuadElement};

/// Global memory that the kernel only reads: the type of a parameter `&[T]` in the kernel's body.
pub struct Global<'a, T: Element> {
    elements: &'a [ReadOnly<T>],
    /// Index of the first element in the buffer. Its name is none of a slice's methods, for the compiler's messages.
    offset: usize,
    written: Option<&'a [AtomicBool]>,
    name: &'static str,
}

impl<T: Element> Clone for Global<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element> Copy for Global<'_, T> {}

impl<'a, T: Element> Global<'a, T> {
    /// The argument for parameter `name`.
    #[doc(hidden)]
    pub fn bind<M: Memory>(name: &'static str, buffer: &'a M::Buffer<T>) -> Result<Self, ArgumentError> {
        match M::buffer_ref(buffer) {
            BufferRef::Simulator(buffer) => {
                let (elements, written) = buffer.read_only();
                Ok(Self { elements, offset: 0, written, name })
            }
            BufferRef::Device { .. } => Err(ArgumentError::NotInSimulator { parameter: name }),
        }
    }

    /// The number of elements.
    #[inline]
    pub fn len(self) -> usize {
        self.elements.len()
    }

    /// Whether there are no elements.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.elements.is_empty()
    }

    /// Element `index`, loaded by one instruction even if it is a vector. An index out of bounds is a fault.
    #[inline]
    #[track_caller]
    pub fn get(self, index: usize) -> T {
        *self.at(index)
    }

    /// All elements, in order. Every thread that iterates reads them all.
    #[track_caller]
    pub fn iter(self) -> impl DoubleEndedIterator<Item = &'a T> + ExactSizeIterator + Clone {
        let location = Location::caller();
        (0..self.len()).map(move |index| self.at_from(index, location))
    }

    /// The elements of this range of indices, whose first has index 0 in the result. A range out of bounds is a fault.
    #[track_caller]
    pub fn slice(self, range: Range<usize>) -> Self {
        let Some(elements) = self.elements.get(range.clone()) else {
            let Range { start, end } = range;
            let kind = FaultKind::Range { place: Place::Global(self.name), start, end, length: self.len() };
            fault::raise_first(kind, Location::caller());
            return Self { elements: &[], written: None, ..self };
        };
        let offset = self.offset + range.start;
        Self { elements, offset, written: self.written.map(|written| &written[range]), name: self.name }
    }

    /// The rows of `length` elements, of which the last may be shorter. A length of 0 is a fault.
    #[track_caller]
    pub fn chunks(self, length: usize) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone {
        assert!(length > 0, "rows of 0 elements");
        (0..self.len().div_ceil(length))
            .map(move |row| self.slice(row * length..((row + 1).saturating_mul(length)).min(self.len())))
    }

    #[inline]
    #[track_caller]
    fn at(self, index: usize) -> &'a T {
        self.at_from(index, Location::caller())
    }

    #[inline]
    fn at_from(self, index: usize, location: &'static Location<'static>) -> &'a T {
        let Some(element) = self.elements.get(index) else {
            let kind = FaultKind::OutOfBounds { place: Place::Global(self.name), index, length: self.len() };
            fault::raise_first(kind, location);
            return Box::leak(Box::new(T::POISON));
        };
        check_written(self.written, self.name, index, location);
        watchdog::count_access(|current| &current.global_loads);
        // SAFETY: the launch borrows the buffer while it runs, and threads have only this access to it.
        #[allow(unsafe_code)]
        unsafe {
            element.get()
        }
    }
}

impl<'a, T: Element> Global<'a, T> {
    /// The view whose element \[i, j, …\] is that at `first` + i · strides\[0\] + j · strides\[1\] + …. If `sizes` have no
    /// zero, an element beyond the end, or beyond 2³² elements, is a fault.
    #[inline]
    #[track_caller]
    pub fn view<const N: usize>(self, first: u32, sizes: [u32; N], strides: [u32; N]) -> GlobalReadView<'a, T, N> {
        let length = crate::strided::addressed(self.len());
        if !crate::strided::is_within(length, first, sizes, strides) {
            let (place, index) = (Place::Global(self.name), crate::strided::last(first, sizes, strides));
            fault::raise_first(FaultKind::OutOfBounds { place, index, length }, Location::caller());
            return GlobalReadView { memory: self, first: 0, sizes: [0; N], strides };
        }
        GlobalReadView { memory: self, first, sizes, strides }
    }
}

/// A strided view of [`Global`] in N dimensions, from [`Global::view`], whose accesses are checked as those of [`GlobalView`].
#[derive(Clone, Copy)]
pub struct GlobalReadView<'a, T: Element, const N: usize> {
    memory: Global<'a, T>,
    first: u32,
    sizes: [u32; N],
    strides: [u32; N],
}

impl<T: Element, const N: usize> GlobalReadView<'_, T, N> {
    /// Element `indices`. An index that is not less than its dimension's size is a fault.
    #[inline]
    #[track_caller]
    pub fn get(self, indices: [u32; N]) -> T {
        match crate::strided::offset(indices, self.sizes, self.strides) {
            Ok(offset) => *self.memory.at(self.first as usize + offset),
            Err((index, length)) => {
                let kind = FaultKind::OutOfBounds { place: Place::Global(self.memory.name), index, length };
                fault::raise_first(kind, Location::caller());
                T::POISON
            }
        }
    }
}

impl<T: QuadElement> Global<'_, T> {
    /// Elements `index` to `index` + 3, loaded by one instruction. An index that is out of bounds or not that of a
    /// multiple of 4 in the buffer is a fault.
    #[inline]
    #[track_caller]
    pub fn quad(self, index: usize) -> T::Quad {
        check_aligned::<4>(self.name, self.offset.saturating_add(index), Location::caller());
        let element = |i| *self.at(index.saturating_add(i));
        [element(0), element(1), element(2), element(3)].into()
    }
}

impl<'a, T: QuadElement> Global<'a, T> {
    /// `count` quads from element `first` on. A range that is out of bounds or does not begin at a multiple of 4 in the buffer is a
    /// fault.
    #[inline]
    #[track_caller]
    pub fn quads(self, first: usize, count: u32) -> GlobalQuads<'a, T> {
        GlobalQuads::new::<4>(self, first, count)
    }
}

impl<'a> Global<'a, u8> {
    /// `count` quads of words from element `first` on, 16 bytes each. A range that is out of bounds or does not begin at a multiple of 16
    /// in the buffer is a fault.
    #[inline]
    #[track_caller]
    pub fn quads(self, first: usize, count: u32) -> GlobalQuads<'a, u8> {
        GlobalQuads::new::<16>(self, first, count)
    }
}

/// Quads of global memory that the kernel only reads, of floats, integers or words of four bytes, from `quads` of [`Global`]: their range is
/// compared with the buffer's length once, and an access compares only its index with their number.
#[derive(Clone, Copy)]
pub struct GlobalQuads<'a, T: Element = f32> {
    values: Global<'a, T>,
    first: usize,
    count: u32,
}

impl<'a, T: Element> GlobalQuads<'a, T> {
    #[track_caller]
    fn new<const ELEMENTS: usize>(values: Global<'a, T>, first: usize, count: u32) -> Self {
        check_aligned::<ELEMENTS>(values.name, values.offset.saturating_add(first), Location::caller());
        let end = first.saturating_add(ELEMENTS * count as usize);
        if end > values.len() {
            let place = Place::Global(values.name);
            let kind = FaultKind::OutOfBounds { place, index: end - 1, length: values.len() };
            fault::raise_first(kind, Location::caller());
            return Self { values, first: 0, count: 0 };
        }
        Self { values, first, count }
    }

    /// The elements of quad `index`.
    #[inline]
    #[track_caller]
    fn elements<const ELEMENTS: usize>(self, index: u32) -> [T; ELEMENTS] {
        if index >= self.count {
            let (index, length) = (index as usize, self.count as usize);
            let kind = FaultKind::OutOfBounds { place: Place::Global(self.values.name), index, length };
            fault::raise_first(kind, Location::caller());
            return [T::POISON; ELEMENTS];
        }
        let (first, location) = (self.first + ELEMENTS * index as usize, Location::caller());
        std::array::from_fn(|i| *self.values.at_from(first + i, location))
    }
}

impl<T: QuadElement> GlobalQuads<'_, T> {
    /// Quad `index`, loaded by one instruction. An index out of bounds is a fault.
    #[inline]
    #[track_caller]
    pub fn get(self, index: u32) -> T::Quad {
        self.elements::<4>(index).into()
    }
}

impl GlobalQuads<'_, u8> {
    /// The words of quad `index`, loaded by one instruction; the first of four bytes is in a word's lowest bits. An index out of bounds is
    /// a fault.
    #[inline]
    #[track_caller]
    pub fn get(self, index: u32) -> [u32; 4] {
        let bytes = self.elements::<16>(index);
        std::array::from_fn(|word| u32::from_le_bytes(std::array::from_fn(|i| bytes[4 * word + i])))
    }
}

/// The type of an index, which is `usize`. The trait's purpose is the compiler's message for other types.
#[diagnostic::on_unimplemented(
    message = "a buffer is indexed by `usize`, not by `{Self}`",
    label = "write `… as usize`",
    note = "for an index of the kernel, `let i = thread::index_1d() as usize;`; a kernel takes no ranges of its memory"
)]
#[doc(hidden)]
pub trait BufferIndex: Copy {
    fn to_usize(self) -> usize;
}

impl BufferIndex for usize {
    #[inline(always)]
    fn to_usize(self) -> usize {
        self
    }
}

// The launch borrows the buffer, so nothing writes to it: returning a reference is sound, and there are no races.
impl<T: Element, I: BufferIndex> Index<I> for Global<'_, T> {
    type Output = T;

    #[inline]
    #[track_caller]
    fn index(&self, index: I) -> &T {
        self.at(index.to_usize())
    }
}

/// Global memory that all threads of a launch can read and write.
pub struct GlobalMut<'a, T: Element> {
    cells: &'a [T::Cell],
    written: Option<&'a [AtomicBool]>,
    name: &'static str,
    /// The index of the kernel's parameter.
    parameter: u32,
}

impl<T: Element> Clone for GlobalMut<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element> Copy for GlobalMut<'_, T> {}

impl<'a, T: Element> GlobalMut<'a, T> {
    /// The argument for parameter `name`.
    #[doc(hidden)]
    pub fn bind<M: Memory>(
        name: &'static str,
        parameter: u32,
        buffer: &'a mut M::Buffer<T>,
    ) -> Result<Self, ArgumentError> {
        match M::buffer_mut(buffer) {
            BufferMut::Simulator(buffer) => {
                buffer.note_writer(current::with(|current| current.binding.get()), name);
                let (cells, written) = buffer.cells();
                Ok(Self { cells, written, name, parameter })
            }
            BufferMut::Device { .. } => Err(ArgumentError::NotInSimulator { parameter: name }),
        }
    }

    /// The number of elements.
    #[inline]
    pub fn len(self) -> usize {
        self.cells.len()
    }

    /// Whether there are no elements.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.cells.is_empty()
    }

    /// Element `index`. An index out of bounds is a fault.
    #[inline]
    #[track_caller]
    pub fn get(self, index: usize) -> T {
        let cell = self.at(index);
        self.check(Access::Read, index, Location::caller(), || true);
        watchdog::count_access(|current| &current.global_loads);
        T::load(cell)
    }

    /// Writes element `index`. An index out of bounds is a fault.
    #[inline]
    #[track_caller]
    pub fn set(self, index: usize, value: T) {
        let cell = self.at(index);
        self.check(Access::Write, index, Location::caller(), || value.is_in(cell));
        watchdog::count_access(|current| &current.global_stores);
        value.store(cell);
    }

    /// The view whose element \[i, j, …\] is that at `first` + i · strides\[0\] + j · strides\[1\] + …. If `sizes` have no
    /// zero, an element beyond the end, or beyond 2³² elements, is a fault.
    #[inline]
    #[track_caller]
    pub fn view<const N: usize>(self, first: u32, sizes: [u32; N], strides: [u32; N]) -> GlobalView<'a, T, N> {
        let length = crate::strided::addressed(self.len());
        if !crate::strided::is_within(length, first, sizes, strides) {
            self.out_of_bounds(crate::strided::last(first, sizes, strides), length, Location::caller());
            return GlobalView { memory: self, first: 0, sizes: [0; N], strides };
        }
        GlobalView { memory: self, first, sizes, strides }
    }

    #[cold]
    fn out_of_bounds(self, index: usize, length: usize, location: &'static Location<'static>) {
        fault::raise_first(FaultKind::OutOfBounds { place: Place::Global(self.name), index, length }, location);
    }

    /// Element `index` for atomic operations. An index out of bounds is a fault.
    #[inline]
    #[track_caller]
    pub fn atomic(self, index: usize) -> Atomic<'a, T, false>
    where
        T: AtomicElement,
    {
        current::before_atomic(Location::caller());
        self.atomic_at_once(index)
    }

    /// As [`atomic`](Self::atomic), without a turn of other threads before it.
    #[inline]
    #[track_caller]
    pub(super) fn atomic_at_once(self, index: usize) -> Atomic<'a, T, false>
    where
        T: AtomicElement,
    {
        let cell = self.at(index);
        self.check(Access::Atomic, index, Location::caller(), || false);
        Atomic::new(cell)
    }

    #[inline]
    #[track_caller]
    fn at(self, index: usize) -> &'a T::Cell {
        watchdog::check(Location::caller());
        let Some(cell) = self.cells.get(index) else {
            let kind = FaultKind::OutOfBounds { place: Place::Global(self.name), index, length: self.cells.len() };
            return fault::instead_of_cell::<T>(kind, Location::caller());
        };
        cell
    }

    /// Checks an access to element `index`, which is within bounds unless the thread unwinds.
    #[inline]
    fn check(self, access: Access, index: usize, location: &'static Location<'static>, same_value: impl Fn() -> bool) {
        if access == Access::Write {
            if let Some(written) = self.written.and_then(|written| written.get(index)) {
                written.store(true, Relaxed);
            }
        } else {
            check_written(self.written, self.name, index, location);
        }
        if current::with(|current| current.checks_races.get()) {
            check_race((self.parameter, self.name, self.cells.len()), access, index, location, &same_value);
        }
    }
}

/// Checks an access to element `index` of the buffer with this parameter, name and length. For elements of all types: compiled once.
#[inline(never)]
fn check_race(
    (parameter, name, length): (u32, &'static str, usize),
    access: Access,
    index: usize,
    location: &'static Location<'static>,
    same_value: &dyn Fn() -> bool,
) {
    if fault::is_unwinding() {
        return;
    }
    let recorded = current::with_block(|block| {
        let shadows = &block.global_shadows;
        let same_value = || !block.launch.options.same_value_races_are_faults && same_value();
        shadows.with(parameter, (length, index), access, |writes, others| {
            let now = current::accessor();
            let is_ordered = |earlier, reads| block.has_ordered((earlier, reads), now);
            writes.record(others, (access, now, location), is_ordered, same_value)
        })
    });
    match recorded {
        Ok(false) => {}
        Ok(true) => current::count(|current| &current.same_value_races),
        Err(conflict) => raise_race(Place::Global(name), index, access, &conflict, location),
    }
}

impl<T: Element> Saved for GlobalMut<'_, T> {
    fn save(&self) -> Box<dyn Any> {
        let elements: Vec<T> = self.cells.iter().map(T::load).collect();
        let written = self.written.map(|written| written.iter().map(|flag| flag.load(Relaxed)).collect::<Vec<bool>>());
        Box::new((elements, written))
    }

    fn restore(&self, saved: &dyn Any) {
        let (elements, written): &(Vec<T>, Option<Vec<bool>>) = saved.downcast_ref().expect("a copy of this buffer");
        for (cell, element) in self.cells.iter().zip(elements) {
            element.store(cell);
        }
        for (flag, was) in self.written.into_iter().flatten().zip(written.iter().flatten()) {
            flag.store(*was, Relaxed);
        }
    }
}

impl<T: QuadElement> GlobalMut<'_, T> {
    /// Elements `index` to `index` + 3, loaded by one instruction. An index that is out of bounds or not a multiple of
    /// 4 is a fault.
    #[inline]
    #[track_caller]
    pub fn quad(self, index: usize) -> T::Quad {
        check_aligned::<4>(self.name, index, Location::caller());
        let element = |i| self.get(index.saturating_add(i));
        [element(0), element(1), element(2), element(3)].into()
    }

    /// Writes elements `index` to `index` + 3 by one instruction. An index that is out of bounds or not a multiple of 4
    /// is a fault.
    #[inline]
    #[track_caller]
    pub fn set_quad(self, index: usize, value: T::Quad) {
        check_aligned::<4>(self.name, index, Location::caller());
        // The last one first: a write that is partly out of bounds writes nothing.
        for (i, value) in value.into().into_iter().enumerate().rev() {
            self.set(index.saturating_add(i), value);
        }
    }
}

/// A strided view of [`GlobalMut`] in N dimensions, from [`GlobalMut::view`].
///
/// An access compares each index with the view's size in its dimension. The compiler removes a comparison that a
/// constant or a condition implies.
pub struct GlobalView<'a, T: Element, const N: usize> {
    memory: GlobalMut<'a, T>,
    first: u32,
    sizes: [u32; N],
    strides: [u32; N],
}

impl<T: Element, const N: usize> Clone for GlobalView<'_, T, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element, const N: usize> Copy for GlobalView<'_, T, N> {}

impl<T: Element, const N: usize> GlobalView<'_, T, N> {
    /// Element `indices`. An index that is not less than its dimension's size is a fault.
    #[inline]
    #[track_caller]
    pub fn get(self, indices: [u32; N]) -> T {
        self.memory.get(self.index(indices))
    }

    /// Writes element `indices`. An index that is not less than its dimension's size is a fault.
    #[inline]
    #[track_caller]
    pub fn set(self, indices: [u32; N], value: T) {
        self.memory.set(self.index(indices), value);
    }

    #[inline]
    #[track_caller]
    fn index(self, indices: [u32; N]) -> usize {
        match crate::strided::offset(indices, self.sizes, self.strides) {
            Ok(offset) => self.first as usize + offset,
            Err((index, size)) => {
                self.memory.out_of_bounds(index, size, Location::caller());
                usize::MAX
            }
        }
    }
}

impl<const N: usize> GlobalView<'_, f32, N> {
    /// Writes the four elements from `indices` on, along the last dimension, by one instruction. Its stride is 1, and its index and size,
    /// and the place of the first element in the buffer, are multiples of 4; anything else is a fault.
    #[inline]
    #[track_caller]
    pub fn set_quad(self, indices: [u32; N], value: F32x4) {
        let index = self.index(indices);
        let (size, stride) = (self.sizes[N - 1] as usize, self.strides[N - 1]);
        for number in [indices[N - 1] as usize, size, index] {
            check_aligned::<4>(self.memory.name, number, Location::caller());
        }
        if stride != 1 {
            let kind = FaultKind::Misaligned { place: Place::Global(self.memory.name), index, elements: 4 };
            return fault::raise_first(kind, Location::caller());
        }
        self.memory.set_quad(index, value);
    }
}

/// Checks that element `index` of a buffer is the first of `ELEMENTS` that one instruction accesses.
#[inline]
fn check_aligned<const ELEMENTS: usize>(name: &'static str, index: usize, location: &'static Location<'static>) {
    if !index.is_multiple_of(ELEMENTS) {
        fault::raise_first(FaultKind::Misaligned { place: Place::Global(name), index, elements: ELEMENTS }, location);
    }
}

#[inline]
fn check_written(
    written: Option<&[AtomicBool]>,
    name: &'static str,
    index: usize,
    location: &'static Location<'static>,
) {
    if let Some(written) = written
        && written.get(index).is_some_and(|written| !written.load(Relaxed))
    {
        fault::raise_first(FaultKind::Unwritten { place: Place::Global(name), index }, location);
    }
}

/// Ends the thread with a fault, unless it unwinds already: its access races with `conflict`.
#[cold]
pub(super) fn raise_race(
    place: Place,
    index: usize,
    access: Access,
    conflict: &Conflict,
    location: &'static Location<'static>,
) {
    let (block_dim, grid_dim) = current::with(|current| (current.block_dim.get(), current.grid_dim.get()));
    let kind = FaultKind::Race {
        place,
        index,
        access,
        other_access: conflict.access,
        other_block: grid_dim.index_of(synchronization::block_of(conflict.accessor)),
        other_thread: block_dim.index_of(conflict.accessor.thread()),
        other_location: conflict.location.map(SourceLocation::from),
    };
    fault::raise_first(kind, location);
}
