//! Global memory, as the types of a kernel's parameters.

use core::marker::PhantomData;
use core::ops::{Index, Range};

use super::atomic::Atomic;
use super::{misaligned, offset_in_view, out_of_bounds, wrong_quad};
use crate::{AtomicElement, Element, F32x4, QuadElement};

/// Global memory that the kernel only reads: the type of a parameter `&[T]` in the kernel's body.
pub struct Global<'a, T: Element> {
    elements: &'a [T],
}

impl<T: Element> Clone for Global<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element> Copy for Global<'_, T> {}

impl<'a, T: Element> Global<'a, T> {
    /// The `length` elements from `pointer` on.
    ///
    /// # Safety
    /// They are in global memory, and nothing writes to them during the launch.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn from_raw_parts(pointer: *const T, length: usize) -> Self {
        // SAFETY: the caller upholds this function's contract.
        Self { elements: unsafe { core::slice::from_raw_parts(pointer, length) } }
    }

    /// The number of elements.
    #[inline(always)]
    pub fn len(self) -> usize {
        self.elements.len()
    }

    /// Whether there are no elements.
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.elements.is_empty()
    }

    /// Element `index`, loaded by one instruction even if it is a vector. An index out of bounds traps.
    #[inline(always)]
    pub fn get(self, index: usize) -> T {
        // SAFETY: a reference is valid for reads.
        unsafe { T::read(&raw const self[index]) }
    }

    /// All elements, in order. Every thread that iterates reads them all.
    #[inline(always)]
    pub fn iter(self) -> impl DoubleEndedIterator<Item = &'a T> + ExactSizeIterator + Clone {
        self.elements.iter()
    }

    /// The elements of this range of indices, whose first has index 0 in the result. A range out of bounds traps.
    #[inline(always)]
    pub fn slice(self, range: Range<usize>) -> Self {
        Self { elements: &self.elements[range] }
    }

    /// The rows of `length` elements, of which the last may be shorter. A length of 0 traps.
    #[inline(always)]
    pub fn chunks(self, length: usize) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone {
        assert!(length > 0, "rows of 0 elements");
        self.elements.chunks(length).map(|elements| Self { elements })
    }
}

impl<'a, T: Element> Global<'a, T> {
    /// `count` elements from element `first` on. If there are fewer, it traps.
    #[inline(always)]
    fn part(self, first: usize, count: usize) -> &'a [T] {
        match self.elements.get(first..).and_then(|rest| rest.get(..count)) {
            Some(part) => part,
            None => out_of_bounds(),
        }
    }

    /// The view whose element \[i, j, …\] is that at `first` + i · strides\[0\] + j · strides\[1\] + …. If `sizes` have no
    /// zero, an element beyond the end, or beyond 2³² elements, traps.
    #[inline(always)]
    pub fn view<const N: usize>(self, first: u32, sizes: [u32; N], strides: [u32; N]) -> GlobalReadView<'a, T, N> {
        if !crate::strided::is_within(crate::strided::addressed(self.len()), first, sizes, strides) {
            out_of_bounds();
        }
        // Not `add`: without elements the view may begin beyond the end.
        let pointer = self.elements.as_ptr().wrapping_add(first as usize);
        GlobalReadView { pointer, sizes, strides, memory: PhantomData }
    }
}

impl<T: QuadElement> Global<'_, T> {
    /// Elements `index` to `index` + 3, loaded by one instruction. An index that is out of bounds or not that of a
    /// multiple of 4 in the buffer traps.
    #[inline(always)]
    pub fn quad(self, index: usize) -> T::Quad {
        // SAFETY: `quad` is four elements of the buffer.
        unsafe { T::Quad::read(aligned_quad(self.part(index, 4))) }
    }
}

impl<'a, T: QuadElement> Global<'a, T> {
    /// `count` quads from element `first` on. A range that is out of bounds or does not begin at a multiple of 4 in the buffer traps.
    #[inline(always)]
    pub fn quads(self, first: usize, count: u32) -> GlobalQuads<'a, T> {
        GlobalQuads::new(self.part(first, 4 * count as usize), count)
    }
}

impl<'a> Global<'a, u8> {
    /// `count` quads of words from element `first` on, 16 bytes each. A range that is out of bounds or does not begin at a multiple of 16
    /// in the buffer traps.
    #[inline(always)]
    pub fn quads(self, first: usize, count: u32) -> GlobalQuads<'a, u8> {
        GlobalQuads::new(self.part(first, 16 * count as usize), count)
    }
}

/// A strided view of [`Global`] in N dimensions, from [`Global::view`], whose accesses are checked as those of [`GlobalView`].
#[derive(Clone, Copy)]
pub struct GlobalReadView<'a, T: Element, const N: usize> {
    pointer: *const T,
    sizes: [u32; N],
    strides: [u32; N],
    memory: PhantomData<&'a T>,
}

impl<T: Element, const N: usize> GlobalReadView<'_, T, N> {
    /// Element `indices`. An index that is not less than its dimension's size traps.
    #[inline(always)]
    pub fn get(self, indices: [u32; N]) -> T {
        // SAFETY: `view` checked that the element of the largest indices is within the buffer, and has an offset of less than 2³².
        unsafe { *self.pointer.add(offset_in_view(indices, self.sizes, self.strides) as usize) }
    }
}

/// Quads of global memory that the kernel only reads, of floats, integers or words of four bytes, from `quads` of [`Global`]: their range is
/// compared with the buffer's length once, and an access compares only its index with their number.
#[derive(Clone, Copy)]
pub struct GlobalQuads<'a, T: Element = f32> {
    first: *const F32x4,
    count: u32,
    memory: PhantomData<&'a T>,
}

impl<'a, T: Element> GlobalQuads<'a, T> {
    /// `elements` has `count` quads.
    #[inline(always)]
    fn new(elements: &'a [T], count: u32) -> Self {
        Self { first: aligned_quad(elements), count, memory: PhantomData }
    }

    /// A pointer to quad `index`. An index out of bounds traps.
    #[inline(always)]
    pub(super) fn at(self, index: u32) -> *const F32x4 {
        if index >= self.count {
            out_of_bounds();
        }
        // SAFETY: the quad is one of `count`.
        unsafe { self.first.add(index as usize) }
    }
}

impl<T: QuadElement> GlobalQuads<'_, T> {
    /// Quad `index`, loaded by one instruction. An index out of bounds traps.
    #[inline(always)]
    pub fn get(self, index: u32) -> T::Quad {
        // SAFETY: `at` is an aligned quad of the buffer, and all quads have 16 bytes.
        unsafe { T::Quad::read(self.at(index).cast()) }
    }
}

impl GlobalQuads<'_, u8> {
    /// The words of quad `index`, loaded by one instruction; the first of four bytes is in a word's lowest bits. An index out of bounds
    /// traps.
    #[inline(always)]
    pub fn get(self, index: u32) -> [u32; 4] {
        // SAFETY: `at` is an aligned quad of the buffer, and all bits are those of a float.
        unsafe { F32x4::read(self.at(index)) }.to_array().map(f32::to_bits)
    }
}

/// A pointer to the first quad of the elements. They trap if they are not aligned to it: those of a slice may begin anywhere in a buffer.
#[inline(always)]
fn aligned_quad<T, Q>(elements: &[T]) -> *const Q {
    let quad = elements.as_ptr().cast::<Q>();
    if !quad.is_aligned() {
        misaligned();
    }
    quad
}

impl<T: Element> Index<usize> for Global<'_, T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, index: usize) -> &T {
        match self.elements.get(index) {
            Some(element) => element,
            None => out_of_bounds(),
        }
    }
}

/// Global memory that all threads of a launch can read and write.
pub struct GlobalMut<'a, T: Element> {
    pointer: *mut T,
    length: usize,
    memory: PhantomData<&'a T>,
}

impl<T: Element> Clone for GlobalMut<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element> Copy for GlobalMut<'_, T> {}

impl<'a, T: Element> GlobalMut<'a, T> {
    /// The `length` elements from `pointer` on.
    ///
    /// # Safety
    /// They are in global memory and belong to this launch.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn from_raw_parts(pointer: *mut T, length: usize) -> Self {
        Self { pointer, length, memory: PhantomData }
    }

    /// The number of elements.
    #[inline(always)]
    pub fn len(self) -> usize {
        self.length
    }

    /// Whether there are no elements.
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.length == 0
    }

    /// Element `index`. An index out of bounds traps.
    #[inline(always)]
    pub fn get(self, index: usize) -> T {
        // SAFETY: `at` is within the buffer.
        unsafe { T::read(self.at(index)) }.frozen()
    }

    /// Writes element `index`. An index out of bounds traps.
    #[inline(always)]
    pub fn set(self, index: usize, value: T) {
        // SAFETY: `at` is within the buffer.
        unsafe { value.write(self.at(index)) }
    }

    /// The view whose element \[i, j, …\] is that at `first` + i · strides\[0\] + j · strides\[1\] + …. If `sizes` have no
    /// zero, an element beyond the end, or beyond 2³² elements, traps.
    #[inline(always)]
    pub fn view<const N: usize>(self, first: u32, sizes: [u32; N], strides: [u32; N]) -> GlobalView<'a, T, N> {
        if !crate::strided::is_within(crate::strided::addressed(self.length), first, sizes, strides) {
            out_of_bounds();
        }
        // Not `add`: without elements the view may begin beyond the end.
        let pointer = self.pointer.wrapping_add(first as usize);
        let [sizes, strides] = [&sizes, &strides].map(|numbers| core::array::from_fn(|dimension| numbers[dimension]));
        GlobalView { pointer, first, sizes, strides, memory: PhantomData }
    }

    /// Element `index` for atomic operations. An index out of bounds traps.
    #[inline(always)]
    pub fn atomic(self, index: usize) -> Atomic<'a, T, false>
    where
        T: AtomicElement,
    {
        // SAFETY: `at` is within the buffer, which is global memory.
        unsafe { Atomic::new(self.at(index)) }
    }

    /// A pointer to element `index`. An index out of bounds traps.
    #[inline(always)]
    pub(super) fn at(self, index: usize) -> *mut T {
        if index >= self.length {
            out_of_bounds();
        }
        // SAFETY: the index is within the buffer.
        unsafe { self.pointer.add(index) }
    }
}

impl<T: QuadElement> GlobalMut<'_, T> {
    /// Elements `index` to `index` + 3, loaded by one instruction. An index that is out of bounds or not a multiple of
    /// 4 traps.
    #[inline(always)]
    pub fn quad(self, index: usize) -> T::Quad {
        // SAFETY: `quad_at` is within the buffer and aligned.
        unsafe { T::Quad::read(self.quad_at(index)) }.frozen()
    }

    /// Writes elements `index` to `index` + 3 by one instruction. An index that is out of bounds or not a multiple of 4
    /// traps.
    #[inline(always)]
    pub fn set_quad(self, index: usize, value: T::Quad) {
        // SAFETY: as above.
        unsafe { value.write(self.quad_at(index)) }
    }

    /// A pointer to elements `index` to `index` + 3. Buffers are aligned to 16 bytes, so every fourth element is too.
    #[inline(always)]
    fn quad_at(self, index: usize) -> *mut T::Quad {
        if index % 4 != 0 || index.checked_add(4).is_none_or(|end| end > self.length) {
            wrong_quad();
        }
        // SAFETY: the index is within the buffer.
        unsafe { self.pointer.add(index) }.cast()
    }
}

/// A strided view of [`GlobalMut`] in N dimensions, from [`GlobalMut::view`].
///
/// An access compares each index with the view's size in its dimension. The compiler removes a comparison that a
/// constant or a condition implies.
pub struct GlobalView<'a, T: Element, const N: usize> {
    pointer: *mut T,
    first: u32,
    sizes: [u32; N],
    strides: [u32; N],
    memory: PhantomData<&'a T>,
}

impl<T: Element, const N: usize> Clone for GlobalView<'_, T, N> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element, const N: usize> Copy for GlobalView<'_, T, N> {}

impl<T: Element, const N: usize> GlobalView<'_, T, N> {
    /// Element `indices`. An index that is not less than its dimension's size traps.
    #[inline(always)]
    pub fn get(self, indices: [u32; N]) -> T {
        // SAFETY: `at` is within the buffer.
        unsafe { T::read(self.at(indices)) }.frozen()
    }

    /// Writes element `indices`. An index that is not less than its dimension's size traps.
    #[inline(always)]
    pub fn set(self, indices: [u32; N], value: T) {
        // SAFETY: `at` is within the buffer.
        unsafe { value.write(self.at(indices)) }
    }

    #[inline(always)]
    fn at(self, indices: [u32; N]) -> *mut T {
        // SAFETY: `view` checked that the element of the largest indices is within the buffer, and has an offset of less than 2³².
        unsafe { self.pointer.add(offset_in_view(indices, self.sizes, self.strides) as usize) }
    }
}

impl<const N: usize> GlobalView<'_, f32, N> {
    /// Writes the four elements from `indices` on, along the last dimension, by one instruction. Its stride is 1, and its index and size,
    /// and the place of the first element in the buffer, are multiples of 4; anything else traps.
    #[inline(always)]
    pub fn set_quad(self, indices: [u32; N], value: F32x4) {
        let is_aligned = |number: u32| number % 4 == 0;
        let last = N - 1;
        // SAFETY: the element of the largest indices has an offset of less than 2³².
        let offset = unsafe { offset_in_view(indices, self.sizes, self.strides) };
        let is_whole = self.strides[last] == 1 && is_aligned(indices[last]) && is_aligned(self.sizes[last]);
        if !is_whole || !is_aligned(self.first.wrapping_add(offset)) {
            misaligned();
        }
        // SAFETY: the index is less than the size, and both are multiples of 4: the four elements are in the view. Buffers are aligned
        // to 16 bytes, so every fourth element is too.
        unsafe { value.write(self.pointer.add(offset as usize).cast()) }
    }
}
