//! Handwritten-looking drawings of digits: the strokes of the built-in digits in other sizes,
//! positions and slants.

use digits::builtin_digits;

/// Strokes, each a list of points (x, y) in widths of the field.
pub(crate) type Strokes = Vec<Vec<[f32; 2]>>;

/// Ten drawings of each digit.
pub(crate) fn hundred_digits() -> Vec<(usize, Strokes)> {
    let drawings = (0..100).map(|index| {
        let (digit, variant) = (index % 10, index / 10);
        let shapes = builtin_digits::strokes(digit);
        let step = variant as f32 / 9.0;
        let (size, slant) = (0.35 + 0.45 * step, 0.3 * (step - 0.5));
        let place = |[x, y]: [f32; 2]| [0.5 + size * (x - 0.5 + slant * (0.5 - y)), 0.55 + size * (y - 0.5)];
        (digit, map(&shapes[variant % shapes.len()], place))
    });
    drawings.collect()
}

/// The strokes with each point moved.
pub(crate) fn map(strokes: &Strokes, place: impl Fn([f32; 2]) -> [f32; 2]) -> Strokes {
    strokes.iter().map(|stroke| stroke.iter().map(|&point| place(point)).collect()).collect()
}
