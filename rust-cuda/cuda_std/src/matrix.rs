//! Products of small matrices by tensor cores: d = a · b + c for a of 16 × [`DEPTH`](Factor::DEPTH), b of `DEPTH` × 8, c and d of 16 × 8
//! elements. From sm_80 on. [`double`] has those of f64.
//!
//! A warp holds each matrix together: a lane has a fragment of it, some elements in registers, as PTX ISA 9.7.15 lays them out. [`A::new`],
//! [`B::new`] and [`Sums::for_each`] call a function for a lane's own elements with their rows and columns, so that a kernel needs no
//! layout:
//!
//! ```
//! use cuda_std::matrix::{A, B, Sums, Tf32};
//! use cuda_std::simulator::{self, SimulatorBuffer};
//! use cuda_std::{GlobalMut, LaunchConfig, kernel};
//!
//! /// d = a · b, all row by row: a has 8 columns. One warp.
//! # #[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
//! #[kernel]
//! pub fn product(a: &[f32], b: &[f32], d: GlobalMut<f32>) {
//!     let a = A::<Tf32>::new(|row, k| a[row * 8 + k]);
//!     let b = B::new(|k, column| b[k * 8 + column]);
//!     let sums = Sums::zero().plus_product(&a, &b);
//!     sums.for_each(|row, column, sum| d.set(row * 8 + column, sum));
//! }
//!
//! let (a, b) = (SimulatorBuffer::filled(0.5, 16 * 8), SimulatorBuffer::filled(2.0, 8 * 8));
//! let mut d = SimulatorBuffer::uninitialized(16 * 8);
//! simulator::launch(&product, LaunchConfig::new(1, 32), (&a, &b, &mut d))?;
//! assert_eq!(d.to_vec(), [8.0; 16 * 8]);
//! # Ok::<(), simulator::LaunchError>(())
//! ```
//!
//! Products of elements are exact. The simulator and the interpreter of PTX add a sum's products in the order of k, in f64, then c, and
//! round once to f32. A tensor core adds in an order of its own and may truncate: its results differ in the last bits, and equal these
//! where all sums are exact, as of small integers.

pub mod double;

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
use core::marker::PhantomData;

#[cfg(feature = "half")]
use crate::half::{Half, bf16, f16};
use crate::{math, warp};

/// Rows of a, c and d.
pub const ROWS: usize = 16;
/// Columns of b, c and d.
pub const COLUMNS: usize = 8;

/// A type of the elements of a and b: [`Tf32`], [`Bf16`], and with the feature `half` `f16` and `bf16`.
pub trait Factor: Copy + Send + Sync + sealed::Sealed + 'static {
    /// What a kernel passes for an element.
    type Element: Copy + Default;

    /// Columns of a, rows of b: 8 of tf32, 16 of the halves.
    const DEPTH: usize;

    /// x as an element, rounded to the nearest.
    fn from_f32(x: f32) -> Self::Element;

    /// The bits of `DEPTH` / 8 elements with consecutive k in a register, the first in its lowest bits.
    #[doc(hidden)]
    fn packed(elements: [Self::Element; 2]) -> u32;

    /// The value of element `index` of a register.
    #[cfg(not(target_arch = "nvptx64"))]
    #[doc(hidden)]
    fn value(register: u32, index: usize) -> f32;

    /// The instruction, which all lanes of the warp execute.
    #[cfg(target_arch = "nvptx64")]
    #[doc(hidden)]
    fn multiply(a: [u32; 4], b: [u32; 2], sums: &mut [f32; 4]);
}

mod sealed {
    pub trait Sealed {}
}

/// TensorFloat-32, the exponent of f32 with ten fraction bits: an f32, which is rounded to the nearest, ties away from zero
/// (`cvt.rna.tf32.f32`).
#[derive(Clone, Copy, Debug)]
pub enum Tf32 {}

impl Tf32 {
    /// x rounded to a tf32, as the bits of an f32.
    #[allow(unsafe_code)]
    #[inline(always)]
    fn bits(x: f32) -> u32 {
        #[cfg(target_arch = "nvptx64")]
        {
            let bits: u32;
            // SAFETY: the instruction converts registers and accesses no memory.
            unsafe {
                asm!(
                    "cvt.rna.tf32.f32 {0}, {1};", out(reg32) bits, in(reg32) x,
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
            bits
        }
        #[cfg(not(target_arch = "nvptx64"))]
        if x.is_nan() || x.is_infinite() { x.to_bits() } else { (x.to_bits() + (1 << 12)) & !0x1fff }
    }
}

/// bfloat16, the upper half of an f32, as its bits: for kernels that make them of floats by [`upper_halves`], without the crate `half`.
#[derive(Clone, Copy, Debug)]
pub enum Bf16 {}

impl Bf16 {
    /// The bits of x rounded to the nearest, ties to even; of a NaN some NaN's.
    fn bits(x: f32) -> u16 {
        let bits = x.to_bits();
        let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
        (if x.is_nan() { bits | 0x40_0000 } else { rounded } >> 16) as u16
    }
}

/// The upper halves of two floats in a register, the first in its lower half: two bf16, which are the floats rounded towards zero.
#[inline(always)]
pub fn upper_halves([lower, upper]: [f32; 2]) -> u32 {
    math::byte_permute(lower.to_bits(), upper.to_bits(), 0x7632)
}

macro_rules! factors {
    ($(
        $factor:ident, $element:ident, depth $depth:literal, $instruction:literal, $from:expr, $pack:expr, $value:expr;
    )*) => {$(
        impl sealed::Sealed for $factor {}

        impl Factor for $factor {
            type Element = $element;
            const DEPTH: usize = $depth;

            #[inline(always)]
            fn from_f32(x: f32) -> $element {
                $from(x)
            }

            #[inline(always)]
            fn packed(elements: [$element; 2]) -> u32 {
                $pack(elements)
            }

            #[cfg(not(target_arch = "nvptx64"))]
            fn value(register: u32, index: usize) -> f32 {
                $value(register >> (index * 16))
            }

            #[cfg(target_arch = "nvptx64")]
            #[allow(unsafe_code)]
            #[inline(always)]
            fn multiply(a: [u32; 4], b: [u32; 2], sums: &mut [f32; 4]) {
                let [s0, s1, s2, s3] = sums;
                // SAFETY: the instruction accesses registers of the warp only; the simulator and the interpreter check that all
                // lanes reach it. It is not `pure`, so that LLVM does not move it to divergent code.
                unsafe {
                    asm!(
                        concat!("mma.sync.aligned.", $instruction),
                        "    {{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};",
                        inout(reg32) *s0, inout(reg32) *s1, inout(reg32) *s2, inout(reg32) *s3,
                        in(reg32) a[0], in(reg32) a[1], in(reg32) a[2], in(reg32) a[3], in(reg32) b[0], in(reg32) b[1],
                        options(nomem, nostack, preserves_flags)
                    );
                }
            }
        }
    )*};
}

factors! {
    Tf32, f32, depth 8, "m16n8k8.row.col.f32.tf32.tf32.f32", |x| x, |[x, _]: [f32; 2]| Tf32::bits(x), f32::from_bits;
}

factors! {
    Bf16, u16, depth 16, "m16n8k16.row.col.f32.bf16.bf16.f32", Bf16::bits, pack, |bits| f32::from_bits(bits << 16);
}

#[cfg(feature = "half")]
factors! {
    f16, f16, depth 16, "m16n8k16.row.col.f32.f16.f16.f32", f16::narrow,
        |pair: [f16; 2]| pack(pair.map(f16::to_bits)), |bits| f16::from_bits(bits as u16).wide();
    bf16, bf16, depth 16, "m16n8k16.row.col.f32.bf16.bf16.f32", bf16::narrow,
        |pair: [bf16; 2]| pack(pair.map(bf16::to_bits)), |bits| bf16::from_bits(bits as u16).wide();
}

/// Two halves in a register, the first in its lower half.
#[inline(always)]
fn pack([lower, upper]: [u16; 2]) -> u32 {
    u32::from(upper) << 16 | u32::from(lower)
}

/// The lane's group of four, which has rows `group` and `group` + 8 of a, c and d and column `group` of b, and its place in the group.
#[inline(always)]
fn group_and_place() -> (usize, usize) {
    let lane = warp::lane_id() as usize;
    (lane / 4, lane % 4)
}

/// The elements of register `index` of a lane along k, which are `index` · `DEPTH` / 2 + … of the lane's `place`.
#[inline(always)]
fn register<T: Factor>(index: usize, place: usize, element: impl Fn(usize) -> T::Element) -> u32 {
    let count = T::DEPTH / 8;
    let first = (4 * index + place) * count;
    let second = if count == 2 { element(first + 1) } else { T::Element::default() };
    T::packed([element(first), second])
}

/// A lane's fragment of a, the left factor.
#[derive(Clone, Copy, Debug)]
pub struct A<T: Factor>([u32; 4], PhantomData<T>);

impl<T: Factor> A<T> {
    /// The matrix of the lanes' registers. Lane 4g + p has of row g the elements from 2p on in the first register, and those from 2p + 8 on in
    /// the third; of row g + 8 in the second and the fourth: as [`load_matrices`](crate::DynamicShared::load_matrices) does. Of tf32 one
    /// element is in a register, p or p + 4.
    #[inline(always)]
    pub fn from_registers(registers: [u32; 4]) -> Self {
        Self(registers, PhantomData)
    }

    /// The matrix with these elements; `element(row, k)` is called for those of the lane.
    #[inline(always)]
    pub fn new(element: impl Fn(usize, usize) -> T::Element) -> Self {
        let (group, place) = group_and_place();
        // Consecutive registers alternate between the two rows.
        let registers =
            [0, 1, 2, 3].map(|index| register::<T>(index / 2, place, |k| element(group + index % 2 * (ROWS / 2), k)));
        Self(registers, PhantomData)
    }
}

/// A lane's fragment of b, the right factor.
#[derive(Clone, Copy, Debug)]
pub struct B<T: Factor>([u32; 2], PhantomData<T>);

impl<T: Factor> B<T> {
    /// The matrix of the lanes' registers. Lane 4g + p has of column g the elements from 2p on in the first register, and those from 2p + 8
    /// on in the second; of tf32 elements p and p + 4.
    #[inline(always)]
    pub fn from_registers(registers: [u32; 2]) -> Self {
        Self(registers, PhantomData)
    }

    /// The matrix with these elements; `element(k, column)` is called for those of the lane.
    #[inline(always)]
    pub fn new(element: impl Fn(usize, usize) -> T::Element) -> Self {
        let (group, place) = group_and_place();
        Self([0, 1].map(|index| register::<T>(index, place, |k| element(k, group))), PhantomData)
    }
}

/// A lane's fragment of c or d, the sums, in f32.
#[derive(Clone, Copy, Debug)]
pub struct Sums([f32; 4]);

impl Sums {
    /// The matrix of zeros.
    #[inline(always)]
    pub fn zero() -> Self {
        Self([0.0; 4])
    }

    /// The matrix with these elements; `element(row, column)` is called for those of the lane.
    #[inline(always)]
    pub fn new(element: impl Fn(usize, usize) -> f32) -> Self {
        Self([0, 1, 2, 3].map(Self::place).map(|(row, column)| element(row, column)))
    }

    /// The matrix of the lanes' registers, in the order of [`Sums::registers`].
    #[inline(always)]
    pub fn from_registers(registers: [f32; 4]) -> Self {
        Self(registers)
    }

    /// The lane's elements. Lane 4g + p has those of row g and columns 2p and 2p + 1, then those of row g + 8.
    #[inline(always)]
    pub fn registers(self) -> [f32; 4] {
        self.0
    }

    /// These sums plus a · b; needs a whole warp.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[must_use = "the sums are returned"]
    pub fn plus_product<T: Factor>(self, a: &A<T>, b: &B<T>) -> Self {
        #[cfg(target_arch = "nvptx64")]
        {
            let mut sums = self.0;
            T::multiply(a.0, b.0, &mut sums);
            Self(sums)
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            // The lane of a row or column, and of k, and the element there.
            let count = T::DEPTH / 8;
            let lane = |group: usize, k: usize| group * 4 + k / count % 4;
            let value = |register: u32, k: usize| f64::from(T::value(register, k % count));
            let (group, place) = group_and_place();
            // By register and lane. Loops, so that the kernel's line is the caller's.
            let (mut all_a, mut all_b) = ([[0; 32]; 4], [[0; 32]; 2]);
            for (all, register) in all_a.iter_mut().zip(a.0) {
                *all = warp::words_of_all(register);
            }
            for (all, register) in all_b.iter_mut().zip(b.0) {
                *all = warp::words_of_all(register);
            }
            let mut sums = [0.0; 4];
            for k in 0..T::DEPTH {
                let half = k / (4 * count);
                let a = [0, 1].map(|lower| value(all_a[half * 2 + lower][lane(group, k)], k));
                let b = [0, 1].map(|right| value(all_b[half][lane(2 * place + right, k)], k));
                for (index, sum) in sums.iter_mut().enumerate() {
                    *sum += a[index / 2] * b[index % 2];
                }
            }
            Self(core::array::from_fn(|index| (f64::from(self.0[index]) + sums[index]) as f32))
        }
    }

    /// Calls `store(row, column, sum)` for the lane's elements.
    #[inline(always)]
    pub fn for_each(self, mut store: impl FnMut(usize, usize, f32)) {
        for (index, sum) in self.0.into_iter().enumerate() {
            let (row, column) = Self::place(index);
            store(row, column, sum);
        }
    }

    /// Row and column of register `index` of the lane.
    #[inline(always)]
    fn place(index: usize) -> (usize, usize) {
        let (group, place) = group_and_place();
        (group + index / 2 * (ROWS / 2), 2 * place + index % 2)
    }
}
