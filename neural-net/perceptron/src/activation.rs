//! Activation functions and their derivatives.

use kernels_cpu::InstructionSet;
use kernels_cpu::activation::sigmoid_in_place;
use kernels_cpu::tanh::tanh_in_place;
use serde::{Deserialize, Serialize};

use crate::Scalar;
use crate::names::display_and_parse_names;

/// The activation function that a layer applies to its weighted sums z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// 1 / (1 + e⁻ᶻ)
    Sigmoid,
    /// max(0, z)
    Relu,
    /// (eᶻ − e⁻ᶻ) / (eᶻ + e⁻ᶻ)
    Tanh,
    /// z
    Identity,
    /// eᶻⁱ / Σⱼ eᶻʲ over the layer; for the output layer only
    Softmax,
}

display_and_parse_names!(Activation, "activation");

impl Activation {
    /// All values, in declaration order.
    pub const ALL: [Self; 5] = [Self::Sigmoid, Self::Relu, Self::Tanh, Self::Identity, Self::Softmax];

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sigmoid => "sigmoid",
            Self::Relu => "relu",
            Self::Tanh => "tanh",
            Self::Identity => "identity",
            Self::Softmax => "softmax",
        }
    }

    /// One line of help for the value.
    pub fn description(self) -> &'static str {
        match self {
            Self::Sigmoid => "1 / (1 + e⁻ᶻ)",
            Self::Relu => "max(0, z)",
            Self::Tanh => "(eᶻ − e⁻ᶻ) / (eᶻ + e⁻ᶻ)",
            Self::Identity => "z",
            Self::Softmax => "eᶻⁱ / Σⱼ eᶻʲ over the layer; for the output layer only",
        }
    }

    /// Replaces one layer's sums, for one sample, by its activations. The engines and the predictor
    /// use a faster sigmoid and tanh that differ in the last bits.
    pub fn apply<F: Scalar>(self, sums: &mut [F]) {
        match self {
            Self::Sigmoid => sums.iter_mut().for_each(|z| *z = utils::sigmoid_scalar(*z)),
            // A comparison with NaN is false, so a NaN passes through. The unconditional store lets
            // the loop vectorize.
            Self::Relu => sums.iter_mut().for_each(|z| *z = if *z < F::zero() { F::zero() } else { *z }),
            Self::Tanh => sums.iter_mut().for_each(|z| *z = z.hyperbolic_tangent()),
            Self::Identity => {}
            Self::Softmax => softmax(sums),
        }
    }

    /// Applies [`Activation::apply`] to several samples: rows of `stride` elements. The first
    /// `columns` elements are a layer's sums. The others are padding, which may change.
    pub(crate) fn apply_to_rows(self, rows: &mut [f32], stride: usize, columns: usize) {
        match self {
            // One long slice, padding included, is faster than many short ones.
            Self::Sigmoid => sigmoid_in_place(InstructionSet::detect(), rows),
            Self::Tanh => tanh_in_place(InstructionSet::detect(), rows),
            Self::Relu => self.apply(rows),
            Self::Identity => {}
            Self::Softmax => rows.chunks_exact_mut(stride).for_each(|row| self.apply(&mut row[..columns])),
        }
    }

    /// The derivative da/dz, expressed in terms of the activation a itself. Softmax has no
    /// derivative of this form, since its outputs depend on all sums. [`crate::Loss::output_error`]
    /// handles it; here, it is treated as the identity.
    #[inline]
    pub fn derivative<F: Scalar>(self, a: F) -> F {
        match self {
            Self::Sigmoid => a * (F::one() - a),
            Self::Relu if a > F::zero() => F::one(),
            Self::Relu => F::zero(),
            Self::Tanh => F::one() - a * a,
            Self::Identity | Self::Softmax => F::one(),
        }
    }
}

/// Softmax of sums shifted by their maximum, so no exponential overflows. An activation that would
/// be subnormal is 0.
fn softmax<F: Scalar>(sums: &mut [F]) {
    let largest = sums.iter().copied().fold(F::neg_infinity(), F::max);
    // The total of the exponentials is at most their number, so the quotients are normal as well.
    let least = F::from_f64(libm::log(F::min_positive_value().into_f64() * sums.len() as f64));
    let mut total = F::zero();
    for z in sums.iter_mut() {
        let shifted = *z - largest;
        // A comparison with NaN is false, so a NaN passes through.
        *z = if shifted < least { F::zero() } else { shifted.exponential() };
        total += *z;
    }
    for z in sums {
        *z /= total;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Activation; 4] = [Activation::Sigmoid, Activation::Relu, Activation::Tanh, Activation::Identity];

    #[test]
    fn part1_activation_derivatives_agree_with_central_differences() {
        for activation in ALL {
            for z in [-3.0_f64, -0.5, 0.25, 1.0, 4.0] {
                let at = |z: f64| {
                    let mut value = [z];
                    activation.apply(&mut value);
                    value[0]
                };
                let step = 1e-6;
                let difference = (at(z + step) - at(z - step)) / (2.0 * step);
                let derivative = activation.derivative(at(z));
                assert!((difference - derivative).abs() < 1e-8, "{activation:?} at {z}: {derivative} and {difference}");
            }
        }
    }

    #[test]
    fn part1_softmax_survives_large_sums_and_adds_up_to_one() {
        let mut values = [1e4_f32, 1e4, -1e4, 0.0];
        Activation::Softmax.apply(&mut values);
        assert_eq!(values, [0.5, 0.5, 0.0, 0.0]);
        let mut values = [1.0_f64, 2.0, 3.0];
        Activation::Softmax.apply(&mut values);
        assert!((values.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        assert!((values[2] / values[1] - std::f64::consts::E).abs() < 1e-14);
    }

    #[test]
    fn part1_a_nan_passes_every_activation() {
        for activation in ALL.into_iter().chain([Activation::Softmax]) {
            let mut values = [f32::NAN, 1.0];
            activation.apply(&mut values);
            assert!(values[0].is_nan(), "{activation:?}");
        }
    }
}
