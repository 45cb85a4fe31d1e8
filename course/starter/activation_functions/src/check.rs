//! Given: the check of a result.

/// Checks that `results` are tanh(value / 255 · weight); the error names the first one that is not.
pub fn verify(results: &[f32], values: &[f32], weights: &[f32]) -> Result<(), String> {
    if results.len() != values.len() {
        return Err(format!("there are {} results for {} values", results.len(), values.len()));
    }
    for (i, ((&found, &value), &weight)) in results.iter().zip(values).zip(weights).enumerate() {
        let expected = (f64::from(value) / 255.0 * f64::from(weight)).tanh();
        let agrees = (f64::from(found) - expected).abs() <= 1e-6;
        if !agrees {
            let count = values.len();
            return Err(format!(
                "y[{i}] is {found}, expected {expected} (x = {value}, w = {weight}), for {count} values"
            ));
        }
    }
    Ok(())
}
