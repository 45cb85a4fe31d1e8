//! A grey image, and the digit in it.

use resize::{Pixel, Type};
use rgb::FromSlice;

/// The side of the box into which a digit is scaled, as a share of the image's: 20 of 28 pixels, as in MNIST.
const BOX_SHARE: f64 = 20.0 / 28.0;
/// Pixels that differ less from the background are noise; 255 is the digit's largest difference.
const NOISE: f32 = 64.0;
/// Minimum difference in brightness between digit and background.
const MIN_CONTRAST: f32 = 16.0;

/// A grey image, not empty.
pub(super) struct Grey {
    pub(super) width: usize,
    /// Row by row.
    pub(super) pixels: Vec<u8>,
}

impl Grey {
    /// The mean brightness of the outermost pixels.
    pub(super) fn border(&self) -> f32 {
        let (right, bottom) = (self.width - 1, self.height() - 1);
        let on_border = |&(x, y, _): &(usize, usize, u8)| x == 0 || y == 0 || x == right || y == bottom;
        let pixels = self.enumerated().filter(on_border);
        let (count, sum) = pixels.fold((0.0, 0.0), |(count, sum), (.., pixel)| (count + 1.0, sum + f32::from(pixel)));
        sum / count
    }

    /// The digit, light on dark, scaled and centred by its mass in `side` × `side` pixels; `None` if there is none.
    pub(super) fn centred(&self, side: usize) -> Option<Vec<u8>> {
        let digit = self.digit()?.scaled(side);
        let (mut mass, mut x_sum, mut y_sum) = (0.0, 0.0, 0.0);
        for (x, y, pixel) in digit.enumerated() {
            let weight = f64::from(pixel);
            mass += weight;
            x_sum += weight * (x as f64 + 0.5);
            y_sum += weight * (y as f64 + 0.5);
        }
        // The mean centre of MNIST's images is in the middle of pixel (14, 14). Moved by whole pixels, and not beyond the image.
        let place = |sum: f64, length: usize| {
            ((side as f64 + 1.0) / 2.0 - sum / mass).round().clamp(0.0, (side - length) as f64) as usize
        };
        let (left, top) = (place(x_sum, digit.width), place(y_sum, digit.height()));
        let mut image = vec![0; side * side];
        for (row, pixels) in digit.pixels.chunks_exact(digit.width).enumerate() {
            image[(top + row) * side + left..][..digit.width].copy_from_slice(pixels);
        }
        Some(image)
    }

    /// The part of the image that has the digit, from 0 for the background to 255; `None` if there is none.
    fn digit(&self) -> Option<Self> {
        let background = self.border();
        let brightest = f32::from(*self.pixels.iter().max()?);
        if brightest - background < MIN_CONTRAST {
            return None;
        }
        let ink = |grey: u8| {
            let above = 255.0 * (f32::from(grey) - background) / (brightest - background);
            if above < NOISE { 0 } else { above as u8 }
        };
        let inked = || self.enumerated().filter(|&(.., grey)| ink(grey) > 0);
        let (left, right) = (inked().map(|(x, ..)| x).min()?, inked().map(|(x, ..)| x).max()?);
        let (top, bottom) = (inked().map(|(_, y, _)| y).min()?, inked().map(|(_, y, _)| y).max()?);
        let rows = self.pixels.chunks_exact(self.width).skip(top).take(bottom - top + 1);
        let pixels = rows.flat_map(|row| &row[left..=right]).map(|&grey| ink(grey)).collect();
        Some(Self { width: right - left + 1, pixels })
    }

    /// The digit in the size that it has in an image of `side` × `side` pixels.
    fn scaled(&self, side: usize) -> Self {
        let (width, height) = (self.width, self.height());
        let scale = side as f64 * BOX_SHARE / width.max(height) as f64;
        let scaled = |length: usize| ((length as f64 * scale).round() as usize).clamp(1, side);
        let (new_width, new_height) = (scaled(width), scaled(height));
        let mut pixels = vec![0_u8; new_width * new_height];
        resize::new(width, height, new_width, new_height, Pixel::Gray8, Type::Triangle)
            .and_then(|mut resizer| resizer.resize(self.pixels.as_gray(), pixels.as_gray_mut()))
            .expect("both images have pixels, and their buffers these sizes");
        // Thin strokes have become darker.
        let brightest = f64::from(pixels.iter().copied().max().unwrap_or(0).max(1));
        pixels.iter_mut().for_each(|pixel| *pixel = (f64::from(*pixel) * 255.0 / brightest) as u8);
        Self { width: new_width, pixels }
    }

    fn height(&self) -> usize {
        self.pixels.len() / self.width
    }

    /// The pixels with their columns and rows.
    fn enumerated(&self) -> impl Iterator<Item = (usize, usize, u8)> {
        self.pixels.iter().enumerate().map(|(index, &pixel)| (index % self.width, index / self.width, pixel))
    }
}
