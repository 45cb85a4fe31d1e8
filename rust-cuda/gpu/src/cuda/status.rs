//! Results of driver functions that cust does not wrap.

use std::ffi::CStr;

use cust::sys::{self, CUresult};

use crate::DriverError;

/// Converts the result of a `cust::sys` function that cust does not wrap.
pub(super) fn succeed(result: CUresult) -> Result<(), DriverError> {
    if result == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(driver_error(result)) }
}

/// The driver's error for a failed call.
#[allow(unsafe_code)]
pub(super) fn driver_error(result: CUresult) -> DriverError {
    let code = cuda_driver::code_of(result).unsigned_abs();
    let mut text = c"".as_ptr();
    // SAFETY: `text` is a valid out-pointer. The function comes from `cuda_driver`, which always
    // writes a C string to it.
    let text = unsafe {
        let _ = sys::cuGetErrorString(result, &raw mut text);
        CStr::from_ptr(text)
    };
    DriverError { code, text: text.to_string_lossy().into_owned() }
}
