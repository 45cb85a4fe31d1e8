//! Shared memory: arrays that all threads of a block share.

use core::arch::{asm, global_asm};
use core::marker::PhantomData;

use super::atomic::Atomic;
use super::{Global, GlobalQuads, offset_in_view, out_of_shared_array};
use crate::{AtomicElement, Element, F32x4};

unsafe extern "C" {
    #[link_name = "llvm.nvvm.isspacep.shared"]
    fn is_shared(pointer: *const ()) -> bool;
}

global_asm!(".extern .shared .align 16 .b8 __dynamic_shared[];");

/// A byte count above the size of any array and below that of the shared memory window of generic addresses.
const BEYOND: usize = 1 << 20;

/// A pointer to generic address `address` that LLVM knows to be in shared memory, so that it emits `ld.shared` and not
/// a generic load.
///
/// LLVM's pass infer-address-spaces uses an assumption on a pointer only where an offset is added to that pointer.
/// Every pointer is therefore derived from one that is [`BEYOND`] bytes after the array's start, from which every
/// element has a non-zero offset; the assembler folds the difference.
///
/// # Safety
/// `address` is that of an array in shared memory.
#[inline(always)]
unsafe fn shared_pointer<T>(address: u64) -> *mut T {
    let beyond: u64;
    // SAFETY: the instruction adds registers and accesses no memory.
    unsafe {
        asm!(
            "add.s64 {0}, {1}, {2};", out(reg64) beyond, in(reg64) address, const BEYOND,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    let beyond = beyond as *mut u8;
    // SAFETY: the test depends on the address alone and checks for the window, which is larger than `BEYOND`.
    unsafe { core::hint::assert_unchecked(is_shared(beyond.cast_const().cast())) };
    beyond.wrapping_sub(BEYOND).cast()
}

/// `N` elements in shared memory, from [`shared_array!`](crate::shared_array).
#[derive(Clone)]
pub struct SharedArray<T: Element, const N: usize>(DynamicShared<T>);

impl<T: Element, const N: usize> SharedArray<T, N> {
    /// The array at generic address `address`.
    ///
    /// # Safety
    /// There are N elements of this type at `address` in shared memory, which nothing else uses.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn from_address(address: u64) -> Self {
        // SAFETY: the caller upholds this function's contract.
        let pointer = unsafe { shared_pointer(address) };
        Self(DynamicShared { pointer, length: N })
    }

    /// Generic address of the first element.
    #[cfg(target_feature = "sm_90")]
    #[inline(always)]
    pub(super) fn address(&self) -> u64 {
        self.0.address()
    }

    /// The number of elements, N.
    #[inline(always)]
    pub const fn len(&self) -> usize {
        N
    }

    /// Whether there are no elements.
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        N == 0
    }

    /// Element `index`. An index out of bounds traps.
    #[inline(always)]
    pub fn get(&self, index: usize) -> T {
        self.0.get(index)
    }

    /// Writes element `index`. An index out of bounds traps.
    #[inline(always)]
    pub fn set(&self, index: usize, value: T) {
        self.0.set(index, value);
    }

    /// Begins to copy element `from` of x to element `index`; see [`async_copy`](crate::async_copy). Elements have 4, 8 or 16
    /// bytes. An index out of bounds traps.
    #[inline(always)]
    pub fn copy_async(&self, index: usize, x: Global<'_, T>, from: usize) {
        self.0.copy_async(index, x, from);
    }

    /// Element `index` for atomic operations. An index out of bounds traps.
    #[inline(always)]
    pub fn atomic(&self, index: usize) -> Atomic<'_, T, true>
    where
        T: AtomicElement,
    {
        self.0.atomic(index)
    }
}

include!("../shared_2d.rs");

impl<T: Element, const ROWS: usize, const COLUMNS: usize> SharedArray2d<T, ROWS, COLUMNS> {
    /// The array at generic address `address`.
    ///
    /// # Safety
    /// As for [`SharedArray::from_address`], of all rows.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn from_address(address: u64) -> Self {
        // SAFETY: the caller upholds this function's contract.
        let pointer = unsafe { shared_pointer(address) };
        Self(DynamicShared { pointer, length: ROWS * COLUMNS })
    }
}

#[inline(always)]
fn beyond(_: usize, _: usize) -> ! {
    out_of_shared_array()
}

/// Shared memory whose size is set at the launch, from [`dynamic_shared`].
#[derive(Clone)]
pub struct DynamicShared<T: Element> {
    pointer: *mut T,
    length: usize,
}

/// The launch's `dynamic_shared_bytes` of dynamic shared memory, as elements of type T.
#[inline(always)]
pub fn dynamic_shared<T: Element>() -> DynamicShared<T> {
    let address: u64;
    let bytes: u32;
    // SAFETY: the instructions read the address of the symbol declared above and a register that every thread has.
    unsafe {
        asm!(
            "mov.u64 {0}, __dynamic_shared;", "cvta.shared.u64 {0}, {0};", out(reg64) address,
            options(pure, nomem, nostack, preserves_flags)
        );
        asm!("mov.u32 {0}, %dynamic_smem_size;", out(reg32) bytes, options(pure, nomem, nostack, preserves_flags));
    }
    // SAFETY: the symbol is in shared memory.
    let pointer: *mut T = unsafe { shared_pointer(address) };
    // With this assumption, LLVM adds offsets to the difference in `shared_pointer` and does not fold the subtraction
    // into each of them, which takes more registers.
    // SAFETY: as above.
    unsafe { core::hint::assert_unchecked(is_shared(pointer.cast_const().cast())) };
    DynamicShared { pointer, length: bytes as usize / size_of::<T>() }
}

impl DynamicShared<F32x4> {
    /// Four matrices of 8 × 8 halves, as tensor cores take them (`ldmatrix`): the elements that lanes 8i to 8i + 7 name are the rows of
    /// matrix i. In register i of lane 4g + p are elements 2p and 2p + 1 of its row g. Needs a whole warp; an index out of bounds traps.
    #[inline(always)]
    pub fn load_matrices(&self, row: usize) -> [u32; 4] {
        let (a, b, c, d): (u32, u32, u32, u32);
        // SAFETY: the row is within the array; the simulator and the interpreter check that all lanes take part.
        unsafe {
            asm!(
                "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{0}, {1}, {2}, {3}}}, [{4}];",
                out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg32) self.row(row),
                options(nostack, preserves_flags)
            );
        }
        [a, b, c, d]
    }

    /// [`load_matrices`](Self::load_matrices) of the transposed matrices: elements 2p and 2p + 1 of column g.
    #[inline(always)]
    pub fn load_matrices_transposed(&self, row: usize) -> [u32; 4] {
        let (a, b, c, d): (u32, u32, u32, u32);
        // SAFETY: as above.
        unsafe {
            asm!(
                "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{{0}, {1}, {2}, {3}}}, [{4}];",
                out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg32) self.row(row),
                options(nostack, preserves_flags)
            );
        }
        [a, b, c, d]
    }

    /// Address of an element in the block's shared memory.
    #[inline(always)]
    fn row(&self, index: usize) -> u32 {
        if index >= self.length {
            out_of_shared_array();
        }
        in_block(self.pointer as u64) + (index * size_of::<F32x4>()) as u32
    }
}

/// The address in the block's shared memory of a generic address.
#[inline(always)]
pub(super) fn in_block(address: u64) -> u32 {
    let within: u64;
    // SAFETY: the instruction converts an address, and accesses no memory.
    unsafe {
        asm!(
            "cvta.to.shared.u64 {0}, {1};", out(reg64) within, in(reg64) address,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    within as u32
}

impl<T: Element> DynamicShared<T> {
    /// Generic address of the first element.
    #[cfg(target_feature = "sm_90")]
    #[inline(always)]
    pub(super) fn address(&self) -> u64 {
        self.pointer as u64
    }

    /// The number of elements.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no elements.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The first `count` elements and the rest. A `count` above the length traps.
    #[inline(always)]
    pub fn split_at(&self, count: usize) -> (Self, Self) {
        if count > self.length {
            out_of_shared_array();
        }
        // SAFETY: at most one past the end.
        let pointer = unsafe { self.pointer.add(count) };
        (Self { pointer: self.pointer, length: count }, Self { pointer, length: self.length - count })
    }

    /// The view whose element \[i, j, …\] is that at `first` + i · strides\[0\] + j · strides\[1\] + …. If `sizes` have no
    /// zero, an element beyond the end traps.
    #[inline(always)]
    pub fn view<const N: usize>(&self, first: u32, sizes: [u32; N], strides: [u32; N]) -> SharedView<'_, T, N> {
        if !crate::strided::is_within(self.length, first, sizes, strides) {
            out_of_shared_array();
        }
        // Not `add`: without elements the view may begin beyond the end.
        SharedView { pointer: self.pointer.wrapping_add(first as usize), sizes, strides, array: PhantomData }
    }

    /// Element `index`. An index out of bounds traps.
    #[inline(always)]
    pub fn get(&self, index: usize) -> T {
        // SAFETY: `at` is within the array.
        unsafe { T::read(self.at(index)) }.frozen()
    }

    /// Writes element `index`. An index out of bounds traps.
    #[inline(always)]
    pub fn set(&self, index: usize, value: T) {
        // SAFETY: `at` is within the array.
        unsafe { value.write(self.at(index)) }
    }

    /// Begins to copy element `from` of x to element `index`; see [`async_copy`](crate::async_copy). Elements have 4, 8 or 16
    /// bytes. An index out of bounds traps.
    #[inline(always)]
    pub fn copy_async(&self, index: usize, x: Global<'_, T>, from: usize) {
        const { crate::check_copied_size(size_of::<T>()) };
        // SAFETY: both elements are within their arrays, which are in shared and in global memory.
        unsafe { begin_copy(self.at(index), &raw const x[from]) }
    }

    /// Element `index` for atomic operations. An index out of bounds traps.
    #[inline(always)]
    pub fn atomic(&self, index: usize) -> Atomic<'_, T, true>
    where
        T: AtomicElement,
    {
        // SAFETY: `at` is within the array, which is shared memory.
        unsafe { Atomic::new(self.at(index)) }
    }

    #[inline(always)]
    fn at(&self, index: usize) -> *mut T {
        if index >= self.length {
            out_of_shared_array();
        }
        // SAFETY: the index is within the array.
        unsafe { self.pointer.add(index) }
    }
}

/// A strided view of [`DynamicShared`] in N dimensions, from [`DynamicShared::view`].
///
/// An access compares each index with the view's size in its dimension. The compiler removes a comparison that a
/// constant or the condition of a loop implies, so that a loop over a view needs no check per element.
pub struct SharedView<'a, T: Element, const N: usize> {
    pointer: *mut T,
    sizes: [u32; N],
    strides: [u32; N],
    array: PhantomData<&'a DynamicShared<T>>,
}

impl<T: Element, const N: usize> Clone for SharedView<'_, T, N> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element, const N: usize> Copy for SharedView<'_, T, N> {}

impl<T: Element, const N: usize> SharedView<'_, T, N> {
    /// Element `indices`. An index that is not less than its dimension's size traps.
    #[inline(always)]
    pub fn get(&self, indices: [u32; N]) -> T {
        // SAFETY: `at` is within the array.
        unsafe { T::read(self.at(indices)) }.frozen()
    }

    /// Writes element `indices`. An index that is not less than its dimension's size traps.
    #[inline(always)]
    pub fn set(&self, indices: [u32; N], value: T) {
        // SAFETY: `at` is within the array.
        unsafe { value.write(self.at(indices)) }
    }

    #[inline(always)]
    fn at(&self, indices: [u32; N]) -> *mut T {
        // SAFETY: `view` checked that the element of the largest indices is within the array, which has fewer than 2³² elements.
        unsafe { self.pointer.add(offset_in_view(indices, self.sizes, self.strides) as usize) }
    }
}

impl<T: Element, const N: usize> SharedView<'_, T, N> {
    /// Begins to copy element `from` of x to element `indices`; see [`async_copy`](crate::async_copy). Elements have 4, 8 or 16 bytes. An
    /// index out of bounds traps.
    #[inline(always)]
    pub fn copy_element_async(&self, indices: [u32; N], x: Global<'_, T>, from: usize) {
        const { crate::check_copied_size(size_of::<T>()) };
        // SAFETY: both elements are within their arrays, which are in shared and in global memory.
        unsafe { begin_copy(self.at(indices), &raw const x[from]) }
    }
}

impl<const N: usize> SharedView<'_, F32x4, N> {
    /// Begins to copy quad `from` of `quads` to element `indices`; see [`async_copy`](crate::async_copy). An index out of bounds traps.
    #[inline(always)]
    pub fn copy_async(&self, indices: [u32; N], quads: GlobalQuads<'_>, from: u32) {
        // SAFETY: both elements are within their arrays, which are in shared and in global memory.
        unsafe { begin_copy(self.at(indices), quads.at(from)) }
    }
}

/// Begins to copy an element, of 4, 8 or 16 bytes, from global to shared memory.
///
/// # Safety
/// Both are valid and aligned, and `from` is of a buffer that the kernel only reads.
#[inline(always)]
unsafe fn begin_copy<T: Element>(to: *mut T, from: *const T) {
    #[cfg(target_feature = "sm_80")]
    // SAFETY: the caller upholds this function's contract. Without `nomem`, LLVM assumes that the asm accesses any memory.
    unsafe {
        if size_of::<T>() == 16 {
            asm!(
                "{{ .reg .b64 to, from; cvta.to.shared.u64 to, {0}; cvta.to.global.u64 from, {1};",
                "cp.async.cg.shared.global [to], [from], 16; }}",
                in(reg64) to, in(reg64) from, options(nostack, preserves_flags)
            );
        } else {
            asm!(
                "{{ .reg .b64 to, from; cvta.to.shared.u64 to, {0}; cvta.to.global.u64 from, {1};",
                "cp.async.ca.shared.global [to], [from], {2}; }}",
                in(reg64) to, in(reg64) from, const size_of::<T>(), options(nostack, preserves_flags)
            );
        }
    }
    #[cfg(not(target_feature = "sm_80"))]
    // SAFETY: as above.
    unsafe {
        T::read(from).write(to);
    }
}
