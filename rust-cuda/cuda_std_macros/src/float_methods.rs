//! The methods of floats that are those of `cuda_std::math::GpuFloat` in a kernel. `cuda_builder` includes this file too.

/// The methods of floats that `std` has and `core` has not, in the order of `cuda_std::math::GpuFloat`.
pub(crate) const FLOAT_METHODS: [&str; 36] = [
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sin_cos",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "powi",
    "powf",
    "exp",
    "exp2",
    "exp_m1",
    "ln",
    "ln_1p",
    "log",
    "log2",
    "log10",
    "sqrt",
    "cbrt",
    "hypot",
    "floor",
    "ceil",
    "round",
    "round_ties_even",
    "trunc",
    "fract",
    "mul_add",
    "div_euclid",
    "rem_euclid",
];

/// The methods of floats that `core` has, where the host's may return either of 0 and −0. Each has one argument.
pub(crate) const EXTREMES: [&str; 2] = ["max", "min"];
