//! Reads PNG images of one digit.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use ndarray::Array2;
use png::{ColorType, Decoder, DecodingError, Limits, Transformations};

use crate::data::drawing::{self, MIN_CONTRAST, NoDigit};

pub use crate::data::drawing::Background;

/// The error of reading an image. The messages name the file. The cause, if any, is their
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
    /// The file has no bytes.
    #[error("{}: the file is empty", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file is one of another image format.
    #[error("{}: a {kind} file, not PNG: open it in an image program and export it as PNG", path.display())]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// The format's name.
        kind: &'static str,
    },
    /// The file is not a PNG file, or is damaged.
    #[error("{}: not a PNG file, or damaged", path.display())]
    NotPng {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: DecodingError,
    },
    /// The palette's size is not a multiple of three bytes. The decoder would panic on it.
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
    /// The image has no digit.
    #[error("{}: {reason}", path.display())]
    NoDigit {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: NoDigit,
    },
}

/// Maximum width and height of an image in pixels.
pub const MAX_SIDE: u32 = 4096;
/// Maximum memory of the decoder: twice the largest image, with four components of 16 bits.
const DECODER_BYTES: usize = 2 * 8 * (MAX_SIDE as usize).pow(2);

/// A digit in the form that a network takes as input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digit {
    /// Gray pixels, row by row: 0 for the background and 255 for the digit.
    pub pixels: Vec<u8>,
    /// The changes made to the image to get the digit, brightness first.
    pub changes: Vec<Change>,
    /// Number of other objects in the image, not counting specks, lines and frames.
    pub other_objects: usize,
}

/// A change made to an image to get the digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The image was dark on light.
    Inverted,
    /// All visible pixels have the same brightness, so the opacity is the ink.
    FromOpacity,
    /// The digit of an image of this width and height was scaled and centered.
    Centred([u32; 2]),
}

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inverted => formatter.write_str("dark on light: inverted"),
            Self::FromOpacity => formatter.write_str("one colour on transparent: the opacity is read"),
            Self::Centred([width, height]) => write!(formatter, "{width} × {height} pixels: scaled and centred"),
        }
    }
}

/// Reads the digit in a PNG file as `side` × `side` pixels, light on dark.
///
/// [`drawing::find_digit`] finds the digit. Transparent pixels count as white, unless all others
/// have the same brightness. Then the opacity is the ink, whatever its color, and `background` has
/// no effect.
///
/// # Errors
/// If the file cannot be read, is not a PNG file, is damaged, is too large, or has no digit.
pub fn read_digit(path: &Path, side: u32, background: Background) -> Result<Digit, PngError> {
    let path_of = || path.to_path_buf();
    let bytes = std::fs::read(path).map_err(|source| PngError::Io { path: path_of(), source })?;
    if bytes.is_empty() {
        return Err(PngError::Empty { path: path_of() });
    }
    if let Some(kind) = other_format(&bytes) {
        return Err(PngError::OtherFormat { path: path_of(), kind });
    }
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
    let (image, is_opacity) = decoded(decoder).map_err(not_png)?;
    let background = if is_opacity { Background::Auto } else { background };
    let digit = drawing::find_digit(image, side as usize, background)
        .map_err(|reason| PngError::NoDigit { path: path_of(), reason })?;
    let brightness = match (is_opacity, digit.is_inverted) {
        (true, _) => Some(Change::FromOpacity),
        (false, is_inverted) => is_inverted.then_some(Change::Inverted),
    };
    let place = digit.is_centred.then_some(Change::Centred([width, height]));
    let changes = brightness.into_iter().chain(place).collect();
    Ok(Digit { pixels: digit.pixels.into_iter().collect(), changes, other_objects: digit.other_objects })
}

/// Decodes the file's first image. Also returns whether its opacity is the ink; the image is then
/// dark on light. Otherwise, transparent pixels are on white.
fn decoded(mut decoder: Decoder<io::Cursor<&Vec<u8>>>) -> Result<(Array2<u8>, bool), DecodingError> {
    decoder.set_transformations(Transformations::normalize_to_color8());
    let mut reader = decoder.read_info()?;
    let size = reader.output_buffer_size().ok_or(DecodingError::LimitsExceeded)?;
    let mut samples = vec![0; size];
    let frame = reader.next_frame(&mut samples)?;
    let samples = &samples[..frame.buffer_size()];
    let (pixels, is_opacity) = match frame.color_type {
        ColorType::Grayscale => (samples.to_vec(), false),
        ColorType::GrayscaleAlpha => opaque(samples.as_chunks().0.iter().copied()),
        ColorType::Rgb => (samples.as_chunks().0.iter().map(|&colour| brightness(colour)).collect(), false),
        ColorType::Rgba => opaque(samples.as_chunks().0.iter().map(|&[r, g, b, alpha]| [brightness([r, g, b]), alpha])),
        ColorType::Indexed => unreachable!("a palette's colours are looked up by the decoder"),
    };
    let image = Array2::from_shape_vec((frame.height as usize, frame.width as usize), pixels);
    Ok((image.expect("the decoder returns all pixels of the frame"), is_opacity))
}

/// Removes the opacity from pixels of brightness and opacity. Also returns whether the opacity is
/// the ink.
fn opaque(pixels: impl Iterator<Item = [u8; 2]> + Clone) -> (Vec<u8>, bool) {
    let most = pixels.clone().map(|[_, alpha]| alpha).max().unwrap_or(0);
    let least = pixels.clone().map(|[_, alpha]| alpha).min().unwrap_or(0);
    let visible = || pixels.clone().filter(|&[_, alpha]| alpha > most / 2).map(|[grey, _]| grey);
    let (brightest, darkest) = (visible().max().unwrap_or(0), visible().min().unwrap_or(0));
    if most - least >= MIN_CONTRAST && brightest - darkest < MIN_CONTRAST {
        return (pixels.map(|[_, alpha]| 255 - alpha).collect(), true);
    }
    let on_white = |[grey, alpha]: [u8; 2]| {
        let (grey, alpha) = (u32::from(grey), u32::from(alpha));
        ((grey * alpha + 255 * (255 - alpha)) / 255) as u8
    };
    (pixels.map(on_white).collect(), false)
}

/// The luminance Y′ of ITU-R BT.709.
fn brightness([red, green, blue]: [u8; 3]) -> u8 {
    ((2126 * u32::from(red) + 7152 * u32::from(green) + 722 * u32::from(blue) + 5_000) / 10_000) as u8
}

/// Detects from its first bytes the format of a file that another program may have named .png.
fn other_format(file: &[u8]) -> Option<&'static str> {
    let begins: [(&str, &[u8]); 9] = [
        ("JPEG", b"\xff\xd8\xff"),
        ("GIF", b"GIF8"),
        ("BMP", b"BM"),
        ("TIFF", b"II*\0"),
        ("TIFF", b"MM\0*"),
        ("PDF", b"%PDF"),
        ("SVG", b"<svg"),
        ("SVG", b"<?xml"),
        ("JPEG XL", b"\xff\x0a"),
    ];
    let found = begins.into_iter().find(|(_, start)| file.starts_with(start)).map(|(kind, _)| kind);
    // RIFF and ISO base media files state their kind after a four-byte length or before it.
    let kind = |at: usize| file.get(at..at + 4);
    found.or_else(|| match (kind(0), kind(4), kind(8)) {
        (Some(b"RIFF"), _, Some(b"WEBP")) => Some("WebP"),
        (_, Some(b"ftyp"), Some(b"avif" | b"avis")) => Some("AVIF"),
        (_, Some(b"ftyp"), _) => Some("HEIC"),
        _ => None,
    })
}

/// The size in bytes of the first palette of a PNG file, which is 8 bytes, then chunks with a
/// length, a type, data and a checksum.
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
