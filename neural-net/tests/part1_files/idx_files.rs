//! IDX files are read exactly, and a damaged one causes a one-line error that names the file.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::support::{NAMES, files_of, gzip, idx, images_file, labels_file, small_dataset};
use flate2::Compression;
use flate2::write::GzEncoder;
use ndarray::Array2;
use neural_net::data::Dataset;
use neural_net::data::idx::{IdxError, read_images, read_labelled_images, read_labels};
use proptest::prelude::*;
use tempfile::TempDir;

/// Three images of 2 × 4 pixels.
const SIZES: [u32; 3] = [3, 2, 4];
const PIXELS: [u8; 24] = [0, 1, 2, 3, 4, 5, 6, 7, 255, 254, 253, 252, 251, 250, 249, 248, 9, 0, 9, 0, 9, 0, 9, 128];
const LABELS: [u8; 5] = [0, 9, 5, 5, 1];

fn good_images() -> Vec<u8> {
    idx(&SIZES, &PIXELS)
}

fn good_labels() -> Vec<u8> {
    idx(&[5], &LABELS)
}

/// A new file in a new directory.
fn file(bytes: &[u8]) -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a-file");
    fs::write(&path, bytes).unwrap();
    (directory, path)
}

fn read_images_from(bytes: &[u8]) -> Result<(Array2<u8>, (usize, usize)), IdxError> {
    let (_directory, path) = file(bytes);
    let result = read_images(&path);
    if let Err(error) = &result {
        assert_names(error, &path);
    }
    result
}

fn read_labels_from(bytes: &[u8]) -> Result<Vec<u8>, IdxError> {
    let (_directory, path) = file(bytes);
    let result = read_labels(&path);
    if let Err(error) = &result {
        assert_names(error, &path);
    }
    result
}

#[track_caller]
fn assert_names(error: &IdxError, path: &Path) {
    let line = error.to_string();
    assert!(line.contains(path.to_str().unwrap()), "the file is not in {line:?}");
    assert!(!line.contains('\n'), "more than one line: {line:?}");
}

fn images_error(bytes: &[u8]) -> IdxError {
    read_images_from(bytes).unwrap_err()
}

#[test]
fn part1_idx_good_files_read_back_to_the_byte() {
    let dataset = small_dataset();
    for compressed in [false, true] {
        for dotted in [false, true] {
            let directory = TempDir::new().unwrap();
            for (name, bytes) in NAMES.iter().zip(files_of(&dataset)) {
                let name = if dotted { name.replace("-idx", ".idx") } else { name.to_string() };
                match compressed {
                    true => fs::write(directory.path().join(name + ".gz"), gzip(&bytes)).unwrap(),
                    false => fs::write(directory.path().join(name), bytes).unwrap(),
                }
            }
            let read = Dataset::read(directory.path()).unwrap();
            let name = directory.path().file_name().unwrap().to_str().unwrap().to_owned();
            assert!(read == Dataset { name, ..dataset.clone() }, "compressed: {compressed}, dotted: {dotted}");
        }
    }
}

#[test]
fn part1_idx_images_need_not_be_square() {
    let (pixels, shape) = read_images_from(&good_images()).unwrap();
    assert_eq!((pixels.shape(), shape), ([3, 8].as_slice(), (2, 4)));
    assert_eq!(pixels.as_slice().unwrap(), PIXELS);
}

/// A raw file may be named `.gz`, and a compressed one may lack the suffix: browsers rename files.
#[test]
fn part1_idx_compression_is_seen_by_content_not_by_name() {
    let dataset = small_dataset();
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("t10k-images-idx3-ubyte.gz"), images_file(&dataset.test)).unwrap();
    fs::write(directory.path().join("t10k-labels-idx1-ubyte"), gzip(&labels_file(&dataset.test))).unwrap();
    assert!(read_labelled_images(directory.path(), "t10k").unwrap() == dataset.test);
}

#[test]
fn part1_idx_gzip_of_several_members_is_one_file() {
    let bytes = good_images();
    let (start, end) = bytes.split_at(20);
    let (pixels, _) = read_images_from(&[gzip(start), gzip(end)].concat()).unwrap();
    assert_eq!(pixels.as_slice().unwrap(), PIXELS);
}

/// Files larger than the read buffer, and with deflate's maximum compression ratio.
#[test]
fn part1_idx_large_files_read_back_to_the_byte() {
    let noise = |index: u32| (index.wrapping_mul(2_654_435_761) >> 24) as u8;
    for pixels in [vec![0; 3000 * 784], (0..3000 * 784).map(noise).collect::<Vec<u8>>()] {
        let bytes = idx(&[3000, 28, 28], &pixels);
        let mut best = GzEncoder::new(Vec::new(), Compression::best());
        best.write_all(&bytes).unwrap();
        let members = bytes.chunks(700_001).map(gzip).collect::<Vec<_>>().concat();
        for file in [&bytes, &best.finish().unwrap(), &members] {
            let (read, _) = read_images_from(file).unwrap();
            assert!(read.as_slice().unwrap() == pixels);
            assert!(read_images_from(&file[..file.len() - 1]).is_err());
        }
    }
}

/// The files are read in parallel. The message does not depend on which is read first.
#[test]
fn part1_idx_of_several_damaged_files_the_first_is_named() {
    let directory = TempDir::new().unwrap();
    crate::support::write_dataset(directory.path(), &small_dataset());
    for name in NAMES.iter().rev() {
        fs::write(directory.path().join(name), b"").unwrap();
        for threads in [1, 2, 4] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let error = pool.install(|| Dataset::read(directory.path())).unwrap_err();
            assert!(matches!(error, IdxError::Empty(_)), "{error:?}");
            assert_names(&error, &directory.path().join(name));
        }
    }
}

#[test]
fn part1_idx_a_missing_file_is_named() {
    let dataset = small_dataset();
    for missing in NAMES {
        let directory = TempDir::new().unwrap();
        crate::support::write_dataset(directory.path(), &dataset);
        fs::remove_file(directory.path().join(missing)).unwrap();
        let error = Dataset::read(directory.path()).unwrap_err();
        assert_names(&error, &directory.path().join(missing));
        assert!(matches!(error, IdxError::Missing(_)), "{error:?}");
        assert!(error.to_string().ends_with("give the directory of MNIST's four files"), "{error}");
    }
}

#[test]
fn part1_idx_a_missing_directory_is_a_missing_file() {
    let directory = TempDir::new().unwrap().path().join("gone");
    let error = Dataset::read(&directory).unwrap_err();
    assert!(matches!(error, IdxError::Missing(_)), "{error:?}");
    assert_names(&error, &directory);
}

#[test]
fn part1_idx_a_file_that_cannot_be_opened_is_named() {
    let directory = TempDir::new().unwrap();
    for path in [directory.path().join("gone"), directory.path().to_path_buf()] {
        let error = read_images(&path).unwrap_err();
        assert!(matches!(error, IdxError::Read { .. }), "{error:?}");
        assert_names(&error, &path);
    }
}

#[test]
fn part1_idx_an_empty_file_is_rejected() {
    assert!(matches!(images_error(b""), IdxError::Empty(_)));
    assert!(matches!(read_labels_from(b""), Err(IdxError::Empty(_))));
}

#[test]
fn part1_idx_a_compressed_nothing_is_rejected() {
    assert!(matches!(images_error(&gzip(b"")), IdxError::Empty(_)));
}

#[test]
fn part1_idx_a_file_cut_off_in_its_header_is_rejected() {
    for length in 1..16 {
        let error = images_error(&good_images()[..length]);
        let as_expected = matches!(error, IdxError::CutOff { found, expected: 16, .. } if found == length as u64);
        assert!(as_expected, "{error:?}");
    }
    let error = read_labels_from(&good_labels()[..7]).unwrap_err();
    assert!(matches!(error, IdxError::CutOff { found: 7, expected: 8, .. }), "{error:?}");
}

#[test]
fn part1_idx_a_file_cut_off_in_its_body_is_rejected() {
    let error = images_error(&good_images()[..39]);
    assert!(matches!(error, IdxError::CutOff { found: 39, expected: 40, .. }), "{error:?}");
    let error = images_error(&good_images()[..16]);
    assert!(matches!(error, IdxError::CutOff { found: 16, expected: 40, .. }), "{error:?}");
    let error = images_error(&gzip(&good_images()[..39]));
    assert!(matches!(error, IdxError::CutOff { found: 39, expected: 40, .. }), "{error:?}");
}

#[test]
fn part1_idx_images_and_labels_are_not_mixed_up() {
    let error = images_error(&good_labels());
    let as_expected = matches!(error, IdxError::WrongMagic { found: 0x801, expected: 0x803, kind: "images", .. });
    assert!(as_expected, "{error:?}");
    let error = read_labels_from(&good_images()).unwrap_err();
    let as_expected = matches!(error, IdxError::WrongMagic { found: 0x803, expected: 0x801, kind: "labels", .. });
    assert!(as_expected, "{error:?}");
    assert!(error.to_string().contains("0x00000803"), "{error}");
}

#[test]
fn part1_idx_other_files_are_rejected_by_their_first_bytes() {
    for bytes in [b"<!DOCTYPE html><html>".as_slice(), b"\x89PNG\r\n\x1a\n", b"PK\x03\x04", &[0; 64]] {
        assert!(matches!(images_error(bytes), IdxError::WrongMagic { .. }), "{bytes:?}");
        assert!(matches!(read_labels_from(bytes), Err(IdxError::WrongMagic { .. })), "{bytes:?}");
    }
}

#[test]
fn part1_idx_sizes_of_zero_are_rejected() {
    for zero in 0..3 {
        let mut sizes = SIZES;
        sizes[zero] = 0;
        let error = images_error(&idx(&sizes, &PIXELS));
        let IdxError::WrongSizes { sizes: reported, .. } = &error else { panic!("{error:?}") };
        assert_eq!(reported, &sizes);
    }
    assert!(matches!(read_labels_from(&idx(&[0], &[])), Err(IdxError::WrongSizes { .. })));
}

/// The last product is 0 modulo 2⁶⁴.
#[test]
fn part1_idx_sizes_above_the_limit_are_rejected() {
    for sizes in [[60_000, 28_000, 28_000], [u32::MAX; 3], [1 << 31, 1 << 31, 4]] {
        let error = images_error(&idx(&sizes, &PIXELS));
        assert!(matches!(error, IdxError::WrongSizes { .. }), "{error:?}");
    }
    assert!(matches!(read_labels_from(&idx(&[u32::MAX], &LABELS)), Err(IdxError::WrongSizes { .. })));
}

#[test]
fn part1_idx_trailing_bytes_are_rejected() {
    let long = [good_images(), vec![0]].concat();
    for bytes in [gzip(&long), long] {
        let error = images_error(&bytes);
        assert!(matches!(error, IdxError::TooLong { expected: 40, .. }), "{error:?}");
    }
    let long = [good_labels(), vec![7; 1 << 24]].concat();
    let error = read_labels_from(&gzip(&long)).unwrap_err();
    assert!(matches!(error, IdxError::TooLong { expected: 13, .. }), "{error:?}");
}

#[test]
fn part1_idx_a_label_above_nine_is_rejected_with_its_index() {
    let error = read_labels_from(&idx(&[5], &[9, 0, 4, 10, 255])).unwrap_err();
    assert!(matches!(error, IdxError::WrongLabel { index: 3, label: 10, .. }), "{error:?}");
    let line = error.to_string();
    assert!(line.contains("label 3 is 10"), "{line}");
}

#[test]
fn part1_idx_different_numbers_of_images_and_labels_are_rejected() {
    let directory = TempDir::new().unwrap();
    let (images, labels) = (directory.path().join(NAMES[0]), directory.path().join(NAMES[1]));
    fs::write(&images, good_images()).unwrap();
    fs::write(&labels, good_labels()).unwrap();
    let error = read_labelled_images(directory.path(), "train").unwrap_err();
    assert!(matches!(error, IdxError::DifferentCounts { images: 3, labels: 5, .. }), "{error:?}");
    assert_names(&error, &images);
    assert_names(&error, &labels);
}

#[test]
fn part1_idx_rubbish_after_gzips_first_bytes_is_rejected() {
    for rubbish in
        [b"\x1f\x8b".as_slice(), b"\x1f\x8bthis is no gzip", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\xff\xff"]
    {
        let error = images_error(rubbish);
        assert!(matches!(error, IdxError::Read { .. }), "{error:?}");
    }
}

#[test]
fn part1_idx_rubbish_after_a_compressed_file_is_rejected() {
    let error = images_error(&[gzip(&good_images()), b"rubbish".to_vec()].concat());
    assert!(matches!(error, IdxError::Read { .. }), "{error:?}");
}

/// The last eight bytes of a gzip file are the checksum and the length of its content.
#[test]
fn part1_idx_a_wrong_checksum_is_rejected() {
    let good = gzip(&good_images());
    for from_the_end in 1..=8 {
        let mut bytes = good.clone();
        let index = bytes.len() - from_the_end;
        bytes[index] ^= 1;
        let error = images_error(&bytes);
        assert!(matches!(error, IdxError::Read { .. }), "{error:?}");
    }
}

proptest! {
    #[test]
    fn part1_idx_random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read_labels_from(&bytes);
        prop_assert!(read_images_from(&bytes).is_err());
    }

    /// Starts with valid bytes to reach the code that parses the following ones.
    #[test]
    fn part1_idx_random_bytes_after_a_good_start_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        start in prop::sample::select(vec![vec![0, 0, 8, 3], vec![0, 0, 8, 1], vec![0x1f, 0x8b], vec![0x1f, 0x8b, 8, 0]]),
    ) {
        let bytes = [start, bytes].concat();
        let _ = read_images_from(&bytes);
        let _ = read_labels_from(&bytes);
    }

    #[test]
    fn part1_idx_a_good_file_reads_back(labels in prop::collection::vec(0_u8..10, 1..300), compressed: bool) {
        let bytes = idx(&[labels.len() as u32], &labels);
        let bytes = if compressed { gzip(&bytes) } else { bytes };
        prop_assert_eq!(read_labels_from(&bytes).unwrap(), labels);
    }

    #[test]
    fn part1_idx_a_truncated_file_is_an_error(share in 0.0_f64..1.0, compressed: bool) {
        let bytes = if compressed { gzip(&good_images()) } else { good_images() };
        let length = (share * bytes.len() as f64) as usize;
        prop_assert!(read_images_from(&bytes[..length]).is_err());
    }

    /// Some bits of a gzip header have no meaning. A flip of any other bit is detected.
    #[test]
    fn part1_idx_a_flipped_bit_of_a_compressed_file_changes_no_pixel(index: prop::sample::Index, bit in 0..8) {
        let mut bytes = gzip(&good_images());
        let index = index.index(bytes.len());
        bytes[index] ^= 1_u8 << bit;
        if let Ok((pixels, shape)) = read_images_from(&bytes) {
            prop_assert_eq!(shape, (2, 4));
            prop_assert_eq!(pixels.as_slice().unwrap(), PIXELS);
        }
    }
}

/// Damage far behind the content is not reached. A file that decompresses to more than memory can
/// hold is rejected at the first surplus byte.
#[test]
fn part1_idx_a_file_that_is_too_long_is_read_one_byte_too_far_only() {
    let long = [good_labels(), vec![7; 1 << 24]].concat();
    let mut bytes = gzip(&long);
    let end = bytes.len();
    bytes[end - 8] ^= 1;
    let error = read_labels_from(&bytes).unwrap_err();
    assert!(matches!(error, IdxError::TooLong { expected: 13, .. }), "{error:?}");
}
