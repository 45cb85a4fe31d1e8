// The methods of `Atomic` on a GPU and in the simulator, in terms of `update`, `exchange_if`, `load` and `store` of each; both
// `atomic` modules include this file.

impl<T: AtomicElement, const IS_SHARED: bool> Atomic<'_, T, IS_SHARED> {
    /// The same element, for an operation of this ordering; without it, an operation is relaxed. A load takes the acquiring half
    /// of an ordering, a store the releasing half.
    ///
    /// An operation that acquires, and reads what one that releases has written, orders what its thread accesses after it behind
    /// what the other thread accessed before.
    #[inline(always)]
    pub fn ordered(self, ordering: Ordering) -> Self {
        Self { ordering, ..self }
    }

    /// The same element, for an operation that is atomic, and ordered, among these threads; without it, those of the GPU.
    #[inline(always)]
    pub fn scope(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// Adds `value` and returns the old value. Integers wrap around; an f32 in global memory has no subnormal numbers, which
    /// count as zeros of their signs.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn fetch_add(self, value: T) -> T {
        self.update(Operation::Add, value)
    }

    /// Subtracts `value` and returns the old value, as [`fetch_add`](Self::fetch_add) of its negative.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn fetch_sub(self, value: T) -> T {
        self.update(Operation::Sub, value)
    }

    /// Stores the maximum of the old value and `value`, and returns the old value. A NaN changes nothing; −0 is less than +0.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn fetch_max(self, value: T) -> T {
        self.update(Operation::Max, value)
    }

    /// Stores the minimum of the old value and `value`, and returns the old value. A NaN changes nothing; −0 is less than +0.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn fetch_min(self, value: T) -> T {
        self.update(Operation::Min, value)
    }

    /// Stores `value` and returns the old value.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn swap(self, value: T) -> T {
        self.update(Operation::Swap, value)
    }

    /// Stores `new` if the value has the bits of `current`. Returns the old value: `Ok` if it was stored, else `Err`.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn compare_exchange(self, current: T, new: T) -> Result<T, T> {
        self.exchange_if(current, new)
    }
}

impl<T: AtomicInteger, const IS_SHARED: bool> Atomic<'_, T, IS_SHARED> {
    /// Stores the bits that both the old value and `value` have, and returns the old value.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn fetch_and(self, value: T) -> T {
        self.update(Operation::And, value)
    }

    /// Stores the bits that the old value or `value` has, and returns the old value.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn fetch_or(self, value: T) -> T {
        self.update(Operation::Or, value)
    }

    /// Stores the bits that only one of the old value and `value` has, and returns the old value.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn fetch_xor(self, value: T) -> T {
        self.update(Operation::Xor, value)
    }
}
