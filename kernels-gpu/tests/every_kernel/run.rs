//! A training run of a network, and what it makes in double precision.

use kernels_gpu::network::activation::RELU;
use kernels_gpu::network::{LayerShape, activation, loss};

/// A layer with weights.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layer {
    pub(crate) shape: LayerShape,
    pub(crate) activation: u32,
    /// The factor of its learning rate.
    pub(crate) factor: f32,
}

/// The rule of Adam, or of gradient descent with momentum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    pub(crate) is_adam: bool,
    pub(crate) is_mean: bool,
    pub(crate) rate: f32,
    /// Learning rate · weight decay.
    pub(crate) decay: f32,
    pub(crate) momentum: f32,
    pub(crate) beta_2: f32,
    pub(crate) epsilon: f32,
}

/// The data of a run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) layers: Vec<Layer>,
    pub(crate) batch: usize,
    pub(crate) inputs: Vec<f32>,
    pub(crate) targets: Vec<f32>,
    pub(crate) order: Vec<u32>,
    pub(crate) parameters: Vec<f32>,
    /// Empty without momentum; with Adam, the mean gradients.
    pub(crate) velocities: Vec<f32>,
    /// Empty without Adam.
    pub(crate) squares: Vec<f32>,
    /// With Adam, its two numbers of each step; else empty.
    pub(crate) numbers: Vec<f32>,
    pub(crate) rule: Rule,
    pub(crate) loss: u32,
}

/// The layers of these sizes, one after the other in the parameters.
pub(crate) fn layers_of(sizes: &[usize], hidden: u32, output: u32) -> Vec<Layer> {
    let mut first_parameter = 0;
    let layer = |(index, pair): (usize, &[usize])| {
        let (features, units) = (pair[0] as u32, pair[1] as u32);
        let shape = LayerShape { first_parameter, features, units };
        first_parameter += (features + 1) * units;
        Layer { shape, activation: if index + 2 == sizes.len() { output } else { hidden }, factor: 1.0 }
    };
    sizes.windows(2).enumerate().map(layer).collect()
}

/// Number of parameters.
pub(crate) fn parameters_of(layers: &[Layer]) -> usize {
    layers.iter().map(|Layer { shape, .. }| ((shape.features + 1) * shape.units) as usize).sum()
}

/// What a run makes in double precision.
pub(crate) struct Reference {
    /// Parameters, velocities, squares and each step's loss.
    pub(crate) values: [Vec<f64>; 4],
    /// The smallest magnitude of a sum that a ReLU unit had. At 0 rounding decides whether a gradient is 0.
    pub(crate) least_sum: f64,
}

impl Run {
    pub(crate) fn steps(&self) -> usize {
        self.order.len().div_ceil(self.batch)
    }

    /// Trains in double precision, one sample after the other.
    pub(crate) fn reference(&self) -> Reference {
        let wide = |values: &[f32]| values.iter().map(|&value| value.into()).collect::<Vec<f64>>();
        let (mut parameters, mut losses, mut least_sum) = (wide(&self.parameters), vec![], f64::INFINITY);
        let [mut m, mut v] = [&self.velocities, &self.squares].map(|values| {
            let mut all = wide(values);
            all.resize(parameters.len(), 0.0);
            all
        });
        let Rule { is_adam, is_mean, .. } = self.rule;
        let [rate, decay, momentum, beta_2, epsilon] =
            [self.rule.rate, self.rule.decay, self.rule.momentum, self.rule.beta_2, self.rule.epsilon].map(f64::from);
        for (step, batch) in self.order.chunks(self.batch).enumerate() {
            let mut gradients = vec![0.0; parameters.len()];
            let mut loss = 0.0;
            for &sample in batch {
                loss += self.add_gradients(sample as usize, &parameters, &mut gradients, &mut least_sum);
            }
            losses.push(loss);
            let scale = if is_mean { 1.0 / batch.len() as f64 } else { 1.0 };
            for Layer { shape: LayerShape { first_parameter, features, units }, factor, .. } in &self.layers {
                let (first, factor) = (*first_parameter as usize, f64::from(*factor));
                for i in 0..((features + 1) * units) as usize {
                    // Biases do not decay.
                    let decay = if i < (features * units) as usize { decay } else { 0.0 };
                    let (index, gradient) = (first + i, scale * gradients[first + i]);
                    if !is_adam {
                        m[index] = momentum * m[index] - rate * factor * gradient - decay * parameters[index];
                        parameters[index] += m[index];
                        continue;
                    }
                    let gradient = factor.sqrt() * gradient;
                    m[index] = momentum * m[index] + (1.0 - momentum) * gradient;
                    v[index] = beta_2 * v[index] + (1.0 - beta_2) * gradient * gradient;
                    let [rate, root] = [0, 1].map(|i| f64::from(self.numbers[2 * step + i]));
                    let change = factor.sqrt() * rate * m[index] / (root * v[index].sqrt() + epsilon);
                    parameters[index] = (1.0 - decay) * parameters[index] - change;
                }
            }
        }
        m.truncate(self.velocities.len());
        v.truncate(self.squares.len());
        Reference { values: [parameters, m, v, losses], least_sum }
    }

    /// Adds a sample's gradients, and returns its loss.
    fn add_gradients(&self, sample: usize, parameters: &[f64], gradients: &mut [f64], least_sum: &mut f64) -> f64 {
        let row = |values: &[f32], columns: u32| -> Vec<f64> {
            values[sample * columns as usize..][..columns as usize].iter().map(|&value| value.into()).collect()
        };
        let mut activations = vec![row(&self.inputs, self.layers[0].shape.features)];
        for &Layer { shape: LayerShape { first_parameter, features, units }, activation, .. } in &self.layers {
            let below = activations.last().expect("the inputs are the first");
            let weight =
                |feature: usize, unit: usize| parameters[first_parameter as usize + feature * units as usize + unit];
            let sum = |unit: usize| {
                (0..features as usize).map(|feature| below[feature] * weight(feature, unit)).sum::<f64>()
                    + weight(features as usize, unit)
            };
            let sums: Vec<f64> = (0..units as usize).map(sum).collect();
            if activation == RELU {
                *least_sum = sums.iter().fold(*least_sum, |least, sum| least.min(sum.abs()));
            }
            activations.push(sums.into_iter().map(|sum| activated(activation, sum)).collect());
        }
        let last = self.layers[self.layers.len() - 1];
        let (outputs, targets) = (&activations[self.layers.len()], row(&self.targets, last.shape.units));
        let pairs = || outputs.iter().zip(&targets);
        let is_cross_entropy = self.loss == loss::CROSS_ENTROPY;
        let term = |(&a, &y): (&f64, &f64)| match is_cross_entropy {
            true => -(y * a.ln() + (1.0 - y) * (1.0 - a).ln()),
            false => 0.5 * (a - y) * (a - y),
        };
        let loss = pairs().map(term).sum();
        let error =
            |(&a, &y): (&f64, &f64)| if is_cross_entropy { a - y } else { (a - y) * derivative(last.activation, a) };
        let mut errors: Vec<f64> = pairs().map(error).collect();
        for (index, layer) in self.layers.iter().enumerate().rev() {
            let LayerShape { first_parameter, features, units } = layer.shape;
            let (first, features, units) = (first_parameter as usize, features as usize, units as usize);
            let below = &activations[index];
            for unit in 0..units {
                for feature in 0..features {
                    gradients[first + feature * units + unit] += below[feature] * errors[unit];
                }
                gradients[first + features * units + unit] += errors[unit];
            }
            if index > 0 {
                let code = self.layers[index - 1].activation;
                let back = |feature: usize| {
                    let sum: f64 =
                        (0..units).map(|unit| errors[unit] * parameters[first + feature * units + unit]).sum();
                    sum * derivative(code, below[feature])
                };
                errors = (0..features).map(back).collect();
            }
        }
        loss
    }
}

fn activated(code: u32, z: f64) -> f64 {
    match code {
        activation::SIGMOID => 1.0 / (1.0 + (-z).exp()),
        RELU => z.max(0.0),
        activation::TANH => z.tanh(),
        _ => z,
    }
}

fn derivative(code: u32, a: f64) -> f64 {
    match code {
        activation::SIGMOID => a * (1.0 - a),
        RELU => f64::from(u8::from(a > 0.0)),
        activation::TANH => 1.0 - a * a,
        _ => 1.0,
    }
}
