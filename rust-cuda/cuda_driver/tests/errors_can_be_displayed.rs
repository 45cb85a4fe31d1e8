//! cust's errors can be displayed on every machine, although cust takes their descriptions from the
//! driver.

mod support;

use std::ffi::{CStr, c_char};

use cust::CudaFlags;
use cust::error::CudaError;
use cust::sys::{CUresult, cuGetErrorName};
use support::{with_library, with_stand_in};

/// A library that does not exist.
const ABSENT: &str = "no-such-libcuda.so.1";

#[test]
fn without_a_driver_the_description_says_so() {
    with_library("without_a_driver_the_description_says_so", ABSENT.as_ref(), || {
        let error = cust::init(CudaFlags::empty()).unwrap_err();
        assert_eq!(error, CudaError::NoDevice);
        assert!(error.to_string().contains("no CUDA driver ("), "{error}");
        assert_eq!(cust::CudaApiVersion::get().unwrap_err(), CudaError::NoDevice);
        assert!(CudaError::OutOfMemory.to_string().contains("out of memory"));
        assert_eq!(name(CUresult::CUDA_ERROR_OUT_OF_MEMORY), c"CUDA_ERROR_OUT_OF_MEMORY");
        assert_eq!(cuda_driver::missing_symbols(), [""; 0]);
    });
}

#[test]
fn the_drivers_descriptions_have_priority() {
    with_stand_in("the_drivers_descriptions_have_priority", &[], || {
        assert!(CudaError::OutOfMemory.to_string().contains("words of the stand-in"));
        assert_eq!(name(CUresult::CUDA_ERROR_OUT_OF_MEMORY), c"CUDA_ERROR_OF_THE_STAND_IN");
    });
}

#[test]
fn without_the_drivers_descriptions_the_table_is_used() {
    with_stand_in("without_the_drivers_descriptions_the_table_is_used", &["MUTE"], || {
        assert!(CudaError::OutOfMemory.to_string().contains("out of memory"));
        assert!(CudaError::NoDevice.to_string().contains("no CUDA-capable device"));
        assert_eq!(name(CUresult::CUDA_ERROR_OUT_OF_MEMORY), c"CUDA_ERROR_OUT_OF_MEMORY");
    });
}

#[allow(unsafe_code)]
fn name(error: CUresult) -> &'static CStr {
    let mut name: *const c_char = std::ptr::null();
    // SAFETY: `name` is a valid out-pointer.
    let result = unsafe { cuGetErrorName(error, &raw mut name) };
    assert_eq!(result, CUresult::CUDA_SUCCESS);
    // SAFETY: the call succeeded, so `name` is a C string that is never freed.
    unsafe { CStr::from_ptr(name) }
}
