//! Warp-level matrix products: `mma` and `ldmatrix`.
//!
//! Matrix fragments have the layout of the PTX ISA (9.7.15, "Matrix multiply-accumulate operation using mma
//! instruction"): with g = lane / 4 and t = lane % 4, a lane holds elements of rows g and g + 8 of A, of column g of B,
//! and of columns 2t and 2t + 1 of rows g and g + 8 of C.
//!
//! Products are exact; their sum is accumulated in f64 and rounded to the type of D. A tensor core adds in an
//! unspecified order and may truncate: its results differ in the last bits.

use super::context::Context;
use super::fault::Failure;
use super::warp::Warp;
use crate::program::instruction::{FragmentElement, LoadMatrix, Matrix, Register};
use crate::semantics::{self, Compute, LANES, Lanes};

const ROWS: usize = 16;
const COLUMNS: usize = 8;
const MAX_DEPTH: usize = 32;

impl Warp {
    /// Computes D = A·B + C.
    pub(super) fn matrix_product(&mut self, matrix: &Matrix) {
        let (a, b) = (self.factor_a(matrix), self.factor_b(matrix));
        let mut sums = self.accumulator(matrix);
        for (row, sums) in sums.iter_mut().enumerate() {
            for (column, sum) in sums.iter_mut().enumerate() {
                let products = (0..matrix.depth).map(|k| a[row][k] * b[k][column]);
                *sum += products.sum::<f64>();
            }
        }
        self.write_accumulator(matrix, &sums);
    }

    /// A: 16 rows, `depth` columns.
    fn factor_a(&self, matrix: &Matrix) -> [[f64; MAX_DEPTH]; ROWS] {
        let mut a = [[0.0; MAX_DEPTH]; ROWS];
        for (position, register) in matrix.a.iter().enumerate() {
            // Consecutive registers alternate between rows g and g + 8.
            let (row, column) = (position % 2 * 8, position / 2);
            self.elements(matrix.elements[0], *register, |lane, index, count, value| {
                a[row + lane / 4][column * 4 * count + lane % 4 * count + index] = value;
            });
        }
        a
    }

    /// B: `depth` rows, 8 columns.
    fn factor_b(&self, matrix: &Matrix) -> [[f64; COLUMNS]; MAX_DEPTH] {
        let mut b = [[0.0; COLUMNS]; MAX_DEPTH];
        for (position, register) in matrix.b.iter().enumerate() {
            self.elements(matrix.elements[1], *register, |lane, index, count, value| {
                b[position * 4 * count + lane % 4 * count + index][lane / 4] = value;
            });
        }
        b
    }

    /// Calls `each` for every element of a register with the lane, the element's index in the
    /// register, the number of elements per register, and the value.
    fn elements(&self, element: FragmentElement, register: Register, mut each: impl FnMut(usize, usize, usize, f64)) {
        let bits = &self.registers[register as usize];
        match element {
            FragmentElement::Tf32 => {
                for (lane, bits) in bits.iter().enumerate() {
                    // tf32 has 10 fraction bits.
                    each(lane, 0, 1, f64::from(f32::from_bits(*bits as u32 & 0xffff_e000)));
                }
            }
            FragmentElement::E4m3 | FragmentElement::E5m2 => {
                let pair = if element == FragmentElement::E4m3 { "e4m3x2" } else { "e5m2x2" };
                for first in [0, 2] {
                    let pairs = bits.map(|bits| bits >> (first * 8) & 0xffff);
                    let converted = convert(&pairs, ["rn", "f16x2", pair]);
                    for (index, values) in halves(&converted, false).iter().enumerate() {
                        for (lane, value) in values.iter().enumerate() {
                            each(lane, first + index, 4, f64::from(f32::from_bits(*value as u32)));
                        }
                    }
                }
            }
            _ => {
                for (index, values) in halves(bits, element == FragmentElement::Bf16).iter().enumerate() {
                    for (lane, value) in values.iter().enumerate() {
                        each(lane, index, 2, f64::from(f32::from_bits(*value as u32)));
                    }
                }
            }
        }
    }

    fn accumulator(&self, matrix: &Matrix) -> [[f64; COLUMNS]; ROWS] {
        let mut c = [[0.0; COLUMNS]; ROWS];
        for (position, register) in matrix.c.iter().enumerate() {
            let bits = &self.registers[*register as usize];
            if matrix.half_accumulator {
                for (index, values) in halves(bits, false).iter().enumerate() {
                    for (lane, value) in values.iter().enumerate() {
                        c[position * 8 + lane / 4][lane % 4 * 2 + index] = f64::from(f32::from_bits(*value as u32));
                    }
                }
                continue;
            }
            for (lane, bits) in bits.iter().enumerate() {
                c[position / 2 * 8 + lane / 4][lane % 4 * 2 + position % 2] = f64::from(f32::from_bits(*bits as u32));
            }
        }
        c
    }

    fn write_accumulator(&mut self, matrix: &Matrix, d: &[[f64; COLUMNS]; ROWS]) {
        for (position, register) in matrix.d.iter().enumerate() {
            let mut values: Lanes = [0; LANES];
            for (lane, value) in values.iter_mut().enumerate() {
                let element = |row: usize, column: usize| d[row + lane / 4][lane % 4 * 2 + column];
                *value = match matrix.half_accumulator {
                    true => half_bits(element(position * 8, 0)) | half_bits(element(position * 8, 1)) << 16,
                    false => u64::from((element(position / 2 * 8, position % 2) as f32).to_bits()),
                };
            }
            self.write(*register, &values, self.existing);
        }
    }

    /// Executes `ldmatrix`. Each group of eight lanes provides the row addresses of one 8 × 8
    /// matrix of 16-bit elements.
    pub(super) fn load_matrix(
        &mut self,
        pc: usize,
        load: &LoadMatrix,
        present: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let addresses = self.addresses(&load.address);
        let count = load.destinations.len();
        let mut rows = [[0_u16; 8]; LANES];
        let readers = if count == 4 { present } else { present & ((1 << (count * 8)) - 1) };
        let resolved = self.shared_rows(pc, &addresses, readers, context)?;
        for (lane, row) in rows.iter_mut().enumerate().take(count * 8) {
            let (memory, offset) = resolved.at(lane);
            for (index, element) in row.iter_mut().enumerate() {
                *element = context.region(memory, self).load(offset + index * 2, 2) as u16;
            }
        }
        for (matrix, destination) in load.destinations.iter().enumerate() {
            let rows = &rows[matrix * 8..][..8];
            let mut values = [0; LANES];
            for (lane, value) in values.iter_mut().enumerate() {
                let (major, minor) = (lane / 4, lane % 4 * 2);
                let [low, high] = match load.transposed {
                    false => [rows[major][minor], rows[major][minor + 1]],
                    true => [rows[minor][major], rows[minor + 1][major]],
                };
                *value = u64::from(low) | u64::from(high) << 16;
            }
            self.write(*destination, &values, present);
        }
        Ok(())
    }
}

/// The low and high halves of each lane's register, converted to f32 bits.
pub(super) fn halves(bits: &Lanes, is_bf16: bool) -> [Lanes; 2] {
    [bits.map(|bits| bits & 0xffff), bits.map(|bits| bits >> 16 & 0xffff)].map(|halves| match is_bf16 {
        true => halves.map(|half| half << 16),
        false => convert(&halves, ["f32", "f16"]),
    })
}

/// The value rounded to f16, as bits.
pub(super) fn half_bits(value: f64) -> u64 {
    convert(&[value.to_bits(); LANES], ["rn", "f16", "f64"])[0]
}

fn convert<const N: usize>(values: &Lanes, form: [&str; N]) -> Lanes {
    let mut converted = [0; LANES];
    if let Ok(semantics::Operation { compute: Compute::Value(compute), .. }) = semantics::operation("cvt", &form) {
        compute.compute(&mut converted, [values; 4]);
    }
    converted
}
