//! PNG images of a digit: damage or another size is an error that names the file, never a panic.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use neural_net::png::{PngError, read_grey};
use tempfile::TempDir;

/// A PNG file with the given chunks.
fn png(chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, data) in chunks {
        let checksum = crc32fast::hash(&[&kind[..], data].concat());
        file.extend([&(data.len() as u32).to_be_bytes()[..], *kind, data, &checksum.to_be_bytes()].concat());
    }
    file
}

/// An image of `width` × 2 pixels of four bits, each an index into a palette.
fn with_palette(width: u32, palette: &[u8]) -> Vec<u8> {
    let header = [&width.to_be_bytes()[..], &2_u32.to_be_bytes(), &[4, 3, 0, 0, 0]].concat();
    let mut pixels = ZlibEncoder::new(vec![], Compression::fast());
    pixels.write_all(&[0, 0x01, 0, 0x10]).unwrap();
    png(&[(b"IHDR", &header), (b"PLTE", palette), (b"IDAT", &pixels.finish().unwrap()), (b"IEND", &[])])
}

fn read(bytes: &[u8]) -> Result<Vec<u8>, PngError> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("digit.png");
    std::fs::write(&path, bytes).unwrap();
    let result = read_grey(&path, 2);
    if let Err(error) = &result {
        let line = error.to_string();
        assert!(line.starts_with(path.to_str().unwrap()) && !line.contains('\n'), "{line:?}");
    }
    result
}

#[test]
fn part1_a_palette_of_whole_colours_is_read() {
    assert_eq!(read(&with_palette(2, &[0, 0, 0, 255, 255, 255])).unwrap(), [0, 255, 255, 0]);
}

#[test]
fn part1_a_palette_that_ends_within_a_colour_is_an_error() {
    let errors: Vec<PngError> =
        [1, 2, 4, 5, 47].map(|bytes| read(&with_palette(2, &vec![9; bytes])).unwrap_err()).into();
    // The decoder itself detects some of them.
    assert!(
        errors.iter().all(|error| matches!(error, PngError::Palette { .. } | PngError::NotPng { .. })),
        "{errors:?}"
    );
    assert!(errors.iter().any(|error| matches!(error, PngError::Palette { bytes: 4, .. })), "{errors:?}");
}

#[test]
fn part1_an_image_of_another_size_is_not_decoded() {
    let error = read(&with_palette(1000, &[0, 0, 0, 255, 255, 255])).unwrap_err();
    assert!(matches!(error, PngError::Size { width: 1000, height: 2, side: 2, .. }), "{error}");
}
