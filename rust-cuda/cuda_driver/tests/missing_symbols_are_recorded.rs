//! Calling a function that the driver lacks fails and records the function's name.

mod support;

use cuda_driver::{DriverVersion, availability, missing_symbols};
use cust::sys::{CUresult, cuGraphDestroy, cuGraphUpload};
use support::with_stand_in;

#[test]
#[allow(unsafe_code)]
fn names_are_in_the_order_of_the_first_calls() {
    with_stand_in("names_are_in_the_order_of_the_first_calls", &[], || {
        assert_eq!(availability(), Ok(DriverVersion { major: 13, minor: 0 }));
        assert_eq!(missing_symbols(), [""; 0]);
        for _ in 0..2 {
            // SAFETY: the driver lacks the function, so nothing is called.
            let uploaded = unsafe { cuGraphUpload(std::ptr::null_mut(), std::ptr::null_mut()) };
            assert_eq!(uploaded, CUresult::CUDA_ERROR_NOT_FOUND);
        }
        // SAFETY: the driver lacks the function, so nothing is called.
        assert_eq!(unsafe { cuGraphDestroy(std::ptr::null_mut()) }, CUresult::CUDA_ERROR_NOT_FOUND);
        assert_eq!(missing_symbols(), ["cuGraphUpload", "cuGraphDestroy"]);
    });
}
