//! What the kernels take by value.

cuda_std::plain_data! {
    /// A layer and the place of its parameters.
    pub struct LayerShape {
        /// Index of the layer's first weight in `parameters`.
        pub first_parameter: u32,
        /// Number of inputs.
        pub features: u32,
        /// Number of outputs.
        pub units: u32,
    }
}

impl LayerShape {
    /// Index of the weight from input `feature` to unit `unit`; the biases are the row after the last input.
    #[inline(always)]
    pub(super) fn parameter(self, feature: u32, unit: u32) -> usize {
        (self.first_parameter + feature * self.units + unit) as usize
    }
}

cuda_std::plain_data! {
    /// The batches of an epoch.
    pub struct Batches {
        /// Number of samples of a batch; the last one may have fewer.
        pub size: u32,
        /// Number of samples in `order`.
        pub samples: u32,
    }
}

cuda_std::plain_data! {
    /// The output layer: its number of units, and the codes of [`activation`](super::activation) and
    /// [`loss`](super::loss).
    pub struct OutputLayer {
        /// Number of outputs.
        pub units: u32,
        /// Code of its activation.
        pub activation: u32,
        /// Code of the loss.
        pub loss: u32,
    }
}

cuda_std::plain_data! {
    /// The update rule of a parameter w by Adam, from the gradient summed over a batch, g = scale · gradient:
    ///
    /// m ← beta_1 · m + (1 − beta_1) · g;  v ← beta_2 · v + (1 − beta_2) · g²
    ///
    /// w ← (1 − decay) · w − scale · η · m̂ / (√v̂ + epsilon), with the bias-corrected m̂ and v̂
    pub struct AdamRule {
        /// The share of m that remains after a step.
        pub beta_1: f32,
        /// The share of v that remains after a step.
        pub beta_2: f32,
        /// 1 − beta_2, rounded once: the difference of rounded values has an error of 10⁻⁵ of it.
        pub one_minus_beta_2: f32,
        /// Keeps the denominator above 0.
        pub epsilon: f32,
        /// The factor of the layer's gradients and changes.
        pub scale: f32,
        /// Learning rate η · weight decay.
        pub decay: f32,
        /// If not 0, the gradient is divided by the batch's number of samples.
        pub is_mean: u32,
    }
}

cuda_std::plain_data! {
    /// The update rule of a parameter, from the gradient summed over a batch:
    ///
    /// v ← momentum · v − decay · w − rate · gradient;  w ← w + v
    pub struct UpdateRule {
        /// The learning rate.
        pub rate: f32,
        /// The factor of the last update.
        pub momentum: f32,
        /// Learning rate · weight decay.
        pub decay: f32,
        /// If not 0, the rate is divided by the batch's number of samples.
        pub is_mean: u32,
    }
}
