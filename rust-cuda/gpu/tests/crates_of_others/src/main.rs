//! Runs each kernel in the simulator and, compiled for each architecture, in the interpreter, and
//! compares the results with the host's.

use crates_of_others::{PTX, WORDS, host, names};
use gpu::{Device, DeviceChoice, LaunchConfig};

const THREADS: u32 = 64;

fn main() {
    let simulator = ("the simulator".to_owned(), Device::open(DeviceChoice::Simulator, PTX).unwrap());
    let interpreters = PTX.iter().map(|variant| {
        let only: &'static [_] = vec![*variant].leak();
        (
            format!("sm_{}{}", variant.compute_capability().0, variant.compute_capability().1),
            Device::open(DeviceChoice::Ptx, only).unwrap(),
        )
    });
    let devices: Vec<(String, Device)> = std::iter::once(simulator).chain(interpreters).collect();
    assert_eq!(devices.len(), 3, "the simulator and two architectures");
    for (name, device) in &devices {
        macro_rules! check {
            ($($kernel:ident)*) => {$(
                let mut out = device.uninitialized(WORDS * THREADS as usize).unwrap();
                device.launch(&crates_of_others::$kernel, LaunchConfig::new(2, THREADS / 2), (&mut out,)).unwrap();
                let expected: Vec<u32> = (0..THREADS).flat_map(host::$kernel).collect();
                assert_eq!(out.to_vec().unwrap(), expected, "{} on {name}", stringify!($kernel));
            )*};
        }
        check! { of_libm of_glam of_sha2 of_blake2 of_rand_pcg of_rand_xoshiro of_half of_num_complex of_arrayvec of_heapless of_ryu of_nalgebra }
        println!("12 crates and {} names: equal to the host, to the bit, on {name}", names::run(device));
    }
}
