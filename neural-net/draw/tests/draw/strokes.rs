//! Drawings of digits as a hand draws them: the strokes from which the built-in digits are made, in other sizes, places
//! and slants.

#[path = "../../../digits/src/builtin_digits/strokes.rs"]
mod glyphs;

/// Strokes, each a list of points (x, y) in widths of the field.
pub(crate) type Strokes = Vec<Vec<[f32; 2]>>;

/// Ten drawings of each digit.
pub(crate) fn hundred_digits() -> Vec<(usize, Strokes)> {
    let drawings = (0..100).map(|index| {
        let (digit, variant) = (index % 10, index / 10);
        let glyphs = glyphs::GLYPHS[digit];
        let strokes = glyphs[variant % glyphs.len()].iter().flat_map(|stroke| {
            let points: Vec<_> = stroke.iter().map(|&(x, y)| [f32::from(x) / 100.0, f32::from(y) / 100.0]).collect();
            // A repeated point is a corner, at which a curve ends and the next begins.
            points.chunk_by(|point, next| point != next).map(smooth).collect::<Strokes>()
        });
        let step = variant as f32 / 9.0;
        let (size, slant) = (0.35 + 0.45 * step, 0.3 * (step - 0.5));
        let place = |[x, y]: [f32; 2]| [0.5 + size * (x - 0.5 + slant * (0.5 - y)), 0.55 + size * (y - 0.5)];
        (digit, map(&strokes.collect(), place))
    });
    drawings.collect()
}

/// The strokes with each point moved.
pub(crate) fn map(strokes: &Strokes, place: impl Fn([f32; 2]) -> [f32; 2]) -> Strokes {
    strokes.iter().map(|stroke| stroke.iter().map(|&point| place(point)).collect()).collect()
}

/// Points of the Catmull–Rom curve through `points`.
fn smooth(points: &[[f32; 2]]) -> Vec<[f32; 2]> {
    const STEPS: usize = 6;
    let last = points.len() - 1;
    let at = |step: usize| {
        let (index, along) = ((step / STEPS).min(last), (step % STEPS) as f32 / STEPS as f32);
        let neighbours = [index.saturating_sub(1), index, (index + 1).min(last), (index + 2).min(last)];
        [0, 1].map(|axis| {
            let [a, b, c, d] = neighbours.map(|neighbour| points[neighbour][axis]);
            let (cubic, square) = (3.0 * (b - c) + d - a, 2.0 * a - 5.0 * b + 4.0 * c - d);
            b + 0.5 * along * (c - a + along * (square + along * cubic))
        })
    };
    (0..=last * STEPS).map(at).collect()
}
