//! Layout of a launch's table: a header for the network, then one row per layer. Offsets and strides are in quads of
//! the dynamic shared memory.

use cuda_std::Global;

/// Where a kernel has its table from.
pub(super) trait Table: Copy {
    /// Whether the table is a constant. The passes are then unrolled over the layers.
    const IS_CONSTANT: bool;

    /// Entry `index`.
    fn get(self, index: usize) -> u32;
}

/// The table of the launch.
impl Table for Global<'_, u32> {
    const IS_CONSTANT: bool = false;

    #[inline(always)]
    fn get(self, index: usize) -> u32 {
        self[index]
    }
}

/// [`HOMEWORK`].
#[derive(Clone, Copy)]
pub(super) struct Homework;

impl Table for Homework {
    const IS_CONSTANT: bool = true;

    #[inline(always)]
    fn get(self, index: usize) -> u32 {
        HOMEWORK[index]
    }
}

/// The table of the homework's training run: 784-128-64-10 with sigmoid everywhere, batches of 16, no momentum, one quad
/// of the first layer's units in each of 32 blocks.
#[rustfmt::skip]
pub const HOMEWORK: [u32; HEADER + 3 * COLUMNS] = [
    3, 16, 1, 3176, 197, 3176, 0, 0, 6328, 3,
    784, 128, 0, 0, 0, 197, 788, 6376, 33, 6904, 1, 32, 32,
    128, 64, 0, 100480, 789, 17, 2965, 6920, 17, 7192, 17, 4, 16,
    64, 10, 0, 108736, 2981, 3, 3173, 7464, 3, 7512, 3, 16, 4,
];

/// Layers with weights.
pub const LAYERS: usize = 0;
/// Rows of the batch, a multiple of four.
pub const BATCH_ROWS: usize = 1;
/// Quads of the first layer's units per block; the last block may have fewer.
pub const OWN_QUADS: usize = 2;
/// Offset of the batch's inputs.
pub const BATCH: usize = 3;
/// Row stride of the batch's inputs.
pub const BATCH_STRIDE: usize = 4;
/// Quads of all parameters with their padding, which begin at offset 0.
pub const PARAMETER_QUADS: usize = 5;
/// Storage of the velocities: [`NOWHERE`], [`IN_SHARED`] (at the end of shared memory) or [`IN_WORKSPACE`].
pub const VELOCITIES: usize = 6;
/// Offset of the velocities in shared memory.
pub const FIRST_VELOCITY: usize = 7;
/// Offset of the batch's targets.
pub const TARGETS: usize = 8;
/// Row stride of the batch's targets.
pub const TARGETS_STRIDE: usize = 9;
/// Length of the header.
pub const HEADER: usize = 10;

/// Inputs of the layer.
pub const FEATURES: usize = 0;
/// Units of the layer.
pub const UNITS: usize = 1;
/// Activation function of the layer, a code of [`super::super::activation`].
pub const ACTIVATION: usize = 2;
/// Index of the layer's first parameter in global memory.
pub const FIRST_PARAMETER: usize = 3;
/// Offset of the weights.
pub const WEIGHTS: usize = 4;
/// Row stride of the weights.
pub const WEIGHTS_STRIDE: usize = 5;
/// Offset of the biases.
pub const BIASES: usize = 6;
/// Offset of the activations.
pub const ACTIVATIONS: usize = 7;
/// Row stride of the activations; a row is a sample.
pub const ACTIVATIONS_STRIDE: usize = 8;
/// Offset of the errors.
pub const ERRORS: usize = 9;
/// Row stride of the errors; a row is a sample.
pub const ERRORS_STRIDE: usize = 10;
/// Lanes that split a sum in the forward pass: 4, 8, 16 or 32.
pub const FORWARD_SLICES: usize = 11;
/// Lanes that split a sum in the backward pass: 4, 8, 16 or 32.
pub const BACKWARD_SLICES: usize = 12;
/// Length of a layer's row.
pub const COLUMNS: usize = 13;

/// No velocities: there is no momentum.
pub const NOWHERE: u32 = 0;
/// Velocities in shared memory.
pub const IN_SHARED: u32 = 1;
/// Velocities in the workspace, in global memory.
pub const IN_WORKSPACE: u32 = 2;
