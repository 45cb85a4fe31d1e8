use std::io::{self, Cursor};
use std::path::{Path, PathBuf};

use ndarray::{Array2, ArrayRef2};
use png::{ColorType, Limits, Transformations};
use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// Maximum width and height of a picture in pixels.
pub const MAX_SIDE: usize = 8192;
/// Maximum memory of the PNG decoder: the largest picture, with four components of 16 bits.
const DECODER_BYTES: usize = 8 * MAX_SIDE * MAX_SIDE;

/// The error of reading or writing a picture. The messages name the file. The cause, if any, is
/// their [`source`](std::error::Error::source).
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// The file cannot be read.
    #[error("{}: cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is neither a JPEG nor a PNG file.
    #[error("{}: neither a JPEG nor a PNG file: export the picture as one of them", path.display())]
    OtherFormat {
        /// The file.
        path: PathBuf,
    },
    /// The file begins like a JPEG file, but is damaged or of an unsupported kind.
    #[error("{}: a JPEG file that cannot be read: {reason}", path.display())]
    Jpeg {
        /// The file.
        path: PathBuf,
        /// The decoder's reason, in one line.
        reason: String,
    },
    /// The file begins like a PNG file, but is damaged.
    #[error("{}: a damaged PNG file", path.display())]
    Png {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: png::DecodingError,
    },
    /// The palette's size is not a multiple of three bytes. The decoder would panic on it.
    #[error("{}: a damaged PNG file: its palette has {bytes} bytes, not a multiple of 3", path.display())]
    Palette {
        /// The file.
        path: PathBuf,
        /// The palette's size in bytes.
        bytes: usize,
    },
    /// The picture is too large.
    #[error("{}: {width} × {height} pixels: the limit is {MAX_SIDE} × {MAX_SIDE}, scale the picture down", path.display())]
    Size {
        /// The file.
        path: PathBuf,
        /// Width in pixels.
        width: usize,
        /// Height in pixels.
        height: usize,
    },
    /// The file cannot be written.
    #[error("{}: cannot be written", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: png::EncodingError,
    },
}

/// Reads a JPEG or PNG file in gray, with 0 for black and 255 for white. The first bytes tell which
/// format it is.
///
/// The gray of a color is its luma by ITU-R BT.601, 0.299 R + 0.587 G + 0.114 B, rounded, as in
/// OpenCV and Pillow. A JPEG file contains the luma. Opacity and the orientation recorded by a
/// camera are ignored.
///
/// # Errors
/// If the file cannot be read, has neither format, is damaged, or has more than [`MAX_SIDE`] rows
/// or columns.
pub fn read_grey(path: &Path) -> Result<Array2<u8>, PictureError> {
    let file = std::fs::read(path).map_err(|source| PictureError::Read { path: path.to_path_buf(), source })?;
    match &file[..] {
        [0xff, 0xd8, 0xff, ..] => read_jpeg(path, &file),
        [0x89, b'P', b'N', b'G', ..] => read_png(path, &file),
        _ => Err(PictureError::OtherFormat { path: path.to_path_buf() }),
    }
}

fn read_jpeg(path: &Path, file: &[u8]) -> Result<Array2<u8>, PictureError> {
    let failed = |error: DecodeErrors| {
        let reason = format!("{error:?}").split_whitespace().collect::<Vec<_>>().join(" ");
        PictureError::Jpeg { path: path.to_path_buf(), reason }
    };
    let limited = DecoderOptions::default().set_max_width(MAX_SIDE).set_max_height(MAX_SIDE);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(file), limited);
    decoder.decode_headers().map_err(failed)?;
    // YCbCr contains the luma. For other colors, it is computed here.
    let is_luma = matches!(decoder.input_colorspace(), Some(ColorSpace::YCbCr | ColorSpace::Luma));
    let to = if is_luma { ColorSpace::Luma } else { ColorSpace::RGB };
    decoder.set_options(limited.jpeg_set_out_colorspace(to));
    let samples = decoder.decode().map_err(failed)?;
    let info = decoder.info().ok_or_else(|| failed(DecodeErrors::FormatStatic("no frame")))?;
    let pixels = if is_luma { samples } else { samples.as_chunks().0.iter().map(|&colour| luma(colour)).collect() };
    Array2::from_shape_vec((info.height.into(), info.width.into()), pixels)
        .map_err(|_| failed(DecodeErrors::FormatStatic("an incomplete frame")))
}

fn read_png(path: &Path, file: &[u8]) -> Result<Array2<u8>, PictureError> {
    let path_of = || path.to_path_buf();
    let damaged = |source| PictureError::Png { path: path_of(), source };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(file), Limits { bytes: DECODER_BYTES });
    let header = decoder.read_header_info().map_err(damaged)?;
    let [width, height] = [header.width, header.height].map(|side| side as usize);
    if width.max(height) > MAX_SIDE {
        return Err(PictureError::Size { path: path_of(), width, height });
    }
    if let Some(bytes) = palette_bytes(file).filter(|bytes| !bytes.is_multiple_of(3)) {
        return Err(PictureError::Palette { path: path_of(), bytes });
    }
    decoder.set_transformations(Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(damaged)?;
    let size = reader.output_buffer_size().ok_or_else(|| damaged(png::DecodingError::LimitsExceeded))?;
    let mut samples = vec![0; size];
    let frame = reader.next_frame(&mut samples).map_err(damaged)?;
    samples.truncate(frame.buffer_size());
    let pixels = match frame.color_type {
        ColorType::Grayscale => samples,
        ColorType::GrayscaleAlpha => samples.as_chunks().0.iter().map(|&[grey, _]| grey).collect(),
        ColorType::Rgb => samples.as_chunks().0.iter().map(|&colour| luma(colour)).collect(),
        ColorType::Rgba => {
            samples.as_chunks().0.iter().map(|&[red, green, blue, _]| luma([red, green, blue])).collect()
        }
        ColorType::Indexed => unreachable!("a palette's colours are looked up by the decoder"),
    };
    Ok(Array2::from_shape_vec((height, width), pixels).expect("the decoder returns all pixels of the frame"))
}

/// The luma of a color. See [`read_grey`].
fn luma([red, green, blue]: [u8; 3]) -> u8 {
    ((299 * u32::from(red) + 587 * u32::from(green) + 114 * u32::from(blue) + 500) / 1000) as u8
}

/// The size of a PNG file's palette in bytes, if it has one.
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

/// Writes gray pixels as a PNG file. PNG does not support pictures without pixels.
///
/// # Errors
/// If the file cannot be written, or there are no pixels.
pub fn write_png(path: &Path, pixels: &ArrayRef2<u8>) -> Result<(), PictureError> {
    let failed = |source| PictureError::Write { path: path.to_path_buf(), source };
    let side = |length| u32::try_from(length).map_err(|_| failed(png::EncodingError::LimitsExceeded));
    let (height, width) = (side(pixels.nrows())?, side(pixels.ncols())?);
    let file = std::fs::File::create(path).map_err(|error| failed(error.into()))?;
    let mut encoder = png::Encoder::new(io::BufWriter::new(file), width, height);
    encoder.set_color(ColorType::Grayscale);
    let mut writer = encoder.write_header().map_err(failed)?;
    let pixels = pixels.as_standard_layout();
    writer.write_image_data(pixels.as_slice().expect("the standard layout is row-major")).map_err(failed)?;
    writer.finish().map_err(failed)
}
