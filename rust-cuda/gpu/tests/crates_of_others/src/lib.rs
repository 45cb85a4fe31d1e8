//! One kernel per third-party crate: every thread computes [`WORDS`] words from its index with the
//! crate's functions, and so does the host.

#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

use cuda_std::{GlobalMut, kernel, thread};

/// Words that each thread computes.
pub const WORDS: usize = 4;

/// Defines kernels that store the words of a function.
macro_rules! kernels {
    ($($name:ident)*) => {
        $(
            #[kernel]
            pub fn $name(out: GlobalMut<u32>) {
                let i = thread::index_1d();
                let words = host::$name(i);
                for k in 0..WORDS {
                    out.set(WORDS * i as usize + k, words[k]);
                }
            }
        )*
    };
}

kernels! { of_libm of_glam of_sha2 of_blake2 of_rand_pcg of_rand_xoshiro of_half of_num_complex of_arrayvec of_heapless of_ryu of_nalgebra }

/// The functions for both sides.
pub mod host {
    use super::WORDS;

    fn float(i: u32) -> f32 {
        // Values of all magnitudes and both signs.
        f32::from_bits((i + 1).wrapping_mul(2_654_435_761) & 0xbfff_ffff)
    }

    pub fn of_libm(i: u32) -> [u32; WORDS] {
        let x = float(i) % 100.0;
        [
            libm::sinf(x).to_bits(),
            libm::powf(x.abs(), 0.3).to_bits(),
            libm::erff(x).to_bits(),
            libm::lgamma(f64::from(x.abs()) + 0.5).to_bits() as u32,
        ]
    }

    pub fn of_glam(i: u32) -> [u32; WORDS] {
        use glam::{Mat4, Quat, Vec3};
        let x = i as f32 / 7.0;
        let rotation = Quat::from_euler(glam::EulerRot::XYZ, x, 0.5 * x, -x);
        let matrix = Mat4::from_scale_rotation_translation(Vec3::new(1.0, 2.0, 0.5), rotation, Vec3::splat(x));
        let point = matrix.inverse().transform_point3(Vec3::new(x, 1.0, -x)).normalize_or_zero();
        [point.x.to_bits(), point.y.to_bits(), point.z.to_bits(), matrix.determinant().to_bits()]
    }

    fn first_words(bytes: &[u8]) -> [u32; WORDS] {
        core::array::from_fn(|k| {
            u32::from_le_bytes([bytes[4 * k], bytes[4 * k + 1], bytes[4 * k + 2], bytes[4 * k + 3]])
        })
    }

    pub fn of_sha2(i: u32) -> [u32; WORDS] {
        use sha2::Digest as _;
        let mut hasher = sha2::Sha256::new();
        for k in 0..i {
            hasher.update(k.to_le_bytes());
        }
        first_words(&hasher.finalize())
    }

    pub fn of_blake2(i: u32) -> [u32; WORDS] {
        use blake2::Digest as _;
        let mut hasher = blake2::Blake2s256::new();
        hasher.update([i as u8; 80]);
        first_words(&hasher.finalize())
    }

    pub fn of_rand_pcg(i: u32) -> [u32; WORDS] {
        use rand_core::{RngCore as _, SeedableRng as _};
        let mut random = rand_pcg::Pcg64::seed_from_u64(i.into());
        core::array::from_fn(|_| random.next_u32())
    }

    pub fn of_rand_xoshiro(i: u32) -> [u32; WORDS] {
        use rand_core::{RngCore as _, SeedableRng as _};
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(i.into());
        random.jump();
        core::array::from_fn(|_| random.next_u32())
    }

    pub fn of_half(i: u32) -> [u32; WORDS] {
        use half::{bf16, f16};
        let x = float(i) % 1000.0;
        let (a, b) = (f16::from_f32(x), bf16::from_f32(x));
        [
            a.to_bits().into(),
            b.to_bits().into(),
            (a * f16::from_f32(1.5) + f16::EPSILON).to_f32().to_bits(),
            bf16::from_f64(f64::from(b.to_f32()) / 3.0).to_f32().to_bits(),
        ]
    }

    pub fn of_num_complex(i: u32) -> [u32; WORDS] {
        use num_complex::Complex32;
        let z = Complex32::new(i as f32 / 9.0, -0.5);
        let (a, b) = (z.exp() / (z + 1.0), z.powf(0.7).sqrt());
        [a.re.to_bits(), a.im.to_bits(), b.re.to_bits(), b.im.to_bits()]
    }

    pub fn of_arrayvec(i: u32) -> [u32; WORDS] {
        let mut list: arrayvec::ArrayVec<u32, 16> = (0..i % 13).map(|k| (k * 7 + i) % 11).collect();
        list.sort_unstable();
        list.retain(|x| *x != 3);
        let mut text = arrayvec::ArrayString::<8>::new();
        for digit in [i / 10 % 10, i % 10] {
            text.push((b'0' + digit as u8) as char);
        }
        let text = text.bytes().map(u32::from).sum();
        [list.len() as u32, list.first().copied().unwrap_or(99), list.iter().sum(), text]
    }

    pub fn of_heapless(i: u32) -> [u32; WORDS] {
        let mut queue = heapless::Deque::<u32, 8>::new();
        let mut map = heapless::index_map::FnvIndexMap::<u32, u32, 16>::new();
        for k in 0..i % 12 {
            if queue.push_back(k * i).is_err() {
                queue.pop_front();
            }
            *map.entry(k % 5).or_insert(0).unwrap_or(&mut 0) += k;
        }
        let mut heap = heapless::BinaryHeap::<u32, heapless::binary_heap::Max, 16>::new();
        for x in &queue {
            let _ = heap.push(x % 17);
        }
        [queue.len() as u32, heap.pop().unwrap_or(99), map.values().sum(), map.len() as u32]
    }

    pub fn of_ryu(i: u32) -> [u32; WORDS] {
        let mut buffer = ryu::Buffer::new();
        let text = buffer.format(float(i)).as_bytes();
        let word = |first: usize| (0..4).map(|k| u32::from(*text.get(first + k).unwrap_or(&0)) << (8 * k)).sum();
        [text.len() as u32, word(0), word(4), word(8)]
    }

    pub fn of_nalgebra(i: u32) -> [u32; WORDS] {
        use nalgebra::{Matrix3, Vector3};
        let x = i as f32 / 5.0;
        let matrix = Matrix3::new(2.0, x, 0.1, 1.0, 3.0, -x, 0.5, 0.25, 4.0 + x);
        let solved = matrix.lu().solve(&Vector3::new(1.0, x, 2.0)).unwrap_or_default();
        let (q, _) = matrix.qr().unpack();
        [solved.x.to_bits(), solved.y.to_bits(), solved.z.to_bits(), q[(1, 1)].to_bits()]
    }
}

/// PTX with kernel names that people may choose.
pub mod names {
    extern crate cuda_std;
    include!("TOOLCHAIN/cuda_std/tests/common_names/kernels.rs");

    /// Runs all of them on `device`, and returns their number.
    #[cfg(not(target_arch = "nvptx64"))]
    pub fn run(device: &gpu::Device) -> usize {
        let mut names = 0;
        macro_rules! check {
            ($name:ident) => {
                let x = device.buffer_from_slice(&[4_u32, 7, 1]).unwrap();
                let mut out = device.uninitialized(3).unwrap();
                device.launch(&named::$name::$name, gpu::LaunchConfig::new(1, 3), (&x, &mut out)).unwrap();
                assert_eq!(out.to_vec().unwrap(), [5, 8, 2], "{}", stringify!($name));
                names += 1;
            };
        }
        for_each_name!(check);
        names
    }
}

#[cfg(not(target_arch = "nvptx64"))]
pub static PTX: &[cuda_std::PtxVariant] = &cuda_std::compiled_kernels!("crates_of_others");
