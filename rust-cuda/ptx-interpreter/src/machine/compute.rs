//! Instructions that only compute registers and predicates.

use super::context::Context;
use super::lanes::{write, write_bits};
use super::spin::Spin;
use super::warp::Warp;
use crate::memory::{in_block_of_cluster, is_in_space};
use crate::program::instruction::{Clock, Combine, Extend, Predicate, Register};
use crate::program::truncate;
use crate::semantics::{self, Carry, LANES, Lanes, Value};
use crate::syntax::Space;

impl Warp {
    fn sources(&self, sources: [Register; 4]) -> [&Lanes; 4] {
        sources.map(|source| &self.registers[source as usize])
    }

    #[inline]
    pub(super) fn compute(
        &mut self,
        compute: Value,
        destination: Register,
        sources: [Register; 4],
        extend: Extend,
        active: u32,
    ) {
        let mut values = [0; LANES];
        compute.compute(&mut values, self.sources(sources));
        extend.extend(&mut values);
        self.write(destination, &values, active);
    }

    /// Computes a value and the carry flag.
    #[inline]
    pub(super) fn carry(&mut self, compute: Carry, destination: Register, sources: [Register; 4], active: u32) {
        let mut values = [0; LANES];
        let carry = compute.compute(&mut values, self.carry, self.sources(sources));
        write_bits(&mut self.carry, carry, active);
        self.write(destination, &values, active);
    }

    #[inline]
    pub(super) fn compare(
        &mut self,
        compute: semantics::Predicate,
        sources: [Register; 4],
        combine: Option<Combine>,
        destinations: [Option<Predicate>; 2],
        active: u32,
    ) {
        let sources = self.sources(sources);
        let holds = compute.compute(sources);
        let second = destinations[1].map_or(0, |_| compute.second(holds, sources));
        let combined = |holds: u32| match combine {
            None => holds,
            Some(Combine { logic, other, negated }) => {
                let other = self.predicates[other as usize];
                logic.apply(holds, if negated { !other } else { other })
            }
        };
        let values = [combined(holds), combined(second)];
        for (destination, value) in destinations.iter().zip(values) {
            if let Some(destination) = destination {
                self.write_predicate(*destination, value, active);
            }
        }
    }

    #[inline]
    pub(super) fn select(&mut self, destination: Register, [a, b]: [Register; 2], predicate: Predicate, active: u32) {
        let mut values = self.registers[b as usize];
        write(&mut values, &self.registers[a as usize], self.predicates[predicate as usize]);
        self.write(destination, &values, active);
    }

    #[inline]
    pub(super) fn pack(&mut self, destination: Register, parts: &[Register], bits: u32, active: u32) {
        let mut values = [0; LANES];
        for (position, part) in parts.iter().enumerate() {
            for (value, part) in values.iter_mut().zip(&self.registers[*part as usize]) {
                *value |= truncate(*part, bits as usize) << (position as u32 * bits);
            }
        }
        self.write(destination, &values, active);
    }

    #[inline]
    pub(super) fn unpack(&mut self, destinations: &[Option<Register>], source: Register, bits: u32, active: u32) {
        let source = self.registers[source as usize];
        for (position, destination) in destinations.iter().enumerate() {
            if let Some(destination) = destination {
                let values = source.map(|value| truncate(value >> (position as u32 * bits), bits as usize));
                self.write(*destination, &values, active);
            }
        }
    }

    /// Computes the lanes' addresses in the shared memory of other blocks of the cluster.
    pub(super) fn map_address(
        &mut self,
        destination: Register,
        address: Register,
        rank: Register,
        active: u32,
        context: &Context<'_>,
    ) {
        let [addresses, ranks] = [address, rank].map(|register| &self.registers[register as usize]);
        let own = context.rank();
        let values = std::array::from_fn(|lane| {
            let (address, rank) = (addresses[lane], ranks[lane] as u32);
            match address >> 32 {
                0 => in_block_of_cluster(address as u32, rank).into(),
                // In a generic address, the bits above these select the window of shared memory.
                _ if rank == own => address,
                window => window << 32 | u64::from(in_block_of_cluster(address as u32, rank)),
            }
        });
        self.write(destination, &values, active);
    }

    pub(super) fn is_space(&mut self, destination: Predicate, space: Space, address: Register, active: u32) {
        let addresses = &self.registers[address as usize];
        let holds = (0..LANES).fold(0, |bits, lane| bits | u32::from(is_in_space(space, addresses[lane])) << lane);
        self.write_predicate(destination, holds, active);
    }

    pub(super) fn read_clock(&mut self, destination: Register, clock: Clock, active: u32, context: &Context<'_>) {
        self.spin = Spin::No;
        let count = truncate(context.state.executed >> clock.shift, clock.bits);
        self.write(destination, &[count; LANES], active);
    }
}
