//! PNG and JPEG files: images of a digit, and pictures for the filters.

use std::fs;
use std::io::Write as _;

use filters::picture::read_grey;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use neural_net::png::{Background, read_digit};

use crate::cases::{Answer, rejected, scratch};
use crate::edits::{Input, edit_bytes, edit_parts, pick};

/// Width and height of the images, in pixels.
const SIDE: u32 = 8;

/// An accepted digit image has all its pixels.
pub(crate) fn png() -> impl Fn(&Input) -> Answer {
    let folder = scratch();
    move |input| {
        let path = folder.path().join("digit.png");
        fs::write(&path, edited_png(input)).unwrap();
        match read_digit(&path, SIDE, Background::Auto) {
            Err(error) => rejected(error, &path),
            Ok(digit) => {
                assert_eq!(digit.pixels.len(), (SIDE * SIDE) as usize);
                Answer::Accepted
            }
        }
    }
}

/// Pictures are either read or rejected.
pub(crate) fn picture() -> impl Fn(&Input) -> Answer {
    let folder = scratch();
    move |input| {
        let path = folder.path().join("picture");
        let mut file = pick(&JPEGS, input.file).to_vec();
        edit_bytes(&input.bytes, &mut file);
        if input.choice.is_multiple_of(3) {
            file = edited_png(input);
        }
        fs::write(&path, file).unwrap();
        read_grey(&path).map_or_else(|error| rejected(error, &path), |_| Answer::Accepted)
    }
}

/// Chunk types that a reader may process instead of skipping.
const TYPES: [&[u8]; 15] = [
    b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"iCCP", b"zTXt", b"iTXt", b"acTL", b"fcTL",
    b"fdAT", b"sBIT", b"eXIf",
];

/// A changed PNG file, usually with correct chunk lengths and checksums and with compressed pixels.
fn edited_png(input: &Input) -> Vec<u8> {
    let mut chunks = valid_png(input.file);
    edit_parts(&input.parts, &mut chunks, &TYPES);
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    for mut chunk in chunks {
        if chunk.starts_with(b"IDAT") && input.choice < 240 {
            chunk = [b"IDAT", &packed(&chunk[4..])[..]].concat();
        }
        file.extend((chunk.len().saturating_sub(4) as u32).to_be_bytes());
        file.extend(&chunk);
        file.extend(crc32fast::hash(&chunk).to_be_bytes());
    }
    if input.choice.is_multiple_of(8) {
        edit_bytes(&input.bytes, &mut file);
    }
    file
}

/// The chunks of a valid image of any color type, bit depth and interlacing: type and data, with
/// uncompressed pixels.
fn valid_png(which: u8) -> Vec<Vec<u8>> {
    // Color types with their bit depths, and the number of samples per pixel.
    const KINDS: [&[u8; 15]; 2] =
        [&[0, 0, 0, 0, 0, 2, 2, 3, 3, 3, 3, 4, 4, 6, 6], &[1, 2, 4, 8, 16, 8, 16, 1, 2, 4, 8, 8, 16, 8, 16]];
    const SAMPLES: [usize; 7] = [1, 0, 3, 1, 2, 0, 4];
    // Adam7's passes: first column, first row, column step, row step.
    const PASSES: [[usize; 4]; 7] =
        [[0, 0, 8, 8], [4, 0, 8, 8], [0, 4, 4, 8], [2, 0, 4, 4], [0, 2, 2, 4], [1, 0, 2, 2], [0, 1, 1, 2]];
    let [colour, depth] = KINDS.map(|kinds| *pick(kinds, which));
    let is_interlaced = which >= 192;
    let header = [&SIDE.to_be_bytes()[..], &SIDE.to_be_bytes(), &[depth, colour, 0, 0, u8::from(is_interlaced)]];
    let passes: &[[usize; 4]] = if is_interlaced { &PASSES } else { &[[0, 0, 1, 1]] };
    let (side, mut pixels) = (SIDE as usize, b"IDAT".to_vec());
    for &[column, row, columns, rows] in passes {
        for row in 0..(side - row).div_ceil(rows) {
            let bits = (side - column).div_ceil(columns) * SAMPLES[usize::from(colour)] * usize::from(depth);
            let bytes = bits.div_ceil(8);
            // The row's filter, then its pixels: a stroke on an empty background.
            pixels.push(if which < 64 { row as u8 % 5 } else { 0 });
            pixels.extend((0..bytes).map(|byte| if byte >= bytes / 3 && byte <= bytes / 2 { 0xff } else { 0 }));
        }
    }
    let mut chunks = vec![[b"IHDR", &header.concat()[..]].concat()];
    if colour == 3 {
        chunks.push([&b"PLTE"[..], &(0..3 << depth).map(|byte| byte as u8).collect::<Vec<u8>>()].concat());
    }
    match which % 4 {
        0 => chunks.push(b"tRNS\0\x01\0\x02\0\x03".to_vec()),
        // A text that is much longer than its compressed chunk.
        1 => chunks.push([b"zTXtname\0\0", &packed(&[b'a'; 1 << 18])[..]].concat()),
        2 => chunks.push([b"iCCPname\0\0", &packed(&[b'a'; 1 << 10])[..]].concat()),
        _ => {}
    }
    chunks.extend([pixels, b"IEND".to_vec()]);
    chunks
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(vec![], Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("writing to a Vec does not fail")
}

const JPEGS: [&[u8]; 2] = [
    include_bytes!("../../../filters/tests/correlation/grey.jpg"),
    include_bytes!("../../../filters/tests/correlation/colours.jpg"),
];
