//! Synthetic handwritten digits, used if MNIST's files are missing.
//!
//! A glyph of a digit is a list of pen strokes. An image takes one of its digit's glyphs, jitters
//! its points, applies a random rotation, shear, stretch and elastic distortion, and draws it with
//! a pen of varying width on a black background. The images have MNIST's format and roughly its
//! difficulty, but accuracies on them do not transfer to MNIST.

mod strokes;

use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use strokes::{GLYPHS, Glyph, Point, Stroke};

/// Width and height of an image in pixels.
pub const SIDE: usize = 28;

const PIXELS: usize = SIDE * SIDE;
/// The height of an undistorted digit in pixels; MNIST's digits fill a box of 20 × 20.
const DIGIT_HEIGHT: f32 = 19.0;
/// Number of line segments of a curve between two adjacent points.
const SEGMENTS: usize = 4;
/// The width of the anti-aliased edge of a stroke in pixels.
const EDGE_PIXELS: f32 = 1.4;
/// The random stream of the labels; image i has stream i.
const LABEL_STREAM: u64 = u64::MAX;

// Limits of the images' random variation, for `spread`. Larger limits make the digits harder to
// classify. A linear model classifies about 86 % of 10,000 test images correctly, a 784-128-64-10
// network about 97.5 %.
const POINT_JITTER: f32 = 0.075;
const ROTATION_RADIANS: f32 = 0.35;
const SHEAR: f32 = 0.42;
const STRETCH: f32 = 0.25;
const SHIFT_PIXELS: f32 = 2.7;
const WAVE_PIXELS: f32 = 2.3;
const WAVE_RADIANS: f32 = 7.0;

/// Draws `count` images and returns their pixels and their labels.
///
/// The pixels are `count` × 28 × 28 bytes, row by row, with 0 for the background and 255 for full
/// ink. Image `i` shows the digit `labels[i]`, 0 to 9. Each group of ten images (0 … 9, 10 … 19 and
/// so on) shows the ten digits in random order, so the class sizes differ by at most one.
///
/// An image depends only on `seed` and its index, not on the number of threads or on `count`: a
/// shorter draw is a prefix of a longer one.
///
/// ```
/// use digits::builtin_digits;
/// let (pixels, labels) = builtin_digits::draw(20, 7);
/// assert_eq!(pixels.len(), 20 * builtin_digits::SIDE * builtin_digits::SIDE);
/// assert_eq!(labels.len(), 20);
/// ```
pub fn draw(count: usize, seed: u64) -> (Vec<u8>, Vec<u8>) {
    let labels = draw_labels(count, seed);
    let mut pixels = vec![0; count * PIXELS];
    pixels.par_chunks_mut(PIXELS).zip(&labels).enumerate().for_each(|(index, (image, &label))| {
        draw_digit(image, label, &mut random_stream(seed, index as u64));
    });
    (pixels, labels)
}

/// The pen strokes of a digit's shapes before random variation. Each shape is a list of strokes,
/// and each stroke a list of points (x, y), 0 … 1 across the digit's height, y downwards.
///
/// # Panics
/// If `digit` is above 9.
pub fn strokes(digit: usize) -> Vec<Vec<Vec<[f32; 2]>>> {
    let point = |&(x, y): &Point| [x, y].map(|hundredths| f32::from(hundredths) / 100.0);
    let curves = |stroke: &Stroke| -> Vec<Vec<[f32; 2]>> {
        let points: Vec<_> = stroke.iter().map(point).collect();
        split_at_corners(&points).map(curve).collect()
    };
    GLYPHS[digit].iter().map(|glyph| glyph.iter().flat_map(curves).collect()).collect()
}

fn random_stream(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}

fn draw_labels(count: usize, seed: u64) -> Vec<u8> {
    let mut rng = random_stream(seed, LABEL_STREAM);
    let mut labels = Vec::with_capacity(count.next_multiple_of(10));
    while labels.len() < count {
        let mut ten: [u8; 10] = std::array::from_fn(|digit| digit as u8);
        ten.shuffle(&mut rng);
        labels.extend(ten);
    }
    labels.truncate(count);
    labels
}

fn draw_digit(image: &mut [u8], label: u8, rng: &mut ChaCha8Rng) {
    let glyphs = GLYPHS[usize::from(label)];
    let glyph = glyphs[rng.random_range(0..glyphs.len())];
    let mut canvas = [0.0; PIXELS];
    ink_glyph(&mut canvas, glyph, rng);
    let strength = rng.random_range(200.0..=255.0);
    for (pixel, &coverage) in image.iter_mut().zip(&canvas) {
        if coverage > 0.0 {
            let grain = 1.0 - rng.random_range(0.0..0.14_f32);
            *pixel = (coverage * grain * strength) as u8;
        }
    }
    add_specks(image, rng);
}

/// Draws the strokes with one placement and one pen for the whole digit.
fn ink_glyph(canvas: &mut [f32; PIXELS], glyph: Glyph, rng: &mut ChaCha8Rng) {
    let placement = Placement::random(rng);
    let pen_radius = rng.random_range(0.8..1.85);
    for stroke in glyph {
        let points = jitter(stroke, rng);
        for points in split_at_corners(&points) {
            ink_curve(canvas, points, &placement, pen_radius, rng);
        }
    }
}

/// Splits between the two equal points of a corner: one curve ends there and the next one starts.
fn split_at_corners(points: &[[f32; 2]]) -> impl Iterator<Item = &[[f32; 2]]> {
    points.chunk_by(|point, next| point != next)
}

/// Converts a stroke from hundredths to digit heights with the center at (0, 0), and moves each
/// point by a random offset. Repeated points move by the same offset.
fn jitter(stroke: Stroke, rng: &mut ChaCha8Rng) -> Vec<[f32; 2]> {
    let mut moved: Vec<[f32; 2]> = Vec::with_capacity(stroke.len());
    for (index, &(x, y)) in stroke.iter().enumerate() {
        let repeated = index > 0 && stroke[index - 1] == (x, y);
        let point = if repeated {
            moved[index - 1]
        } else {
            [x, y].map(|hundredths| f32::from(hundredths) / 100.0 - 0.5 + spread(POINT_JITTER, rng))
        };
        moved.push(point);
    }
    moved
}

/// Draws the Catmull–Rom curve through `points`, which are in digit heights.
fn ink_curve(
    canvas: &mut [f32; PIXELS],
    points: &[[f32; 2]],
    placement: &Placement,
    pen_radius: f32,
    rng: &mut ChaCha8Rng,
) {
    let curve = curve(points);
    let mut from = placement.to_pixels(curve[0]);
    for segments in curve[1..].chunks(SEGMENTS) {
        let radius = pen_radius * (1.0 + spread(0.2, rng));
        for &point in segments {
            let to = placement.to_pixels(point);
            ink_segment(canvas, from, to, radius);
            from = to;
        }
    }
}

/// Points of the Catmull–Rom curve through `points`: the first point, then [`SEGMENTS`] points up
/// to each next one.
fn curve(points: &[[f32; 2]]) -> Vec<[f32; 2]> {
    let last = points.len() - 1;
    let segments = (0..last).flat_map(|index| {
        let (before, after) = (points[index.saturating_sub(1)], points[(index + 2).min(last)]);
        let at =
            move |step| catmull_rom([before, points[index], points[index + 1], after], step as f32 / SEGMENTS as f32);
        (1..=SEGMENTS).map(at)
    });
    std::iter::once(points[0]).chain(segments).collect()
}

/// The point at `along` in 0..=1 between the second and third of four points.
///
/// Source: E. Catmull and R. Rom, "A class of local interpolating splines", 1974.
fn catmull_rom([a, b, c, d]: [[f32; 2]; 4], along: f32) -> [f32; 2] {
    std::array::from_fn(|axis| {
        let (a, b, c, d) = (a[axis], b[axis], c[axis], d[axis]);
        let cubic = 3.0 * (b - c) + d - a;
        let square = 2.0 * a - 5.0 * b + 4.0 * c - d;
        b + 0.5 * along * (c - a + along * (square + along * cubic))
    })
}

/// Draws a line segment. Its coverage falls from 1 to 0 over [`EDGE_PIXELS`] around the pen's radius.
fn ink_segment(canvas: &mut [f32; PIXELS], from: [f32; 2], to: [f32; 2], radius: f32) {
    let reach = radius + EDGE_PIXELS / 2.0;
    let low = |axis: usize| (from[axis].min(to[axis]) - reach).max(0.0).ceil() as usize;
    let high = |axis: usize| (from[axis].max(to[axis]) + reach + 1.0).clamp(0.0, SIDE as f32) as usize;
    let [along_x, along_y] = [to[0] - from[0], to[1] - from[1]];
    let inverse_square = 1.0 / (along_x * along_x + along_y * along_y).max(1e-6);
    for y in low(1)..high(1) {
        for x in low(0)..high(0) {
            let [offset_x, offset_y] = [x as f32 - from[0], y as f32 - from[1]];
            let along = (offset_x * along_x + offset_y * along_y) * inverse_square;
            let along = along.clamp(0.0, 1.0);
            let gap_x = offset_x - along * along_x;
            let gap_y = offset_y - along * along_y;
            let square = gap_x * gap_x + gap_y * gap_y;
            if square < reach * reach {
                let coverage = ((reach - square.sqrt()) / EDGE_PIXELS).min(1.0);
                let pixel = &mut canvas[y * SIDE + x];
                *pixel = pixel.max(coverage);
            }
        }
    }
}

/// Adds up to three faint dots of noise.
fn add_specks(image: &mut [u8], rng: &mut ChaCha8Rng) {
    for _ in 0..rng.random_range(0..6_u32).saturating_sub(2) {
        let pixel = &mut image[rng.random_range(0..PIXELS)];
        *pixel = pixel.saturating_add(rng.random_range(20..120));
    }
}

/// The random affine map and elastic distortion of one image, from digit heights to pixels.
struct Placement {
    /// Rotation, shear and stretch in one 2 × 2 matrix, digit heights to pixels.
    matrix: [[f32; 2]; 2],
    /// The position of the digit's center in pixels.
    centre: [f32; 2],
    /// The elastic distortion: two waves of low frequency for each axis.
    waves: [[Wave; 2]; 2],
}

impl Placement {
    fn random(rng: &mut ChaCha8Rng) -> Self {
        let (sine, cosine) = libm::sincosf(spread(ROTATION_RADIANS, rng));
        let shear = spread(SHEAR, rng);
        let width = DIGIT_HEIGHT * (1.0 + spread(STRETCH, rng));
        let height = DIGIT_HEIGHT * (1.0 + spread(STRETCH, rng));
        let middle = (SIDE as f32 - 1.0) / 2.0;
        Self {
            matrix: [
                [width * cosine, height * (shear * cosine - sine)],
                [width * sine, height * (shear * sine + cosine)],
            ],
            centre: std::array::from_fn(|_| middle + spread(SHIFT_PIXELS, rng)),
            waves: std::array::from_fn(|_| std::array::from_fn(|_| Wave::random(rng))),
        }
    }

    fn to_pixels(&self, point: [f32; 2]) -> [f32; 2] {
        std::array::from_fn(|axis| {
            let [x, y] = self.matrix[axis];
            let bend: f32 = self.waves[axis].iter().map(|wave| wave.at(point)).sum();
            self.centre[axis] + x * point[0] + y * point[1] + bend
        })
    }
}

/// A displacement along one axis: a sine wave over the digit.
struct Wave {
    /// In pixels.
    amplitude: f32,
    /// In radians per digit height.
    wave_vector: [f32; 2],
    /// In radians.
    phase: f32,
}

impl Wave {
    fn random(rng: &mut ChaCha8Rng) -> Self {
        Self {
            amplitude: spread(WAVE_PIXELS, rng),
            wave_vector: std::array::from_fn(|_| spread(WAVE_RADIANS, rng)),
            phase: rng.random_range(0.0..std::f32::consts::TAU),
        }
    }

    fn at(&self, point: [f32; 2]) -> f32 {
        let [x, y] = self.wave_vector;
        self.amplitude * libm::sinf(x * point[0] + y * point[1] + self.phase)
    }
}

/// A random value in −`limit` … `limit` with a triangular distribution around 0.
fn spread(limit: f32, rng: &mut ChaCha8Rng) -> f32 {
    (rng.random::<f32>() - rng.random::<f32>()) * limit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw_with_threads(threads: usize) -> (Vec<u8>, Vec<u8>) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("a thread pool").install(|| draw(300, 5))
    }

    #[test]
    fn part1_builtin_digits_do_not_depend_on_the_thread_count() {
        assert_eq!(draw_with_threads(1), draw_with_threads(3));
    }

    #[test]
    fn part1_builtin_digits_of_a_short_draw_are_a_prefix_of_a_long_one() {
        let (long_pixels, long_labels) = draw(237, 5);
        for count in [0, 1, 9, 10, 123] {
            let (pixels, labels) = draw(count, 5);
            assert_eq!(pixels, long_pixels[..count * PIXELS]);
            assert_eq!(labels, long_labels[..count]);
        }
    }

    #[test]
    fn part1_builtin_digits_differ_between_seeds() {
        let ((pixels, labels), (other_pixels, other_labels)) = (draw(100, 1), draw(100, 2));
        assert_ne!(labels, other_labels);
        let same = pixels.chunks(PIXELS).zip(other_pixels.chunks(PIXELS)).filter(|(image, other)| image == other);
        assert_eq!(same.count(), 0);
    }

    #[test]
    fn part1_builtin_digits_are_balanced_to_within_one() {
        for count in [7, 40, 1003] {
            let (_, labels) = draw(count, 3);
            let of_digit = |digit| labels.iter().filter(|&&label| label == digit).count();
            for digit in 0..10 {
                let share = of_digit(digit);
                assert!(share == count / 10 || share == count / 10 + 1, "{digit}: {share}");
            }
        }
    }

    #[test]
    fn part1_builtin_digits_have_ink_and_background() {
        let (pixels, labels) = draw(3000, 11);
        for (index, image) in pixels.chunks(PIXELS).enumerate() {
            let mean = image.iter().map(|&pixel| f32::from(pixel)).sum::<f32>() / PIXELS as f32;
            assert!((3.0..100.0).contains(&mean), "image {index}, a {}: mean {mean}", labels[index]);
            assert!(image.iter().any(|&pixel| pixel >= 150), "image {index} is too faint");
            let background = image.iter().filter(|&&pixel| pixel == 0).count();
            assert!(background > PIXELS / 3, "image {index} has {background} black pixels");
        }
    }

    #[test]
    fn part1_builtin_digits_of_one_class_vary() {
        let (pixels, labels) = draw(1000, 13);
        for digit in 0..10 {
            let mut images: Vec<&[u8]> = pixels
                .chunks(PIXELS)
                .zip(&labels)
                .filter_map(|(image, &label)| (label == digit).then_some(image))
                .collect();
            images.sort_unstable();
            images.dedup();
            assert_eq!(images.len(), 100, "two images of {digit} are the same");
        }
    }

    /// For ten images: the ink in full pixels, its center (x, y) in pixels, and its standard
    /// deviations along x and y.
    ///
    /// The last bits of sines and cosines differ between platforms, which changes a pixel by at
    /// most 1 of 255.
    #[test]
    fn part1_builtin_digits_of_a_seed_are_the_known_ones() {
        let known: [[f64; 5]; 10] = [
            [86.65, 12.85, 14.16, 4.79, 5.48],
            [91.56, 13.19, 13.58, 5.94, 4.43],
            [56.32, 13.80, 11.57, 1.28, 6.04],
            [154.48, 14.08, 13.74, 5.25, 7.59],
            [78.31, 14.99, 14.12, 3.04, 5.03],
            [97.61, 15.00, 16.39, 4.29, 6.33],
            [52.30, 12.86, 10.34, 4.22, 4.36],
            [98.82, 13.96, 13.05, 4.34, 6.19],
            [126.08, 13.89, 9.41, 4.12, 5.93],
            [117.86, 12.87, 13.69, 3.46, 8.50],
        ];
        let (pixels, _) = draw(10, 7);
        for (index, (image, known)) in pixels.chunks(PIXELS).zip(known).enumerate() {
            let total = |weight: &dyn Fn(f64, f64) -> f64| -> f64 {
                let place = |at: usize| ((at % SIDE) as f64, (at / SIDE) as f64);
                let ink = image.iter().enumerate().map(|(at, &pixel)| (place(at), f64::from(pixel) / 255.0));
                ink.map(|((x, y), ink)| ink * weight(x, y)).sum()
            };
            let ink = total(&|_, _| 1.0);
            let (x, y) = (total(&|x, _| x) / ink, total(&|_, y| y) / ink);
            let (width, height) = (total(&|at, _| (at - x).powi(2)) / ink, total(&|_, at| (at - y).powi(2)) / ink);
            let found = [ink, x, y, width.sqrt(), height.sqrt()];
            let is_near = |(found, known): (&f64, f64)| (found - known).abs() < 0.01;
            assert!(found.iter().zip(known).all(is_near), "image {index}: {found:.2?} instead of {known:.2?}");
        }
    }

    /// Distance from `point` to the segment, approximated by the nearest of 1001 points on it.
    fn distance(point: [f32; 2], from: [f32; 2], to: [f32; 2]) -> f32 {
        let on_segment = |i: i16| [0, 1].map(|axis| from[axis] + (to[axis] - from[axis]) * f32::from(i) / 1000.0);
        let gap = |other: [f32; 2]| (point[0] - other[0]).hypot(point[1] - other[1]);
        (0..=1000).map(|i| gap(on_segment(i))).fold(f32::INFINITY, f32::min)
    }

    #[test]
    fn part1_every_pixel_is_inked_by_its_distance_from_the_segment() {
        let mut rng = random_stream(17, 0);
        for case in 0..60 {
            // Some ends are outside the image, and some segments are points.
            let mut end = || [0, 1].map(|_| rng.random_range(-4.0..SIDE as f32 + 4.0));
            let (from, other) = (end(), end());
            let to = if case % 10 == 0 { from } else { other };
            let radius = rng.random_range(0.5..2.0);
            let mut canvas = [0.0; PIXELS];
            ink_segment(&mut canvas, from, to, radius);
            for (at, &ink) in canvas.iter().enumerate() {
                let gap = distance([(at % SIDE) as f32, (at / SIDE) as f32], from, to);
                let expected = ((radius + EDGE_PIXELS / 2.0 - gap) / EDGE_PIXELS).clamp(0.0, 1.0);
                assert!((ink - expected).abs() < 0.01, "{from:?} to {to:?}: pixel {at} has {ink}, not {expected}");
            }
        }
    }

    /// The tangent at a point is half the difference of its two neighbors.
    #[test]
    fn part1_a_curve_passes_through_its_points_parallel_to_their_neighbours() {
        let points = [[0.1, -0.4], [0.3, 0.2], [-0.2, 0.5], [0.4, 0.45]];
        let [before, start, end, after] = points;
        let at = |along| catmull_rom(points, along);
        let is_near = |found: f32, expected: f32, tolerance: f32| (found - expected).abs() < tolerance;
        for axis in 0..2 {
            assert!(is_near(at(0.0)[axis], start[axis], 1e-6) && is_near(at(1.0)[axis], end[axis], 1e-6));
            let step = 1e-2;
            let (leaving, arriving) =
                ((at(step)[axis] - start[axis]) / step, (end[axis] - at(1.0 - step)[axis]) / step);
            assert!(is_near(leaving, (end[axis] - before[axis]) / 2.0, 0.03), "{leaving}");
            assert!(is_near(arriving, (after[axis] - start[axis]) / 2.0, 0.03), "{arriving}");
        }
    }
}
