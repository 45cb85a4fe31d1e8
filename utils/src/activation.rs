use ndarray::{Array, ArrayRef, Dimension, NdFloat};

/// Computes the logistic function σ(x) = 1 / (1 + e⁻ˣ) of every element. The result has the shape of `x`.
///
/// ```
/// use ndarray::array;
/// assert_eq!(utils::sigmoid(&array![[0.0, 1e4], [-1e4, f64::INFINITY]]), array![[0.5, 1.0], [0.0, 1.0]]);
/// ```
pub fn sigmoid<A: NdFloat, D: Dimension>(x: &ArrayRef<A, D>) -> Array<A, D> {
    x.mapv(sigmoid_scalar)
}

/// Computes the derivative of the logistic function, σ′(x) = σ(x) · (1 − σ(x)), for every element.
/// The result has the shape of `x`.
///
/// ```
/// use ndarray::array;
/// assert_eq!(utils::sigmoid_prime(&array![0.0, 1e4, f64::NEG_INFINITY]), array![0.25, 0.0, 0.0]);
/// ```
pub fn sigmoid_prime<A: NdFloat, D: Dimension>(x: &ArrayRef<A, D>) -> Array<A, D> {
    x.mapv(sigmoid_prime_scalar)
}

/// The logistic function σ(x) = 1 / (1 + e⁻ˣ) of one value. Propagates NaN.
///
/// With e = e^−|x|, which never overflows, it is 1 / (1 + e) for x ≥ 0 and e / (1 + e) for x < 0
/// (both terms of the fraction multiplied by eˣ).
///
/// ```
/// assert_eq!(utils::sigmoid_scalar(0.0_f32), 0.5);
/// ```
#[inline]
pub fn sigmoid_scalar<A: NdFloat>(x: A) -> A {
    let e = (-x.abs()).exp();
    let numerator = if x < A::zero() { e } else { A::one() };
    numerator / (A::one() + e)
}

/// The derivative of the logistic function of one value. Propagates NaN.
///
/// σ(x) · (1 − σ(x)) = e / (1 + e)² with e = e^−|x|. This form is the same for x and −x and avoids
/// the cancellation in 1 − σ(x) for large x.
///
/// ```
/// assert_eq!(utils::sigmoid_prime_scalar(0.0_f32), 0.25);
/// ```
#[inline]
pub fn sigmoid_prime_scalar<A: NdFloat>(x: A) -> A {
    let e = (-x.abs()).exp();
    let denominator = A::one() + e;
    e / (denominator * denominator)
}
