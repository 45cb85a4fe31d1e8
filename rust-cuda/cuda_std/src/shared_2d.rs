// Arrays of rows in shared memory, on a GPU and in the simulator; both `shared` modules include this file.

/// `ROWS` × `COLUMNS` elements in shared memory, row by row, from [`shared_array!`](crate::shared_array):
/// `shared_array![[f32; 33]; 32]` has 32 rows of 33 elements. In a kernel's body, `tile[row][column]` reads and writes.
#[derive(Clone)]
pub struct SharedArray2d<T: Element, const ROWS: usize, const COLUMNS: usize>(DynamicShared<T>);

impl<T: Element, const ROWS: usize, const COLUMNS: usize> SharedArray2d<T, ROWS, COLUMNS> {
    /// The number of rows.
    #[inline(always)]
    pub const fn rows(&self) -> usize {
        ROWS
    }

    /// The number of elements of a row.
    #[inline(always)]
    pub const fn columns(&self) -> usize {
        COLUMNS
    }

    /// Element `[row, column]`. An index out of bounds traps on a GPU and is a fault in the simulator.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn get(&self, place: [usize; 2]) -> T {
        self.0.get(Self::index(place))
    }

    /// Writes element `[row, column]`. An index out of bounds traps on a GPU and is a fault in the simulator.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn set(&self, place: [usize; 2], value: T) {
        self.0.set(Self::index(place), value);
    }

    /// Begins to copy element `from` of x to element `[row, column]`; see [`async_copy`](crate::async_copy). Elements have 4, 8 or 16
    /// bytes. An index out of bounds traps on a GPU and is a fault in the simulator.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn copy_async(&self, place: [usize; 2], x: Global<'_, T>, from: usize) {
        self.0.copy_async(Self::index(place), x, from);
    }

    /// Element `[row, column]` for atomic operations. An index out of bounds traps on a GPU and is a fault in the simulator.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn atomic(&self, place: [usize; 2]) -> Atomic<'_, T, true>
    where
        T: AtomicElement,
    {
        self.0.atomic(Self::index(place))
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn index([row, column]: [usize; 2]) -> usize {
        for (index, length) in [(row, ROWS), (column, COLUMNS)] {
            if index >= length {
                beyond(index, length);
            }
        }
        row * COLUMNS + column
    }
}
