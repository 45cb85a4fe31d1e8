//! Products of matrices of f64: d = a · b + c for a of 16 × 8, b of 8 × 8, c and d of 16 × 8 elements. From sm_80 on.
//!
//! ```
//! use cuda_std::matrix::double::{A, B, Sums};
//! use cuda_std::simulator::{self, SimulatorBuffer};
//! use cuda_std::{GlobalMut, LaunchConfig, kernel};
//!
//! /// d = a · b, all row by row: a and b have 8 columns. One warp.
//! # #[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
//! #[kernel]
//! pub fn product(a: &[f64], b: &[f64], d: GlobalMut<f64>) {
//!     let a = A::new(|row, k| a[row * 8 + k]);
//!     let b = B::new(|k, column| b[k * 8 + column]);
//!     Sums::zero().plus_product(&a, &b).for_each(|row, column, sum| d.set(row * 8 + column, sum));
//! }
//!
//! let (a, b) = (SimulatorBuffer::filled(0.5, 16 * 8), SimulatorBuffer::filled(2.0, 8 * 8));
//! let mut d = SimulatorBuffer::uninitialized(16 * 8);
//! simulator::launch(&product, LaunchConfig::new(1, 32), (&a, &b, &mut d))?;
//! assert_eq!(d.to_vec(), [8.0; 16 * 8]);
//! # Ok::<(), simulator::LaunchError>(())
//! ```
//!
//! A sum begins with c's element, and one product after the other is added to it in the order of k, each by a fused multiply-add that rounds
//! to the nearest, ties to even. So the simulator and the interpreter of PTX compute it, with the bits of that chain of
//! [`fma`](crate::math::fma); infinities, NaN and subnormal numbers are those of IEEE 754. The PTX ISA promises the precision of such
//! multiply-adds, and names no order.
//!
//! From sm_90 on a product is one instruction, `mma.m16n8k8`; before, it is four of `mma.m8n8k4`, which add in the same order.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

use super::{ROWS, group_and_place};
#[cfg(not(target_arch = "nvptx64"))]
use crate::{math, warp};

/// Columns of a, rows of b.
pub const DEPTH: usize = 8;

/// A lane's fragment of a, the left factor.
#[derive(Clone, Copy, Debug)]
pub struct A([f64; 4]);

impl A {
    /// The matrix of the lanes' registers. Lane 4g + p has elements p of rows g and g + 8, then elements p + 4 of them.
    #[inline(always)]
    pub fn from_registers(registers: [f64; 4]) -> Self {
        Self(registers)
    }

    /// The matrix with these elements; `element(row, k)` is called for those of the lane.
    #[inline(always)]
    pub fn new(element: impl Fn(usize, usize) -> f64) -> Self {
        let (group, place) = group_and_place();
        Self([0, 1, 2, 3].map(|index| element(group + index % 2 * (ROWS / 2), place + index / 2 * (DEPTH / 2))))
    }
}

/// A lane's fragment of b, the right factor.
#[derive(Clone, Copy, Debug)]
pub struct B([f64; 2]);

impl B {
    /// The matrix of the lanes' registers. Lane 4g + p has elements p and p + 4 of column g.
    #[inline(always)]
    pub fn from_registers(registers: [f64; 2]) -> Self {
        Self(registers)
    }

    /// The matrix with these elements; `element(k, column)` is called for those of the lane.
    #[inline(always)]
    pub fn new(element: impl Fn(usize, usize) -> f64) -> Self {
        let (group, place) = group_and_place();
        Self([0, 1].map(|index| element(place + index * (DEPTH / 2), group)))
    }
}

/// A lane's fragment of c or d, the sums.
#[derive(Clone, Copy, Debug)]
pub struct Sums([f64; 4]);

impl Sums {
    /// The matrix of zeros.
    #[inline(always)]
    pub fn zero() -> Self {
        Self([0.0; 4])
    }

    /// The matrix with these elements; `element(row, column)` is called for those of the lane.
    #[inline(always)]
    pub fn new(element: impl Fn(usize, usize) -> f64) -> Self {
        Self([0, 1, 2, 3].map(super::Sums::place).map(|(row, column)| element(row, column)))
    }

    /// The lane's elements. Lane 4g + p has those of row g and columns 2p and 2p + 1, then those of row g + 8.
    #[inline(always)]
    pub fn registers(self) -> [f64; 4] {
        self.0
    }

    /// These sums plus a · b; needs a whole warp.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[must_use = "the sums are returned"]
    pub fn plus_product(self, a: &A, b: &B) -> Self {
        let Self(mut sums) = self;
        multiply(a.0, b.0, &mut sums);
        Self(sums)
    }

    /// Calls `store(row, column, sum)` for the lane's elements.
    #[inline(always)]
    pub fn for_each(self, mut store: impl FnMut(usize, usize, f64)) {
        for (index, sum) in self.0.into_iter().enumerate() {
            let (row, column) = super::Sums::place(index);
            store(row, column, sum);
        }
    }
}

/// The instruction, which all lanes of the warp execute.
#[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
#[allow(unsafe_code)]
#[inline(always)]
fn multiply(a: [f64; 4], b: [f64; 2], [s0, s1, s2, s3]: &mut [f64; 4]) {
    // SAFETY: the instruction accesses registers of the warp only; the simulator and the interpreter check that all lanes reach it. It is not
    // `pure`, so that LLVM does not move it to divergent code.
    unsafe {
        asm!(
            "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64",
            "    {{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};",
            inout(reg64) *s0, inout(reg64) *s1, inout(reg64) *s2, inout(reg64) *s3,
            in(reg64) a[0], in(reg64) a[1], in(reg64) a[2], in(reg64) a[3], in(reg64) b[0], in(reg64) b[1],
            options(nomem, nostack, preserves_flags)
        );
    }
}

/// The four instructions: the upper and the lower rows of the first half along k, then those of the second.
#[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_90")))]
#[allow(unsafe_code)]
#[inline(always)]
fn multiply(a: [f64; 4], b: [f64; 2], [s0, s1, s2, s3]: &mut [f64; 4]) {
    let mut quarter = |a: f64, b: f64, s0: &mut f64, s1: &mut f64| {
        // SAFETY: as above.
        unsafe {
            asm!(
                "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{{0}, {1}}}, {{{2}}}, {{{3}}}, {{{0}, {1}}};",
                inout(reg64) *s0, inout(reg64) *s1, in(reg64) a, in(reg64) b,
                options(nomem, nostack, preserves_flags)
            );
        }
    };
    quarter(a[0], b[0], s0, s1);
    quarter(a[1], b[0], s2, s3);
    quarter(a[2], b[1], s0, s1);
    quarter(a[3], b[1], s2, s3);
}

/// The definition, by the registers of all lanes.
#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
fn multiply(a: [f64; 4], b: [f64; 2], sums: &mut [f64; 4]) {
    let (mut all_a, mut all_b) = ([[0; 32]; 4], [[0; 32]; 2]);
    // Loops, so that the kernel's line is the caller's.
    for (all, register) in all_a.iter_mut().zip(a) {
        *all = doubles_of_all(register);
    }
    for (all, register) in all_b.iter_mut().zip(b) {
        *all = doubles_of_all(register);
    }
    let (group, place) = group_and_place();
    for (index, sum) in sums.iter_mut().enumerate() {
        for k in 0..DEPTH {
            let (half, of_k) = (k / 4, k % 4);
            let a = f64::from_bits(all_a[2 * half + index / 2][4 * group + of_k]);
            let b = f64::from_bits(all_b[half][4 * (2 * place + index % 2) + of_k]);
            *sum = math::fma(a, b, *sum);
        }
    }
}

/// The bits of a register of each lane.
#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
fn doubles_of_all(register: f64) -> [u64; 32] {
    let bits = register.to_bits();
    let (low, high) = (warp::words_of_all(bits as u32), warp::words_of_all((bits >> 32) as u32));
    core::array::from_fn(|lane| u64::from(high[lane]) << 32 | u64::from(low[lane]))
}
