//! IDX files, the format of MNIST: a magic number that says the element type and the dimensions, the sizes, and then the
//! bytes (LeCun, Cortes and Burges, "The MNIST database of handwritten digits"). Raw or compressed by gzip.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use kernels_cpu::memory;
use ndarray::Array2;

use super::{CLASSES, LabelledImages};

/// Unsigned bytes in three dimensions: images, rows, columns.
const IMAGES_MAGIC: u32 = 0x0000_0803;
/// Unsigned bytes in one dimension.
const LABELS_MAGIC: u32 = 0x0000_0801;

/// A file that is not what it should be. Each line names it; the cause of [`IdxError::Read`] is its
/// [`source`](std::error::Error::source).
#[derive(Debug, thiserror::Error)]
pub enum IdxError {
    /// No such file, neither raw nor compressed.
    #[error("{}: no such file, nor with .gz; give the directory of MNIST's four files, or --download", .0.display())]
    Missing(PathBuf),
    /// The operating system's or the decompressor's error.
    #[error("{}: cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Nothing in it.
    #[error("{}: the file is empty", .0.display())]
    Empty(PathBuf),
    /// Not the kind of file that its name says.
    #[error("{}: starts with {found:#010x} instead of {expected:#010x}: this is no IDX file of {kind}", path.display())]
    WrongMagic {
        /// The file.
        path: PathBuf,
        /// The number that it starts with.
        found: u32,
        /// The number that it should start with.
        expected: u32,
        /// "images" or "labels".
        kind: &'static str,
    },
    /// Shorter than its sizes say.
    #[error("{}: cut off: {found} bytes instead of {expected}", path.display())]
    CutOff {
        /// The file.
        path: PathBuf,
        /// Bytes that are there, uncompressed.
        found: u64,
        /// Bytes that should be there.
        expected: u64,
    },
    /// Longer than its sizes say.
    #[error("{}: goes on after the {expected} bytes that its header announces", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// Bytes that should be there.
        expected: u64,
    },
    /// Sizes of 0, or too large to be true.
    #[error("{}: its header announces sizes {sizes:?}", path.display())]
    WrongSizes {
        /// The file.
        path: PathBuf,
        /// The sizes.
        sizes: Vec<u32>,
    },
    /// A label that is no digit.
    #[error("{}: label {index} is {label}, not a digit 0 to 9", path.display())]
    WrongLabel {
        /// The file.
        path: PathBuf,
        /// The label's place, counted from 0.
        index: usize,
        /// What it is.
        label: u8,
    },
    /// Images and labels that cannot belong together.
    #[error("{} has {images} images and {} has {labels} labels", images_path.display(), labels_path.display())]
    DifferentCounts {
        /// The images' file.
        images_path: PathBuf,
        /// How many images it has.
        images: usize,
        /// The labels' file.
        labels_path: PathBuf,
        /// How many labels it has.
        labels: usize,
    },
}

/// Reads the images and labels of one part, `train` or `t10k`, from `directory`.
///
/// # Errors
/// If one of the two files is missing or wrong, or they do not belong together.
pub fn read_labelled_images(directory: &Path, part: &str) -> Result<LabelledImages, IdxError> {
    let images_path = find_file(directory, &format!("{part}-images"), "idx3-ubyte")?;
    let labels_path = find_file(directory, &format!("{part}-labels"), "idx1-ubyte")?;
    let (images, labels) = rayon::join(|| read_images(&images_path), || read_labels(&labels_path));
    let ((pixels, shape), labels) = (images?, labels?);
    if pixels.nrows() != labels.len() {
        let (images, labels) = (pixels.nrows(), labels.len());
        return Err(IdxError::DifferentCounts { images_path, images, labels_path, labels });
    }
    Ok(LabelledImages { pixels: pixels.into(), labels, shape })
}

/// Reads images: one a row of the matrix, and the rows and columns of an image.
///
/// # Errors
/// If the file is no complete IDX file of images.
pub fn read_images(path: &Path) -> Result<(Array2<u8>, (usize, usize)), IdxError> {
    let (sizes, bytes) = read_idx::<3>(path, IMAGES_MAGIC, "images")?;
    let [count, rows, columns] = sizes;
    match Array2::from_shape_vec((count, rows * columns), bytes) {
        Ok(pixels) => Ok((pixels, (rows, columns))),
        Err(error) => unreachable!("read_idx returns as many bytes as the sizes say: {error}"),
    }
}

/// Reads labels, each 0 … 9.
///
/// # Errors
/// If the file is no complete IDX file of labels, or a label is larger.
pub fn read_labels(path: &Path) -> Result<Vec<u8>, IdxError> {
    let (_, labels) = read_idx::<1>(path, LABELS_MAGIC, "labels")?;
    match labels.iter().position(|&label| usize::from(label) >= CLASSES) {
        None => Ok(labels),
        Some(index) => Err(IdxError::WrongLabel { path: path.to_path_buf(), index, label: labels[index] }),
    }
}

/// Whether one of MNIST's four files is in `directory`, under any of its names.
pub(super) fn any_file_in(directory: &Path) -> bool {
    [
        ("train-images", "idx3-ubyte"),
        ("train-labels", "idx1-ubyte"),
        ("t10k-images", "idx3-ubyte"),
        ("t10k-labels", "idx1-ubyte"),
    ]
    .iter()
    .any(|(stem, kind)| find_file(directory, stem, kind).is_ok())
}

/// MNIST's files are called `train-images-idx3-ubyte` or, as some archives unpack, `train-images.idx3-ubyte`.
fn find_file(directory: &Path, stem: &str, kind: &str) -> Result<PathBuf, IdxError> {
    let names = ["-", "."].into_iter().flat_map(|dot| ["", ".gz"].map(|suffix| format!("{stem}{dot}{kind}{suffix}")));
    let found = names.map(|name| directory.join(name)).find(|path| path.is_file());
    found.ok_or_else(|| IdxError::Missing(directory.join(format!("{stem}-{kind}"))))
}

/// Reads an IDX file of bytes with `N` dimensions.
fn read_idx<const N: usize>(path: &Path, magic: u32, kind: &'static str) -> Result<([usize; N], Vec<u8>), IdxError> {
    let read_error = |source| IdxError::Read { path: path.to_path_buf(), source };
    let (mut reader, most) = open(path).map_err(read_error)?;

    let header_bytes = 4 + 4 * N;
    let mut header = Vec::new();
    reader.by_ref().take(header_bytes as u64).read_to_end(&mut header).map_err(read_error)?;
    if header.is_empty() {
        return Err(IdxError::Empty(path.to_path_buf()));
    }
    let mut numbers = header.as_chunks::<4>().0.iter().map(|bytes| u32::from_be_bytes(*bytes));
    match numbers.next() {
        Some(found) if found != magic => {
            return Err(IdxError::WrongMagic { path: path.to_path_buf(), found, expected: magic, kind });
        }
        _ => {}
    }
    if header.len() < header_bytes {
        let (found, expected) = (header.len() as u64, header_bytes as u64);
        return Err(IdxError::CutOff { path: path.to_path_buf(), found, expected });
    }

    let sizes: Vec<u32> = numbers.collect();
    let total = sizes.iter().try_fold(1_u64, |total, &size| total.checked_mul(u64::from(size)));
    let total = total.filter(|&total| total > 0 && total <= MAX_BYTES);
    let Some(total) = total else { return Err(IdxError::WrongSizes { path: path.to_path_buf(), sizes }) };
    let expected = header_bytes as u64 + total;

    // In one piece, as far as the file can hold what its header announces, so that nothing is moved.
    let mut bytes = memory::zero_bytes(total.min(most) as usize);
    let filled = fill(&mut reader, &mut bytes).map_err(read_error)?;
    bytes.truncate(filled);
    // One byte more than announced: it shows a longer file, and lets the decompressor check its checksum at the end.
    reader.take(total + 1 - filled as u64).read_to_end(&mut bytes).map_err(read_error)?;
    let found = header_bytes as u64 + bytes.len() as u64;
    if found < expected {
        return Err(IdxError::CutOff { path: path.to_path_buf(), found, expected });
    }
    if found > expected {
        return Err(IdxError::TooLong { path: path.to_path_buf(), expected });
    }
    Ok((std::array::from_fn(|dimension| sizes[dimension] as usize), bytes))
}

/// The largest content that is believed, forty times MNIST's: a damaged header must not fill the memory.
const MAX_BYTES: u64 = 2 << 30;
/// The most bytes that deflate makes of one (RFC 1951: 258 of two bits).
const MAX_RATIO: u64 = 1032;
/// Bytes that are read from a file at once.
const BUFFER_BYTES: usize = 64 << 10;

/// Opens a file for reading, decompressed if it begins as gzip does, whatever its name. With it comes a bound on the
/// content's bytes.
fn open(path: &Path) -> io::Result<(Box<dyn Read>, u64)> {
    let mut file = File::open(path)?;
    let bytes = file.metadata()?.len();
    let mut start = Vec::new();
    file.by_ref().take(2).read_to_end(&mut start)?;
    let is_compressed = start == [0x1f, 0x8b];
    let reader = BufReader::with_capacity(BUFFER_BYTES, io::Cursor::new(start).chain(file));
    Ok(match is_compressed {
        true => (Box::new(MultiGzDecoder::new(reader)), bytes.saturating_mul(MAX_RATIO)),
        false => (Box::new(reader), bytes),
    })
}

/// Reads until `buffer` is full or the end is reached; returns how much was read.
fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
