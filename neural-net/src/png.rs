//! Reading PNG images of one digit.

use std::io;
use std::path::{Path, PathBuf};

use image::imageops::{self, FilterType};
use image::{DynamicImage, GrayImage, ImageError, ImageFormat, ImageReader, Luma};

/// The error of reading an image. The messages name the file; the cause, if any, is their
/// [`source`](std::error::Error::source).
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// The operating system's error.
    #[error("{}: cannot be read", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is not a PNG file, or is damaged.
    #[error("{}: not a PNG file, or damaged", path.display())]
    NotPng {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: ImageError,
    },
    /// The palette's size is not a multiple of three bytes, on which the decoder panics.
    #[error("{}: its palette has {bytes} bytes, not a multiple of 3: the file is damaged", path.display())]
    Palette {
        /// The file.
        path: PathBuf,
        /// The palette's size in bytes.
        bytes: usize,
    },
    /// The image is too large.
    #[error("{}: {width} × {height} pixels: the limit is {MAX_SIDE} × {MAX_SIDE}, scale the image down", path.display())]
    Size {
        /// The file.
        path: PathBuf,
        /// The image's width in pixels.
        width: u32,
        /// The image's height in pixels.
        height: u32,
    },
    /// All pixels have about the same brightness.
    #[error("{}: nothing is drawn: no pixel differs clearly from the border", path.display())]
    Blank {
        /// The file.
        path: PathBuf,
    },
}

/// Maximum width and height of an image in pixels.
pub const MAX_SIDE: u32 = 4096;
/// The side of the box into which a digit is scaled, as a share of the image's: 20 of 28 pixels, as in MNIST.
const BOX_SHARE: f64 = 20.0 / 28.0;
/// Pixels that differ less from the background are noise; 255 is the digit's largest difference.
const NOISE: f32 = 64.0;
/// Minimum difference in brightness between digit and background.
const MIN_CONTRAST: f32 = 16.0;

/// The brightness of an image's background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Background {
    /// That of most of the border.
    #[default]
    Auto,
    /// Dark, as in MNIST.
    Dark,
    /// Light, as on paper.
    Light,
}

/// A digit as a network reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digit {
    /// Grey pixels, row by row: 0 for the background and 255 for the digit.
    pub pixels: Vec<u8>,
    /// Whether the image was dark on light.
    pub is_inverted: bool,
    /// The image's width and height, if the digit was scaled and centred.
    pub scaled_from: Option<[u32; 2]>,
}

/// The digit in a PNG file, as `side` × `side` pixels, light on dark.
///
/// An image of that size keeps its pixels. In any other the digit is scaled to 20 of 28 pixels and centred by its mass, as in
/// MNIST. Transparent pixels are white.
///
/// # Errors
/// If the file cannot be read, is not a PNG file, is damaged, is too large, or needs to be scaled and is blank.
pub fn read_digit(path: &Path, side: u32, background: Background) -> Result<Digit, PngError> {
    let path_of = || path.to_path_buf();
    let bytes = std::fs::read(path).map_err(|source| PngError::Io { path: path_of(), source })?;
    let not_png = |source| PngError::NotPng { path: path_of(), source };
    let reader = || ImageReader::with_format(io::Cursor::new(&bytes), ImageFormat::Png);
    let (width, height) = reader().into_dimensions().map_err(not_png)?;
    if width.max(height) > MAX_SIDE {
        return Err(PngError::Size { path: path_of(), width, height });
    }
    if let Some(bytes) = palette_bytes(&bytes).filter(|bytes| !bytes.is_multiple_of(3)) {
        return Err(PngError::Palette { path: path_of(), bytes });
    }
    let mut grey = on_white(&reader().decode().map_err(not_png)?);
    let is_inverted = match background {
        Background::Auto => border(&grey) > 127.5,
        Background::Dark => false,
        Background::Light => true,
    };
    if is_inverted {
        imageops::invert(&mut grey);
    }
    let scaled_from = ((width, height) != (side, side)).then_some([width, height]);
    let pixels = match scaled_from {
        None => grey.into_raw(),
        Some(_) => centred(&grey, side).ok_or_else(|| PngError::Blank { path: path_of() })?,
    };
    Ok(Digit { pixels, is_inverted, scaled_from })
}

/// The grey values of an image on white.
fn on_white(image: &DynamicImage) -> GrayImage {
    if !image.color().has_alpha() {
        return image.to_luma8();
    }
    let image = image.to_luma_alpha8();
    GrayImage::from_fn(image.width(), image.height(), |x, y| {
        let [grey, alpha] = image.get_pixel(x, y).0.map(u32::from);
        Luma([((grey * alpha + 255 * (255 - alpha)) / 255) as u8])
    })
}

/// The mean brightness of the outermost pixels.
fn border(grey: &GrayImage) -> f32 {
    let (right, bottom) = (grey.width() - 1, grey.height() - 1);
    let pixels = grey.enumerate_pixels().filter(|(x, y, _)| *x == 0 || *y == 0 || *x == right || *y == bottom);
    let (count, sum) =
        pixels.fold((0.0, 0.0), |(count, sum), (_, _, pixel)| (count + 1.0, sum + f32::from(pixel.0[0])));
    sum / count
}

/// The digit of a light-on-dark image, scaled and centred by its mass in `side` × `side` pixels; `None` if there is none.
fn centred(grey: &GrayImage, side: u32) -> Option<Vec<u8>> {
    let background = border(grey);
    let brightest = f32::from(grey.pixels().map(|pixel| pixel.0[0]).max()?);
    if brightest - background < MIN_CONTRAST {
        return None;
    }
    let ink = GrayImage::from_fn(grey.width(), grey.height(), |x, y| {
        let above = 255.0 * (f32::from(grey.get_pixel(x, y).0[0]) - background) / (brightest - background);
        Luma([if above < NOISE { 0 } else { above as u8 }])
    });
    let inked = || ink.enumerate_pixels().filter(|(_, _, pixel)| pixel.0[0] > 0);
    let (left, right) = (inked().map(|(x, ..)| x).min()?, inked().map(|(x, ..)| x).max()?);
    let (top, bottom) = (inked().map(|(_, y, _)| y).min()?, inked().map(|(_, y, _)| y).max()?);
    let (width, height) = (right - left + 1, bottom - top + 1);
    let digit = imageops::crop_imm(&ink, left, top, width, height).to_image();

    let scale = f64::from(side) * BOX_SHARE / f64::from(width.max(height));
    let scaled = |length: u32| ((f64::from(length) * scale).round() as u32).clamp(1, side);
    let mut digit = imageops::resize(&digit, scaled(width), scaled(height), FilterType::Triangle);
    // Thin strokes have become darker.
    let brightest = f64::from(digit.pixels().map(|pixel| pixel.0[0]).max()?.max(1));
    digit.pixels_mut().for_each(|pixel| pixel.0[0] = (f64::from(pixel.0[0]) * 255.0 / brightest) as u8);
    let (mut mass, mut x_sum, mut y_sum) = (0.0, 0.0, 0.0);
    for (x, y, pixel) in digit.enumerate_pixels() {
        let weight = f64::from(pixel.0[0]);
        (mass, x_sum, y_sum) =
            (mass + weight, x_sum + weight * (f64::from(x) + 0.5), y_sum + weight * (f64::from(y) + 0.5));
    }
    // The mean centre of MNIST's images is in the middle of pixel (14, 14). Moved by whole pixels, and not beyond the image.
    let place = |sum: f64, length: u32| {
        ((f64::from(side) + 1.0) / 2.0 - sum / mass).round().clamp(0.0, f64::from(side - length)) as i64
    };
    let mut image = GrayImage::new(side, side);
    imageops::replace(&mut image, &digit, place(x_sum, digit.width()), place(y_sum, digit.height()));
    Some(image.into_raw())
}

/// The size in bytes of the first palette of a PNG file: 8 bytes, then chunks of a length, a type, data and a checksum.
fn palette_bytes(file: &[u8]) -> Option<usize> {
    let mut rest = file.get(8..)?;
    loop {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let length = u32::from_be_bytes(*length) as usize;
        if after.starts_with(b"PLTE") {
            return Some(length);
        }
        rest = after.get(length.checked_add(8)?..)?;
    }
}
