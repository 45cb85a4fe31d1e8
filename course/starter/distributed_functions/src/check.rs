//! Given: the checks of results.

/// Checks every element of the results of an all-reduce, "sum" or "maximum", on all ranks; the error names the first wrong
/// one. A sum of n floats may differ from that in double precision by the rounding error bound n·ε · Σ |x|; the bits must
/// be the same on all ranks.
pub fn verify(results: &[Vec<f32>], buffers: &[Vec<f32>], operation: &str) -> Result<(), String> {
    let (ranks, length) = (buffers.len(), buffers.first().map_or(0, Vec::len));
    let size = format!("for ranks = {ranks} and length = {length}");
    for index in 0..length {
        let elements = || buffers.iter().map(|buffer| f64::from(buffer[index]));
        let expected = match operation {
            "sum" => elements().sum(),
            _ => elements().fold(f64::NEG_INFINITY, f64::max),
        };
        let magnitude: f64 = elements().map(f64::abs).sum();
        let bound = if operation == "sum" { ranks as f64 * f64::from(f32::EPSILON) * magnitude } else { 0.0 };
        for (rank, result) in results.iter().enumerate() {
            let found = result[index];
            // Not `error > bound`: a NaN must not agree.
            let agrees = (f64::from(found) - expected).abs() <= bound;
            if !agrees {
                let all = buffers.iter().map(|buffer| buffer[index].to_string()).collect::<Vec<_>>().join(", ");
                return Err(format!(
                    "element {index} of the result is {found} on rank {rank}, expected {expected} (the {operation} of {all}), {size}"
                ));
            }
        }
    }
    have_same_bits(results).map_err(|difference| format!("{difference}, {size}"))
}

/// Checks the parameters on all ranks after a step of synchronous training.
pub fn verify_step(results: &[Vec<f32>], parameters: &[f32], gradients: &[Vec<f32>], rate: f32) -> Result<(), String> {
    let (ranks, length) = (gradients.len(), parameters.len());
    let size = format!("for ranks = {ranks} and length = {length}");
    for (index, &before) in parameters.iter().enumerate() {
        let elements = || gradients.iter().map(|gradient| f64::from(gradient[index]));
        let mean = elements().sum::<f64>() / ranks as f64;
        let expected = f64::from(before) - f64::from(rate) * mean;
        let magnitude = f64::from(before.abs()) + f64::from(rate.abs()) * elements().map(f64::abs).sum::<f64>();
        let bound = (ranks + 3) as f64 * f64::from(f32::EPSILON) * magnitude;
        for (rank, result) in results.iter().enumerate() {
            let found = result[index];
            let agrees = (f64::from(found) - expected).abs() <= bound;
            if !agrees {
                return Err(format!(
                    "parameter {index} is {found} on rank {rank}, expected {expected:.7} (it was {before}, the rate is {rate}, and the \
                     mean of the gradients {mean:.7}), {size}"
                ));
            }
        }
    }
    have_same_bits(results).map_err(|difference| format!("{difference}, {size}"))
}

fn have_same_bits(results: &[Vec<f32>]) -> Result<(), String> {
    let Some((first, others)) = results.split_first() else { return Ok(()) };
    for (rank, other) in others.iter().enumerate() {
        for (index, (a, b)) in first.iter().zip(other).enumerate() {
            if a.to_bits() != b.to_bits() {
                let rank = rank + 1;
                return Err(format!(
                    "element {index} is {a:?} on rank 0 and {b:?} on rank {rank}, expected the same bits on all ranks"
                ));
            }
        }
    }
    Ok(())
}
