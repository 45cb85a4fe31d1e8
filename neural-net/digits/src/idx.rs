//! IDX files, the format of MNIST: a magic number with the element type and the number of
//! dimensions, the sizes, and the elements (LeCun, Cortes and Burges, "The MNIST database of
//! handwritten digits"). A file may be raw or gzip-compressed.

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

/// A missing or invalid file. Each message names the file. The cause of [`IdxError::Read`] is its
/// [`source`](std::error::Error::source).
#[derive(Debug, thiserror::Error)]
pub enum IdxError {
    /// The file does not exist, neither raw nor compressed.
    #[error("{}: no such file, nor with .gz; give the directory of MNIST's four files", .0.display())]
    Missing(PathBuf),
    /// The operating system's or the decompressor's error.
    #[error("{}: cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file has no bytes.
    #[error("{}: the file is empty", .0.display())]
    Empty(PathBuf),
    /// The magic number is not the expected one.
    #[error("{}: starts with {found:#010x} instead of {expected:#010x}: not an IDX file of {kind}", path.display())]
    WrongMagic {
        /// The file.
        path: PathBuf,
        /// The file's magic number.
        found: u32,
        /// The expected magic number.
        expected: u32,
        /// "images" or "labels".
        kind: &'static str,
    },
    /// The file is shorter than its header states.
    #[error("{}: cut off: {found} bytes instead of {expected}", path.display())]
    CutOff {
        /// The file.
        path: PathBuf,
        /// The file's size in bytes, uncompressed.
        found: u64,
        /// The size in bytes that the header states.
        expected: u64,
    },
    /// The file is longer than its header states.
    #[error("{}: continues after the {expected} bytes that its header states", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// The size in bytes that the header states.
        expected: u64,
    },
    /// The product of the sizes is 0 or above the limit of 2 GiB.
    #[error("{}: its header states invalid sizes {sizes:?}", path.display())]
    WrongSizes {
        /// The file.
        path: PathBuf,
        /// The sizes.
        sizes: Vec<u32>,
    },
    /// A label above 9.
    #[error("{}: label {index} is {label}, not a digit 0 to 9", path.display())]
    WrongLabel {
        /// The file.
        path: PathBuf,
        /// The label's index.
        index: usize,
        /// The label.
        label: u8,
    },
    /// The numbers of images and labels differ.
    #[error("{} has {images} images and {} has {labels} labels", images_path.display(), labels_path.display())]
    DifferentCounts {
        /// The images' file.
        images_path: PathBuf,
        /// Number of images.
        images: usize,
        /// The labels' file.
        labels_path: PathBuf,
        /// Number of labels.
        labels: usize,
    },
}

/// Reads the images and labels of one part, `train` or `t10k`, from `directory`.
///
/// # Errors
/// If one of the two files is missing or invalid, or their numbers of images and labels differ.
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

/// Reads images: a matrix with one image per row, and the number of rows and columns of an image.
///
/// # Errors
/// If the file is not a complete IDX file of images.
pub fn read_images(path: &Path) -> Result<(Array2<u8>, (usize, usize)), IdxError> {
    let (sizes, bytes) = read_idx::<3>(path, IMAGES_MAGIC, "images")?;
    let [count, rows, columns] = sizes;
    match Array2::from_shape_vec((count, rows * columns), bytes) {
        Ok(pixels) => Ok((pixels, (rows, columns))),
        Err(error) => unreachable!("the number of bytes is the product of the sizes: {error}"),
    }
}

/// Reads labels, each 0 … 9.
///
/// # Errors
/// If the file is not a complete IDX file of labels, or a label is above 9.
pub fn read_labels(path: &Path) -> Result<Vec<u8>, IdxError> {
    let (_, labels) = read_idx::<1>(path, LABELS_MAGIC, "labels")?;
    match labels.iter().position(|&label| usize::from(label) >= CLASSES) {
        None => Ok(labels),
        Some(index) => Err(IdxError::WrongLabel { path: path.to_path_buf(), index, label: labels[index] }),
    }
}

/// MNIST's four files, each as the two parts of its name. A hyphen joins the parts.
pub const FILES: [(&str, &str); 4] = [
    ("train-images", "idx3-ubyte"),
    ("train-labels", "idx1-ubyte"),
    ("t10k-images", "idx3-ubyte"),
    ("t10k-labels", "idx1-ubyte"),
];

/// Whether one of MNIST's four files is in `directory`, under any of its names.
pub(super) fn any_file_in(directory: &Path) -> bool {
    FILES.iter().any(|(stem, kind)| find_file(directory, stem, kind).is_ok())
}

/// The MNIST files that exist in `directory`, found like in [`read_labelled_images`].
pub fn files_in(directory: &Path) -> Vec<PathBuf> {
    FILES.iter().filter_map(|(stem, kind)| find_file(directory, stem, kind).ok()).collect()
}

/// Finds one of MNIST's files, named `train-images-idx3-ubyte` or, in some archives,
/// `train-images.idx3-ubyte`.
fn find_file(directory: &Path, stem: &str, kind: &str) -> Result<PathBuf, IdxError> {
    let names = ["-", "."].into_iter().flat_map(|dot| ["", ".gz"].map(|suffix| format!("{stem}{dot}{kind}{suffix}")));
    let found = names.map(|name| directory.join(name)).find(|path| path.is_file());
    found.ok_or_else(|| IdxError::Missing(directory.join(format!("{stem}-{kind}"))))
}

/// Reads an IDX file of bytes with `N` dimensions.
fn read_idx<const N: usize>(path: &Path, magic: u32, kind: &'static str) -> Result<([usize; N], Vec<u8>), IdxError> {
    let read_error = |source| IdxError::Read { path: path.to_path_buf(), source };
    let (mut reader, max_bytes) = open(path).map_err(read_error)?;

    let header_bytes = 4 + 4 * N;
    let mut header = Vec::new();
    reader.by_ref().take(header_bytes as u64).read_to_end(&mut header).map_err(read_error)?;
    if header.is_empty() {
        return Err(IdxError::Empty(path.to_path_buf()));
    }
    let mut words = header.as_chunks::<4>().0.iter().map(|bytes| u32::from_be_bytes(*bytes));
    match words.next() {
        Some(found) if found != magic => {
            return Err(IdxError::WrongMagic { path: path.to_path_buf(), found, expected: magic, kind });
        }
        _ => {}
    }
    if header.len() < header_bytes {
        let (found, expected) = (header.len() as u64, header_bytes as u64);
        return Err(IdxError::CutOff { path: path.to_path_buf(), found, expected });
    }

    let sizes: Vec<u32> = words.collect();
    let total = sizes.iter().try_fold(1_u64, |total, &size| total.checked_mul(u64::from(size)));
    let total = total.filter(|&total| total > 0 && total <= MAX_BYTES);
    let Some(total) = total else { return Err(IdxError::WrongSizes { path: path.to_path_buf(), sizes }) };
    let expected = header_bytes as u64 + total;

    // A single allocation of the stated size, limited by what a file of this size can contain. It
    // never grows.
    let mut bytes = memory::zero_bytes(total.min(max_bytes) as usize);
    let filled = fill(&mut reader, &mut bytes).map_err(read_error)?;
    bytes.truncate(filled);
    // One byte more than stated. This detects a longer file and makes the decompressor verify the
    // final checksum.
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

/// Maximum size of the content, forty times MNIST's. A damaged header then cannot exhaust memory.
const MAX_BYTES: u64 = 2 << 30;
/// Maximum compression ratio of deflate (RFC 1951: 258 bytes from two bits).
const MAX_RATIO: u64 = 1032;
/// Size of the read buffer in bytes.
const BUFFER_BYTES: usize = 64 << 10;

/// Opens a file for reading. Decompresses it if it starts with gzip's magic number, whatever its
/// name. Also returns an upper bound for the content's size in bytes.
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

/// Reads until `buffer` is full or the end is reached. Returns the number of bytes read.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part1_a_directory_has_mnist_if_one_of_its_files_is_there_under_any_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        assert!(!any_file_in(directory.path()) && !any_file_in(&path("missing")));
        for name in ["train-images-idx3-ubyte", "t10k-labels.idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz"] {
            std::fs::write(path(name), "").unwrap();
            assert!(any_file_in(directory.path()), "{name}");
            std::fs::remove_file(path(name)).unwrap();
        }
        for name in ["train-images-idx1-ubyte", "train-labels", "images-idx3-ubyte.gz"] {
            std::fs::write(path(name), "").unwrap();
        }
        assert!(!any_file_in(directory.path()));
    }

    /// Yields three bytes, one per call, with an interruption before each. Then it yields the end
    /// or another error.
    struct Interrupted {
        calls: u8,
        fails: bool,
    }

    impl Read for Interrupted {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.calls += 1;
            match self.calls {
                1 | 3 | 5 => Err(io::ErrorKind::Interrupted.into()),
                2 | 4 | 6 => {
                    buffer[0] = self.calls;
                    Ok(1)
                }
                _ if self.fails => Err(io::ErrorKind::InvalidData.into()),
                _ => Ok(0),
            }
        }
    }

    #[test]
    fn part1_a_read_goes_on_after_an_interruption_and_ends_at_an_error() {
        let mut buffer = [0; 5];
        assert_eq!(fill(&mut Interrupted { calls: 0, fails: false }, &mut buffer).unwrap(), 3);
        assert_eq!(buffer, [2, 4, 6, 0, 0]);
        assert_eq!(fill(&mut Interrupted { calls: 0, fails: false }, &mut buffer[..2]).unwrap(), 2);
        let error = fill(&mut Interrupted { calls: 0, fails: true }, &mut buffer).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
