//! Reading PNG images of one digit.

use std::io;
use std::path::{Path, PathBuf};

use image::{DynamicImage, ImageError, ImageFormat, ImageReader};

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
    /// The image's size differs from the network's.
    #[error(
        "{}: {width} × {height} pixels, but the network reads {side} × {side}: scale the image to that size",
        path.display()
    )]
    Size {
        /// The file.
        path: PathBuf,
        /// The image's width in pixels.
        width: u32,
        /// The image's height in pixels.
        height: u32,
        /// The expected width and height.
        side: u32,
    },
}

/// The grey values of a PNG file of `side` × `side` pixels, row by row. An image of another size is not decoded.
///
/// # Errors
/// If the file cannot be read, is not a PNG file, is damaged, or has another size.
pub fn read_grey(path: &Path, side: u32) -> Result<Vec<u8>, PngError> {
    let bytes = std::fs::read(path).map_err(|source| PngError::Io { path: path.to_path_buf(), source })?;
    let not_png = |source| PngError::NotPng { path: path.to_path_buf(), source };
    let reader = || ImageReader::with_format(io::Cursor::new(&bytes), ImageFormat::Png);
    let (width, height) = reader().into_dimensions().map_err(not_png)?;
    if (width, height) != (side, side) {
        return Err(PngError::Size { path: path.to_path_buf(), width, height, side });
    }
    if let Some(bytes) = palette_bytes(&bytes).filter(|bytes| !bytes.is_multiple_of(3)) {
        return Err(PngError::Palette { path: path.to_path_buf(), bytes });
    }
    Ok(reader().decode().map_err(not_png).map(DynamicImage::into_luma8)?.into_raw())
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
