//! A driver function, looked up on its first call.

use std::sync::{Mutex, OnceLock, PoisonError};

use cust_raw::CUresult;

use crate::library::Library;

/// The functions that were called but are missing from the driver's library, in the order of their
/// first calls.
static MISSING: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

/// The names of the functions that this process has called but the driver lacks, in the order of
/// their first calls.
///
/// Each such call returned `CUDA_ERROR_NOT_FOUND`, in cust `CudaError::NotFound`. The driver also
/// returns this for a kernel that a module lacks. An error message can list the functions and
/// suggest a newer driver.
pub fn missing_symbols() -> Vec<&'static str> {
    MISSING.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The driver's function `name`, of type `F`.
pub(crate) struct Symbol<F> {
    name: &'static str,
    function: OnceLock<Result<F, CUresult>>,
}

impl<F: Copy> Symbol<F> {
    /// # Safety
    /// `F` is the type of the driver's function `name`, an `unsafe extern "C" fn`.
    #[allow(unsafe_code)]
    pub(crate) const unsafe fn new(name: &'static str) -> Self {
        Self { name, function: OnceLock::new() }
    }

    /// The function, looked up on the first call.
    ///
    /// # Errors
    /// `CUDA_ERROR_NO_DEVICE` if the driver's library cannot be opened, `CUDA_ERROR_NOT_FOUND` if it lacks the
    /// function.
    pub(crate) fn get(&self) -> Result<F, CUresult> {
        *self.function.get_or_init(|| self.look_up())
    }

    #[allow(unsafe_code)]
    fn look_up(&self) -> Result<F, CUresult> {
        let library = Library::get().map_err(|_| CUresult::CUDA_ERROR_NO_DEVICE)?;
        // SAFETY: the caller of `new` guaranteed that `F` is the type of the function `name`.
        unsafe { library.function(self.name) }.ok_or(CUresult::CUDA_ERROR_NOT_FOUND)
    }
}

/// Returns `reason`, the error from the lookup of the function `name`. Records the name in
/// [`MISSING`] if the driver lacks the function.
#[cold]
pub(crate) fn lookup_failure(name: &'static str, reason: CUresult) -> CUresult {
    if reason == CUresult::CUDA_ERROR_NOT_FOUND {
        let mut missing = MISSING.lock().unwrap_or_else(PoisonError::into_inner);
        if !missing.contains(&name) {
            missing.push(name);
        }
    }
    reason
}
