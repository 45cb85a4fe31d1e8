//! The natural logarithm.

use super::fma;

/// The natural logarithm within 1 unit in the last place; −∞ at zero, NaN below.
///
/// x = 2ᵉ · m with √½ ≤ m < √2, and ln x = e · ln 2 + ln m. The polynomial for ln m is that of `logf.c` in the Cephes
/// library, <https://www.netlib.org/cephes/>.
#[inline]
pub fn ln(x: f32) -> f32 {
    if x.is_nan() || x < 0.0 {
        return f32::NAN;
    }
    if x == 0.0 {
        return f32::NEG_INFINITY;
    }
    if x == f32::INFINITY {
        return x;
    }
    // A scale of 2²³ makes a subnormal number normal; `scale` is the exponent to subtract.
    let (x, scale) = if x < f32::MIN_POSITIVE { (x * 8_388_608.0, 23) } else { (x, 0) };
    let bits = x.to_bits();
    // Relative to √½: mantissas from that of √½ on belong to the next exponent.
    const SQRT_HALF: u32 = 0x3f35_04f3;
    let exponent = (bits.wrapping_sub(SQRT_HALF) as i32) >> 23;
    let m = f32::from_bits(bits.wrapping_sub((exponent as u32) << 23)) - 1.0;
    let e = (exponent - scale) as f32;

    let square = m * m;
    let mut p = 7.037_683_6e-2;
    for coefficient in [
        -1.151_461e-1,
        1.167_699_9e-1,
        -1.242_014_1e-1,
        1.424_932_3e-1,
        -1.666_805_7e-1,
        2.000_071_5e-1,
        -2.499_999_4e-1,
        3.333_333e-1,
    ] {
        p = fma(p, m, coefficient);
    }
    // ln 2 is split in two parts, as in `exp`.
    let y = fma(e, -2.121_944_4e-4, p * m * square);
    let y = fma(-0.5, square, y);
    fma(e, 0.693_359_4, m + y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ln_is_accurate_for_every_exponent() {
        let mut worst = 0f64;
        // The step is prime, so that every exponent is tested with varied mantissas.
        for bits in (1..f32::INFINITY.to_bits()).step_by(1999) {
            let x = f32::from_bits(bits);
            let exact = f64::from(x).ln();
            let nearest = (exact as f32).abs();
            let unit = f64::from(f32::from_bits(nearest.to_bits() + 1)) - f64::from(nearest);
            worst = worst.max((f64::from(ln(x)) - exact).abs() / unit);
        }
        assert!(worst <= 1.0, "ln: {worst} ulp");
    }

    #[test]
    fn edge_cases() {
        assert_eq!([ln(0.0), ln(1.0), ln(f32::INFINITY)], [f32::NEG_INFINITY, 0.0, f32::INFINITY]);
        assert!(ln(f32::NAN).is_nan() && ln(-1.0).is_nan() && ln(f32::NEG_INFINITY).is_nan());
    }
}
