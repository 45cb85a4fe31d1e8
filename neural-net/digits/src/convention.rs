//! How a data set shows its digits. Other sets in MNIST's format swap rows and columns, or have
//! dark ink on light paper.

use std::fmt;
use std::str::FromStr;

use ndarray::s;

use crate::{CLASSES, LabelledImages};

/// How images differ from MNIST's, which are light ink on dark paper, row by row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Convention {
    /// Dark ink on light paper.
    pub dark_on_light: bool,
    /// Column by column, as in EMNIST's files.
    pub transposed: bool,
}

impl Convention {
    /// All conventions, MNIST's first.
    pub const ALL: [Self; 4] = [
        Self { dark_on_light: false, transposed: false },
        Self { dark_on_light: true, transposed: false },
        Self { dark_on_light: false, transposed: true },
        Self { dark_on_light: true, transposed: true },
    ];

    /// Detects the convention of the first 5,000 images of a set from MNIST's statistics.
    ///
    /// The images are dark on light if most of their border pixels are light. They are transposed
    /// if their class means, on a grid of 7 × 7 cells, correlate with MNIST's when transposed: the
    /// mean correlation must exceed 0.7, and exceed the correlation without transposing by more
    /// than 0.1. (MNIST itself: 1.0 as is, 0.62 transposed. Of 200 samples of 100 of its images
    /// each, none comes within 0.117.) Sets of fewer than 100 images, and images that are not
    /// square, count as not transposed.
    pub fn of(images: &LabelledImages) -> Self {
        const EXAMINED: usize = 5_000;
        const LEAST: usize = 100;
        const LIKE_MNIST: f64 = 0.7;
        const MARGIN: f64 = 0.1;
        let count = images.len().min(EXAMINED);
        let dark_on_light = has_light_borders(images, count);
        let (rows, columns) = images.shape;
        let is_judged = rows == columns && rows >= GRID && count >= LEAST;
        let transposed = is_judged && {
            let means = class_means(images, count);
            let sign = if dark_on_light { -1.0 } else { 1.0 };
            let correlations = [false, true].map(|transposed| sign * mean_correlation(&means, transposed));
            correlations[1] > LIKE_MNIST && correlations[1] - correlations[0] > MARGIN
        };
        Self { dark_on_light, transposed }
    }

    /// Converts a square image from MNIST's convention to this one, or back.
    ///
    /// # Panics
    /// If there are not `side`² pixels.
    pub fn convert(self, pixels: &mut [u8], side: usize) {
        assert_eq!(pixels.len(), side * side, "a square image");
        if self.dark_on_light {
            pixels.iter_mut().for_each(|pixel| *pixel = 255 - *pixel);
        }
        if self.transposed {
            for row in 0..side {
                for column in 0..row {
                    pixels.swap(row * side + column, column * side + row);
                }
            }
        }
    }
}

/// Writes the value for a saved network's metadata and for messages. [`FromStr`] parses it.
impl fmt::Display for Convention {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.dark_on_light { "dark on light" } else { "light on dark" })?;
        formatter.write_str(if self.transposed { ", rows and columns exchanged" } else { "" })
    }
}

/// The error for a text that [`Convention`]'s `Display` does not produce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a convention of images")]
pub struct UnknownConvention;

impl FromStr for Convention {
    type Err = UnknownConvention;

    fn from_str(text: &str) -> Result<Self, UnknownConvention> {
        Self::ALL.into_iter().find(|convention| convention.to_string() == text).ok_or(UnknownConvention)
    }
}

/// Number of rows and of columns of the grid on which class means are compared.
const GRID: usize = 7;
/// Number of grid cells.
const CELLS: usize = GRID * GRID;

/// Whether most of the border pixels of the first `count` images are light.
fn has_light_borders(images: &LabelledImages, count: usize) -> bool {
    let (rows, columns) = images.shape;
    let (mut light, mut all) = (0_usize, 0_usize);
    for image in images.pixels.slice(s![..count, ..]).rows() {
        for (index, pixel) in image.iter().enumerate() {
            let (row, column) = (index / columns, index % columns);
            if row == 0 || column == 0 || row + 1 == rows || column + 1 == columns {
                all += 1;
                light += usize::from(*pixel >= 128);
            }
        }
    }
    2 * light > all
}

/// The mean of each class in the first `count` images, on the grid. `None` for a class without images.
fn class_means(images: &LabelledImages, count: usize) -> [Option<[f64; CELLS]>; CLASSES] {
    let side = images.shape.0;
    let cell_of: Vec<usize> =
        (0..side * side).map(|index| index / side * GRID / side * GRID + index % side * GRID / side).collect();
    let mut pixels_in = [0_u64; CELLS];
    cell_of.iter().for_each(|&cell| pixels_in[cell] += 1);
    let (mut sums, mut counts) = ([[0_u64; CELLS]; CLASSES], [0_u64; CLASSES]);
    for (image, &label) in images.pixels.slice(s![..count, ..]).rows().into_iter().zip(&images.labels) {
        let label = usize::from(label);
        counts[label] += 1;
        for (pixel, &cell) in image.iter().zip(&cell_of) {
            sums[label][cell] += u64::from(*pixel);
        }
    }
    std::array::from_fn(|class| {
        let mean = |cell: usize| sums[class][cell] as f64 / (counts[class] * pixels_in[cell]) as f64;
        (counts[class] > 0).then(|| std::array::from_fn(mean))
    })
}

/// The correlation with MNIST's class means, averaged over the classes.
fn mean_correlation(means: &[Option<[f64; CELLS]>; CLASSES], transposed: bool) -> f64 {
    let correlations = means.iter().zip(&MNIST_MEANS).filter_map(|(mean, reference)| {
        let mean = (*mean)?;
        let cell = |cell: usize| if transposed { cell % GRID * GRID + cell / GRID } else { cell };
        Some(correlation(&std::array::from_fn(|index| mean[cell(index)]), &reference.map(f64::from)))
    });
    let correlations: Vec<f64> = correlations.collect();
    correlations.iter().sum::<f64>() / correlations.len().max(1) as f64
}

/// Pearson's correlation, or 0 if one of the two is constant.
fn correlation(left: &[f64; CELLS], right: &[f64; CELLS]) -> f64 {
    let centred = |values: &[f64; CELLS]| {
        let mean = values.iter().sum::<f64>() / CELLS as f64;
        values.map(|value| value - mean)
    };
    let (left, right) = (centred(left), centred(right));
    let dot = |a: &[f64; CELLS], b: &[f64; CELLS]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let scale = (dot(&left, &left) * dot(&right, &right)).sqrt();
    if scale > 0.0 { dot(&left, &right) / scale } else { 0.0 }
}

/// The mean pixel of each class in MNIST's training set, 0 … 255, on a grid of 7 × 7 cells of 4 × 4 pixels.
#[rustfmt::skip]
const MNIST_MEANS: [[u8; CELLS]; CLASSES] = [
    [
          0,   0,   0,   1,   1,   0,   0,
          0,   2,  36, 122, 134,  41,   0,
          0,  20, 128, 120, 108, 118,   4,
          0,  70, 128,  19,  48, 128,   8,
          0, 103,  98,  33, 115,  88,   3,
          0,  54, 158, 155,  95,  15,   0,
          0,   1,   6,   7,   1,   0,   0,
    ],
    [
          0,   0,   0,   0,   0,   0,   0,
          0,   0,   4,  63,  72,  13,   0,
          0,   0,   3, 113,  79,   3,   0,
          0,   0,   4, 167,  27,   0,   0,
          0,   0,  34, 155,  10,   0,   0,
          0,   6,  67, 101,  16,   1,   0,
          0,   0,   4,   5,   1,   0,   0,
    ],
    [
          0,   0,   4,  11,   6,   1,   0,
          0,  13,  80, 136, 113,  23,   0,
          0,  14,  42,  53, 117,  37,   0,
          0,   8,  41,  94, 117,  23,   2,
          1,  60, 140, 167, 121,  57,   9,
          1,  50, 115,  87,  69,  42,   4,
          0,   0,   1,   1,   1,   0,   0,
    ],
    [
          0,   0,   1,   2,   1,   0,   0,
          0,  19,  88, 136, 101,  17,   0,
          1,  15,  42,  97, 127,  22,   0,
          0,   4,  70, 157, 127,  19,   0,
          2,  19,  24,  35, 121,  44,   0,
          3,  50, 120, 140, 105,  16,   0,
          0,   4,  16,  18,   4,   0,   0,
    ],
    [
          0,   0,   0,   0,   0,   0,   0,
          0,   5,  26,  25,  43,  33,   2,
          0,  20, 100,  49, 110,  43,   1,
          0,  51, 155, 101, 162,  33,   1,
          0,  27,  77, 127, 114,  17,   0,
          0,   1,  20,  76,  59,   8,   0,
          0,   0,   5,  13,   9,   1,   0,
    ],
    [
          0,   0,   0,   0,   1,   0,   0,
          0,   3,  34,  83,  90,  59,  10,
          0,  11, 101, 112,  65,  38,   9,
          0,  16, 121, 119,  75,  14,   0,
          0,  24,  37,  57,  97,  31,   1,
          0,  32, 109, 125,  85,  15,   0,
          0,   1,  13,  17,   5,   0,   0,
    ],
    [
          0,   0,   5,  20,  24,   5,   0,
          0,   2,  32,  99,  65,   9,   0,
          0,   7,  82,  95,  25,  12,   0,
          0,  19, 133, 107, 125,  68,   4,
          0,  22, 156, 141, 138,  65,   2,
          0,   4,  62, 115,  62,   7,   0,
          0,   0,   0,   0,   0,   0,   0,
    ],
    [
          0,   0,   0,   0,   0,   0,   0,
          0,   7,  24,  34,  30,   8,   0,
          4,  52, 132, 135, 166,  49,   0,
          1,  20,  33,  38, 146,  22,   0,
          0,   3,  14, 109,  92,   6,   0,
          0,   2,  42, 116,  34,   1,   0,
          0,   5,  39,  51,  14,   1,   0,
    ],
    [
          0,   0,   0,   0,   0,   0,   0,
          0,   3,  39, 113, 112,  38,   2,
          0,  14, 105,  97, 118,  67,   5,
          0,   7,  82, 178, 113,  17,   1,
          0,  11, 107, 131,  80,  14,   0,
          0,  22, 123, 138,  80,  11,   0,
          0,   1,  17,  24,   6,   0,   0,
    ],
    [
          0,   0,   0,   0,   0,   0,   0,
          0,   1,  16,  67,  54,   7,   0,
          0,  17, 119, 101, 133,  31,   0,
          0,  35, 125, 111, 161,  18,   0,
          0,   9,  51, 105, 102,   7,   0,
          0,   1,  22,  90,  58,   7,   0,
          0,   1,  19,  36,  22,   4,   0,
    ],
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dataset;

    /// The built-in digits in another convention.
    fn converted(images: &LabelledImages, convention: Convention) -> LabelledImages {
        let mut pixels = images.pixels.clone();
        for mut image in pixels.rows_mut() {
            convention.convert(image.as_slice_mut().unwrap(), images.shape.0);
        }
        LabelledImages { pixels, ..images.clone() }
    }

    fn first(images: &LabelledImages, count: usize) -> LabelledImages {
        let pixels = images.pixels.slice(s![..count, ..]).to_shared();
        LabelledImages { pixels, labels: images.labels[..count].to_vec(), shape: images.shape }
    }

    #[test]
    fn part1_each_convention_of_the_built_in_digits_is_recognised() {
        for seed in 0..3 {
            let digits = first(&Dataset::builtin(seed).train, 2_000);
            for count in [100, 137, 600, 2_000] {
                let digits = first(&digits, count);
                for convention in Convention::ALL {
                    assert_eq!(Convention::of(&converted(&digits, convention)), convention, "{count}, seed {seed}");
                }
            }
        }
    }

    #[test]
    fn part1_images_that_are_no_digits_are_not_transposed() {
        for side in [7, 28, 32] {
            let noise = |(image, pixel): (usize, usize)| (image.wrapping_mul(40_503) ^ pixel.wrapping_mul(7_919)) as u8;
            let pixels = ndarray::ArcArray2::from_shape_fn((500, side * side), noise);
            let labels = (0..500).map(|image| (image % 10) as u8).collect();
            assert!(!Convention::of(&LabelledImages { pixels, labels, shape: (side, side) }).transposed);
        }
        let constant = |value: u8| LabelledImages {
            pixels: ndarray::ArcArray2::from_elem((200, 784), value),
            labels: vec![3; 200],
            shape: (28, 28),
        };
        assert_eq!(Convention::of(&constant(0)), Convention::default());
        assert_eq!(Convention::of(&constant(255)), Convention::ALL[1]);
    }

    #[test]
    fn part1_a_conversion_is_its_own_inverse_and_its_name_is_read_back() {
        for convention in Convention::ALL {
            let mut pixels = [0, 10, 200, 255];
            convention.convert(&mut pixels, 2);
            let expected = match (convention.dark_on_light, convention.transposed) {
                (false, false) => [0, 10, 200, 255],
                (true, false) => [255, 245, 55, 0],
                (false, true) => [0, 200, 10, 255],
                (true, true) => [255, 55, 245, 0],
            };
            assert_eq!(pixels, expected);
            convention.convert(&mut pixels, 2);
            assert_eq!(pixels, [0, 10, 200, 255]);
            assert_eq!(convention.to_string().parse(), Ok(convention));
        }
        assert_eq!("light".parse::<Convention>(), Err(UnknownConvention));
    }
}
