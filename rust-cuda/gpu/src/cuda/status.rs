//! Results of the driver's functions that cust does not wrap.

use std::ffi::CStr;

use cust::sys::{self, CUresult};

use crate::DriverError;

/// Converts the result of a function of `cust::sys`, for those that cust does not wrap.
pub(super) fn succeed(result: CUresult) -> Result<(), DriverError> {
    if result == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(driver_error(result)) }
}

/// The driver's error that its last call returned.
#[allow(unsafe_code)]
pub(super) fn driver_error(result: CUresult) -> DriverError {
    let code = cuda_driver::code_of(result).unsigned_abs();
    let mut text = c"".as_ptr();
    // SAFETY: `text` is a valid out-pointer. The function is that of `cuda_driver`, which always writes a C string to
    // it.
    let text = unsafe {
        let _ = sys::cuGetErrorString(result, &raw mut text);
        CStr::from_ptr(text)
    };
    DriverError { code, text: text.to_string_lossy().into_owned() }
}
