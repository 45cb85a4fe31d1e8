//! Calls reach drivers that differ from the emulator: one that reads each field of a structure, one
//! that lacks functions, and one that returns a result from a newer CUDA version. cuda_emulator's
//! tests with cust cover the rest.

mod support;

use cuda_driver as _;
use cust::error::CudaError;
use cust::prelude::*;
use cust::sys::CUresult;
use support::with_stand_in;

const PTX: &str = ".version 7.0\n.target sm_75\n.address_size 64\n";

#[test]
#[allow(unsafe_code)]
fn clusters_are_permitted_and_counted() {
    with_stand_in("clusters_are_permitted_and_counted", &[], || {
        let (_context, module) = set_up();
        let scale = module.get_function("scale").unwrap();
        // SAFETY: the function belongs to the module.
        succeed(unsafe { cuda_driver::allow_large_clusters(scale.to_raw()) });
        // SAFETY: as above.
        let count = unsafe { cuda_driver::max_active_clusters(scale.to_raw(), [5, 4, 3], [32, 2, 1], 7) };
        assert_eq!(count, Ok(71_232_345));
    });
}

#[test]
#[allow(unsafe_code)]
fn a_driver_without_clusters_is_an_error() {
    with_stand_in("a_driver_without_clusters_is_an_error", &["NO_CLUSTERS"], || {
        let (_context, module) = set_up();
        let scale = module.get_function("scale").unwrap();
        // SAFETY: the function belongs to the module.
        let count = unsafe { cuda_driver::max_active_clusters(scale.to_raw(), [1, 1, 1], [1, 1, 1], 0) };
        assert_eq!(count, Err(CUresult::CUDA_ERROR_NOT_FOUND));
        assert_eq!(cuda_driver::missing_symbols(), ["cuOccupancyMaxActiveClusters"]);
    });
}

#[test]
fn a_result_that_cuda_11_did_not_have_is_unknown() {
    with_stand_in("a_result_that_cuda_11_did_not_have_is_unknown", &["ATTRIBUTE_RESULT=913"], || {
        let device = Device::get_device(0).unwrap();
        let error = device.get_attribute(cust::device::DeviceAttribute::WarpSize).unwrap_err();
        assert_eq!(error, CudaError::UnknownError);
    });
}

fn set_up() -> (Context, Module) {
    cust::init(CudaFlags::empty()).unwrap();
    let context = Context::new(Device::get_device(0).unwrap()).unwrap();
    (context, Module::from_ptx(PTX, &[]).unwrap())
}

fn succeed(result: CUresult) {
    assert_eq!(result, CUresult::CUDA_SUCCESS);
}
