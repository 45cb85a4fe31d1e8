//! Forward and backward pass of a warp's samples, and its parts of the gradients.

use cuda_std::matrix::{A, B, Sums, Tf32};
use cuda_std::{DynamicShared, F32x4, GlobalReadView, SharedView, math, thread, warp};

use super::super::activation;
use super::super::loss;
use super::layout::{Layout, TILE, TILES_OF_SUMS, place};
use super::{SmallLayer, SmallNetwork};

/// Tiles of which a lane has the quads in registers at once.
const HELD: usize = 8;

/// Splits a float into two tf32: its eleven most significant bits, and the next eleven. A tensor core reads no more of a float.
#[inline(always)]
pub(super) fn in_two(x: f32) -> [f32; 2] {
    let truncated = |x: f32| f32::from_bits(x.to_bits() & 0xffff_e000);
    let high = truncated(x);
    [high, truncated(x - high)]
}

/// The left factor of a product, split into two parts.
#[derive(Clone, Copy)]
struct Left([A<Tf32>; 2]);

impl Left {
    #[inline(always)]
    fn zero() -> Self {
        Self([A::from_registers([0; 4]); 2])
    }

    /// From a lane's registers, in the order of [`A::from_registers`].
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn new(registers: [f32; 4]) -> Self {
        let parts = registers.map(in_two);
        Self([0, 1].map(|part: usize| A::from_registers(parts.map(|parts| parts[part].to_bits()))))
    }
}

/// The right factor, split into two parts.
#[derive(Clone, Copy)]
struct Right([B<Tf32>; 2]);

impl Right {
    #[inline(always)]
    fn zero() -> Self {
        Self([B::from_registers([0; 2]); 2])
    }

    /// From a lane's two floats.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn new(registers: [f32; 2]) -> Self {
        let [[a, c], [b, d]] = registers.map(in_two);
        Self::of_parts(F32x4::new(a, b, c, d))
    }

    /// From their parts: the high parts of both, then the low parts.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn of_parts(parts: F32x4) -> Self {
        let [a, b, c, d] = parts.to_array().map(f32::to_bits);
        Self([B::from_registers([a, b]), B::from_registers([c, d])])
    }
}

/// Sums in three parts, so that three products need not wait for each other.
#[derive(Clone, Copy)]
struct Parts([Sums; 3]);

impl Parts {
    #[inline(always)]
    fn zero() -> Self {
        Self([Sums::zero(); 3])
    }

    /// The sums to which a product is added.
    #[inline(always)]
    fn beginning(sums: F32x4) -> Self {
        Self([Sums::from_registers(sums.to_array()), Sums::zero(), Sums::zero()])
    }

    /// Adds one of a product's three parts, in order from the smallest: to a sum of its own if `apart`, else to the first sum.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn add(&mut self, part: usize, left: &Left, right: &Right, apart: bool) {
        let (Left([high, low]), Right([right_high, right_low])) = (left, right);
        let (left, right) = match part {
            0 => (low, right_high),
            1 => (high, right_low),
            _ => (high, right_high),
        };
        let sums = &mut self.0[if apart { part } else { 0 }];
        *sums = sums.plus_product(left, right);
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn together(self, apart: bool) -> [f32; 4] {
        let [a, b, c] = self.0.map(Sums::registers);
        if !apart {
            return a;
        }
        [a[0] + (b[0] + c[0]), a[1] + (b[1] + c[1]), a[2] + (b[2] + c[2]), a[3] + (b[3] + c[3])]
    }
}

/// A warp's place in shared memory.
#[derive(Clone, Copy)]
pub(super) struct Network<'a, const TILES: u32> {
    pub(super) shared: &'a DynamicShared<F32x4>,
    pub(super) sizes: SmallNetwork,
    pub(super) warp: u32,
    pub(super) lane: u32,
    /// The lane's quads: those that all warps read, and those of its warp.
    common: SharedView<'a, F32x4, 1>,
    own: SharedView<'a, F32x4, 1>,
    biases: SharedView<'a, F32x4, 1>,
    /// The warp's quads as the product of a gradient reads them, each half of the samples: two units of the lane's row, and of its column.
    rows: [SharedView<'a, F32x4, 1>; 2],
    columns: [SharedView<'a, F32x4, 1>; 2],
}

impl<'a, const TILES: u32> Network<'a, TILES> {
    pub(super) const LAYOUT: Layout = Layout::new(TILES);
    /// Whether a lane has quads of all tiles of weights in registers at once.
    pub(super) const IS_SMALL: bool = Self::LAYOUT.tiles <= HELD;
    /// Fragments of a product that are loaded before it.
    const AHEAD: usize = if Self::LAYOUT.slots() <= 2 { HELD } else { 4 };

    #[inline(always)]
    pub(super) fn new(shared: &'a DynamicShared<F32x4>, sizes: SmallNetwork) -> Self {
        let lane = thread::thread_idx_x() % 32;
        let (group, part) = (lane / 4, lane % 4);
        let warp = warp::shuffle_idx(thread::thread_idx_x() / 32, 0);
        let tiles = const { Self::LAYOUT.own as u32 };
        let first = (const { Self::LAYOUT.common as u32 } + warp.min(sizes.groups - 1) * tiles) * TILE;
        let view = |place: u32| shared.view(first + place, [tiles], [TILE]);
        let (of_rows, of_columns) = (4 * part + group % 4, 4 * part + group / 2);
        let rows = |half: u32| shared.view(first + group / 4 * TILE + place(of_rows + half), [tiles - 1], [TILE]);
        Self {
            shared,
            sizes,
            warp,
            lane,
            common: shared.view(place(lane), [const { Self::LAYOUT.common as u32 }], [TILE]),
            own: view(place(lane)),
            biases: shared.view(part, [const { Self::LAYOUT.unit_tiles as u32 }], [4]),
            rows: [rows(0), rows(16)],
            columns: [view(place(of_columns)), view(place(of_columns + 16))],
        }
    }

    /// The lane's group of four lanes, which has the samples `group` and `group` + 8.
    #[inline(always)]
    pub(super) fn group(&self) -> u32 {
        self.lane / 4
    }

    /// The lane's place in its group: it has the units 2 · `part` and 2 · `part` + 1 of a tile.
    #[inline(always)]
    pub(super) fn part(&self) -> u32 {
        self.lane % 4
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn own(&self, tile: usize) -> [f32; 4] {
        self.own.get([tile as u32]).to_array()
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn set_own(&self, tile: usize, values: [f32; 4]) {
        self.own.set([tile as u32], values.into());
    }

    /// Computes the warp's part of the gradients, from 16 samples. Stores it, or adds it to the stored part if `adds`. `row` is the first
    /// sample's row in the batch.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn train(&self, inputs: &Inputs, row: u32, rows: u32, adds: bool) {
        let first = self.forward::<0>(&inputs.values);
        let second = self.forward::<1>(&first);
        let third = self.forward::<2>(&second);
        let mut sums = [[0.0; 2]; 32];
        let errors = self.output(&third, inputs.targets, row, rows, &mut sums);
        let errors = self.backward::<3>(&third, &errors, &mut sums);
        let errors = self.backward::<2>(&second, &errors, &mut sums);
        // The loss is summed over the outputs in two steps, so that nothing waits for a shuffle.
        let loss = &mut sums[const { Self::LAYOUT.unit_tiles }][0];
        *loss += warp::shuffle_xor(*loss, 1);
        let errors = self.backward::<1>(&first, &errors, &mut sums);
        let loss = &mut sums[const { Self::LAYOUT.unit_tiles }][0];
        *loss += warp::shuffle_xor(*loss, 2);
        warp::sync_warp();
        let quads = self.sums_over_groups(&sums);
        // If a lane has registers for all tiles, it stores them together, so that no load waits for a store.
        let mut held = [[0.0; 4]; HELD];
        self.gradients::<3>(&mut held, adds);
        self.gradients::<2>(&mut held, adds);
        self.gradients::<1>(&mut held, adds);
        // The rows of the first layer's gradients, in place of what the second layer's were computed from.
        warp::sync_warp();
        unrolled!(|N: 0 1 2 3 4 5 6 7| {
            if const { N < Self::LAYOUT.units[0] } {
                self.set_own(const { Self::LAYOUT.errors[0] + N }, errors[N]);
            }
        });
        warp::sync_warp();
        self.gradients::<0>(&mut held, adds);
        if adds {
            unrolled!(|TILE: 0 1 2 3 4 5 6 7| {
                if const { TILE < Self::LAYOUT.tiles && Self::IS_SMALL } {
                    held[TILE] = plus(held[TILE], self.own(const { Self::LAYOUT.parts + TILE }));
                }
            });
        }
        unrolled!(|TILE: 0 1 2 3 4 5 6 7| {
            if const { TILE < Self::LAYOUT.tiles && Self::IS_SMALL } {
                self.set_own(const { Self::LAYOUT.parts + TILE }, held[TILE]);
            }
        });
        unrolled!(|QUAD: 0 1| {
            if const { QUAD < Self::LAYOUT.sums } {
                self.store_part(const { Self::LAYOUT.tiles + QUAD }, quads[QUAD], adds);
            }
        });
    }

    /// Stores a part of the sums, or adds it.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn store_part(&self, part: usize, mut values: [f32; 4], adds: bool) {
        if adds {
            values = plus(values, self.own(Self::LAYOUT.parts + part));
        }
        self.set_own(Self::LAYOUT.parts + part, values);
    }

    /// The activations of hidden layer `L`, from those below, which it stores; those below if there is no such layer.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn forward<const L: usize>(&self, below: &[[f32; 4]; 8]) -> [[f32; 4]; 8] {
        if const { L + 1 >= Self::LAYOUT.layers } {
            return *below;
        }
        let apart = const { Self::LAYOUT.below[L] > 1 && Self::LAYOUT.units[L] <= 2 };
        let sums = self.product(
            const { [Self::LAYOUT.below[L], Self::LAYOUT.units[L]] },
            const { Self::LAYOUT.forward[L] },
            const { Some(Self::LAYOUT.first_unit[L]) },
            below,
            apart,
            || self.store_below::<L>(below),
        );
        let mut values = [[0.0; 4]; 8];
        unrolled!(|N: 0 1 2 3 4 5 6 7| {
            if const { N < Self::LAYOUT.units[L] } {
                values[N] = sums[N].together(apart);
            }
        });
        let SmallLayer { shape, activation: code, least, .. } = self.sizes.layers[L];
        if least.is_nan() {
            let smooth = Smooth::new(code);
            unrolled!(|N: 0 1 2 3 4 5 6 7| {
                if const { N < Self::LAYOUT.units[L] } {
                    unrolled!(|I: 0 1 2 3| {
                        // Units beyond the layer's have the activation 0.
                        let unit = 8 * N as u32 + 2 * self.part() + I as u32 % 2;
                        values[N][I] = if unit < shape.units { smooth.apply(values[N][I]) } else { 0.0 };
                    });
                }
            });
        } else {
            unrolled!(|N: 0 1 2 3 4 5 6 7| {
                if const { N < Self::LAYOUT.units[L] } {
                    unrolled!(|I: 0 1 2 3| {
                        values[N][I] = math::maximum(values[N][I], least);
                    });
                }
            });
        }
        values
    }

    /// Stores the inputs of layer `L`: those of the first layer as the product takes them.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn store_below<const L: usize>(&self, below: &[[f32; 4]; 8]) {
        unrolled!(|K: 0 1 2 3 4 5 6 7| {
            if const { K < Self::LAYOUT.below[L] } {
                let values = if L == 0 { swapped(below[K]) } else { below[K] };
                self.set_own(const { Self::LAYOUT.activations[L] + K }, values);
            }
        });
    }

    /// The products of `depth` tiles with `tiles` fragments each, plus biases. `store` is called when the first fragments are on their way.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn product(
        &self,
        [depth, tiles]: [usize; 2],
        first: usize,
        first_bias: Option<usize>,
        values: &[[f32; 4]; 8],
        apart: bool,
        store: impl FnOnce(),
    ) -> [Parts; 8] {
        let fragment = |index: usize| self.common.get([(first + index) as u32]);
        let mut ahead = [F32x4::splat(0.0); HELD];
        each!(|index: 0 1 2 3 4 5 6 7| {
            if index < depth * tiles && index < Self::AHEAD {
                ahead[index] = fragment(index);
            }
        });
        store();
        let mut sums = [Parts::zero(); 8];
        if let Some(first) = first_bias {
            each!(|n: 0 1 2 3 4 5 6 7| {
                if n < tiles {
                    sums[n] = Parts::beginning(self.biases.get([(first + n) as u32]));
                }
            });
        }
        each!(|k: 0 1 2 3 4 5 6 7| {
            if k < depth {
                let left = Left::new(swapped(values[k]));
                let mut fragments = [F32x4::splat(0.0); 8];
                each!(|n: 0 1 2 3 4 5 6 7| {
                    if n < tiles {
                        let index = k * tiles + n;
                        fragments[n] = if index < Self::AHEAD { ahead[index % HELD] } else { fragment(index) };
                    }
                });
                each!(|part: 0 1 2| {
                    each!(|n: 0 1 2 3 4 5 6 7| {
                        if n < tiles {
                            sums[n].add(part, &left, &Right::of_parts(fragments[n]), apart);
                        }
                    });
                });
            }
        });
        sums
    }

    /// The errors of the output layer, from the activations below, which it stores, and the loss.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn output(
        &self,
        below: &[[f32; 4]; 8],
        targets: [f32; 4],
        row: u32,
        rows: u32,
        all: &mut [[f32; 2]; 32],
    ) -> [[f32; 4]; 8] {
        let last = const { Self::LAYOUT.layers - 1 };
        let sums = self.product(
            const { [Self::LAYOUT.below[Self::LAYOUT.layers - 1], 1] },
            Self::LAYOUT.forward[last],
            Some(Self::LAYOUT.first_unit[last]),
            below,
            true,
            || match last {
                1 => self.store_below::<1>(below),
                2 => self.store_below::<2>(below),
                _ => self.store_below::<3>(below),
            },
        );
        let unit_tile = const { Self::LAYOUT.unit_tiles - 1 };
        let sums = sums[0].together(true);
        let SmallLayer { shape, activation: code, least, .. } = self.sizes.layers[last];
        let (first, loss) = (row + self.group(), self.sizes.loss);
        let exists = [0, 1, 2, 3]
            .map(|i: usize| first + 8 * (i as u32 / 2) < rows && 2 * self.part() + i as u32 % 2 < shape.units);
        let (mut activations, mut derivatives) = ([0.0; 4], [0.0; 4]);
        if least.is_nan() {
            let smooth = Smooth::new(code);
            unrolled!(|I: 0 1 2 3| {
                activations[I] = smooth.apply(sums[I]);
                derivatives[I] = smooth.derivative(activations[I]);
            });
        } else {
            unrolled!(|I: 0 1 2 3| {
                activations[I] = math::maximum(sums[I], least);
                derivatives[I] = if activations[I] > least { 1.0 } else { 0.0 };
            });
        }
        let (mut errors, mut terms) = ([0.0; 4], [0.0; 4]);
        unrolled!(|I: 0 1 2 3| {
            let difference = activations[I] - targets[I];
            terms[I] = 0.5 * difference * difference;
            errors[I] = difference * if loss == loss::SQUARED_ERROR { derivatives[I] } else { 1.0 };
        });
        if loss != loss::SQUARED_ERROR {
            unrolled!(|I: 0 1 2 3| {
                terms[I] = loss::term(activation::SIGMOID, loss::CROSS_ENTROPY, activations[I], targets[I]);
            });
        }
        let mut sum = 0.0;
        unrolled!(|I: 0 1 2 3| {
            sum += if exists[I] { terms[I] } else { 0.0 };
            errors[I] = if exists[I] { errors[I] } else { 0.0 };
        });
        all[unit_tile] = [errors[0] + errors[2], errors[1] + errors[3]];
        all[unit_tile + 1] = [sum, 0.0];
        let mut all_errors = [[0.0; 4]; 8];
        all_errors[0] = errors;
        all_errors
    }

    /// The errors of the layer below layer `L`, from that layer's, which it stores as the product takes them; that layer's if there is no
    /// such layer.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn backward<const L: usize>(
        &self,
        activations: &[[f32; 4]; 8],
        above: &[[f32; 4]; 8],
        all: &mut [[f32; 2]; 32],
    ) -> [[f32; 4]; 8] {
        if const { L >= Self::LAYOUT.layers } {
            return *above;
        }
        let apart = const { Self::LAYOUT.units[L] > 1 && Self::LAYOUT.below[L] <= 2 };
        let mut activations = *activations;
        let sums = self.product(
            const { [Self::LAYOUT.units[L], Self::LAYOUT.below[L]] },
            const { Self::LAYOUT.backward[L] },
            None,
            above,
            apart,
            || {
                unrolled!(|N: 0 1 2 3 4 5 6 7| {
                    if const { N < Self::LAYOUT.below[L] && !Self::IS_SMALL } {
                        activations[N] = self.own(const { Self::LAYOUT.activations[L] + N });
                    }
                });
                unrolled!(|K: 0 1 2 3 4 5 6 7| {
                    if const { K < Self::LAYOUT.units[L] } {
                        self.set_own(const { Self::LAYOUT.errors[L] + K }, swapped(above[K]));
                    }
                });
            },
        );
        let SmallLayer { activation: code, least, .. } = self.sizes.layers[const { L.saturating_sub(1) }];
        let mut errors = [[0.0; 4]; 8];
        unrolled!(|N: 0 1 2 3 4 5 6 7| {
            if const { N < Self::LAYOUT.below[L] } {
                errors[N] = sums[N].together(apart);
            }
        });
        if least.is_nan() {
            let smooth = Smooth::new(code);
            unrolled!(|N: 0 1 2 3 4 5 6 7| {
                if const { N < Self::LAYOUT.below[L] } {
                    unrolled!(|I: 0 1 2 3| {
                        errors[N][I] *= smooth.derivative(activations[N][I]);
                    });
                }
            });
        } else {
            unrolled!(|N: 0 1 2 3 4 5 6 7| {
                if const { N < Self::LAYOUT.below[L] } {
                    unrolled!(|I: 0 1 2 3| {
                        errors[N][I] = if activations[N][I] > least { errors[N][I] } else { 0.0 };
                    });
                }
            });
        }
        unrolled!(|N: 0 1 2 3 4 5 6 7| {
            if const { N < Self::LAYOUT.below[L] } {
                let [a, b, c, d] = errors[N];
                all[const { Self::LAYOUT.first_unit[L.saturating_sub(1)] + N }] = [a + c, b + d];
            }
        });
        errors
    }

    /// The warp's part of the gradients of layer `L`, which is held if all layers' have place there, else stored.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn gradients<const L: usize>(&self, held: &mut [[f32; 4]; HELD], adds: bool) {
        if const { L >= Self::LAYOUT.layers } {
            return;
        }
        let mut right = self.right::<L, 0>();
        unrolled!(|I: 0 2| {
            if const { 2 * I < Self::of_rows(L)[1] } {
                let left = self.left::<L, I>();
                unrolled!(|J: 0 4| {
                    if const { J < Self::of_columns(L)[1] } {
                        if const { Self::of_columns(L)[1] > 4 && (I != 0 || J != 0) } {
                            right = self.right::<L, J>();
                        }
                        self.block_of_gradients::<L, I, J>(&left, &right, held, adds);
                    }
                });
            }
        });
    }

    /// Up to two pairs of tiles of rows from the `I`th pair on, by up to four tiles of columns from the `J`th on: all products at once, which
    /// do not wait for each other.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn block_of_gradients<const L: usize, const I: usize, const J: usize>(
        &self,
        left: &[[Left; 2]; 2],
        right: &[[Right; 2]; 4],
        held: &mut [[f32; 4]; HELD],
        adds: bool,
    ) {
        let apart = const { Self::of_columns(L)[1] * Self::of_rows(L)[1] / 2 < 4 };
        let mut sums = [[Parts::zero(); 4]; 2];
        unrolled!(|HALF: 0 1| {
            unrolled!(|PART: 0 1 2| {
                unrolled!(|ROW: 0 1| {
                    unrolled!(|COLUMN: 0 1 2 3| {
                        if const { 2 * (I + ROW) < Self::of_rows(L)[1] && J + COLUMN < Self::of_columns(L)[1] } {
                            sums[ROW][COLUMN].add(PART, &left[ROW][HALF], &right[COLUMN][HALF], apart);
                        }
                    });
                });
            });
        });
        unrolled!(|ROW: 0 1| {
            unrolled!(|COLUMN: 0 1 2 3| {
                if const { 2 * (I + ROW) < Self::of_rows(L)[1] && J + COLUMN < Self::of_columns(L)[1] } {
                    let tile = const { Self::LAYOUT.first_tile[L] + (I + ROW) * Self::of_columns(L)[1] + J + COLUMN };
                    self.hold(tile, sums[ROW][COLUMN].together(apart), held, adds);
                }
            });
        });
    }

    /// The left factors of up to two pairs of tiles of rows, from the `I`th pair on.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn left<const L: usize, const I: usize>(&self) -> [[Left; 2]; 2] {
        let mut left = [[Left::zero(); 2]; 2];
        unrolled!(|ROW: 0 1| {
            if const { 2 * (I + ROW) < Self::of_rows(L)[1] } {
                left[ROW] = self.row(const { (Self::of_rows(L)[0] + 2 * (I + ROW)) as u32 });
            }
        });
        left
    }

    /// The right factors of up to four tiles of columns, from the `J`th on.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn right<const L: usize, const J: usize>(&self) -> [[Right; 2]; 4] {
        let mut right = [[Right::zero(); 2]; 4];
        unrolled!(|COLUMN: 0 1 2 3| {
            if const { J + COLUMN < Self::of_columns(L)[1] } {
                right[COLUMN] = self.column(const { (Self::of_columns(L)[0] + J + COLUMN) as u32 });
            }
        });
        right
    }

    /// Holds a part of the gradients, or stores it.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn hold(&self, tile: usize, sums: [f32; 4], held: &mut [[f32; 4]; HELD], adds: bool) {
        if Self::IS_SMALL {
            held[tile % HELD] = sums;
        } else {
            self.store_part(tile, sums, adds);
        }
    }

    /// The left factors of a pair of tiles of rows: of the two halves of the samples.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn row(&self, tile: u32) -> [Left; 2] {
        self.rows.map(|rows| Left::new(rows.get([tile]).to_array()))
    }

    /// The right factors of a tile of columns: of the two halves of the samples.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn column(&self, tile: u32) -> [Right; 2] {
        self.columns.map(|columns| {
            let [a, b, c, d] = columns.get([tile]).to_array();
            Right::new(if self.group() % 2 == 1 { [c, d] } else { [a, b] })
        })
    }

    /// The first tile, and the number of tiles, of the rows of a layer's gradients: its units if it is the first layer, else those below.
    const fn of_rows(layer: usize) -> [usize; 2] {
        let layout = Self::LAYOUT;
        match layer {
            0 => [layout.errors[0], layout.units[0]],
            _ => [layout.activations[layer], layout.below[layer]],
        }
    }

    /// The same of the columns.
    const fn of_columns(layer: usize) -> [usize; 2] {
        let layout = Self::LAYOUT;
        match layer {
            0 => [layout.activations[0], layout.below[0]],
            _ => [layout.errors[layer], layout.units[layer]],
        }
    }

    /// Sums over the warp's samples. A group of lanes has those of the tiles, of every eight, with its number.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn sums_over_groups(&self, values: &[[f32; 2]; 32]) -> [[f32; 4]; 2] {
        let mut quads = [[0.0; 4]; 2];
        unrolled!(|QUAD: 0 1| {
            unrolled!(|I: 0 1 2 3| {
                if const { TILES_OF_SUMS * QUAD + I % 2 * 8 < Self::LAYOUT.unit_tiles + 1 } {
                    let mut eight = [0.0; 8];
                    unrolled!(|N: 0 1 2 3 4 5 6 7| {
                        eight[N] = values[TILES_OF_SUMS * QUAD + I % 2 * 8 + N][I / 2];
                    });
                    quads[QUAD][I] = self.sum_over_groups(eight);
                }
            });
        });
        quads
    }

    /// The sum of value `group` over the groups.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn sum_over_groups(&self, values: [f32; 8]) -> f32 {
        let [a, b, c, d, e, f, g, h] = values.map(f32::to_bits);
        let group = self.group();
        // The upper half of the groups keeps the higher value. By bits, since a choice would become branches.
        let mask = |bit: u32| (group >> bit & 1).wrapping_neg();
        let masks = [mask(0), mask(1), mask(2)];
        let halved = |bit: usize, low: u32, high: u32| {
            let change = (low ^ high) & masks[bit];
            let given = warp::shuffle_xor(f32::from_bits(high ^ change), 4 << bit);
            (f32::from_bits(low ^ change) + given).to_bits()
        };
        let four = [halved(2, a, e), halved(2, b, f), halved(2, c, g), halved(2, d, h)];
        let two = [halved(1, four[0], four[2]), halved(1, four[1], four[3])];
        f32::from_bits(halved(0, two[0], two[1]))
    }
}

/// The sigmoid σ, or the hyperbolic tangent, tanh(z) = 2 σ(2z) − 1.
#[derive(Clone, Copy)]
struct Smooth {
    /// 1 of the tangent, 0 of the sigmoid.
    tangent: f32,
}

impl Smooth {
    #[inline(always)]
    fn new(code: u32) -> Self {
        Self { tangent: if code == activation::TANH { 1.0 } else { 0.0 } }
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn apply(self, z: f32) -> f32 {
        let factor = 1.0 + self.tangent;
        math::fma(factor, math::fast::recip(1.0 + math::fast::exp(-factor * z)), -self.tangent)
    }

    /// a (1 − a) of the sigmoid, 1 − a² of the tangent.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn derivative(self, a: f32) -> f32 {
        math::fma(a, 1.0 - self.tangent - a, self.tangent)
    }
}

/// The middle values swapped: those of a tensor core's sums, in the order of its left factor.
#[inline(always)]
fn swapped([a, b, c, d]: [f32; 4]) -> [f32; 4] {
    [a, c, b, d]
}

#[inline(always)]
fn plus(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]]
}

/// A warp's inputs and targets on their way from global memory.
#[derive(Clone, Copy)]
pub(super) struct Inputs {
    values: [[f32; 4]; 8],
    targets: [f32; 4],
}

impl Inputs {
    /// Begins to load the lane's inputs and targets of its two samples. For a feature or output that does not exist it is the last one:
    /// the weights of the one are zero and stay so, and so are the errors of the other.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn of<'s, const TILES: u32>(
        network: &Network<'_, TILES>,
        inputs: GlobalReadView<'s, f32, 2>,
        targets: GlobalReadView<'s, f32, 2>,
        samples: [u32; 2],
    ) -> Self {
        let shapes =
            [0, const { Network::<TILES>::LAYOUT.layers - 1 }].map(|layer: usize| network.sizes.layers[layer].shape);
        let columns = [shapes[0].features, shapes[1].units];
        let mut loaded = Self { values: [[0.0; 4]; 8], targets: [0.0; 4] };
        unrolled!(|K: 0 1 2 3 4 5 6 7| {
            if const { K < Network::<TILES>::LAYOUT.below[0] } {
                unrolled!(|I: 0 1 2 3| {
                    let column = 8 * K as u32 + 2 * network.part() + I as u32 % 2;
                    loaded.values[K][I] = inputs.get([samples[I / 2], column.min(columns[0] - 1)]);
                });
            }
        });
        unrolled!(|I: 0 1 2 3| {
            if I.is_multiple_of(2) || columns[1] > 1 {
                let column = 2 * network.part() + I as u32 % 2;
                loaded.targets[I] = targets.get([samples[I / 2], column.min(columns[1] - 1)]);
            }
        });
        loaded
    }
}
