//! The plan of a launch: its kernel and its shared memory.

use cuda_std::math::GpuFloat;

use super::super::activation::{IDENTITY, RELU, SOFTMAX};
use super::super::shape::LayerShape;
use super::layout::{Layout, TILE, tiles_of};
use super::{MAX_LAYERS, MAX_OUTPUTS, SAMPLES, SmallLayer, SmallNetwork, WARPS};

/// The parameters of the kernels that there are, the fastest first.
pub const KERNELS: [u32; 8] = [12, 28, 84, 142, 244, 384, 844, 2442];
/// Bytes of a tile.
const TILE_BYTES: u32 = 16 * TILE;
/// Maximum number of times that a warp has samples in a step. With more, launches for each step, which distribute a batch to all
/// multiprocessors, may be faster: an estimate, of 4,000 to 8,000 cycles each time.
const MAX_TIMES: u32 = 4;

/// Why a network has no such launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsuitable {
    /// There is no kernel for these layers.
    Layers,
    /// The output layer has more than [`MAX_OUTPUTS`] units, or a layer is a softmax layer.
    Outputs,
    /// The batches have more samples than this.
    Batch(u32),
    /// The network and 16 samples need this many bytes of shared memory.
    SharedMemory(u32),
}

/// A launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    tiles: u32,
    network: SmallNetwork,
    shared_bytes: u32,
}

impl Plan {
    /// Plans the launch for the layers with weights, each with the code of its activation and the factor of its learning rate, and for batches
    /// of up to `batch` samples, with at most `shared_bytes` bytes of shared memory. `loss` is the loss's code. The kernel is the first of
    /// [`KERNELS`] that suits.
    ///
    /// # Errors
    /// If there is no such launch.
    pub fn new(
        layers: &[(LayerShape, u32, f32)],
        batch: u32,
        loss: u32,
        shared_bytes: u32,
    ) -> Result<Self, Unsuitable> {
        let plans = KERNELS.map(|tiles| Self::of_kernel(tiles, layers, batch, loss, shared_bytes));
        plans.into_iter().find(|plan| *plan != Err(Unsuitable::Layers)).unwrap_or(Err(Unsuitable::Layers))
    }

    /// The same for one of [`KERNELS`].
    ///
    /// # Errors
    /// If there is no such launch.
    pub fn of_kernel(
        tiles: u32,
        layers: &[(LayerShape, u32, f32)],
        batch: u32,
        loss: u32,
        shared_bytes: u32,
    ) -> Result<Self, Unsuitable> {
        let most = tiles_of(tiles).map(|tiles| 8 * tiles as u32);
        let suits = |((shape, ..), most): (&(LayerShape, u32, f32), u32)| shape.features <= most;
        if Layout::new(tiles).layers != layers.len() || !layers.iter().zip(most).all(suits) {
            return Err(Unsuitable::Layers);
        }
        let outputs = layers.last().map_or(0, |(shape, ..)| shape.units);
        if outputs > MAX_OUTPUTS || layers.iter().any(|&(_, activation, _)| activation == SOFTMAX) {
            return Err(Unsuitable::Outputs);
        }
        let layout = Layout::new(tiles);
        let [common, own] = [layout.common, layout.own].map(|tiles| tiles as u32 * TILE_BYTES);
        if common + own > shared_bytes {
            return Err(Unsuitable::SharedMemory(common + own));
        }
        let groups = batch.div_ceil(SAMPLES).clamp(1, WARPS).min((shared_bytes - common) / own);
        if batch > MAX_TIMES * groups * SAMPLES {
            return Err(Unsuitable::Batch(MAX_TIMES * groups * SAMPLES));
        }
        let nothing = SmallLayer {
            shape: LayerShape { first_parameter: 0, features: 0, units: 0 },
            activation: IDENTITY,
            least: 0.0,
            scale: 0.0,
        };
        let mut of_layers = [nothing; MAX_LAYERS];
        for (of_layer, &(shape, activation, factor)) in of_layers.iter_mut().zip(layers) {
            let least = match activation {
                RELU => 0.0,
                IDENTITY => f32::NEG_INFINITY,
                _ => f32::NAN,
            };
            *of_layer = SmallLayer { shape, activation, least, scale: GpuFloat::sqrt(factor) };
        }
        let network = SmallNetwork { layers: of_layers, groups, loss };
        Ok(Self { tiles, network, shared_bytes: common + groups * own })
    }

    /// The parameter of the launch's kernel, one of [`KERNELS`].
    pub fn tiles(&self) -> u32 {
        self.tiles
    }

    /// The kernel's argument.
    pub fn network(&self) -> SmallNetwork {
        self.network
    }

    /// Bytes of dynamic shared memory.
    pub fn shared_bytes(&self) -> u32 {
        self.shared_bytes
    }

    /// Samples that the block has at once. It goes through a larger batch in parts.
    pub fn samples_at_once(&self) -> u32 {
        self.network.groups * SAMPLES
    }
}
