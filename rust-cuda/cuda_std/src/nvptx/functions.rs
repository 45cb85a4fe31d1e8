//! Functions that the compiler calls by name, or that `cuda_builder` puts in place of its approximations. A kernel that needs none
//! of them has none: `cuda_builder` leaves out what no kernel reaches.

/// x − n·y with the integer n that is x/y rounded toward zero, exactly (IEEE 754's fmod). The compiler computes `x % y` as
/// x − y·trunc(x/y) with a rounded quotient.
#[unsafe(no_mangle)]
extern "C" fn __cuda_std_fmodf(x: f32, y: f32) -> f32 {
    libm::fmodf(x, y)
}

/// As [`__cuda_std_fmodf`].
#[unsafe(no_mangle)]
extern "C" fn __cuda_std_fmod(x: f64, y: f64) -> f64 {
    libm::fmod(x, y)
}

/// Compares bytes as unsigned numbers: 0 if all are equal, else the difference of the first two that differ. The compiler calls it
/// for `==` of arrays and slices of integers.
///
/// # Safety
/// Both pointers are valid for `count` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, count: usize) -> i32 {
    let mut index = 0;
    while index < count {
        // SAFETY: the index is below the count.
        let (a, b) = unsafe { (*a.add(index), *b.add(index)) };
        if a != b {
            return i32::from(a) - i32::from(b);
        }
        index += 1;
    }
    0
}

/// As [`memcmp`], for a caller that only asks for equality.
///
/// # Safety
/// As [`memcmp`].
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, count: usize) -> i32 {
    // SAFETY: as the caller says.
    unsafe { memcmp(a, b, count) }
}

/// Copies bytes between memory that does not overlap, and returns `to`. LLVM compiles the loop to a copy of its own.
///
/// # Safety
/// Both pointers are valid for `count` bytes, which do not overlap.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    let mut index = 0;
    while index < count {
        // SAFETY: the index is below the count.
        unsafe { *to.add(index) = *from.add(index) };
        index += 1;
    }
    to
}

/// Copies bytes between memory that may overlap, and returns `to`.
///
/// # Safety
/// Both pointers are valid for `count` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    let is_forwards = (to as usize) < from as usize;
    let mut done = 0;
    while done < count {
        let index = if is_forwards { done } else { count - 1 - done };
        // SAFETY: the index is below the count.
        unsafe { *to.add(index) = *from.add(index) };
        done += 1;
    }
    to
}

/// Sets bytes to the lowest eight bits of `value`, and returns `to`.
///
/// # Safety
/// The pointer is valid for `count` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, value: i32, count: usize) -> *mut u8 {
    let mut index = 0;
    while index < count {
        // SAFETY: the index is below the count.
        unsafe { *to.add(index) = value as u8 };
        index += 1;
    }
    to
}
