//! A launch passes addresses, lengths and scalars to a GPU, and buffers to the simulator.

use std::ffi::c_void;

use cuda_std::simulator::{self, LaunchError, Options, SimulatorBuffer};
use cuda_std::{
    ArgumentError, BufferMut, BufferRef, Element, GlobalMut, Kernel, LaunchConfig, Memory, MemoryId, RawParameters,
    kernel,
};

/// Memory in the simulator or on a GPU, as a crate with both kinds of devices would implement it.
enum Either {}

enum EitherBuffer<T: Element> {
    Gpu { memory: MemoryId, address: u64, length: usize },
    Simulator(SimulatorBuffer<T>),
}

impl Memory for Either {
    type Buffer<T: Element> = EitherBuffer<T>;

    fn buffer_ref<T: Element>(buffer: &EitherBuffer<T>) -> BufferRef<'_, T> {
        match buffer {
            &EitherBuffer::Gpu { memory, address, length } => BufferRef::Device { memory, address, length },
            EitherBuffer::Simulator(buffer) => BufferRef::Simulator(buffer),
        }
    }

    fn buffer_mut<T: Element>(buffer: &mut EitherBuffer<T>) -> BufferMut<'_, T> {
        match buffer {
            &mut EitherBuffer::Gpu { memory, address, length } => BufferMut::Device { memory, address, length },
            EitherBuffer::Simulator(buffer) => BufferMut::Simulator(buffer),
        }
    }
}

/// out[0] = factor times the sum of x, and out[1] = flag.
#[kernel]
fn mixed(x: &[f32], factor: f64, flag: u8, out: GlobalMut<f64>) {
    let mut sum = 0.0;
    for i in 0..x.len() {
        sum += f64::from(x[i]);
    }
    out.set(0, sum * factor);
    out.set(1, f64::from(flag));
}

cuda_std::plain_data! {
    struct Setting {
        seed: u64,
        factor: f32,
        count: u32,
    }
}

/// Writes the fields of `setting` to `out`.
#[kernel]
fn fields(setting: Setting, out: GlobalMut<f64>) {
    let Setting { seed, factor, count } = setting;
    out.set(0, seed as f64);
    out.set(1, f64::from(factor));
    out.set(2, f64::from(count));
}

fn signature<K: Kernel>(_: &K) -> &'static [u8] {
    K::SIGNATURE
}

#[test]
fn a_struct_is_passed_as_its_fields_bytes() {
    let setting = Setting { seed: 0x0102_0304_0506_0708, factor: 0.5, count: 9 };
    let memory = MemoryId::unique();
    let mut out = EitherBuffer::Gpu { memory, address: 0x7000_0000_2000, length: 3 };
    let raw = RawParameters::of::<_, Either>(&fields, (setting, &mut out), memory).unwrap();
    let bytes = raw.values().next().unwrap();
    assert_eq!(bytes[..8], setting.seed.to_le_bytes());
    assert_eq!(bytes[8..12], setting.factor.to_le_bytes());
    assert_eq!(bytes[12..16], setting.count.to_le_bytes());
    assert_eq!(signature(&fields), b"({Ufu}wd)");

    let mut out = SimulatorBuffer::from_slice(&[0.0; 3]);
    simulator::launch(&fields, LaunchConfig::new(1, 1), (setting, &mut out)).unwrap();
    assert_eq!(out.as_slice(), [setting.seed as f64, 0.5, 9.0]);
}

#[test]
fn a_gpu_gets_addresses_lengths_and_scalars() {
    let memory = MemoryId::unique();
    let x = EitherBuffer::Gpu { memory, address: 0x7000_0000_1000, length: 3 };
    let mut out = EitherBuffer::Gpu { memory, address: 0x7000_0000_2000, length: 2 };
    let mut raw = RawParameters::of::<_, Either>(&mixed, (&x, 0.5, 7, &mut out), memory).unwrap();
    assert_eq!(raw.values().count(), 6);
    let value = |number: usize| raw.values().nth(number).unwrap();
    assert_eq!(value(0)[..8], 0x7000_0000_1000_u64.to_le_bytes());
    assert_eq!(value(3), [7]);
    let pointers = raw.pointers();
    assert!(pointers.iter().all(|pointer| pointer.addr() % 16 == 0));
    assert_eq!((bits(pointers[0]), bits(pointers[1])), (0x7000_0000_1000, 3));
    assert_eq!((bits(pointers[2]), bits(pointers[3])), (0.5f64.to_bits(), 7));
    assert_eq!((bits(pointers[4]), bits(pointers[5])), (0x7000_0000_2000, 2));
}

/// The first eight bytes of a parameter.
fn bits(pointer: *mut c_void) -> u64 {
    // SAFETY: the parameters, of 16 bytes each, outlive this call.
    #[allow(unsafe_code)]
    unsafe {
        *pointer.cast()
    }
}

#[test]
fn the_simulator_gets_buffers() {
    let x = EitherBuffer::Simulator(SimulatorBuffer::from_slice(&[1.0, 2.0, 3.0]));
    let mut out = EitherBuffer::Simulator(SimulatorBuffer::uninitialized(2));
    let config = LaunchConfig::new(1, 1);
    simulator::launch_in::<Either, _>(Options::default(), &mixed, config, (&x, 0.5, 7, &mut out)).unwrap();
    let EitherBuffer::Simulator(out) = out else { panic!("the buffer is not in the simulator") };
    assert_eq!(out.to_vec(), [3.0, 7.0]);
}

#[test]
fn a_buffer_on_another_device_is_rejected_by_name() {
    let x = EitherBuffer::Simulator(SimulatorBuffer::from_slice(&[1.0]));
    let memory = MemoryId::unique();
    let mut out = EitherBuffer::Gpu { memory, address: 4096, length: 2 };
    let raw = RawParameters::of::<_, Either>(&mixed, (&x, 0.5, 7, &mut out), memory);
    assert_eq!(raw.unwrap_err(), ArgumentError::NotOnDevice { parameter: "x" });
    let on_gpu = EitherBuffer::Gpu { memory, address: 8192, length: 1 };
    let raw = RawParameters::of::<_, Either>(&mixed, (&on_gpu, 0.5, 7, &mut out), MemoryId::unique());
    assert_eq!(raw.unwrap_err(), ArgumentError::OtherDevice { parameter: "x" });
    let config = LaunchConfig::new(1, 1);
    let error = simulator::launch_in::<Either, _>(Options::default(), &mixed, config, (&x, 0.5, 7, &mut out));
    let error = error.unwrap_err();
    assert!(matches!(error, LaunchError::Argument(ArgumentError::NotInSimulator { parameter: "out" })), "{error}");
}
