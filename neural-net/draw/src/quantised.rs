//! The format of `parameters.bin`, which stores the weights of [`crate::network`].

/// The largest absolute value of a quantised weight.
const MAX: f32 = 127.0;

/// Encodes the parameters of a layer in the format of `parameters.bin`; `weights` are row-major,
/// inputs × units.
///
/// Each unit has its own step. Its weights are rounded to multiples of that step.
pub fn encode(weights: &[f32], biases: &[f32]) -> Vec<u8> {
    let mut steps = vec![0.0_f32; biases.len()];
    for row in weights.chunks(biases.len()) {
        steps.iter_mut().zip(row).for_each(|(step, weight)| *step = step.max(weight.abs() / MAX));
    }
    // A unit with only zero weights has the step 0. Its weights are 0 / 0, which converts to 0.
    let weights = weights.iter().zip(steps.iter().cycle()).map(|(weight, step)| (weight / step).round() as i8);
    let floats = steps.iter().chain(biases).flat_map(|value| value.to_le_bytes());
    weights.map(i8::cast_unsigned).chain(floats).collect()
}
