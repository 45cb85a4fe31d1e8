//! Matrix products of a warp with `wmma`. Its fragments have no specified layout.
//!
//! Here, element e of a fragment, counted row by row, is in lane e / n, for fragments of n elements
//! per lane. A fragment with twice as many elements as its matrix (A and B of f16) holds each
//! element in two lanes. A program that relies on a GPU's layout gets different results.
//!
//! Products are exact; their sum is accumulated in f64 (with fused multiply-adds for f64) and
//! rounded to the type of D. A tensor core adds in an unspecified order and may truncate: its
//! results differ in the last bits.

use super::context::Context;
use super::fault::{Access, Failure, FaultKind};
use super::lane_addresses::LaneAddresses;
use super::lanes::lanes_of;
use super::matrix::halves;
use super::resolve::Request;
use super::warp::Warp;
use crate::memory::{AccessError, space_of};
use crate::program::instruction::{AccessSpace, Fragment, FragmentElement, Wmma, WmmaAccess, WmmaProduct};
use crate::semantics::{LANES, Lanes};

/// Alignment in bytes of rows in memory (CUDA C++ Programming Guide, "Warp Matrix Functions": the
/// stride has to be a multiple of 16 bytes).
const ROW_ALIGNMENT: usize = 16;

impl Warp {
    pub(super) fn wmma(
        &mut self,
        pc: usize,
        wmma: &Wmma,
        present: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        match wmma {
            Wmma::Load(access) => self.load_fragment(pc, access, present, context),
            Wmma::Store(access) => self.store_fragment(pc, access, present, context),
            Wmma::Product(product) => {
                self.fragment_product(product);
                Ok(())
            }
        }
    }

    fn load_fragment(
        &mut self,
        pc: usize,
        access: &WmmaAccess,
        present: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let fragment = &access.fragment;
        let (bytes, per_register) = (fragment.element.bytes(), fragment.element.per_register());
        let mut values = vec![[0; LANES]; fragment.registers.len()];
        for slot in 0..fragment.slots() {
            let places = self.element_places(pc, access, slot, Access::Read, present, context)?;
            for lane in lanes_of(present) {
                let (memory, offset) = places.at(lane);
                let bits = context.region(memory, self).load(offset, bytes);
                values[slot / per_register][lane] |= bits << (slot % per_register * bytes * 8);
            }
        }
        for (register, values) in fragment.registers.iter().zip(&values) {
            self.write(*register, values, present);
        }
        Ok(())
    }

    fn store_fragment(
        &self,
        pc: usize,
        access: &WmmaAccess,
        present: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let fragment = &access.fragment;
        let (bytes, per_register) = (fragment.element.bytes(), fragment.element.per_register());
        for slot in 0..fragment.slots() {
            let places = self.element_places(pc, access, slot, Access::Write, present, context)?;
            let values = &self.registers[fragment.registers[slot / per_register] as usize];
            for lane in lanes_of(present) {
                let (memory, offset) = places.at(lane);
                let bits = values[lane] >> (slot % per_register * bytes * 8);
                context.region(memory, self).store(offset, bytes, bits);
            }
        }
        context.note_change();
        Ok(())
    }

    /// Resolves, checks and records the access of each lane's element `slot`.
    ///
    /// # Errors
    /// A misaligned start of a row or column, or an access that is an error.
    fn element_places(
        &self,
        pc: usize,
        WmmaAccess { fragment, space, address, stride, by_columns }: &WmmaAccess,
        slot: usize,
        access: Access,
        present: u32,
        context: &mut Context<'_>,
    ) -> Result<LaneAddresses, Failure> {
        let mut addresses = self.addresses(address);
        let bytes = fragment.element.bytes() as u64;
        let length = if *by_columns { fragment.rows } else { fragment.columns };
        for lane in lanes_of(present) {
            let stride = stride.map_or(length as u64, |stride| self.registers[stride as usize][lane] & 0xffff_ffff);
            let (row, column) = fragment.position(lane, slot);
            let (major, minor) = if *by_columns { (column, row) } else { (row, column) };
            let begin = addresses[lane].wrapping_add((major as u64).wrapping_mul(stride).wrapping_mul(bytes));
            let of_space = match space {
                AccessSpace::Space(space) => *space,
                _ => space_of(begin),
            };
            AccessError::check_aligned(of_space, begin, ROW_ALIGNMENT)
                .map_err(|error| Failure::at(lane, FaultKind::Access { access, error }))?;
            addresses[lane] = begin.wrapping_add(minor as u64 * bytes);
        }
        let request = Request::plain(pc, fragment.element.bytes(), access);
        self.resolve_addresses(request, *space, &addresses, present, context)
    }

    /// Computes D = A·B + C.
    fn fragment_product(&mut self, WmmaProduct { d, a, b, c, saturates }: &WmmaProduct) {
        let add: fn(f64, f64, f64) -> f64 = match d.element {
            FragmentElement::F64 => f64::mul_add,
            // Exact products.
            _ => |a, b, sum| a * b + sum,
        };
        let [a_values, b_values, mut sums] = [a, b, c].map(|fragment| self.fragment_values(fragment));
        for (row, sums) in sums.chunks_mut(c.columns).enumerate() {
            for (column, sum) in sums.iter_mut().enumerate() {
                for k in 0..a.columns {
                    *sum = add(a_values[row * a.columns + k], b_values[k * b.columns + column], *sum);
                }
            }
        }
        let per_register = d.element.per_register();
        for (position, register) in d.registers.iter().enumerate() {
            let mut values = [0; LANES];
            for (lane, value) in values.iter_mut().enumerate() {
                for part in 0..per_register {
                    let (row, column) = d.position(lane, position * per_register + part);
                    let bits = d.element.bits(sums[row * d.columns + column], *saturates);
                    *value |= bits << (part * d.element.bytes() * 8);
                }
            }
            self.write(*register, &values, self.existing);
        }
    }

    /// The elements of a fragment's matrix, row by row.
    fn fragment_values(&self, fragment: &Fragment) -> Vec<f64> {
        let mut values = vec![0.0; fragment.rows * fragment.columns];
        let per_register = fragment.element.per_register();
        for (position, register) in fragment.registers.iter().enumerate() {
            let parts = fragment.element.values(&self.registers[*register as usize]);
            for (part, lanes) in parts.iter().enumerate() {
                for (lane, value) in lanes.iter().enumerate() {
                    let (row, column) = fragment.position(lane, position * per_register + part);
                    values[row * fragment.columns + column] = *value;
                }
            }
        }
        values
    }
}

impl FragmentElement {
    /// The elements of each lane's register.
    fn values(self, bits: &Lanes) -> Vec<[f64; LANES]> {
        let of_f32 = |bits: &Lanes| bits.map(|bits| f64::from(f32::from_bits(bits as u32)));
        let byte = |part: usize| bits.map(|bits| (bits >> (8 * part)) as u8);
        match self {
            Self::F16 | Self::Bf16 => halves(bits, self == Self::Bf16).iter().map(of_f32).collect(),
            // tf32 has 10 fraction bits.
            Self::Tf32 => vec![of_f32(&bits.map(|bits| bits & 0xffff_e000))],
            Self::F32 => vec![of_f32(bits)],
            Self::F64 => vec![bits.map(f64::from_bits)],
            Self::S8 => (0..4).map(|part| byte(part).map(|byte| f64::from(byte as i8))).collect(),
            Self::U8 => (0..4).map(|part| byte(part).map(f64::from)).collect(),
            Self::E4m3 | Self::E5m2 => (0..4).map(|part| byte(part).map(|byte| self.value(byte.into()))).collect(),
            Self::S32 => vec![bits.map(|bits| f64::from(bits as i32))],
        }
    }
}
