//! PNG images of a digit: a damaged file or a wrong size causes an error that names the file, never
//! a panic.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use neural_net::data::builtin_digits;
use neural_net::data::drawing::{self, NoDigit};
use neural_net::png::{Background, Change, Digit, PngError, read_digit};
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

/// An image of `width` × 28 pixels with four-bit palette indices. It shows a bar of 4 × 20 pixels.
fn with_palette(width: u32, palette: &[u8]) -> Vec<u8> {
    let header = [&width.to_be_bytes()[..], &28_u32.to_be_bytes(), &[4, 3, 0, 0, 0]].concat();
    let mut pixels = ZlibEncoder::new(vec![], Compression::fast());
    for row in 0..28 {
        // A filter number, then two pixels per byte.
        let is_bar = |byte: &u32| (6..8).contains(byte) && (4..24).contains(&row);
        let row = (0..width.div_ceil(2)).map(|byte| if is_bar(&byte) { 0x11 } else { 0 });
        pixels.write_all(&[0].into_iter().chain(row).collect::<Vec<u8>>()).unwrap();
    }
    png(&[(b"IHDR", &header), (b"PLTE", palette), (b"IDAT", &pixels.finish().unwrap()), (b"IEND", &[])])
}

fn read(bytes: &[u8]) -> Result<Digit, PngError> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("digit.png");
    std::fs::write(&path, bytes).unwrap();
    let result = read_digit(&path, 28, Background::Auto);
    if let Err(error) = &result {
        let line = error.to_string();
        assert!(line.starts_with(path.to_str().unwrap()) && !line.contains('\n'), "{line:?}");
    }
    result
}

#[test]
fn part1_a_palette_of_whole_colours_is_read() {
    for (colours, ink) in [([0, 0, 0, 255, 255, 255], 255), ([0, 0, 0, 99, 99, 99], 99)] {
        let digit = read(&with_palette(28, &colours)).unwrap();
        assert_eq!(digit.changes, []);
        let is_bar = |pixel: usize| (12..16).contains(&(pixel % 28)) && (4..24).contains(&(pixel / 28));
        assert!(digit.pixels.iter().enumerate().all(|(at, &pixel)| pixel == if is_bar(at) { ink } else { 0 }));
    }
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
fn part1_a_too_large_image_is_not_decoded() {
    let error = read(&with_palette(5000, &[0, 0, 0, 255, 255, 255])).unwrap_err();
    assert!(matches!(error, PngError::Size { width: 5000, height: 28, .. }), "{error}");
}

/// A file with a drawing of `width` × `height` pixels. `grey` returns the brightness at a point.
fn drawn(folder: &TempDir, [width, height]: [u32; 2], grey: impl Fn(u32, u32) -> u8) -> std::path::PathBuf {
    let path = folder.path().join("drawing.png");
    image::GrayImage::from_fn(width, height, |x, y| image::Luma([grey(x, y)])).save(&path).unwrap();
    path
}

#[test]
fn part1_a_drawing_is_scaled_to_20_pixels_and_centred_by_its_mass() {
    let folder = TempDir::new().unwrap();
    // A bar of 10 × 100 pixels near a corner, dark on light paper with noise.
    let is_bar = |x: u32, y: u32| (20..30).contains(&x) && (40..140).contains(&y);
    let path = drawn(&folder, [300, 200], |x, y| if is_bar(x, y) { 30 } else { 235 + (x * 7 + y * 3) as u8 % 16 });
    let digit = read_digit(&path, 28, Background::Auto).unwrap();
    assert_eq!(digit.changes, [Change::Inverted, Change::Centred([300, 200])]);
    let inked: Vec<(usize, usize)> =
        (0..784).filter(|&pixel| digit.pixels[pixel] > 0).map(|pixel| (pixel % 28, pixel / 28)).collect();
    let columns = inked.iter().map(|(x, _)| *x).min().unwrap()..=inked.iter().map(|(x, _)| *x).max().unwrap();
    let rows = inked.iter().map(|(_, y)| *y).min().unwrap()..=inked.iter().map(|(_, y)| *y).max().unwrap();
    assert_eq!((columns, rows), (14..=15, 5..=24));
    assert_eq!(digit.pixels.iter().max(), Some(&255));

    // With a dark background forced, nothing is brighter than it.
    let is_bar = |x: u32, y: u32| (145..155).contains(&x) && (90..110).contains(&y);
    let path = drawn(&folder, [300, 200], |x, y| if is_bar(x, y) { 30 } else { 235 + (x * 7 + y * 3) as u8 % 16 });
    let blank = read_digit(&path, 28, Background::Dark);
    assert!(matches!(blank, Err(PngError::NoDigit { reason: NoDigit::Blank, .. })), "{blank:?}");
}

#[test]
fn part1_the_scaled_digit_does_not_depend_on_place_size_or_brightness() {
    let folder = TempDir::new().unwrap();
    let seven = |x: u32, y: u32| y < 20 || x + y / 2 > 90 && x + y / 2 < 115;
    let read = |scale: u32, [left, top]: [u32; 2], background: u8, ink: u8| {
        let path = drawn(&folder, [120 * scale + left + 9, 120 * scale + top + 5], |x, y| {
            let (x, y) = (x.wrapping_sub(left) / scale, y.wrapping_sub(top) / scale);
            if x < 110 && y < 110 && seven(x, y) { ink } else { background }
        });
        read_digit(&path, 28, Background::Auto).unwrap().pixels
    };
    let first = read(1, [10, 10], 0, 255);
    for (scale, corner, background, ink) in [(1, [50, 20], 255, 0), (2, [10, 70], 20, 180), (3, [5, 5], 200, 90)] {
        let other = read(scale, corner, background, ink);
        let difference = first.iter().zip(&other).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
        assert!(difference <= 12, "{scale}, {corner:?}: {difference}");
    }
}

#[test]
fn part1_a_blank_drawing_is_an_error() {
    let folder = TempDir::new().unwrap();
    for grey in [0, 128, 255] {
        let path = drawn(&folder, [100, 50], |x, _| grey ^ (x % 2) as u8);
        let error = read_digit(&path, 28, Background::Auto).unwrap_err();
        assert!(
            error.to_string().ends_with("nothing is drawn: no digit differs clearly from the background"),
            "{error}"
        );
    }
}

/// A built-in digit in MNIST's format.
fn digit() -> image::GrayImage {
    let (pixels, _) = builtin_digits::draw(1, 3);
    let drawn = ndarray::Array2::from_shape_vec((28, 28), pixels).unwrap();
    let digit = drawing::find_digit(drawn, 28, Background::Dark).unwrap();
    image::GrayImage::from_raw(28, 28, digit.pixels.into_iter().collect()).unwrap()
}

/// `image` reads files of any kind to the same pixels. It rounds 16 bits, while ours drops the
/// lower eight.
#[test]
fn part1_a_png_file_of_any_kind_is_read_as_by_another_library() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("digit.png");
    let digit = digit();
    let colour = image::Rgba32FImage::from_fn(28, 28, |x, y| {
        let ink = f32::from(digit.get_pixel(x, y).0[0]) / 255.0;
        image::Rgba([0.9 * ink, ink, 0.7 * ink, if ink > 0.0 { 0.9 } else { 1.0 }])
    });
    let image = image::DynamicImage::from(colour);
    let kinds: [(image::DynamicImage, u8); 8] = [
        (image.to_luma8().into(), 0),
        (image.to_luma_alpha8().into(), 0),
        (image.to_rgb8().into(), 0),
        (image.to_rgba8().into(), 0),
        (image.to_luma16().into(), 1),
        (image.to_luma_alpha16().into(), 2),
        (image.to_rgb16().into(), 2),
        (image.to_rgba16().into(), 3),
    ];
    for (image, tolerance) in kinds {
        image.save(&path).unwrap();
        let expected = image.to_luma_alpha8();
        let ours = read_digit(&path, 28, Background::Dark).unwrap();
        assert_eq!(ours.changes, [], "it keeps its pixels");
        for (pixel, expected) in ours.pixels.iter().zip(expected.pixels()) {
            let [grey, alpha] = expected.0.map(u32::from);
            let expected = ((grey * alpha + 255 * (255 - alpha)) / 255) as u8;
            assert!(pixel.abs_diff(expected) <= tolerance, "{:?}: {pixel}, {expected}", image.color());
        }
    }
}

/// Whatever color the strokes have, the digit has the same pixels as in black on white.
#[test]
fn part1_strokes_of_one_colour_on_transparency_are_read_by_their_opacity() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("digit.png");
    let digit = digit();
    for scale in [1, 7] {
        let ink = |x: u32, y: u32| digit.get_pixel(x / scale, y / scale).0[0];
        image::GrayImage::from_fn(28 * scale, 28 * scale, |x, y| image::Luma([255 - ink(x, y)])).save(&path).unwrap();
        let on_white = read_digit(&path, 28, Background::Auto).unwrap().pixels;
        for [r, g, b] in [[255; 3], [0; 3], [128; 3], [255, 255, 0], [40, 60, 170]] {
            let colour = |x, y| image::Rgba([r, g, b, ink(x, y)]);
            image::RgbaImage::from_fn(28 * scale, 28 * scale, colour).save(&path).unwrap();
            for background in [Background::Auto, Background::Dark, Background::Light] {
                let found = read_digit(&path, 28, background).unwrap();
                assert_eq!(found.changes[0], Change::FromOpacity);
                assert_eq!(found.pixels, on_white, "{r} {g} {b} {background:?}");
            }
        }
        let invisible = |_, _| image::Rgba([255, 255, 255, 0]);
        image::RgbaImage::from_fn(28 * scale, 28 * scale, invisible).save(&path).unwrap();
        let blank = read_digit(&path, 28, Background::Auto);
        assert!(matches!(blank, Err(PngError::NoDigit { reason: NoDigit::Blank, .. })), "{blank:?}");
    }
}

#[test]
fn part1_a_file_of_another_format_is_named_with_the_way_out() {
    let files: [(&str, &[u8]); 12] = [
        ("JPEG", b"\xff\xd8\xff\xe0\0\x10JFIF"),
        ("GIF", b"GIF89a"),
        ("WebP", b"RIFF\x24\0\0\0WEBPVP8 "),
        ("HEIC", b"\0\0\0\x18ftypheic"),
        ("HEIC", b"\0\0\0\x18ftypmif1"),
        ("AVIF", b"\0\0\0\x1cftypavif"),
        ("BMP", b"BM\x36\x04"),
        ("TIFF", b"II*\0\x08"),
        ("TIFF", b"MM\0*\0"),
        ("PDF", b"%PDF-1.7"),
        ("SVG", b"<svg xmlns="),
        ("SVG", b"<?xml version="),
    ];
    for (kind, bytes) in files {
        let error = read(bytes).unwrap_err();
        let line = error.to_string();
        assert!(line.ends_with(&format!(": a {kind} file, not PNG: open it in an image program and export it as PNG")));
    }
    let empty = read(b"").unwrap_err().to_string();
    assert!(empty.ends_with("the file is empty"), "{empty}");
    // Short files, and other kinds of RIFF and ISO base media files.
    for bytes in [&b"R"[..], b"RIFF\x24\0\0\0WAVE", b"\x89PNG", b"no image"] {
        assert!(matches!(read(bytes), Err(PngError::NotPng { .. })));
    }
}
