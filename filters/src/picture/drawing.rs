use ndarray::Array2;

/// Draws a gray picture of `rows` × `columns` for the filters: a house in the hills under a sun,
/// with a fence and a wheel. It has sharp and soft edges in all directions, fine lines, brightness
/// gradients and a little noise.
///
/// The bytes are the same on every machine, since only operations with exact rounding are used.
pub fn drawing(rows: usize, columns: usize) -> Array2<u8> {
    let side = rows.max(columns) as f64;
    Array2::from_shape_fn((rows, columns), |(i, j)| {
        // The scene is a unit square around the middle of the picture, with y downwards.
        let x = (j as f64 - columns as f64 / 2.0 + 0.5) / side + 0.5;
        let y = (i as f64 - rows as f64 / 2.0 + 0.5) / side + 0.5;
        let noise = noise(i, j) * 6.0 - 3.0;
        (scene(x, y) + noise).clamp(0.0, 255.0) as u8
    })
}

/// Brightness at a point of the unit square, given by the last object that covers it.
fn scene(x: f64, y: f64) -> f64 {
    let mut grey = 210.0 - 130.0 * y;
    // The sun, with a soft rim.
    let from_sun = distance(x, y, 0.78, 0.2);
    grey += (250.0 - grey) * ((0.13 - from_sun) / 0.05).clamp(0.0, 1.0);
    // Two hills, each a parabola.
    for (top, middle, shade) in [(0.5, 0.25, 120.0), (0.56, 0.8, 90.0)] {
        if y > top + 1.6 * (x - middle) * (x - middle) {
            grey = shade + 40.0 * (y - top);
        }
    }
    if y > 0.72 {
        grey = 60.0 + 180.0 * (y - 0.72);
    }
    // The house: walls, roof, door and windows.
    if (0.2..0.5).contains(&x) && (0.48..0.78).contains(&y) {
        grey = 200.0;
        if (0.32..0.39).contains(&x) && y > 0.62 {
            grey = 70.0;
        }
        let (across, down) = ((x - 0.225) / 0.075, (y - 0.52) / 0.075);
        let is_window = (0.0..1.0).contains(&down) && ((0.0..1.0).contains(&across) || (2.3..3.3).contains(&across));
        if is_window {
            let is_bar = (down - 0.5).abs() < 0.06 || (across - 0.5).abs() < 0.06 || (across - 2.8).abs() < 0.06;
            grey = if is_bar { 230.0 } else { 40.0 };
        }
    }
    if y < 0.48 && y > 0.3 && (x - 0.35).abs() < 1.05 * (y - 0.3) {
        grey = 95.0;
    }
    // The fence: posts that get closer together.
    if (0.82..0.95).contains(&y) && (0.05..0.95).contains(&x) {
        let post = 12.0 * (1.0 + x) * (1.0 + x);
        let is_rail = (0.85..0.86).contains(&y) || (0.91..0.92).contains(&y);
        if post - post.floor() < 0.4 || is_rail {
            grey = 225.0;
        }
    }
    wheel(distance(x, y, 0.72, 0.68), x - 0.72, y - 0.68).unwrap_or(grey)
}

/// A wheel of rings and spokes, at a distance from its hub. `None` outside the wheel.
fn wheel(distance: f64, x: f64, y: f64) -> Option<f64> {
    const SPOKES: [(f64, f64); 6] = [(1.0, 0.0), (0.866, 0.5), (0.5, 0.866), (0.0, 1.0), (-0.5, 0.866), (-0.866, 0.5)];
    let is_spoke = || SPOKES.iter().any(|&(across, down)| (x * down - y * across).abs() < 0.0035);
    match distance {
        _ if distance > 0.13 => None,
        _ if !(0.02..=0.11).contains(&distance) => Some(25.0),
        _ if (0.06..0.064).contains(&distance) || is_spoke() => Some(240.0),
        _ => Some(130.0),
    }
}

fn distance(x: f64, y: f64, of_x: f64, of_y: f64) -> f64 {
    ((x - of_x) * (x - of_x) + (y - of_y) * (y - of_y)).sqrt()
}

/// A value in [0, 1) that depends on the pixel's position (the finalizer of SplitMix64).
fn noise(i: usize, j: usize) -> f64 {
    let mut bits = (i as u64) << 32 ^ j as u64;
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (bits >> 40) as f64 / (1_u64 << 24) as f64
}
