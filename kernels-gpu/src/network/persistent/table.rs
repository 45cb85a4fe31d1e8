//! What a launch is told about the network: numbers for the whole, then numbers for each layer. Places and strides are
//! counted in quads of the dynamic shared memory.

/// Layers with weights.
pub const LAYERS: usize = 0;
/// Rows of the batch, a multiple of four.
pub const BATCH_ROWS: usize = 1;
/// Quads of the first layer's units that a block has; the last may have fewer.
pub const OWN_QUADS: usize = 2;
/// Where the batch is.
pub const BATCH: usize = 3;
/// From a row of the batch to the next.
pub const BATCH_STRIDE: usize = 4;
/// The quads of all parameters with their padding, which are the first of all.
pub const PARAMETER_QUADS: usize = 5;
/// Where the velocities are: 0 nowhere, 1 in shared memory at the end of all, 2 in the workspace.
pub const VELOCITIES: usize = 6;
/// Where the velocities begin in shared memory.
pub const FIRST_VELOCITY: usize = 7;
/// Where the batch's targets are.
pub const TARGETS: usize = 8;
/// From a row of the targets to the next.
pub const TARGETS_STRIDE: usize = 9;
/// The numbers for the whole.
pub const HEADER: usize = 10;

/// A layer's inputs.
pub const FEATURES: usize = 0;
/// A layer's units.
pub const UNITS: usize = 1;
/// A layer's activation.
pub const ACTIVATION: usize = 2;
/// Where its parameters begin in global memory.
pub const FIRST_PARAMETER: usize = 3;
/// Where its weights are.
pub const WEIGHTS: usize = 4;
/// From a row of its weights to the next.
pub const WEIGHTS_STRIDE: usize = 5;
/// Where its biases are.
pub const BIASES: usize = 6;
/// Where its activations are.
pub const ACTIVATIONS: usize = 7;
/// From a sample's activations to the next's.
pub const ACTIVATIONS_STRIDE: usize = 8;
/// Where its errors are.
pub const ERRORS: usize = 9;
/// From a sample's errors to the next's.
pub const ERRORS_STRIDE: usize = 10;
/// How many lanes share a sum in the forward pass: 4, 8, 16 or 32.
pub const FORWARD_SLICES: usize = 11;
/// The same in the backward pass.
pub const BACKWARD_SLICES: usize = 12;
/// The numbers for each layer.
pub const COLUMNS: usize = 13;

/// No velocities: there is no momentum.
pub const NOWHERE: u32 = 0;
/// Velocities in shared memory.
pub const IN_SHARED: u32 = 1;
/// Velocities in the workspace, in global memory.
pub const IN_WORKSPACE: u32 = 2;
