//! The state of a warp at the start of a block: the initial content of its registers.

use super::context::Context;
use super::spin::Spin;
use super::warp::Warp;
use crate::limits::MULTIPROCESSORS;
use crate::memory::first_address;
use crate::program::{Initial, Special, truncate};
use crate::semantics::LANES;
use crate::syntax::Space;

/// Initial content of registers: a recognizable pattern, NaN both as an f32 and as an f64.
const UNINITIALISED: u64 = 0x7ff4_dead_7fa4_dead;

/// The content of a register of `bits` bits before it is written, as shown by
/// [`StoppedWarp::register`].
///
/// [`StoppedWarp::register`]: super::StoppedWarp::register
pub fn uninitialised_register(bits: usize) -> u64 {
    truncate(UNINITIALISED, bits)
}

impl Warp {
    /// Resets the warp for another block.
    pub(super) fn start(&mut self, context: &Context<'_>) {
        for (register, initial) in self.registers.iter_mut().zip(&context.kernel.registers) {
            match initial {
                Initial::Uninitialised(bits) => *register = [truncate(UNINITIALISED, *bits); LANES],
                Initial::Constant(value) => *register = [*value; LANES],
                Initial::Special(special) => {
                    let first = self.number * LANES as u32;
                    for (lane, value) in register.iter_mut().enumerate() {
                        *value = special_value(*special, context, first + lane as u32);
                    }
                }
            }
        }
        self.predicates.fill(0);
        self.carry = 0;
        self.exited = 0;
        (self.slices, self.slice_used, self.last_of_turn) = (0, 0, None);
        (self.idle_slices, self.changes_at_slice, self.spin, self.is_counted) = (0, 0, Spin::No, false);
        (self.arrived, self.cluster_arrived, self.cluster_passed) = ([0; 16], 0, 0);
        let options = &context.launch.options;
        if options.separate_lanes {
            let (order, lanes) = (options.schedule.start, u64::from(self.existing.count_ones()));
            self.divergence.start_separately((0..lanes).map(|nth| order.nth(nth, lanes, 1) as u32));
        } else {
            self.divergence.start(self.existing);
        }
        for copies in [&mut self.copies, &mut self.bulk_reads, &mut self.bulk_writes] {
            copies.clear();
        }
        self.products.clear();
        self.uninitialised.clear();
        self.activations.iter_mut().for_each(Vec::clear);
        if self.local.bytes() > 0 {
            self.local.poison();
        }
    }
}

/// The unit of `%total_smem_size`, in bytes (PTX ISA 10, for sm_80 and later).
const SHARED_UNIT: u64 = 128;

/// The value of a special register for thread number `thread` of the block.
fn special_value(special: Special, context: &Context<'_>, thread: u32) -> u64 {
    let component = |size: cuda_launch::Dim3, axis: usize| u64::from([size.x, size.y, size.z][axis]);
    match special {
        Special::ThreadIndex(axis) => component(context.thread_index(thread), axis),
        Special::BlockSize(axis) => component(context.config.block, axis),
        Special::BlockIndex(axis) => component(context.block, axis),
        Special::GridSize(axis) => component(context.config.grid, axis),
        Special::Lane => u64::from(thread % LANES as u32),
        Special::Warp => u64::from(thread / LANES as u32),
        Special::Warps => context.config.block.count().div_ceil(LANES as u64),
        Special::LaneMask(comparison) => u64::from(comparison.mask(thread % LANES as u32)),
        Special::ClusterRank => u64::from(context.rank()),
        Special::ClusterSize => u64::from(context.config.cluster),
        Special::ClusterIndex(axis) => {
            let index = component(context.block, axis);
            if axis == 0 { index / u64::from(context.config.cluster) } else { index }
        }
        Special::Clusters(axis) => {
            let size = component(context.config.grid, axis);
            if axis == 0 { size / u64::from(context.config.cluster) } else { size }
        }
        Special::IndexInCluster(0) => context.rank().into(),
        Special::IndexInCluster(_) => 0,
        Special::ClusterShape(0) => context.config.cluster.into(),
        Special::ClusterShape(_) => 1,
        Special::IsExplicitCluster => {
            u64::from(context.config.cluster > 1 || context.kernel.required_cluster.is_some())
        }
        Special::Multiprocessor => u64::from(context.state.number % MULTIPROCESSORS),
        Special::Multiprocessors => MULTIPROCESSORS.into(),
        Special::GridNumber => 1,
        Special::SharedBytes { with_reserved } => {
            let bytes = context.kernel.shared.packed_bytes() as u64 + u64::from(context.config.dynamic_shared_bytes);
            let reserved = if with_reserved { first_address(Space::Shared) } else { 0 };
            bytes.next_multiple_of(SHARED_UNIT) + reserved
        }
        Special::ReservedSharedBytes => first_address(Space::Shared),
        Special::DynamicSharedBytes => u64::from(context.config.dynamic_shared_bytes),
        Special::GridWorkspace { upper } => {
            let address = context.launch.workspace.unwrap_or(0);
            if upper { address >> 32 } else { address & u64::from(u32::MAX) }
        }
        Special::Zero => 0,
    }
}
