//! `auto` selects CUDA if it is available, and otherwise reports the reason. For `cuda` that is an
//! error.

use crate::support::{ABSENT, PTX, with_library, with_stand_in};
use gpu::{Device, DeviceChoice, OpenError, PtxVariant, Unavailable};

#[test]
fn without_a_driver() {
    with_library("choice::without_a_driver", ABSENT.as_ref(), &[], || {
        let device = Device::open(DeviceChoice::Auto, PTX).unwrap();
        assert!(device.is_simulator());
        assert_eq!(device.name(), "simulator");
        assert_eq!((device.compute_capability(), device.total_memory()), (None, None));
        let reason = device.why_not_cuda().expect("there is a reason").to_string();
        assert!(reason.starts_with("no CUDA driver (no-such-libcuda.so.1) on this machine"), "{reason}");

        let error = Device::open(DeviceChoice::Cuda, PTX).unwrap_err();
        assert!(matches!(error, OpenError::Unavailable(Unavailable::NoLibrary { .. })), "{error:?}");

        let chosen = Device::open(DeviceChoice::Simulator, PTX).unwrap();
        assert!(chosen.is_simulator() && chosen.why_not_cuda().is_none());
        assert!(!gpu_testing::require_gpu());
        let skips = test_support::of_this_run().unwrap();
        assert_eq!(skips.len(), 1, "{skips:?}");
        assert_eq!((skips[0].need, skips[0].test.as_str()), (test_support::Need::Gpu, "choice::without_a_driver"));
        assert!(skips[0].reason.starts_with("no CUDA driver"), "{skips:?}");
    });
}

#[test]
fn a_test_that_requires_a_gpu_fails_without_one() {
    let environment = [("GPU_TESTS", "require")];
    with_library("choice::a_test_that_requires_a_gpu_fails_without_one", ABSENT.as_ref(), &environment, || {
        let panic = std::panic::catch_unwind(gpu_testing::require_gpu).unwrap_err();
        let message = panic.downcast_ref::<String>().unwrap();
        assert!(message.contains("must not be skipped, since GPU_TESTS=require: no CUDA driver"), "{message}");
    });
}

#[test]
fn with_a_stand_in() {
    with_stand_in("choice::with_a_stand_in", &[], &[("GPU_TESTS", "require")], || {
        assert!(gpu_testing::require_gpu());
        for choice in [DeviceChoice::Auto, DeviceChoice::Cuda] {
            let device = Device::open(choice, PTX).unwrap();
            assert!(!device.is_simulator() && device.why_not_cuda().is_none());
            assert_eq!(device.name(), "Stand-in");
            assert_eq!(device.compute_capability(), Some((8, 6)));
            assert_eq!(device.total_memory(), Some(1 << 20));
        }
        assert!(Device::open(DeviceChoice::Simulator, PTX).unwrap().is_simulator());
    });
}

#[test]
fn with_a_stand_in_and_no_device() {
    with_stand_in("choice::with_a_stand_in_and_no_device", &["DEVICES=0"], &[], || {
        let device = Device::open(DeviceChoice::Auto, PTX).unwrap();
        let reason = device.why_not_cuda();
        assert!(matches!(reason, Some(OpenError::Unavailable(Unavailable::NoDevice { .. }))), "{reason:?}");
    });
}

#[test]
fn with_a_stand_in_that_is_too_old() {
    with_stand_in("choice::with_a_stand_in_that_is_too_old", &["MAJOR=6", "MINOR=1"], &[], || {
        let error = Device::open(DeviceChoice::Cuda, PTX).unwrap_err();
        let line = "Stand-in has compute capability 6.1, and the kernels are compiled for 7.5 and above";
        assert_eq!(error.to_string(), line);
        let device = Device::open(DeviceChoice::Auto, PTX).unwrap();
        assert_eq!(device.why_not_cuda().unwrap().to_string(), line);
    });
}

#[test]
fn the_error_has_the_compilers_log() {
    // SAFETY: the texts contain no kernels.
    #[allow(unsafe_code)]
    static WRONG: &[PtxVariant] = unsafe {
        &[PtxVariant::new((7, 5), "right"), PtxVariant::new((8, 0), "wrong"), PtxVariant::new((9, 0), "right")]
    };
    with_stand_in("choice::the_error_has_the_compilers_log", &[], &[], || {
        // A GPU that is present and fails is an error for `auto` too.
        for choice in [DeviceChoice::Auto, DeviceChoice::Cuda] {
            let error = Device::open(choice, WRONG).unwrap_err();
            assert_eq!(
                error.to_string(),
                "Stand-in rejects the kernels' PTX for 8.0: invalid PTX (CUDA error 218)\n\
                 ptxas application ptx input, line 2; error : wrong\ninformation about it"
            );
        }
    });
}
