//! Shared memory: arrays that all threads of a block share.

use std::any::Any;
use std::cell::Cell;
use std::panic::Location;
use std::rc::Rc;

use super::atomic::Atomic;
use super::block::Block;
use super::fault::{self, Access, FaultKind, Place};
use super::global::{Global, GlobalQuads, raise_race};
use super::shadow::{Accessor, Conflict, Shadow};
use super::shared_memory::{ArrayShadows, DYNAMIC};
use super::{async_copy, current, warp, watchdog};
use crate::{AtomicElement, Element, F32x4};

/// Checks an access to element `index`, whose shadow is `shadows[offset + index]`.
#[inline]
fn check(
    shadows: &ArrayShadows,
    access: Access,
    (offset, index): (usize, usize),
    location: &'static Location<'static>,
    same_value: impl Fn() -> bool,
) {
    watchdog::check(location);
    if let Some(shadows) = shadows {
        check_shadow(&shadows[offset + index], access, index, location, &same_value);
    }
}

/// For elements of all types: compiled once.
#[inline(never)]
fn check_shadow(
    cell: &Cell<Shadow>,
    access: Access,
    index: usize,
    location: &'static Location<'static>,
    same_value: &dyn Fn() -> bool,
) {
    let mut shadow = cell.get();
    let now = current::accessor();
    if current::with(|current| current.copies.get() > 0)
        && let Some((accessor, begun)) = current::with_block(|block| block.copies.to(address_of(cell)))
    {
        let conflict = Conflict { access: Access::Write, accessor, location: Some(begun) };
        return raise_race(Place::Shared, index, access, &conflict, location);
    }
    if access != Access::Write && !shadow.is_written() {
        return fault::raise_first(FaultKind::Unwritten { place: Place::Shared, index }, location);
    }
    let is_ordered = |earlier, reads| current::with_block(|block| block.has_ordered((earlier, reads), now));
    let same_value = || current::with_block(|block| !block.launch.options.same_value_races_are_faults) && same_value();
    let Shadow { writes, others } = &mut shadow;
    match writes.record(others, (access, now, location), is_ordered, same_value) {
        Ok(is_same_value_race) => {
            cell.set(shadow);
            if is_same_value_race {
                current::count(|current| &current.same_value_races);
            }
        }
        Err(conflict) => raise_race(Place::Shared, index, access, &conflict, location),
    }
}

/// What identifies an element's shadow in its block.
fn address_of(shadow: &Cell<Shadow>) -> usize {
    std::ptr::from_ref(shadow).addr()
}

#[cold]
fn out_of_bounds(index: usize, length: usize, location: &'static Location<'static>) {
    fault::raise_first(FaultKind::OutOfBounds { place: Place::Shared, index, length }, location);
}

/// [`fault::instead_of_cell`] for an access to shared memory.
#[cold]
fn out_of_bounds_cell<T: Element>(
    index: usize,
    length: usize,
    location: &'static Location<'static>,
) -> &'static T::Cell {
    fault::instead_of_cell::<T>(FaultKind::OutOfBounds { place: Place::Shared, index, length }, location)
}

macro_rules! accesses {
    () => {
        /// Element `index`. An index out of bounds is a fault.
        #[inline]
        #[track_caller]
        pub fn get(&self, index: usize) -> T {
            watchdog::count_access(|current| &current.shared_loads);
            T::load(self.at(Access::Read, index, Location::caller(), |_| true))
        }

        /// Writes element `index`. An index out of bounds is a fault.
        #[inline]
        #[track_caller]
        pub fn set(&self, index: usize, value: T) {
            watchdog::count_access(|current| &current.shared_stores);
            value.store(self.at(Access::Write, index, Location::caller(), |cell| value.is_in(cell)));
        }

        /// Begins to copy element `from` of x to element `index`; see [`async_copy`](crate::async_copy). Elements have 4, 8 or 16
        /// bytes. An index out of bounds is a fault.
        #[track_caller]
        pub fn copy_async(&self, index: usize, x: Global<'_, T>, from: usize) {
            const { crate::check_copied_size(size_of::<T>()) };
            self.begin_copy(index, x.get(from), Location::caller());
        }

        /// Begins to copy a value to element `index`.
        fn begin_copy(&self, index: usize, value: T, location: &'static Location<'static>) {
            if fault::is_unwinding() {
                return;
            }
            watchdog::count_access(|current| &current.shared_stores);
            // The write is checked here and where it happens.
            self.at(Access::Write, index, location, |cell| value.is_in(cell));
            let array = self.clone();
            async_copy::begin(self.shadow(index), location, move || {
                value.store(array.at(Access::Write, index, location, |cell| value.is_in(cell)));
            });
        }

        /// Element `index` for atomic operations. An index out of bounds is a fault.
        #[inline]
        #[track_caller]
        pub fn atomic(&self, index: usize) -> Atomic<'_, T, true>
        where
            T: AtomicElement,
        {
            current::before_atomic(Location::caller());
            Atomic::new(self.at(Access::Atomic, index, Location::caller(), |_| false))
        }
    };
}

/// A block's array of `length` elements for the `shared_array!` with the key `key`, made at the first call. None if it has
/// another type.
fn declared<T: Element, C: Any>(
    block: &Block,
    key: u64,
    length: usize,
    location: &'static Location<'static>,
    make: impl FnOnce(Vec<T::Cell>) -> Rc<C>,
) -> Option<(Rc<C>, ArrayShadows)> {
    let shared = &block.shared;
    if !shared.contains(key)
        && let Err(kind) = shared.allocate(size_of::<T>() * length)
    {
        fault::raise_first(kind, location);
    }
    let cells = || make((0..length).map(|_| T::POISON.into_cell()).collect());
    shared.array(key, block.launch.options.check_races, length, cells)
}

/// The cells of an array whose length is a constant.
fn fixed<C, const N: usize>(cells: Vec<C>) -> Rc<[C; N]> {
    let cells: Rc<[C]> = cells.into();
    cells.try_into().unwrap_or_else(|_| unreachable!("N cells were made"))
}

/// `N` elements in shared memory, from [`shared_array!`](crate::shared_array).
pub struct SharedArray<T: Element, const N: usize> {
    cells: Rc<[T::Cell; N]>,
    shadows: ArrayShadows,
    key: u64,
}

impl<T: Element, const N: usize> Clone for SharedArray<T, N> {
    fn clone(&self) -> Self {
        Self { cells: Rc::clone(&self.cells), shadows: self.shadows.clone(), key: self.key }
    }
}

impl<T: Element, const N: usize> SharedArray<T, N> {
    /// The block's array for the `shared_array!` with the key `key`.
    #[doc(hidden)]
    #[track_caller]
    pub fn in_block(key: u64) -> Self {
        let location = Location::caller();
        let array = current::with_block(|block| declared::<T, [T::Cell; N]>(block, key, N, location, fixed));
        let (cells, shadows) = array.expect("a shared_array! has one type");
        Self { cells, shadows, key }
    }

    /// The array at the same place of block `other`.
    pub(super) fn in_other_block(&self, other: &Block) -> Option<Self> {
        let (cells, shadows) = declared::<T, [T::Cell; N]>(other, self.key, N, Location::caller(), fixed)?;
        Some(Self { cells, shadows, key: self.key })
    }

    /// The key of its `shared_array!`.
    pub(super) fn key(&self) -> u64 {
        self.key
    }

    /// Notes an operation on element `index` that is atomic. Returns what identifies it.
    #[track_caller]
    pub(super) fn synchronise(&self, index: usize) -> usize {
        self.synchronise_at(index, Location::caller())
    }

    /// The same, at a location.
    pub(super) fn synchronise_at(&self, index: usize, location: &'static Location<'static>) -> usize {
        current::before_atomic(location);
        watchdog::count_access(|current| &current.atomics);
        std::ptr::from_ref(self.at(Access::Atomic, index, location, |_| false)).addr()
    }

    /// The number of elements, N.
    #[inline]
    pub const fn len(&self) -> usize {
        N
    }

    /// Whether there are no elements.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        N == 0
    }

    accesses!();

    #[inline]
    fn at(
        &self,
        access: Access,
        index: usize,
        location: &'static Location<'static>,
        same_value: impl Fn(&T::Cell) -> bool,
    ) -> &T::Cell {
        let Some(cell) = self.cells.get(index) else { return out_of_bounds_cell::<T>(index, N, location) };
        check(&self.shadows, access, (0, index), location, || same_value(cell));
        cell
    }

    /// What identifies the shadow of element `index`, if races are checked.
    fn shadow(&self, index: usize) -> Option<usize> {
        self.shadows.as_ref().map(|shadows| address_of(&shadows[index]))
    }
}

include!("../shared_2d.rs");

impl<T: Element, const ROWS: usize, const COLUMNS: usize> SharedArray2d<T, ROWS, COLUMNS> {
    /// The block's array for the `shared_array!` with the key `key`.
    #[doc(hidden)]
    #[track_caller]
    pub fn in_block(key: u64) -> Self {
        let length = ROWS * COLUMNS;
        let location = Location::caller();
        let array = current::with_block(|block| declared::<T, Vec<T::Cell>>(block, key, length, location, Rc::new));
        let (cells, shadows) = array.expect("a shared_array! has one type");
        Self(DynamicShared { cells, shadows, offset: 0, length })
    }
}

#[track_caller]
fn beyond(index: usize, length: usize) {
    out_of_bounds(index, length, Location::caller());
}

/// Shared memory whose size is set at the launch, from [`dynamic_shared`].
pub struct DynamicShared<T: Element> {
    cells: Rc<Vec<T::Cell>>,
    shadows: ArrayShadows,
    offset: usize,
    length: usize,
}

impl<T: Element> Clone for DynamicShared<T> {
    fn clone(&self) -> Self {
        Self { cells: Rc::clone(&self.cells), shadows: self.shadows.clone(), ..*self }
    }
}

/// The launch's `dynamic_shared_bytes` of dynamic shared memory, as elements of type T.
///
/// On a GPU a kernel may use it with several element types; in the simulator that is the fault
/// [`DynamicSharedType`](crate::simulator::FaultKind::DynamicSharedType).
#[track_caller]
pub fn dynamic_shared<T: Element>() -> DynamicShared<T> {
    match current::with_block(dynamic_array::<T>) {
        Some((cells, shadows)) => DynamicShared { length: cells.len(), cells, shadows, offset: 0 },
        None => {
            fault::raise_first(FaultKind::DynamicSharedType, Location::caller());
            DynamicShared { length: 0, cells: Rc::default(), shadows: None, offset: 0 }
        }
    }
}

/// The dynamic part of a block's shared memory. None if it has elements of another type.
fn dynamic_array<T: Element>(block: &Block) -> Option<(Rc<Vec<T::Cell>>, ArrayShadows)> {
    let length = block.shared.dynamic_bytes() / size_of::<T>();
    let make = || Rc::new((0..length).map(|_| T::POISON.into_cell()).collect());
    block.shared.array::<Vec<T::Cell>>(DYNAMIC, block.launch.options.check_races, length, make)
}

impl DynamicShared<F32x4> {
    /// Four matrices of 8 × 8 halves, as tensor cores take them (`ldmatrix`): the elements that lanes 8i to 8i + 7 name are the rows of
    /// matrix i. In register i of lane 4g + p are elements 2p and 2p + 1 of its row g. Needs a whole warp; an index out of bounds is a
    /// fault.
    #[track_caller]
    pub fn load_matrices(&self, row: usize) -> [u32; 4] {
        let rows = self.rows_of_lanes(row);
        let (group, place) = (warp::lane_id() as usize / 4, warp::lane_id() as usize % 4);
        [0, 8, 16, 24].map(|first| rows[place][first + group])
    }

    /// [`load_matrices`](Self::load_matrices) of the transposed matrices: elements 2p and 2p + 1 of column g.
    #[track_caller]
    pub fn load_matrices_transposed(&self, row: usize) -> [u32; 4] {
        let rows = self.rows_of_lanes(row);
        let (column, place) = (warp::lane_id() as usize / 4, warp::lane_id() as usize % 4);
        let element = |lane: usize| rows[column / 2][lane] >> (column % 2 * 16) & 0xffff;
        [0, 8, 16, 24].map(|first| element(first + 2 * place) | element(first + 2 * place + 1) << 16)
    }

    /// The elements that the lanes name, by word and lane.
    #[track_caller]
    fn rows_of_lanes(&self, row: usize) -> [[u32; 32]; 4] {
        let mut rows = [[0; 32]; 4];
        for (words, word) in rows.iter_mut().zip(self.get(row).to_array()) {
            *words = warp::words_of_all(word.to_bits());
        }
        rows
    }
}

impl<T: Element> DynamicShared<T> {
    /// The array at the same place of block `other`. None if that block uses another element type.
    pub(super) fn in_other_block(&self, other: &Block) -> Option<Self> {
        let (cells, shadows) = dynamic_array::<T>(other)?;
        Some(Self { cells, shadows, ..*self })
    }

    /// The number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The first `count` elements and the rest. A `count` above the length is a fault.
    #[track_caller]
    pub fn split_at(&self, count: usize) -> (Self, Self) {
        if count > self.length {
            out_of_bounds(count, self.length, Location::caller());
            return self.split_at(self.length);
        }
        let (mut head, mut tail) = (self.clone(), self.clone());
        head.length = count;
        (tail.offset, tail.length) = (self.offset + count, self.length - count);
        (head, tail)
    }

    /// The view whose element \[i, j, …\] is that at `first` + i · strides\[0\] + j · strides\[1\] + …. If `sizes` have no
    /// zero, an element beyond the end is a fault.
    #[inline]
    #[track_caller]
    pub fn view<const N: usize>(&self, first: u32, sizes: [u32; N], strides: [u32; N]) -> SharedView<'_, T, N> {
        if !crate::strided::is_within(self.length, first, sizes, strides) {
            out_of_bounds(crate::strided::last(first, sizes, strides), self.length, Location::caller());
            return SharedView { array: self, first: 0, sizes: [0; N], strides };
        }
        SharedView { array: self, first, sizes, strides }
    }

    accesses!();

    #[inline]
    fn at(
        &self,
        access: Access,
        index: usize,
        location: &'static Location<'static>,
        same_value: impl Fn(&T::Cell) -> bool,
    ) -> &T::Cell {
        if index >= self.length {
            return out_of_bounds_cell::<T>(index, self.length, location);
        }
        let cell = &self.cells[self.offset + index];
        check(&self.shadows, access, (self.offset, index), location, || same_value(cell));
        cell
    }

    /// What identifies the shadow of element `index`, if races are checked.
    pub(super) fn shadow(&self, index: usize) -> Option<usize> {
        self.shadows.as_ref().map(|shadows| address_of(&shadows[self.offset + index]))
    }

    /// Replaces who has made the latest write to element `index`.
    pub(super) fn hand_over(&self, index: usize, to: Accessor) {
        if let Some(shadows) = &self.shadows {
            let cell = &shadows[self.offset + index];
            let mut shadow = cell.get();
            shadow.writes.hand_over(to);
            cell.set(shadow);
        }
    }
}

/// A strided view of [`DynamicShared`] in N dimensions, from [`DynamicShared::view`].
///
/// An access compares each index with the view's size in its dimension. The compiler removes a comparison that a
/// constant or the condition of a loop implies, so that a loop over a view needs no check per element.
pub struct SharedView<'a, T: Element, const N: usize> {
    array: &'a DynamicShared<T>,
    first: u32,
    sizes: [u32; N],
    strides: [u32; N],
}

impl<T: Element, const N: usize> Clone for SharedView<'_, T, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element, const N: usize> Copy for SharedView<'_, T, N> {}

impl<T: Element, const N: usize> SharedView<'_, T, N> {
    /// Element `indices`. An index that is not less than its dimension's size is a fault.
    #[inline]
    #[track_caller]
    pub fn get(&self, indices: [u32; N]) -> T {
        self.array.get(self.offset(indices))
    }

    /// Writes element `indices`. An index that is not less than its dimension's size is a fault.
    #[inline]
    #[track_caller]
    pub fn set(&self, indices: [u32; N], value: T) {
        self.array.set(self.offset(indices), value);
    }

    #[inline]
    #[track_caller]
    fn offset(&self, indices: [u32; N]) -> usize {
        match crate::strided::offset(indices, self.sizes, self.strides) {
            Ok(offset) => self.first as usize + offset,
            Err((index, size)) => {
                out_of_bounds(index, size, Location::caller());
                usize::MAX
            }
        }
    }
}

impl<T: Element, const N: usize> SharedView<'_, T, N> {
    /// Begins to copy element `from` of x to element `indices`; see [`async_copy`](crate::async_copy). Elements have 4, 8 or 16 bytes. An
    /// index out of bounds is a fault.
    #[track_caller]
    pub fn copy_element_async(&self, indices: [u32; N], x: Global<'_, T>, from: usize) {
        const { crate::check_copied_size(size_of::<T>()) };
        self.array.begin_copy(self.offset(indices), x.get(from), Location::caller());
    }
}

impl<const N: usize> SharedView<'_, F32x4, N> {
    /// Begins to copy quad `from` of `quads` to element `indices`; see [`async_copy`](crate::async_copy). An index out of bounds is a
    /// fault.
    #[track_caller]
    pub fn copy_async(&self, indices: [u32; N], quads: GlobalQuads<'_>, from: u32) {
        self.array.begin_copy(self.offset(indices), quads.get(from), Location::caller());
    }
}
