//! Matrix products of a warpgroup (`wgmma`).
//!
//! Four warps together compute D = A·B + D, with 64 rows of A. Each computes its own 16 rows and
//! needs nothing from the others, so it does so when it arrives. The interpreter computes at once.
//! Until the product has been waited for, every write to the shared memory that it reads is a race,
//! and any use of D is an error.
//!
//! Matrices in shared memory have the layout of the PTX ISA (9.7.15.5, "Asynchronous Warpgroup
//! Level Matrix Shared Memory Layout"), and fragments the layout of `mma`. Products are exact;
//! their sum is accumulated in f64 and rounded to the type of D. A tensor core adds in an
//! unspecified order and may truncate: its results differ in the last bits.

use super::context::Context;
use super::fault::{Access, Failure, FaultKind};
use super::lanes::{ALL, lanes_of};
use super::products::WgmmaError;
use super::resolve::Request;
use super::warp::Warp;
use crate::memory::{Swizzle, space_of};
use crate::program::DYNAMIC_SHARED_START;
use crate::program::instruction::{
    AccessSpace, Action, DecodedInstruction, Fragment, FragmentElement, FragmentLayout, Register, Store, Wgmma,
    WgmmaFactor, WgmmaProduct,
};
use crate::semantics::{LANES, Lanes};
use crate::syntax::Space;

/// Number of rows of A and D per warp.
const ROWS: usize = 16;

/// Number of bytes of shared memory read at once.
const CHUNK: usize = 16;

/// Bytes of a row of A, or of a column of B.
const DEPTH_BYTES: usize = 32;

/// Number of warps per warpgroup.
const WARPS: u32 = 4;

/// Number of address bits in a descriptor.
const ADDRESS_BITS: u32 = 18;

/// A descriptor of a matrix in shared memory.
#[derive(Clone, Copy, Debug)]
struct Descriptor {
    /// The address, without the bits that a descriptor lacks.
    start: u64,
    leading: u64,
    stride: u64,
    /// The 128-byte row in which the swizzle pattern begins.
    first_row: u64,
    swizzle: Swizzle,
}

impl Descriptor {
    fn new(bits: u64) -> Self {
        let field = |from: u32| (bits >> from & 0x3fff) << 4;
        let swizzle = match bits >> 62 {
            0 => Swizzle::None,
            1 => Swizzle::Bytes128,
            2 => Swizzle::Bytes64,
            _ => Swizzle::Bytes32,
        };
        Self { start: field(0), leading: field(16), stride: field(32), first_row: bits >> 49 & 7, swizzle }
    }

    /// Offset of a chunk from the start: row of A or column of B, and chunk along the depth. If
    /// transposed: chunk of rows or columns, and position along the depth.
    fn offset(&self, transposed: bool, outer: usize, inner: usize) -> u64 {
        let width = self.swizzle.span().unwrap_or(CHUNK as u64) / CHUNK as u64;
        let (outer, inner, chunk) = (outer as u64, inner as u64, CHUNK as u64);
        match (transposed, self.swizzle) {
            (false, Swizzle::None) => outer % 8 * chunk + outer / 8 * self.stride + inner * self.leading,
            (false, _) => outer % 8 * chunk * width + outer / 8 * self.stride + inner * chunk,
            (true, Swizzle::None) => outer * self.stride + inner % 8 * chunk + inner / 8 * self.leading,
            (true, _) => {
                let along = outer % width * chunk + outer / width * self.leading;
                along + inner % 8 * chunk * width + inner / 8 * self.stride
            }
        }
    }

    /// Swizzled address of the chunk with this unswizzled address.
    fn permuted(&self, address: u64) -> u64 {
        let rows = self.first_row << 7;
        self.swizzle.permute(address.wrapping_sub(rows)).wrapping_add(rows)
    }
}

impl Warp {
    pub(super) fn wgmma(&mut self, pc: usize, wgmma: &Wgmma, context: &mut Context<'_>) -> Result<(), Failure> {
        match wgmma {
            Wgmma::Product(product) => self.warpgroup_product(pc, product, context),
            Wgmma::Commit => {
                self.products.reads.commit(ALL);
                self.products.committed += 1;
                Ok(())
            }
            Wgmma::Wait { groups } => {
                let done = self.products.reads.finish(Some(*groups), ALL);
                done.iter().for_each(|read| context.note_flight(self, read, None));
                let committed = self.products.committed;
                self.products.results.retain(|(_, group, _)| group.saturating_add(*groups) >= committed);
                Ok(())
            }
        }
    }

    /// Checks that an instruction uses no result of a product that has not been waited for. Copying
    /// it is allowed: compilers keep it in one register, which has several names in PTX.
    #[cold]
    pub(super) fn check_results(
        &mut self,
        instruction: &DecodedInstruction,
        active: u32,
        context: &Context<'_>,
    ) -> Result<(), Failure> {
        let mut used = None;
        let results = &self.products.results;
        let mut check = |register: Register| {
            used = used.or(results.iter().find(|(result, ..)| *result == register).map(|(.., pc)| *pc));
        };
        match &instruction.action {
            // Unoptimized code keeps each value in local memory.
            Action::Store(Store { space: AccessSpace::Space(Space::Local), .. }) => {}
            Action::Store(store) => {
                let address = self.addresses(&store.address)[active.trailing_zeros() as usize];
                if store.space != AccessSpace::Generic || space_of(address) != Space::Local {
                    store.sources.iter().copied().for_each(check);
                }
            }
            action => action.visit_sources(&mut check),
        }
        if let Some(pc) = used {
            let place = Box::new(context.place(pc));
            return Err(FaultKind::Wgmma { error: WgmmaError::NotWaitedFor { place } }.into());
        }
        if !matches!(instruction.action, Action::Wgmma(_)) {
            instruction.action.visit_destinations(&mut |register| {
                self.products.results.retain(|(result, ..)| *result != register);
            });
        }
        Ok(())
    }

    fn warpgroup_product(
        &mut self,
        pc: usize,
        product: &WgmmaProduct,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let failure = |error| Failure::from(FaultKind::Wgmma { error });
        let first_thread = u64::from(self.number / WARPS * WARPS) * LANES as u64;
        let threads = context.config.block.count() - first_thread;
        if threads < u64::from(WARPS) * LANES as u64 {
            return Err(failure(WgmmaError::Incomplete { threads: threads as u32 }));
        }
        let first_row = (self.number % WARPS) as usize * ROWS;
        let [a_element, b_element] = product.elements;
        let depth = product.depth;
        let mut a = match &product.a {
            WgmmaFactor::Registers(registers) => self.factor_of_registers(a_element, registers, depth),
            WgmmaFactor::Descriptor(register) => {
                let matrix = (*register, a_element, product.transposes[0]);
                self.factor_of_memory(pc, matrix, (first_row, ROWS), context)?
            }
        };
        let matrix = (product.b, b_element, product.transposes[1]);
        let b = self.factor_of_memory(pc, matrix, (0, product.columns), context)?;
        // A scale of −1 negates each product.
        if product.negates[0] != product.negates[1] {
            a.iter_mut().for_each(|value| *value = -*value);
        }
        let adds = self.predicate(product.adds);
        let mut sums = vec![0.0; ROWS * product.columns];
        self.for_each_sum(product, |warp, register, part, lane, at| {
            if adds >> lane & 1 == 1 {
                let bits = warp.registers[product.d[register] as usize][lane];
                sums[at] = product.sum.value(bits >> (part * product.sum.bytes() * 8));
            }
        });
        for (a, sums) in a.chunks(depth).zip(sums.chunks_mut(product.columns)) {
            for (b, sum) in b.chunks(depth).zip(sums) {
                *sum += a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            }
        }
        let mut values: Vec<Lanes> = vec![[0; LANES]; product.d.len()];
        self.for_each_sum(product, |_, register, part, lane, at| {
            let bits = product.sum.bits(sums[at], product.saturates);
            values[register][lane] |= bits << (part * product.sum.bytes() * 8);
        });
        let group = self.products.committed;
        for (register, values) in product.d.iter().zip(&values) {
            self.write(*register, values, self.existing);
            self.products.results.retain(|(result, ..)| result != register);
            self.products.results.push((*register, group, pc));
        }
        Ok(())
    }

    /// Calls `each` for every element of D that the warp holds, with the register's index, the
    /// element's index in the register, the lane, and the index in the warp's rows of D.
    fn for_each_sum(&self, product: &WgmmaProduct, mut each: impl FnMut(&Self, usize, usize, usize, usize)) {
        let parts = product.sum.per_register();
        for register in 0..product.d.len() {
            for part in 0..parts {
                // Every four elements of a lane belong to eight columns, with the layout of a sum
                // of `mma`.
                let (tile, element) = ((register * parts + part) / 4, (register * parts + part) % 4);
                for lane in 0..LANES {
                    let (row, column) = (element / 2 * 8 + lane / 4, tile * 8 + lane % 4 * 2 + element % 2);
                    each(self, register, part, lane, row * product.columns + column);
                }
            }
        }
    }

    /// The warp's rows of A from registers, row by row.
    fn factor_of_registers(&self, element: FragmentElement, registers: &[Register], depth: usize) -> Vec<f64> {
        let registers = registers.to_vec();
        let fragment = Fragment { element, rows: ROWS, columns: depth, layout: FragmentLayout::A, registers };
        let mut values = vec![0.0; ROWS * depth];
        let parts = element.per_register();
        for (index, register) in fragment.registers.iter().enumerate() {
            for (lane, bits) in self.registers[*register as usize].iter().enumerate() {
                for part in 0..parts {
                    let (row, column) = fragment.position(lane, index * parts + part);
                    values[row * depth + column] = element.value(bits >> (part * element.bytes() * 8));
                }
            }
        }
        values
    }

    /// Rows of A, or columns of B, from shared memory, one after the other: `count` of them
    /// starting at `first`.
    fn factor_of_memory(
        &mut self,
        pc: usize,
        (register, element, transposed): (Register, FragmentElement, bool),
        (first, count): (usize, usize),
        context: &mut Context<'_>,
    ) -> Result<Vec<f64>, Failure> {
        let bits = &self.registers[register as usize];
        if let Some(other) = bits.iter().find(|other| **other != bits[0]) {
            let error = WgmmaError::DifferentDescriptors { first: bits[0], other: *other };
            return Err(FaultKind::Wgmma { error }.into());
        }
        let descriptor = Descriptor::new(bits[0]);
        let start = context.whole_address(descriptor.start);
        let (bytes, depth) = (element.bytes(), DEPTH_BYTES / element.bytes());
        let per_chunk = CHUNK / bytes;
        // The chunks: by rows or columns, and along the depth.
        let (outer, inner) = if transposed { (count / per_chunk, depth) } else { (count, DEPTH_BYTES / CHUNK) };
        let first = if transposed { first / per_chunk } else { first };
        let mut values = vec![0.0; count * depth];
        let chunks: Vec<(usize, usize)> =
            (0..outer).flat_map(|outer| (0..inner).map(move |inner| (outer, inner))).collect();
        for chunks in chunks.chunks(LANES) {
            let mut addresses = [0; LANES];
            for (address, (outer, inner)) in addresses.iter_mut().zip(chunks) {
                *address = descriptor.permuted(start + descriptor.offset(transposed, first + outer, *inner));
            }
            let active = if chunks.len() == LANES { ALL } else { (1 << chunks.len()) - 1 };
            let (request, space) = (Request::plain(pc, CHUNK, Access::Read), AccessSpace::Space(Space::Shared));
            let places = self.resolve_addresses(request, space, &addresses, active, context)?;
            for lane in lanes_of(active) {
                let (memory, offset) = places.at(lane);
                let mut data = [0; CHUNK];
                context.region(memory, self).read(offset, &mut data);
                if context.races.is_some() {
                    let read = self.products.reads.begin_read(lane, (memory, offset), CHUNK);
                    context.note_flight(self, &read, Some(pc));
                }
                let (outer, inner) = chunks[lane];
                for (index, element_bytes) in data.chunks(bytes).enumerate() {
                    let bits = element_bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
                    let at = match transposed {
                        true => (outer * per_chunk + index) * depth + inner,
                        false => outer * depth + inner * per_chunk + index,
                    };
                    values[at] = element.value(bits);
                }
            }
        }
        Ok(values)
    }
}

impl Context<'_> {
    /// The full shared-memory address for a descriptor's address bits. Tries dynamic memory first.
    /// Few addresses are ambiguous with static memory, and only if both are large.
    fn whole_address(&self, bits: u64) -> u64 {
        let offset = bits.wrapping_sub(DYNAMIC_SHARED_START) & ((1 << ADDRESS_BITS) - 1);
        if offset < self.launch.dynamic_shared.bytes { DYNAMIC_SHARED_START + offset } else { bits }
    }
}
