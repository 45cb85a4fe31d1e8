//! The arrays in the shared memory of a block.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::fault::FaultKind;
use super::shadow::Shadow;
use crate::LaunchConfig;

/// The shared memory of a block.
pub(super) struct SharedMemory {
    arrays: RefCell<Vec<Array>>,
    /// Bytes of all arrays without the dynamic part.
    static_bytes: Cell<usize>,
    dynamic_bytes: usize,
    /// Maximum bytes of the arrays and the dynamic part together.
    limit: usize,
}

/// An array that a thread has declared.
struct Array {
    /// Identifies the `shared_array!`; [`DYNAMIC`] for the dynamic part.
    key: u64,
    /// `[T::Cell; N]` or, for the dynamic part, `Vec<T::Cell>`.
    cells: Rc<dyn Any>,
    shadows: ArrayShadows,
}

/// The shadow of each element, if races are checked.
pub(super) type ArrayShadows = Option<Rc<[Cell<Shadow>]>>;

/// The key of the dynamic part.
pub(super) const DYNAMIC: u64 = 0;

impl SharedMemory {
    pub(super) fn new(dynamic_bytes: u32, limit: u32) -> Self {
        let (dynamic_bytes, limit) = (dynamic_bytes as usize, limit as usize);
        Self { arrays: RefCell::default(), static_bytes: Cell::new(0), dynamic_bytes, limit }
    }

    /// Adds the bytes of another array, unless that exceeds a limit.
    pub(super) fn allocate(&self, bytes: usize) -> Result<(), FaultKind> {
        let static_bytes = self.static_bytes.get() + bytes;
        let all = [
            (static_bytes, LaunchConfig::MAX_STATIC_SHARED_BYTES as usize),
            (static_bytes + self.dynamic_bytes, self.limit),
        ];
        match all.into_iter().find(|(bytes, limit)| bytes > limit) {
            Some((bytes, limit)) => Err(FaultKind::SharedMemoryExceeded { bytes, limit }),
            None => {
                self.static_bytes.set(static_bytes);
                Ok(())
            }
        }
    }

    /// The array `key`, made at the first call. None if it has another element type.
    pub(super) fn array<C: Any>(
        &self,
        key: u64,
        checks_races: bool,
        length: usize,
        make: impl FnOnce() -> Rc<C>,
    ) -> Option<(Rc<C>, ArrayShadows)> {
        let (cells, shadows) = self.find(key).unwrap_or_else(|| self.add(key, make(), checks_races.then_some(length)));
        Some((cells.downcast().ok()?, shadows))
    }

    fn find(&self, key: u64) -> Option<(Rc<dyn Any>, ArrayShadows)> {
        let arrays = self.arrays.borrow();
        let array = arrays.iter().find(|array| array.key == key)?;
        Some((Rc::clone(&array.cells), array.shadows.clone()))
    }

    /// Adds an array, which has this number of shadows.
    fn add(&self, key: u64, cells: Rc<dyn Any>, shadows: Option<usize>) -> (Rc<dyn Any>, ArrayShadows) {
        let shadows: ArrayShadows = shadows.map(|length| (0..length).map(|_| Cell::default()).collect());
        self.arrays.borrow_mut().push(Array { key, cells: Rc::clone(&cells), shadows: shadows.clone() });
        (cells, shadows)
    }

    pub(super) fn contains(&self, key: u64) -> bool {
        self.arrays.borrow().iter().any(|array| array.key == key)
    }

    /// Makes the accesses of a block ordered before its next ones.
    pub(super) fn forget_epochs(&self, block: u32) {
        for cell in
            self.arrays.borrow().iter().filter_map(|array| array.shadows.as_ref()).flat_map(|shadows| shadows.iter())
        {
            let mut shadow = cell.get();
            shadow.forget_epochs(block);
            cell.set(shadow);
        }
    }

    /// Bytes of the dynamic part.
    pub(super) fn dynamic_bytes(&self) -> usize {
        self.dynamic_bytes
    }
}
