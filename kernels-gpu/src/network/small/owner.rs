//! The parameters that the threads have.

use cuda_std::{F32x4, GlobalMut, SharedView, hint};

use super::super::adam::Parameter;
use super::layout::{TILE, TILES_OF_SUMS, place};
use super::passes::{Network, in_two};
use super::rule::StepRule;
use super::{MAX_SLOTS, WARPS};

/// Two quads in shared memory, with four between them, whose bounds were checked.
type Pair<'a> = SharedView<'a, F32x4, 1>;

/// What a lane has of the sums that it owns: each of four sums' parameters.
#[derive(Clone, Copy)]
struct Slot<'a> {
    parameters: [Parameter; 4],
    /// The factors of gradients and changes, for the even and the odd parameters. It is 0 for inputs that do not exist, since their gradients
    /// are not 0.
    scales: [f32; 2],
    /// Whether the parameters are weights. Otherwise they are biases.
    are_weights: bool,
    /// Where the lane publishes them, if it does: weights as pairs of rows and as pairs of columns, two quads each; biases as one quad for each
    /// of two tiles of units.
    at: [Pair<'a>; 2],
    publishes: [bool; 2],
    /// The first warp's part of the gradients.
    parts: SharedView<'a, F32x4, 1>,
}

/// The index where a lane has no parameter.
const NOWHERE: u32 = u32::MAX;

/// The block for each slot, as a constant.
macro_rules! for_each_slot {
    (|$slot:ident| $body:block) => {
        unrolled!(|$slot: 0 1 2 3| {
            if const { $slot < Network::<TILES>::LAYOUT.slots() } $body
        });
    };
}

/// The parameters of a lane: of every eighth tile of weights, after which come the sums over the units' errors.
pub(super) struct Owned<'a, const TILES: u32> {
    slots: [Slot<'a>; MAX_SLOTS],
}

impl<'a, const TILES: u32> Owned<'a, TILES> {
    /// Loads the parameters, their velocities and squares; either may be empty.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn load(network: &Network<'a, TILES>, buffers: [GlobalMut<f32>; 3]) -> Self {
        let mut owned = Self { slots: [Self::nothing(network, 0); MAX_SLOTS] };
        for_each_slot!(|SLOT| {
            let (tiles, sums) = const { (Network::<TILES>::LAYOUT.tiles as u32, Network::<TILES>::LAYOUT.sums as u32) };
            let index = SLOT as u32 * WARPS + network.warp;
            let mut slot = Self::nothing(network, index.min(tiles + sums - 1));
            slot.are_weights = index < tiles;
            let indices = Self::place(network, index, &mut slot);
            unrolled!(|I: 0 1 2 3| {
                if indices[I] != NOWHERE {
                    let index = indices[I] as usize;
                    let optional = |buffer: GlobalMut<f32>| if buffer.is_empty() { 0.0 } else { buffer.get(index) };
                    let [values, velocities, squares] = buffers;
                    let parameter = &mut slot.parameters[I];
                    parameter.value = values.get(index);
                    parameter.m = optional(velocities);
                    parameter.v = optional(squares);
                }
            });
            owned.slots[SLOT] = slot;
        });
        owned
    }

    /// A slot without parameters, for the sums with this index.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn nothing(network: &Network<'a, TILES>, index: u32) -> Slot<'a> {
        let (common, parts, own) = const {
            let layout = Network::<TILES>::LAYOUT;
            (layout.common as u32, layout.parts as u32, layout.own as u32)
        };
        Slot {
            parameters: [Parameter { value: 0.0, m: 0.0, v: 0.0 }; 4],
            scales: [0.0; 2],
            are_weights: false,
            at: [Self::pair(network, 0); 2],
            publishes: [false; 2],
            parts: network.shared.view(
                (common + parts + index) * TILE + place(network.lane),
                [network.sizes.groups],
                [own * TILE],
            ),
        }
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn pair(network: &Network<'a, TILES>, quad: u32) -> Pair<'a> {
        network.shared.view(quad, [2], [4])
    }

    /// Sets the places of the slot for the sums with this index; returns the indices of its parameters.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn place(network: &Network<'a, TILES>, index: u32, slot: &mut Slot<'a>) -> [u32; 4] {
        let (tiles, sums) = const { (Network::<TILES>::LAYOUT.tiles as u32, Network::<TILES>::LAYOUT.sums as u32) };
        if index < tiles {
            Self::place_weights(network, index, slot)
        } else if index < tiles + sums {
            Self::place_biases(network, index - tiles, slot)
        } else {
            [NOWHERE; 4]
        }
    }

    /// The same for a tile of weights.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn place_weights(network: &Network<'a, TILES>, index: u32, slot: &mut Slot<'a>) -> [u32; 4] {
        let mut indices = [NOWHERE; 4];
        let (group, part) = (network.group(), network.part());
        unrolled!(|L: 0 1 2 3| {
            let first = const { Network::<TILES>::LAYOUT.first_tile[L] as u32 };
            if first <= index && index < const { Network::<TILES>::LAYOUT.end_of_tiles(L) as u32 } {
                let layer = network.sizes.layers[L];
                let (below, units) =
                    const { (Network::<TILES>::LAYOUT.below[L] as u32, Network::<TILES>::LAYOUT.units[L] as u32) };
                let columns = if L == 0 { below } else { units };
                let (i, j) = ((index - first) / columns, (index - first) % columns);
                let (row, column) = (16 * i + 8 * (group / 4) + 2 * (group % 4), 8 * j + 2 * part);
                unrolled!(|N: 0 1 2 3| {
                    let (row, column) = (row + N as u32 / 2, column + N as u32 % 2);
                    let (feature, unit) = if L == 0 { (column, row) } else { (row, column) };
                    if feature < layer.shape.features && unit < layer.shape.units {
                        indices[N] = layer.shape.parameter(feature, unit) as u32;
                    }
                });
                // Pairs of rows and pairs of columns, of the lane's half of the rows. The second of either is four quads before or after the
                // first.
                let rows = 2 * i + group / 4;
                let pair = |fragment: u32, lane: u32| Self::pair(network, fragment * TILE + place(lane).min(place(lane + 4)));
                let by_rows = |fragment: u32| pair(fragment, 8 * part + group % 4);
                let by_columns = |fragment: u32| pair(fragment, 8 * (group % 4) + part);
                let (forward, backward) =
                    const { (Network::<TILES>::LAYOUT.forward[L] as u32, Network::<TILES>::LAYOUT.backward[L] as u32) };
                if L == 0 {
                    slot.at[1] = by_columns(forward + j * units + rows);
                } else {
                    slot.at = [by_rows(forward + rows * units + j), by_columns(backward + j * below + rows)];
                }
                slot.scales = [0, 1].map(|odd| if L == 0 && column + odd >= layer.shape.features { 0.0 } else { layer.scale });
                slot.publishes = [L != 0, true];
            }
        });
        indices
    }

    /// The same for the biases in a quad of sums.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn place_biases(network: &Network<'a, TILES>, quad: u32, slot: &mut Slot<'a>) -> [u32; 4] {
        let mut indices = [NOWHERE; 4];
        unrolled!(|EIGHT: 0 1| {
            let tile = TILES_OF_SUMS as u32 * quad + 8 * EIGHT as u32 + network.group();
            unrolled!(|L: 0 1 2 3| {
                let first = const { Network::<TILES>::LAYOUT.first_unit[L] as u32 };
                if tile >= first && tile < first + const { Network::<TILES>::LAYOUT.units[L] as u32 } {
                    let layer = network.sizes.layers[L];
                    unrolled!(|ODD: 0 1| {
                        let unit = 8 * (tile - first) + 2 * network.part() + ODD as u32;
                        if unit < layer.shape.units {
                            indices[EIGHT + 2 * ODD] = layer.shape.parameter(layer.shape.features, unit) as u32;
                        }
                    });
                    slot.at[EIGHT] = Self::pair(network, 4 * tile + network.part());
                    slot.scales[EIGHT] = layer.scale;
                    slot.publishes[EIGHT] = true;
                }
            });
        });
        indices
    }

    /// Stores them.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn store(&self, network: &Network<'a, TILES>, buffers: [GlobalMut<f32>; 3]) {
        for_each_slot!(|SLOT| {
            // The indices are computed again, so that they occupy no registers during the steps.
            let index = hint::opaque(SLOT as u32 * WARPS + network.warp);
            let indices = Self::place(network, index, &mut Self::nothing(network, 0));
            unrolled!(|I: 0 1 2 3| {
                if indices[I] != NOWHERE {
                    let (parameter, index) = (self.slots[SLOT].parameters[I], indices[I] as usize);
                    let [values, velocities, squares] = buffers;
                    values.set(index, parameter.value);
                    if !velocities.is_empty() {
                        velocities.set(index, parameter.m);
                    }
                    if !squares.is_empty() {
                        squares.set(index, parameter.v);
                    }
                }
            });
        });
    }

    /// Writes the weights as fragments of the passes, and the biases.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn publish(&self, network: &Network<'a, TILES>) {
        // The index of a pair's first quad: in an odd group of eight lanes, the second place comes first.
        let (mut of_rows, mut of_columns) = (network.part() & 1, network.group() & 1);
        if !Network::<TILES>::IS_SMALL {
            // Otherwise each address would occupy registers during all steps.
            (of_rows, of_columns) = (hint::opaque(of_rows) & 1, hint::opaque(of_columns) & 1);
        }
        for_each_slot!(|SLOT| {
            let Slot { parameters, are_weights, at: [first, second], publishes, .. } = self.slots[SLOT];
            let set = |pair: Pair<'a>, index: u32, quad: [f32; 4]| pair.set([index], quad.into());
            if are_weights {
                let [[a, e], [b, f], [c, g], [d, h]] = parameters.map(|parameter| in_two(parameter.value));
                if publishes[0] {
                    set(first, of_rows, [a, c, e, g]);
                    set(first, of_rows ^ 1, [b, d, f, h]);
                }
                set(second, of_columns, [a, b, e, f]);
                set(second, of_columns ^ 1, [c, d, g, h]);
            } else {
                let [a, b, c, d] = parameters.map(|parameter| parameter.value);
                if publishes[0] {
                    set(first, 0, [a, c, a, c]);
                }
                if publishes[1] {
                    set(second, 0, [b, d, b, d]);
                }
            }
        });
    }

    /// Updates the parameters by the sums of the first `active` warps, in their order. Returns the loss of the step in the lane that
    /// [`Self::has_loss`].
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn update(&mut self, network: &Network<'a, TILES>, active: u32, rule: StepRule) -> f32 {
        // The usual case needs no comparison for each warp.
        let is_whole = network.sizes.groups == WARPS && active == WARPS;
        let mut loss = 0.0;
        for_each_slot!(|SLOT| {
            let slot = &mut self.slots[SLOT];
            let mut quads = [[0.0; 4]; WARPS as usize];
            if is_whole {
                unrolled!(|WARP: 0 1 2 3 4 5 6 7| {
                    quads[WARP] = slot.parts.get([WARP as u32]).to_array();
                });
            } else {
                unrolled!(|WARP: 0 1 2 3 4 5 6 7| {
                    if (WARP as u32) < active {
                        quads[WARP] = slot.parts.get([WARP as u32]).to_array();
                    }
                });
            }
            let [a, b, c, d, e, f, g, h] = quads;
            let mut gradients = [0.0; 4];
            unrolled!(|I: 0 1 2 3| {
                gradients[I] = ((a[I] + b[I]) + (c[I] + d[I])) + ((e[I] + f[I]) + (g[I] + h[I]));
            });
            if const { (Self::LOSS[0] / WARPS) as usize == SLOT } {
                loss = gradients[const { Network::<TILES>::LAYOUT.unit_tiles / 8 % 2 }];
            }
            slot.parameters = rule.updated(slot.parameters, gradients, slot.scales, !slot.are_weights);
        });
        loss
    }

    /// The quad of parameters and the lane that have the loss.
    const LOSS: [u32; 2] = {
        let layout = Network::<TILES>::LAYOUT;
        [(layout.tiles + layout.unit_tiles / TILES_OF_SUMS) as u32, 4 * (layout.unit_tiles % 8) as u32]
    };

    /// Whether the lane has the loss.
    #[inline(always)]
    pub(super) fn has_loss(network: &Network<'_, TILES>) -> bool {
        network.warp == const { Self::LOSS[0] % WARPS } && network.lane == const { Self::LOSS[1] }
    }
}
