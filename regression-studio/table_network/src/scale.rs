//! The robust scale of a number, with a smooth clip.

/// Maps a number x to c((x − center) · factor). The clip c(z) = z / √(1 + (z/3)²) is close to z for
/// small z and always between −3 and 3.
///
/// Source: D. Holzmüller, L. Grinsztajn and I. Steinwart, "Better by Default: Strong Pre-Tuned MLPs
/// and Boosted Trees on Tabular Data", 2024.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RobustScale {
    /// The median.
    pub(crate) centre: f32,
    /// 1 / (third quartile − first quartile); 2 / (maximum − minimum) if the quartiles are equal; 0 for a constant.
    pub(crate) factor: f32,
}

/// Maximum scaled value before the clip, which keeps its square finite.
const MOST: f32 = 1e4;

impl RobustScale {
    /// The scale for finite, ascending values. There is at least one value.
    pub(crate) fn fit(ascending: &[f32]) -> Self {
        let quartiles = quantile(ascending, 0.75) - quantile(ascending, 0.25);
        let range = f64::from(ascending[ascending.len() - 1]) - f64::from(ascending[0]);
        let factor = [1.0 / quartiles, 2.0 / range].into_iter().map(|factor| factor as f32);
        let factor = factor.into_iter().find(|factor| factor.is_finite()).unwrap_or(0.0);
        Self { centre: quantile(ascending, 0.5) as f32, factor }
    }

    /// The scaled and clipped value: ±3 for infinities, NaN for NaN.
    pub(crate) fn apply(self, x: f32) -> f32 {
        if self.factor == 0.0 {
            return 0.0;
        }
        let z = ((f64::from(x) - f64::from(self.centre)) * f64::from(self.factor)) as f32;
        let z = z.clamp(-MOST, MOST);
        z / (1.0 + (z / 3.0) * (z / 3.0)).sqrt()
    }
}

/// The quantile at `part` of ascending values, interpolated between neighbors.
pub(crate) fn quantile(ascending: &[f32], part: f64) -> f64 {
    let place = part * (ascending.len() - 1) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    let (low, high) = (f64::from(ascending[below]), f64::from(ascending[above]));
    low + (high - low) * (place - place.floor())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quartiles_become_half_a_unit_apart_from_the_median() {
        let values: Vec<f32> = (0..=100).map(|value| value as f32).collect();
        let scale = RobustScale::fit(&values);
        assert_eq!((scale.centre, scale.factor), (50.0, 0.02));
        assert_eq!(scale.apply(50.0), 0.0);
        let z = 0.5_f64;
        let expected = z / (1.0 + (z / 3.0) * (z / 3.0)).sqrt();
        assert!((f64::from(scale.apply(75.0)) - expected).abs() < 1e-6);
    }

    #[test]
    fn outliers_are_clipped_and_nothing_is_nan() {
        let scale = RobustScale::fit(&[0.0, 1.0, 2.0, 3.0, f32::MAX]);
        for x in [f32::MAX, f32::MIN, f32::INFINITY, f32::NEG_INFINITY, 0.0, f32::MIN_POSITIVE] {
            assert!(scale.apply(x).abs() <= 3.0, "{x}");
        }
        assert!((scale.apply(f32::INFINITY) - 3.0).abs() < 1e-3);
    }

    #[test]
    fn equal_quartiles_leave_the_range_and_a_constant_becomes_zero() {
        let mostly_zero = [-1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0];
        assert_eq!(RobustScale::fit(&mostly_zero), RobustScale { centre: 0.0, factor: 0.5 });
        let constant = RobustScale::fit(&[7.0; 5]);
        assert_eq!((constant.factor, constant.apply(7.0), constant.apply(9.0)), (0.0, 0.0, 0.0));
        assert_eq!(RobustScale::fit(&[4.0]).factor, 0.0);
    }
}
