//! Loops over rows of padded matrices, compiled for the processor's vector instructions, and the
//! sinks of matrix products.
//!
//! A slice of rows has a stride: the number of elements from the start of a row to the start of the
//! next. Padding is computed as well, since it is zero. In a hidden layer, row sample · members +
//! member belongs to one sample and one member.

use kernels_cpu::flush_to_zero::{THRESHOLD_OF_PRODUCTS, flushed_below};
use kernels_cpu::product::Sink;
use kernels_cpu::{InstructionSet, Real, Simd, WithSimd};

use crate::adam::Rule;
use crate::dropout::Mask;

/// Functions without a result, with a body that is compiled for each instruction set.
macro_rules! kernels {
    ($($(#[$meta:meta])* fn $name:ident<$life:lifetime>($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        $(#[$meta])*
        pub(crate) fn $name<$life>($($argument: $type),*) {
            struct Call<$life> { $($argument: $type),* }
            impl<$life> WithSimd for Call<$life> {
                type Output = ();
                #[inline(always)]
                fn with_simd<S: Simd>(self, _simd: S) {
                    let Self { $($argument),* } = self;
                    $body
                }
            }
            InstructionSet::detect().dispatch(Call { $($argument),* });
        }
    )*};
}

/// Number of partial sums of a dot product, which are added in pairs at the end. The order does not
/// depend on the vector width.
const LANES: usize = 16;

/// Σ a · b, with [`LANES`] partial sums. The length of both slices is a multiple of [`LANES`].
#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    for (a, b) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            sums[lane] += sums[lane + width];
        }
        width /= 2;
    }
    sums[0]
}

kernels! {
    /// out\[s, m\] = embedded\[s\] ∘ adapters\[m\].
    fn adapt<'a>(embedded: &'a [f32], adapters: &'a [f32], stride: usize, out: &'a mut [f32]) {
        let of_sample = out.chunks_exact_mut(adapters.len());
        for (out, embedded) in of_sample.zip(embedded.chunks_exact(stride)) {
            for (out, adapter) in out.chunks_exact_mut(stride).zip(adapters.chunks_exact(stride)) {
                for ((out, &x), &factor) in out.iter_mut().zip(embedded).zip(adapter) {
                    *out = x * factor;
                }
            }
        }
    }

    /// out\[s\] = Σₘ errors\[s, m\] ∘ adapters\[m\], over the members in order.
    fn gather<'a>(errors: &'a [f32], adapters: &'a [f32], stride: usize, out: &'a mut [f32]) {
        for (out, errors) in out.chunks_exact_mut(stride).zip(errors.chunks_exact(adapters.len())) {
            out.fill(0.0);
            for (errors, adapter) in errors.chunks_exact(stride).zip(adapters.chunks_exact(stride)) {
                for ((out, &error), &factor) in out.iter_mut().zip(errors).zip(adapter) {
                    *out += error * factor;
                }
            }
        }
    }

    /// Multiplies elements by their factors in the mask. The index of the first element is `first`.
    fn drop_out<'a>(values: &'a mut [f32], mask: Mask, first: u32) {
        for (index, value) in (0_u32..).zip(values) {
            *value *= mask.factor(first.wrapping_add(index));
        }
    }

    /// outputs\[s, m\] = hidden\[s, m\] · heads\[m\] + biases\[m\].
    fn heads<'a>(hidden: &'a [f32], heads: &'a [f32], biases: &'a [f32], stride: usize, outputs: &'a mut [f32]) {
        let members = heads.len() / stride;
        for (outputs, hidden) in outputs.chunks_exact_mut(members).zip(hidden.chunks_exact(heads.len())) {
            let rows = hidden.chunks_exact(stride).zip(heads.chunks_exact(stride));
            for ((output, &bias), (hidden, head)) in outputs.iter_mut().zip(biases).zip(rows) {
                *output = dot(hidden, head) + bias;
            }
        }
    }

    /// errors\[s, m\] = output_errors\[s, m\] · heads\[m\] · scale where hidden\[s, m\] is positive, else 0.
    fn head_errors<'a>(
        output_errors: &'a [f32],
        heads: &'a [f32],
        hidden: &'a [f32],
        scale: f32,
        stride: usize,
        errors: &'a mut [f32],
    ) {
        let heads = heads.chunks_exact(stride).cycle();
        let rows = errors.chunks_exact_mut(stride).zip(hidden.chunks_exact(stride)).zip(heads);
        for (((errors, hidden), head), &output_error) in rows.zip(output_errors) {
            let factor = output_error * scale;
            for ((error, &hidden), &weight) in errors.iter_mut().zip(hidden).zip(head) {
                *error = if hidden > 0.0 { factor * weight } else { 0.0 };
            }
        }
    }

    /// sums += factors\[r\] · rows\[r\], in order over every `step`th row, starting with the first.
    fn add_scaled_rows<'a>(rows: &'a [f32], factors: &'a [f32], step: usize, sums: &'a mut [f32]) {
        let rows = rows.chunks_exact(sums.len()).step_by(step);
        for (row, &factor) in rows.zip(factors.iter().step_by(step)) {
            for (sum, &value) in sums.iter_mut().zip(row) {
                *sum += factor * value;
            }
        }
    }

    /// sums += rows\[r · step\] ∘ others\[r\], over r in order.
    fn add_products_of_rows<'a>(rows: &'a [f32], step: usize, others: &'a [f32], sums: &'a mut [f32]) {
        let stride = sums.len();
        for (row, other) in rows.chunks_exact(stride).step_by(step).zip(others.chunks_exact(stride)) {
            for ((sum, &value), &other) in sums.iter_mut().zip(row).zip(other) {
                *sum += value * other;
            }
        }
    }

    /// sums += Σᵣ rows\[r\], in order.
    fn add_rows<'a>(rows: &'a [f32], sums: &'a mut [f32]) {
        for row in rows.chunks_exact(sums.len()) {
            for (sum, &value) in sums.iter_mut().zip(row) {
                *sum += value;
            }
        }
    }

    /// An AdamW step on parameters and their averages, with the gradient times `scale`.
    fn update<'a>(rule: Rule, decay: f32, scale: f32, gradient: &'a [f32], parameter: Updated<'a>) {
        let Updated { values, averages, means, squares } = parameter;
        let moments = means.iter_mut().zip(squares);
        let values = values.iter_mut().zip(averages);
        for (((value, average), (mean, square)), &gradient) in values.zip(moments).zip(gradient) {
            let gradient = gradient * scale;
            *mean = flushed_below(THRESHOLD_OF_PRODUCTS, rule.mean_decay * *mean + (1.0 - rule.mean_decay) * gradient);
            *square = flushed_below(
                THRESHOLD_OF_PRODUCTS,
                rule.square_decay * *square + (1.0 - rule.square_decay) * (gradient * gradient),
            );
            let step = *mean * rule.mean_scale / ((*square * rule.square_scale).sqrt() + rule.epsilon);
            *value = *value * decay - rule.learning_rate * step;
            *average += rule.average_rate * (*value - *average);
        }
    }
}

/// Parameters, and the values that [`update`] changes with them.
pub(crate) struct Updated<'a> {
    pub(crate) values: &'a mut [f32],
    pub(crate) averages: &'a mut [f32],
    /// Mean gradients.
    pub(crate) means: &'a mut [f32],
    /// Mean squared gradients.
    pub(crate) squares: &'a mut [f32],
}

/// Stores max(sum + bias, 0); NaN stays NaN.
pub(crate) struct BiasRelu<'a> {
    pub(crate) bias: &'a [f32],
    pub(crate) out: &'a mut [f32],
    pub(crate) stride: usize,
}

impl Sink<f32> for BiasRelu<'_> {
    #[inline(always)]
    fn take<S: Simd>(&mut self, _simd: S, row: usize, column: usize, sums: &[S::f32s]) {
        let sums = f32::as_elements::<S>(sums);
        let out = &mut self.out[row * self.stride + column..][..sums.len()];
        for ((out, &sum), &bias) in out.iter_mut().zip(sums).zip(&self.bias[column..]) {
            let x = sum + bias;
            *out = if x < 0.0 { 0.0 } else { x };
        }
    }
}

/// Stores sum · scale where `active` is positive, else 0.
pub(crate) struct Masked<'a> {
    pub(crate) active: &'a [f32],
    pub(crate) scale: f32,
    pub(crate) out: &'a mut [f32],
    pub(crate) stride: usize,
}

impl Sink<f32> for Masked<'_> {
    #[inline(always)]
    fn take<S: Simd>(&mut self, _simd: S, row: usize, column: usize, sums: &[S::f32s]) {
        let sums = f32::as_elements::<S>(sums);
        let start = row * self.stride + column;
        let out = &mut self.out[start..][..sums.len()];
        for ((out, &sum), &active) in out.iter_mut().zip(sums).zip(&self.active[start..]) {
            *out = if active > 0.0 { sum * self.scale } else { 0.0 };
        }
    }
}

/// Stores the sums.
pub(crate) struct Store<'a> {
    pub(crate) out: &'a mut [f32],
    pub(crate) stride: usize,
}

impl Sink<f32> for Store<'_> {
    #[inline(always)]
    fn take<S: Simd>(&mut self, _simd: S, row: usize, column: usize, sums: &[S::f32s]) {
        let sums = f32::as_elements::<S>(sums);
        self.out[row * self.stride + column..][..sums.len()].copy_from_slice(sums);
    }
}

/// Continues the sums in `sums`. Their first row is row `first` of the product.
pub(crate) struct Continue<'a> {
    pub(crate) first: usize,
    pub(crate) sums: &'a mut [f32],
    pub(crate) stride: usize,
}

impl Sink<f32> for Continue<'_> {
    #[inline(always)]
    fn start<S: Simd>(&mut self, _simd: S, row: usize, column: usize, sums: &mut [S::f32s]) {
        let sums = f32::as_elements_mut::<S>(sums);
        let from = &self.sums[(row - self.first) * self.stride + column..][..sums.len()];
        sums.copy_from_slice(from);
    }

    #[inline(always)]
    fn take<S: Simd>(&mut self, _simd: S, row: usize, column: usize, sums: &[S::f32s]) {
        let sums = f32::as_elements::<S>(sums);
        self.sums[(row - self.first) * self.stride + column..][..sums.len()].copy_from_slice(sums);
    }
}
