//! The plan of the persistent launch: whether a network fits into its blocks, and the layout of
//! their shared memory.

use gpu::F32x4;
use kernels_gpu::network::persistent::{MAX_BATCH, THREADS, table};

use super::super::layout::{LayerLayout, Layout};
use super::super::options::NotPersistent;

/// Maximum number of multiply-adds per block and step. Above it, separate launches for each step
/// may be faster, because they distribute all layers among the blocks. An estimate: a
/// multiprocessor does about 100 multiply-adds per cycle, and the launches of a step take about
/// 50,000 cycles.
const MAX_WORK: u64 = 4_000_000;
/// A device's limits for a launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Maximum dynamic shared memory per block in bytes.
    pub(super) shared_bytes: u32,
    /// Maximum number of co-resident blocks.
    pub(super) blocks: u32,
}

/// A launch within the device's limits. A quad is four floats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    table: Vec<u32>,
    blocks: u32,
    shared_quads: u32,
    exchange_quads: usize,
    workspace_quads: usize,
    work: u64,
}

impl Plan {
    /// Plans the launch. The number of first-layer units per block is a multiple of four, and as
    /// small as the number of blocks allows.
    ///
    /// The batch size must be at most [`MAX_BATCH`]. A block's shared memory must hold the batch
    /// with its targets, the block's units of the first layer, all later layers, and the batch's
    /// activations and deltas. With momentum, the velocities are also in shared memory if they fit,
    /// otherwise in global memory.
    ///
    /// # Errors
    /// If the launch exceeds these limits.
    pub(super) fn new(
        layout: &Layout,
        batch_size: usize,
        has_velocities: bool,
        limits: Limits,
    ) -> Result<Self, NotPersistent> {
        if batch_size > MAX_BATCH as usize {
            return Err(NotPersistent::Batch { batch_size, maximum: MAX_BATCH });
        }
        if limits.blocks == 0 {
            return Err(NotPersistent::Device("the device cannot run one block of this size".to_owned()));
        }
        let rows = batch_size.max(1).next_multiple_of(4) as u64;
        let first_units = quads(layout.layers()[0].units);
        let own = first_units.div_ceil(limits.blocks.into());
        let blocks = first_units.div_ceil(own);
        let mut memory = SharedMemory::default();
        let columns = LayerColumns::parameters(layout.layers(), own, &mut memory);
        let parameter_quads = memory.used;
        let batch_stride = odd(quads(layout.layers()[0].features));
        let batch = memory.take(rows * batch_stride);
        let targets_stride = odd(quads(layout.layers()[layout.layers().len() - 1].units));
        let targets = memory.take(rows * targets_stride);
        let columns = columns.activations(layout.layers(), rows, own, &mut memory);

        let limit = u64::from(limits.shared_bytes) / size_of::<F32x4>() as u64;
        let (velocities, first_velocity) = match has_velocities {
            false => (table::NOWHERE, 0),
            true if memory.used + parameter_quads > limit => (table::IN_WORKSPACE, 0),
            true => (table::IN_SHARED, memory.take(parameter_quads)),
        };
        if memory.used > limit {
            let needed = memory.used * size_of::<F32x4>() as u64;
            return Err(NotPersistent::SharedMemory { needed, limit: limits.shared_bytes });
        }
        let mut values = vec![0; table::HEADER];
        // No truncation: the values are offsets or sizes in shared memory, within the limit checked
        // above.
        let mut set = |column: usize, value: u64| values[column] = value as u32;
        set(table::LAYERS, layout.layers().len() as u64);
        set(table::BATCH_ROWS, rows);
        set(table::OWN_QUADS, own);
        set(table::BATCH, batch);
        set(table::BATCH_STRIDE, batch_stride);
        set(table::TARGETS, targets);
        set(table::TARGETS_STRIDE, targets_stride);
        set(table::PARAMETER_QUADS, parameter_quads);
        set(table::VELOCITIES, velocities.into());
        set(table::FIRST_VELOCITY, first_velocity);
        values.extend(columns.0.iter().flatten().map(|&value| value as u32));

        let workspace = if velocities == table::IN_WORKSPACE { parameter_quads * blocks } else { 0 };
        let later = layout.layers()[1..].iter().map(|layer| u64::from(layer.features) * u64::from(layer.units));
        Ok(Self {
            table: values,
            blocks: blocks as u32,
            shared_quads: memory.used as u32,
            exchange_quads: (2 * rows * first_units) as usize,
            workspace_quads: workspace as usize,
            // One product in the forward pass, two in the backward pass.
            work: first_layer_work(layout, rows) * own / first_units + 3 * rows * later.sum::<u64>(),
        })
    }

    /// The layout table, which is a kernel argument ([`table`]).
    pub(super) fn table(&self) -> &[u32] {
        &self.table
    }

    /// Whether the layout is the one that `network_train_homework` was compiled for.
    pub(super) fn has_constant_table(&self) -> bool {
        self.table == table::HOMEWORK
    }

    pub(super) fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Dynamic shared memory per block in bytes.
    pub(super) fn shared_bytes(&self) -> u32 {
        self.shared_quads * size_of::<F32x4>() as u32
    }

    /// Size of the exchange buffer in quads: the first layer's activations for two batches.
    pub(super) fn exchange_quads(&self) -> usize {
        self.exchange_quads
    }

    /// Size of the workspace in quads: all blocks' velocities, if they are in global memory.
    pub(super) fn workspace_quads(&self) -> usize {
        self.workspace_quads
    }

    /// Maximum batch size of a launch: the planned batch size, rounded up to a multiple of four.
    pub(super) fn batch_rows(&self) -> usize {
        self.table[table::BATCH_ROWS] as usize
    }

    /// Whether each block's work is small enough.
    pub(super) fn is_worth_it(&self) -> bool {
        self.work <= MAX_WORK
    }
}

/// Multiply-adds of a step in the first layer: one product in the forward pass, one in the backward
/// pass.
fn first_layer_work(layout: &Layout, rows: u64) -> u64 {
    let layer = layout.layers()[0];
    2 * rows * u64::from(layer.features) * u64::from(layer.units)
}

/// A bump allocator for shared memory, in quads.
#[derive(Debug, Default)]
struct SharedMemory {
    used: u64,
}

impl SharedMemory {
    fn take(&mut self, quads: u64) -> u64 {
        let first = self.used;
        self.used += quads;
        first
    }
}

/// The table's entries for each layer.
struct LayerColumns(Vec<[u64; table::COLUMNS]>);

impl LayerColumns {
    /// Allocates all parameters.
    fn parameters(layers: &[LayerLayout], own: u64, memory: &mut SharedMemory) -> Self {
        let allocate = |(index, layer): (usize, &LayerLayout)| {
            let (rows, across) = match index {
                0 => (4 * own, quads(layer.features)),
                _ => (4 * quads(layer.features), quads(layer.units)),
            };
            let mut columns = [0; table::COLUMNS];
            columns[table::FEATURES] = layer.features.into();
            columns[table::UNITS] = layer.units.into();
            columns[table::ACTIVATION] = layer.activation.into();
            columns[table::FIRST_PARAMETER] = layer.first_parameter.into();
            columns[table::WEIGHTS] = memory.take(rows * odd(across));
            columns[table::WEIGHTS_STRIDE] = odd(across);
            columns[table::BIASES] = memory.take(if index == 0 { own } else { quads(layer.units) });
            columns
        };
        Self(layers.iter().enumerate().map(allocate).collect())
    }

    /// Allocates the activations and deltas of `rows` samples, and sets the number of K-slices of
    /// the products.
    fn activations(mut self, layers: &[LayerLayout], rows: u64, own: u64, memory: &mut SharedMemory) -> Self {
        for (index, (columns, layer)) in self.0.iter_mut().zip(layers).enumerate() {
            let across = odd(quads(layer.units));
            columns[table::ACTIVATIONS] = memory.take(rows * across);
            columns[table::ACTIVATIONS_STRIDE] = across;
            let across = if index == 0 && layers.len() > 1 { odd(own) } else { across };
            columns[table::ERRORS] = memory.take(rows * across);
            columns[table::ERRORS_STRIDE] = across;
            // A product with a transposed factor reads along the depth K, so its tasks are split
            // along K. The other products are split along K only to use threads that would
            // otherwise be idle.
            let along_depth = |depth: u64| depth.next_power_of_two().clamp(4, 32);
            columns[table::FORWARD_SLICES] = match index {
                0 => along_depth(quads(layer.features)),
                _ => {
                    let tasks = rows / 4 * quads(layer.units);
                    let idle = u64::from(THREADS).div_ceil(tasks).next_power_of_two();
                    idle.clamp(4, along_depth(quads(layer.features)))
                }
            };
            columns[table::BACKWARD_SLICES] = along_depth(quads(layer.units));
        }
        self
    }
}

/// The number of quads, four floats each, that hold `count` floats.
fn quads(count: u32) -> u64 {
    u64::from(count).div_ceil(4)
}

/// The smallest odd stride that is at least `stride`. It puts the starts of rows in different banks
/// of shared memory.
fn odd(stride: u64) -> u64 {
    stride | 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use perceptron::{Activation, Architecture};

    /// The limits of an H100.
    const LARGE: Limits = Limits { shared_bytes: 226 * 1024, blocks: 132 };

    fn layout(sizes: &[usize]) -> Layout {
        Layout::new(&Architecture::new(sizes.to_vec(), Activation::Relu, Activation::Softmax).unwrap()).unwrap()
    }

    #[test]
    fn part1_the_homework_fits_with_four_units_a_block() {
        let plan = Plan::new(&layout(&[784, 128, 64, 10]), 16, false, LARGE).unwrap();
        assert_eq!((plan.blocks(), plan.table[table::OWN_QUADS]), (32, 1));
        assert!(plan.is_worth_it());
        assert!(plan.shared_bytes() < 128 * 1024, "{}", plan.shared_bytes());
        let plan = Plan::new(&layout(&[784, 128, 64, 10]), 16, true, LARGE).unwrap();
        assert_eq!((plan.table[table::VELOCITIES], plan.workspace_quads()), (table::IN_SHARED, 0));
        let small = Limits { shared_bytes: 128 * 1024, ..LARGE };
        let plan = Plan::new(&layout(&[784, 128, 64, 10]), 16, true, small).unwrap();
        assert_eq!(plan.table[table::VELOCITIES], table::IN_WORKSPACE);
        assert_eq!(plan.workspace_quads() as u32, 32 * plan.table[table::PARAMETER_QUADS]);
    }

    #[test]
    fn part1_the_homeworks_table_is_compiled_in() {
        let layout = |activation| {
            let architecture = Architecture::new(vec![784, 128, 64, 10], activation, activation).unwrap();
            Layout::new(&architecture).unwrap()
        };
        let plan = |activation, has_velocities| Plan::new(&layout(activation), 16, has_velocities, LARGE).unwrap();
        assert_eq!(plan(Activation::Sigmoid, false).table(), table::HOMEWORK);
        assert!(plan(Activation::Sigmoid, false).has_constant_table());
        assert!(!plan(Activation::Sigmoid, true).has_constant_table());
        assert!(!plan(Activation::Tanh, false).has_constant_table());
    }

    #[test]
    fn part1_fewer_blocks_have_more_units_each() {
        for (blocks, own, launched) in [(1, 8, 1), (3, 3, 3), (5, 2, 4), (8, 1, 8), (100, 1, 8)] {
            let plan = Plan::new(&layout(&[5, 30, 4]), 3, false, Limits { blocks, ..LARGE }).unwrap();
            assert_eq!((plan.table[table::OWN_QUADS], plan.blocks()), (own, launched), "{blocks} blocks");
        }
    }

    #[test]
    fn part1_errors_state_the_exceeded_limit() {
        let network = layout(&[784, 128, 64, 10]);
        let error = Plan::new(&network, 65, false, LARGE).unwrap_err();
        assert_eq!(error.to_string(), "batches of 65 are too large for one launch: the maximum is 64");
        let error = Plan::new(&network, 16, false, Limits { shared_bytes: 64 * 1024, ..LARGE }).unwrap_err();
        let NotPersistent::SharedMemory { needed, limit: 65_536 } = error else { panic!("{error}") };
        assert!(needed > 65_536);
        // Sizes beyond 32 bits do not wrap around.
        let huge = Plan::new(&layout(&[60_000, 8, 60_000]), 64, true, LARGE).unwrap_err();
        assert!(matches!(huge, NotPersistent::SharedMemory { .. }), "{huge}");
        assert!(matches!(Plan::new(&network, 16, false, Limits { blocks: 0, ..LARGE }), Err(NotPersistent::Device(_))));
    }

    #[test]
    fn part1_much_repeated_work_is_not_worth_it() {
        let plan = Plan::new(&layout(&[20, 160, 160, 2]), 56, false, LARGE).unwrap();
        assert!(!plan.is_worth_it());
    }

    /// The arrays in a block's shared memory are adjacent and do not overlap.
    #[test]
    fn part1_nothing_overlaps() {
        let networks = [vec![7, 3], vec![6, 5, 4], vec![9, 17, 2, 3], vec![784, 128, 64, 10]];
        for sizes in networks {
            let (network, batch) = (layout(&sizes), 10);
            let plan = Plan::new(&network, batch, true, LARGE).unwrap();
            let rows = u64::from(plan.table[table::BATCH_ROWS]);
            let own = u64::from(plan.table[table::OWN_QUADS]);
            let of_batch = |first: usize, stride: usize| (plan.table[first], rows * u64::from(plan.table[stride]));
            let mut parts =
                vec![of_batch(table::BATCH, table::BATCH_STRIDE), of_batch(table::TARGETS, table::TARGETS_STRIDE)];
            for (index, columns) in plan.table[table::HEADER..].chunks_exact(table::COLUMNS).enumerate() {
                let stride = |column: usize| u64::from(columns[column]);
                let weight_rows = if index == 0 { 4 * own } else { 4 * quads(columns[table::FEATURES]) };
                let biases = if index == 0 { own } else { quads(columns[table::UNITS]) };
                parts.push((columns[table::WEIGHTS], weight_rows * stride(table::WEIGHTS_STRIDE)));
                parts.push((columns[table::BIASES], biases));
                parts.push((columns[table::ACTIVATIONS], rows * stride(table::ACTIVATIONS_STRIDE)));
                parts.push((columns[table::ERRORS], rows * stride(table::ERRORS_STRIDE)));
            }
            parts.push((plan.table[table::FIRST_VELOCITY], u64::from(plan.table[table::PARAMETER_QUADS])));
            parts.sort_unstable();
            let mut end = 0;
            for (first, size) in parts {
                assert_eq!(u64::from(first), end, "{sizes:?}");
                end += size;
            }
            assert_eq!(u64::from(plan.shared_quads), end);
        }
    }
}
