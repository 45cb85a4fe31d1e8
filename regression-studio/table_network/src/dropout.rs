//! Dropout as a function of a counter. There is no generator state to save, and threads need no
//! order.

/// The mask of a step. A hash of the step, the layer and the element decides which units are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mask {
    key: u32,
    /// Elements with a hash below this threshold are dropped.
    threshold: u32,
    /// 1 / (1 − dropout), the factor of kept units.
    pub(crate) scale: f32,
}

impl Mask {
    /// The mask of hidden layer `layer` in step `step` of the run; `None` without dropout.
    pub(crate) fn new(dropout: f32, seed: u64, step: u64, layer: usize) -> Option<Self> {
        if dropout == 0.0 {
            return None;
        }
        let key = mixed64(seed ^ mixed64(step.wrapping_mul(64).wrapping_add(layer as u64)));
        let threshold = (f64::from(dropout) * 2f64.powi(32)) as u32;
        Some(Self { key: (key >> 32) as u32 ^ key as u32, threshold, scale: 1.0 / (1.0 - dropout) })
    }

    /// The factor of an element: 0 or [`Mask::scale`].
    #[inline(always)]
    pub(crate) fn factor(self, element: u32) -> f32 {
        if mixed32(element ^ self.key) < self.threshold { 0.0 } else { self.scale }
    }
}

/// The finalizer of 32-bit MurmurHash3 (A. Appleby), between two multiplications by odd numbers.
#[inline(always)]
fn mixed32(x: u32) -> u32 {
    let x = x.wrapping_mul(0x9E37_79B1);
    let x = (x ^ (x >> 16)).wrapping_mul(0x85EB_CA6B);
    let x = (x ^ (x >> 13)).wrapping_mul(0xC2B2_AE35);
    x ^ (x >> 16)
}

/// The finalizer of SplitMix64 (G. Steele, D. Lea and C. Flood, "Fast Splittable Pseudorandom
/// Number Generators", 2014).
fn mixed64(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Within five standard deviations of the binomial distribution, for each layer and step.
    #[test]
    fn the_part_left_out_is_the_dropout() {
        const COUNT: u32 = 100_000;
        for (step, layer) in [(0, 0), (0, 1), (1, 0), (1 << 40, 3)] {
            let mask = Mask::new(0.25, 7, step, layer).unwrap();
            let dropped = (0..COUNT).filter(|&element| mask.factor(element) == 0.0).count() as f64;
            let deviation = (f64::from(COUNT) * 0.25 * 0.75).sqrt();
            assert!((dropped - 25_000.0).abs() < 5.0 * deviation, "step {step}, layer {layer}: {dropped}");
        }
        assert!(Mask::new(0.0, 7, 0, 0).is_none());
    }

    /// Neighbors, rows with power-of-two lengths, and masks of neighboring steps are uncorrelated.
    #[test]
    fn masks_are_not_correlated() {
        let kept = |mask: Mask, element| f64::from(u8::from(mask.factor(element) > 0.0)) - 0.5;
        let (one, other) = (Mask::new(0.5, 1, 5, 0).unwrap(), Mask::new(0.5, 1, 6, 0).unwrap());
        let mean = |value: &dyn Fn(u32) -> f64| (0..100_000).map(value).sum::<f64>() / 100_000.0 * 4.0;
        for distance in [1, 128, 256, 4096] {
            let correlation = mean(&|element| kept(one, element) * kept(one, element + distance));
            assert!(correlation.abs() < 0.02, "distance {distance}: {correlation}");
        }
        assert!(mean(&|element| kept(one, element) * kept(other, element)).abs() < 0.02);
    }
}
