//! PNG files of one digit.

use std::io;
use std::path::{Path, PathBuf};

use image::{DynamicImage, ImageError, ImageFormat, ImageReader};

/// A file that cannot be read as a digit. The messages name it; the cause, where there is one, is their
/// [`source`](std::error::Error::source).
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// The operating system's error.
    #[error("{}: cannot be read", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is no PNG file.
    #[error("{}: no PNG file, or damaged", path.display())]
    NotPng {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ImageError,
    },
    /// A palette that ends within a colour, which the decoder does not survive.
    #[error("{}: its palette has {bytes} bytes, which are no whole colours: the file is damaged", path.display())]
    Palette {
        /// The file.
        path: PathBuf,
        /// Bytes of its palette.
        bytes: usize,
    },
    /// Another size than the network reads.
    #[error(
        "{}: {width} × {height} pixels, but the network reads {side} × {side}: scale the picture to that size",
        path.display()
    )]
    Size {
        /// The file.
        path: PathBuf,
        /// Its pixels in a row.
        width: u32,
        /// Its rows.
        height: u32,
        /// What both should be.
        side: u32,
    },
}

/// The grey values of a PNG file of `side` × `side` pixels, row by row. Pixels of another size are not decoded.
///
/// # Errors
/// If the file cannot be read, is no PNG file or a damaged one, or has another size.
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

/// Bytes in the first palette of a file that begins as PNG files do: 8 bytes, and chunks of a length, a type, data and
/// a checksum.
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
