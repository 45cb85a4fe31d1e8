//! Loss functions, and the output deltas that backpropagation starts from.

use serde::{Deserialize, Serialize};

use crate::names::display_and_parse_names;
use crate::{Activation, Scalar};

/// The loss function of one sample's outputs a and targets y.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// ½ Σᵢ (aᵢ − yᵢ)²
    SquaredError,
    /// −Σᵢ yᵢ ln aᵢ for softmax outputs; −Σᵢ (yᵢ ln aᵢ + (1 − yᵢ) ln(1 − aᵢ)) for sigmoid outputs
    CrossEntropy,
}

display_and_parse_names!(Loss, "loss");

impl Loss {
    /// All values, in declaration order.
    pub const ALL: [Self; 2] = [Self::SquaredError, Self::CrossEntropy];

    /// Whether this loss is defined for outputs of `activation`: cross-entropy needs probabilities.
    pub fn is_defined_for(self, activation: Activation) -> bool {
        self == Self::SquaredError || matches!(activation, Activation::Sigmoid | Activation::Softmax)
    }

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::SquaredError => "squared-error",
            Self::CrossEntropy => "cross-entropy",
        }
    }

    /// One line of help for the value.
    pub fn description(self) -> &'static str {
        match self {
            Self::SquaredError => "½ Σᵢ (aᵢ − yᵢ)²",
            Self::CrossEntropy => {
                "−Σᵢ yᵢ ln aᵢ for softmax outputs; −Σᵢ (yᵢ ln aᵢ + (1 − yᵢ) ln(1 − aᵢ)) for sigmoid outputs"
            }
        }
    }

    /// The loss of one sample.
    pub fn of_sample<F: Scalar>(self, activation: Activation, outputs: &[F], targets: &[F]) -> f64 {
        // Clamps p away from 0; a NaN passes through.
        let ln = |p: f64| libm::log(if p < f64::MIN_POSITIVE { f64::MIN_POSITIVE } else { p });
        let pairs = outputs.iter().zip(targets).map(|(a, y)| (a.into_f64(), y.into_f64()));
        match (self, activation) {
            (Self::SquaredError, _) => pairs.map(|(a, y)| (a - y) * (a - y)).sum::<f64>() / 2.0,
            (Self::CrossEntropy, Activation::Softmax) => -pairs.map(|(a, y)| y * ln(a)).sum::<f64>(),
            (Self::CrossEntropy, _) => -pairs.map(|(a, y)| y * ln(a) + (1.0 - y) * ln(1.0 - a)).sum::<f64>(),
        }
    }

    /// Writes one sample's output deltas δ = ∂loss/∂z to `errors`.
    ///
    /// For cross-entropy with softmax or sigmoid, δ is a − y: the derivatives of the logarithm and
    /// of the activation cancel. For squared error, it is (a − y) · da/dz. For squared error with
    /// softmax, which has the Jacobian aᵢ (δᵢⱼ − aⱼ), it is aᵢ (gᵢ − Σⱼ gⱼ aⱼ) with g = a − y
    /// (Bishop, "Pattern Recognition and Machine Learning", 2006, sections 4.3 and 5.3).
    pub fn output_error<F: Scalar>(self, activation: Activation, outputs: &[F], targets: &[F], errors: &mut [F]) {
        for ((error, &a), &y) in errors.iter_mut().zip(outputs).zip(targets) {
            *error = a - y;
        }
        match (self, activation) {
            (Self::CrossEntropy, _) => {}
            (Self::SquaredError, Activation::Softmax) => {
                let weighted = errors.iter().zip(outputs).fold(F::zero(), |sum, (&g, &a)| sum + g * a);
                for (error, &a) in errors.iter_mut().zip(outputs) {
                    *error = a * (*error - weighted);
                }
            }
            (Self::SquaredError, _) => {
                for (error, &a) in errors.iter_mut().zip(outputs) {
                    *error *= activation.derivative(a);
                }
            }
        }
    }
}
