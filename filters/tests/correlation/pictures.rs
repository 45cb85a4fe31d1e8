//! Pictures are read in gray and written again. Other files are rejected.

use filters::picture::{PictureError, drawing, read_grey, to_grey, write_png};
use ndarray::{Array2, array};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// The colors in the folder's JPEG and PNG files, in four stripes, with their luma.
const COLOURS: [([u8; 3], u8); 4] = [([255, 0, 0], 76), ([0, 255, 0], 150), ([0, 0, 255], 29), ([200, 100, 50], 124)];

fn file(bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("picture");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn read(bytes: &[u8]) -> Result<Array2<u8>, PictureError> {
    let (_folder, path) = file(bytes);
    read_grey(&path)
}

fn png(color: png::ColorType, depth: png::BitDepth, side: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, side, 1);
    encoder.set_color(color);
    encoder.set_depth(depth);
    encoder.write_header().unwrap().write_image_data(data).unwrap();
    bytes
}

#[test]
fn pictures_of_png_have_the_luma_of_their_colours() {
    use png::{BitDepth::*, ColorType::*};
    let expected = Array2::from_shape_vec((1, 4), COLOURS.iter().map(|&(_, luma)| luma).collect()).unwrap();
    let colours: Vec<u8> = COLOURS.iter().flat_map(|(colour, _)| *colour).collect();
    let with_opacity: Vec<u8> = COLOURS.iter().flat_map(|(colour, _)| [&colour[..], &[9]].concat()).collect();
    let wide: Vec<u8> = colours.iter().flat_map(|&value| [value, value]).collect();
    assert_eq!(read(&png(Rgb, Eight, 4, &colours)).unwrap(), expected);
    assert_eq!(read(&png(Rgba, Eight, 4, &with_opacity)).unwrap(), expected);
    assert_eq!(read(&png(Rgb, Sixteen, 4, &wide)).unwrap(), expected);
    assert_eq!(read(&png(Grayscale, Eight, 3, &[0, 7, 255])).unwrap(), array![[0, 7, 255]]);
    assert_eq!(read(&png(Grayscale, One, 3, &[0b1010_0000])).unwrap(), array![[255, 0, 255]]);
    assert_eq!(read(&png(GrayscaleAlpha, Eight, 2, &[5, 1, 6, 2])).unwrap(), array![[5, 6]]);
}

/// JPEG is slightly lossy, more so where colors change.
#[test]
fn pictures_of_jpeg_have_the_luma_of_their_colours() {
    for (bytes, columns) in [(&include_bytes!("colours.jpg")[..], 64), (include_bytes!("grey.jpg"), 64)] {
        let picture = read(bytes).unwrap();
        assert_eq!(picture.dim(), (16, columns));
        for (stripe, &(_, luma)) in COLOURS.iter().enumerate() {
            let grey = picture[[8, 16 * stripe + 8]];
            assert!(grey.abs_diff(luma) <= 2, "stripe {stripe}: {grey} instead of {luma}");
        }
    }
}

#[test]
fn pictures_are_written_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("picture.png");
    let picture = drawing(37, 61);
    write_png(&path, &picture).unwrap();
    assert_eq!(read_grey(&path).unwrap(), picture);
    write_png(&path, &picture.t()).unwrap();
    assert_eq!(read_grey(&path).unwrap(), picture.t());
    assert!(write_png(&path, &Array2::zeros((0, 3))).is_err());
    let error = write_png(&folder.path().join("missing/picture.png"), &picture).unwrap_err();
    assert!(error.to_string().ends_with("picture.png: cannot be written"), "{error}");
}

#[test]
fn pictures_that_are_none_are_rejected() {
    for bytes in [&b""[..], b"GIF89a", b"\xff", b"hello, world"] {
        let error = read(bytes).unwrap_err().to_string();
        assert!(error.ends_with("neither a JPEG nor a PNG file: export the picture as one of them"), "{error}");
    }
    let whole = png(png::ColorType::Grayscale, png::BitDepth::Eight, 200, &[100; 200]);
    let jpeg = include_bytes!("colours.jpg");
    for cut in [8, 20, 40, whole.len() / 2] {
        assert!(matches!(read(&whole[..cut]), Err(PictureError::Png { .. })), "{cut}");
    }
    for cut in [3, 20, 100, 200] {
        let error = read(&jpeg[..cut]).unwrap_err();
        assert!(matches!(error, PictureError::Jpeg { .. }) && error.to_string().lines().count() == 1, "{cut}: {error}");
    }
    assert!(matches!(read_grey(std::path::Path::new("/nowhere/x.png")), Err(PictureError::Read { .. })));
}

/// Neither decoder panics.
#[test]
fn pictures_with_changed_bytes_are_read_or_rejected() {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(1));
    let colours: Vec<u8> = COLOURS.iter().flat_map(|(colour, _)| *colour).collect();
    let png = png(png::ColorType::Rgb, png::BitDepth::Eight, 4, &colours);
    let (_folder, path) = file(b"");
    for whole in [&include_bytes!("colours.jpg")[..], include_bytes!("grey.jpg"), &png] {
        let (mut read, mut rejected) = (0, 0);
        for _ in 0..2000 {
            let mut bytes = whole.to_vec();
            for _ in 0..rng.random_range(1..4) {
                let at = rng.random_range(3..bytes.len());
                bytes[at] = rng.random();
            }
            std::fs::write(&path, bytes).unwrap();
            match read_grey(&path) {
                Ok(_) => read += 1,
                Err(error) => {
                    assert_eq!(error.to_string().lines().count(), 1, "{error}");
                    rejected += 1;
                }
            }
        }
        assert!(rejected > 100, "{read} read, {rejected} rejected");
    }
}

#[test]
fn pictures_larger_than_the_limit_are_rejected() {
    // A header only.
    let mut bytes = png(png::ColorType::Grayscale, png::BitDepth::Eight, 1, &[0]);
    bytes[16..20].copy_from_slice(&100_000_u32.to_be_bytes());
    let crc = crc_of(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&crc.to_be_bytes());
    let error = read(&bytes).unwrap_err().to_string();
    assert!(error.contains("100000 × 1 pixels: the limit is 8192 × 8192"), "{error}");
}

/// The CRC of a PNG chunk.
fn crc_of(bytes: &[u8]) -> u32 {
    let step = |crc: u32, bit: u32| if (crc ^ bit) & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, &byte| (0..8).fold(crc, |crc, bit| step(crc, u32::from(byte) >> bit)))
}

#[test]
fn pictures_of_results_are_scaled_to_the_largest_value() {
    let result = array![[0.0, f32::NAN, -1.0], [2.0, f32::INFINITY, 4.0]];
    assert_eq!(to_grey(&result), array![[0, 0, 64], [128, 255, 255]]);
    assert_eq!(to_grey(&Array2::zeros((1, 2))), array![[0, 0]]);
}

/// The drawing is part of what is measured and shown, so it must be the same on every machine.
#[test]
fn pictures_the_drawing_is_always_the_same() {
    let picture = drawing(100, 120);
    let sum = |step: usize| picture.iter().step_by(step).map(|&grey| u64::from(grey)).sum::<u64>();
    assert_eq!([sum(1), sum(7), sum(101)], [1_804_240, 260_098, 17_451]);
}
