//! Reading PNG images of one digit.

use std::io;
use std::path::{Path, PathBuf};

use png::{ColorType, Decoder, DecodingError, Limits, Transformations};

mod grey;

use grey::Grey;

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
        source: DecodingError,
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
/// Maximum memory of the decoder: twice an image of the largest size, of four components of 16 bits.
const DECODER_BYTES: usize = 2 * 8 * (MAX_SIDE as usize).pow(2);

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
    let mut decoder = Decoder::new_with_limits(io::Cursor::new(&bytes), Limits { bytes: DECODER_BYTES });
    let header = decoder.read_header_info().map_err(not_png)?;
    let (width, height) = (header.width, header.height);
    if width.max(height) > MAX_SIDE {
        return Err(PngError::Size { path: path_of(), width, height });
    }
    if let Some(bytes) = palette_bytes(&bytes).filter(|bytes| !bytes.is_multiple_of(3)) {
        return Err(PngError::Palette { path: path_of(), bytes });
    }
    let mut grey = decoded(decoder).map_err(not_png)?;
    let is_inverted = match background {
        Background::Auto => grey.border() > 127.5,
        Background::Dark => false,
        Background::Light => true,
    };
    if is_inverted {
        grey.pixels.iter_mut().for_each(|pixel| *pixel = 255 - *pixel);
    }
    let scaled_from = ((width, height) != (side, side)).then_some([width, height]);
    let pixels = match scaled_from {
        None => grey.pixels,
        Some(_) => grey.centred(side as usize).ok_or_else(|| PngError::Blank { path: path_of() })?,
    };
    Ok(Digit { pixels, is_inverted, scaled_from })
}

/// The first image of the file, on white.
fn decoded(mut decoder: Decoder<io::Cursor<&Vec<u8>>>) -> Result<Grey, DecodingError> {
    decoder.set_transformations(Transformations::normalize_to_color8());
    let mut reader = decoder.read_info()?;
    let size = reader.output_buffer_size().ok_or(DecodingError::LimitsExceeded)?;
    let mut samples = vec![0; size];
    let frame = reader.next_frame(&mut samples)?;
    let samples = &samples[..frame.buffer_size()];
    let opaque = |grey: u8, alpha: u8| {
        let (grey, alpha) = (u32::from(grey), u32::from(alpha));
        ((grey * alpha + 255 * (255 - alpha)) / 255) as u8
    };
    let pixels = match frame.color_type {
        ColorType::Grayscale => samples.to_vec(),
        ColorType::GrayscaleAlpha => samples.as_chunks().0.iter().map(|&[grey, alpha]| opaque(grey, alpha)).collect(),
        ColorType::Rgb => samples.as_chunks().0.iter().map(|&colour| brightness(colour)).collect(),
        ColorType::Rgba => {
            samples.as_chunks().0.iter().map(|&[r, g, b, alpha]| opaque(brightness([r, g, b]), alpha)).collect()
        }
        ColorType::Indexed => unreachable!("a palette's colours are looked up by the decoder"),
    };
    Ok(Grey { width: frame.width as usize, pixels })
}

/// The luminance Y′ of ITU-R BT.709.
fn brightness([red, green, blue]: [u8; 3]) -> u8 {
    ((2126 * u32::from(red) + 7152 * u32::from(green) + 722 * u32::from(blue) + 5_000) / 10_000) as u8
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
