//! A launch is rejected if the kernel differs from the PTX entry of the same name, or if a buffer
//! is on another device.

use crate::support::{PTX, calls, scale, with_stand_in};
use cuda_std::{GlobalMut, kernel};
use gpu::{Device, DeviceChoice, Error, InterpreterOptions, LaunchConfig, PtxVariant};
use test_kernels::grid_sums;

/// Kernels with the names and parameter counts of the tests' kernels, but other types.
mod other_crate {
    use super::*;

    #[kernel]
    pub fn vector_max(a: &[u8], b: &[u8], out: GlobalMut<u8>) {
        out.set(0, a[0].max(b[0]));
    }

    #[kernel]
    pub fn scale(x: GlobalMut<f32>, factor: f32, from: u32) {
        x.set(from as usize, factor);
    }
}

/// A kernel that takes one struct with the parameters of the tests' kernel.
mod with_a_struct {
    use super::*;

    cuda_std::plain_data! {
        pub struct Scaling {
            pub factor: f32,
            pub count: u32,
        }
    }

    #[kernel]
    pub fn scale(x: GlobalMut<f32>, scaling: Scaling) {
        x.set(scaling.count as usize, scaling.factor);
    }
}

/// Runs `body` on each device that runs PTX: a GPU with the stand-in driver, and the interpreter.
fn on_each_ptx_device(test: &str, body: impl Fn(Device)) {
    with_stand_in(test, &[], &[], || {
        body(Device::open(DeviceChoice::Cuda, PTX).unwrap());
        body(Device::interpreter(&PTX[0], InterpreterOptions::default()).unwrap());
        assert!(!calls().iter().any(|call| call.starts_with("launch")), "the driver received a launch");
    });
}

#[test]
fn kernels_of_other_element_types_are_rejected() {
    on_each_ptx_device("rejects_other_kernels::kernels_of_other_element_types_are_rejected", |device| {
        let (a, b) = (device.zeroed::<u8>(4).unwrap(), device.zeroed(4).unwrap());
        let mut out = device.zeroed(4).unwrap();
        let error = device.launch(&other_crate::vector_max, LaunchConfig::new(1, 4), (&a, &b, &mut out)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "kernel vector_max is vector_max(&[f32], &[f32], GlobalMut<f32>) in the PTX and vector_max(&[u8], &[u8], \
             GlobalMut<u8>) in the program: the PTX was compiled from another kernel of this name"
        );
        let mut x = device.zeroed(4).unwrap();
        let error = device.launch(&other_crate::scale, LaunchConfig::new(1, 4), (&mut x, 2.0, 3)).unwrap_err();
        assert!(matches!(error, Error::Signature { kernel: "scale", .. }), "{error}");
    });
}

#[test]
fn a_struct_is_not_its_fields_one_by_one() {
    on_each_ptx_device("rejects_other_kernels::a_struct_is_not_its_fields_one_by_one", |device| {
        let mut x = device.zeroed(4).unwrap();
        let scaling = with_a_struct::Scaling { factor: 2.0, count: 3 };
        let error = device.launch(&with_a_struct::scale, LaunchConfig::new(1, 4), (&mut x, scaling)).unwrap_err();
        assert!(error.to_string().contains("scale(GlobalMut<f32>, {f32, u32}) in the program"), "{error}");
    });
}

#[test]
fn an_entry_with_fewer_parameters_is_rejected() {
    // The types of `scale` with one parameter fewer, as from a compiler that omits one.
    // SAFETY: the kernel does nothing.
    #[allow(unsafe_code)]
    static FEWER: &[PtxVariant] = unsafe {
        &[PtxVariant::new(
            (7, 5),
            ".version 7.0\n.target sm_75\n.address_size 64\n\
             .visible .global .align 1 .b8 scale__signature[8] = {40, 119, 102, 115, 102, 115, 98, 41};\n\
             .visible .entry scale(.param .u64 x, .param .u64 n, .param .f32 factor)\n{\n\tret;\n}\n",
        )]
    };
    with_stand_in("rejects_other_kernels::an_entry_with_fewer_parameters_is_rejected", &[], &[], || {
        let launch = |device: Device| {
            let mut x = device.zeroed(4).unwrap();
            device.launch(&scale, LaunchConfig::new(1, 4), (&mut x, 2.0, 3)).unwrap_err().to_string()
        };
        assert_eq!(
            launch(Device::open(DeviceChoice::Cuda, FEWER).unwrap()),
            "kernel scale has 3 parameters in the PTX, and the launch passes 4: compile the PTX again"
        );
        let error = launch(Device::interpreter(&FEWER[0], InterpreterOptions::default()).unwrap());
        assert!(error.contains("parameters"), "{error}");
        assert!(!calls().iter().any(|call| call.starts_with("launch")), "the driver received a launch");
    });
}

#[test]
fn ptx_without_signatures_is_rejected() {
    // SAFETY: the kernel does nothing, and only the interpreter runs it.
    #[allow(unsafe_code)]
    static WITHOUT: PtxVariant = unsafe {
        PtxVariant::new(
            (7, 5),
            ".version 7.0\n.target sm_75\n.address_size 64\n\
             .visible .entry scale(.param .u64 x, .param .u64 n, .param .f32 factor, .param .u8 from) { ret; }\n",
        )
    };
    let device = Device::interpreter(&WITHOUT, InterpreterOptions::default()).unwrap();
    let mut x = device.zeroed(4).unwrap();
    let error = device.launch(&scale, LaunchConfig::new(1, 4), (&mut x, 2.0, 3)).unwrap_err();
    assert!(error.to_string().starts_with("kernel scale is scale(parameters of unknown types) in the PTX"), "{error}");
}

#[test]
fn a_grid_barrier_needs_a_cooperative_launch() {
    on_each_ptx_device("rejects_other_kernels::a_grid_barrier_needs_a_cooperative_launch", |device| {
        let x = device.zeroed(4).unwrap();
        let (mut values, mut barrier, mut sums) =
            (device.zeroed(4).unwrap(), device.zeroed(1).unwrap(), device.zeroed(1).unwrap());
        let arguments = (&x, 1, &mut values, &mut barrier, &mut sums);
        let error = device.launch(&grid_sums, LaunchConfig::new(2, 32), arguments).unwrap_err();
        assert!(matches!(error, Error::NeedsCooperative { kernel: "grid_sums" }), "{error}");
    });
}

/// A GPU that is opened twice has two streams with unordered launches.
#[test]
fn buffers_of_another_device_are_rejected() {
    on_each_ptx_device("rejects_other_kernels::buffers_of_another_device_are_rejected", |device| {
        let others = match device.is_gpu() {
            true => {
                [Device::open(DeviceChoice::Cuda, PTX), Device::interpreter(&PTX[0], InterpreterOptions::default())]
            }
            false => [Device::open(DeviceChoice::Ptx, PTX), Device::open(DeviceChoice::Cuda, PTX)],
        };
        for other in others {
            let mut x = other.unwrap().zeroed(4).unwrap();
            let error = device.launch(&scale, LaunchConfig::new(1, 4), (&mut x, 2.0, 3)).unwrap_err();
            let expected = "kernel scale: the buffer for parameter `x` belongs to another device than the launch";
            assert_eq!(error.to_string(), expected);
        }
    });
}
