//! Images of a digit, as `neural-net predict` reads them.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use neural_net::png::{Background, read_digit};

use crate::finding::{Case, Expected, Verdict, wrong};
use crate::mutate;
use crate::random::Random;
use crate::targets::Reader;

/// Width and height of the images, in pixels.
const SIDE: u32 = 8;

pub(super) struct Png {
    path: PathBuf,
}

impl Png {
    pub(super) fn new(folder: &Path) -> Self {
        Self { path: folder.join("digit.png") }
    }
}

/// A PNG chunk: type and data.
type Chunk = ([u8; 4], Vec<u8>);

impl Reader for Png {
    fn case(&self, random: &mut Random) -> Case {
        Case { name: "digit.png".to_owned(), bytes: changed(random), expected: Expected::Any }
    }

    fn read(&self, case: &Case) -> Verdict {
        if let Err(error) = fs::write(&self.path, &case.bytes) {
            return wrong("the attack can write", error.to_string());
        }
        match read_digit(&self.path, SIDE, Background::Auto) {
            Err(error) => Verdict::rejected(error, self.path.display()),
            Ok(digit) if digit.pixels.len() == (SIDE * SIDE) as usize => Verdict::Accepted,
            Ok(digit) => wrong("an image has all its pixels", format!("{} of {SIDE} × {SIDE}", digit.pixels.len())),
        }
    }
}

/// The PNG file of these chunks.
fn file(chunks: &[Chunk]) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, data) in chunks {
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(kind);
        checksum.update(data);
        bytes.extend([&(data.len() as u32).to_be_bytes()[..], kind, data, &checksum.finalize().to_be_bytes()].concat());
    }
    bytes
}

/// A PNG file, most often not a valid one.
pub(super) fn changed(random: &mut Random) -> Vec<u8> {
    let mut chunks = picture(random);
    if !random.one_in(8) {
        for _ in 0..1 + random.below(3) {
            change(random, &mut chunks);
        }
    }
    let mut bytes = file(&chunks);
    if random.one_in(8) {
        mutate::bytes(random, &mut bytes);
    }
    if random.one_in(16) && bytes.len() > 8 {
        // Overwrite an aligned word: often a chunk's length or checksum.
        let word = 4 * random.below(bytes.len() / 4);
        bytes[word..word + 4].copy_from_slice(&(mutate::edge(random) as u32).to_be_bytes());
    }
    bytes
}

/// A valid PNG file.
pub(crate) fn valid(random: &mut Random) -> Vec<u8> {
    file(&picture(random))
}

/// A valid image of any colour type, bit depth and interlacing.
fn picture(random: &mut Random) -> Vec<Chunk> {
    const KINDS: [(u8, u8, usize); 15] = [
        (0, 1, 1),
        (0, 2, 1),
        (0, 4, 1),
        (0, 8, 1),
        (0, 16, 1),
        (2, 8, 3),
        (2, 16, 3),
        (3, 1, 1),
        (3, 2, 1),
        (3, 4, 1),
        (3, 8, 1),
        (4, 8, 2),
        (4, 16, 2),
        (6, 8, 4),
        (6, 16, 4),
    ];
    let (colour, depth, samples) = KINDS[random.below(KINDS.len())];
    let interlaced = random.one_in(4);
    let mut header = [SIDE.to_be_bytes(), SIDE.to_be_bytes()].concat();
    header.extend([depth, colour, 0, 0, u8::from(interlaced)]);
    // Adam7's passes: first column, first row, column step, row step.
    const PASSES: [[usize; 4]; 7] =
        [[0, 0, 8, 8], [4, 0, 8, 8], [0, 4, 4, 8], [2, 0, 4, 4], [0, 2, 2, 4], [1, 0, 2, 2], [0, 1, 1, 2]];
    let side = SIDE as usize;
    let passes: &[[usize; 4]] = if interlaced { &PASSES } else { &[[0, 0, 1, 1]] };
    let mut pixels = vec![];
    for &[column, row, columns, rows] in passes {
        let (columns, rows) = ((side - column).div_ceil(columns), (side - row).div_ceil(rows));
        for _ in 0..rows {
            pixels.push(random.below(5) as u8);
            pixels.extend((0..(columns * samples * usize::from(depth)).div_ceil(8)).map(|_| random.bits() as u8));
        }
    }
    let mut chunks = vec![(*b"IHDR", header)];
    if colour == 3 {
        chunks.push((*b"PLTE", (0..3 << depth).map(|_| random.bits() as u8).collect()));
    }
    if random.one_in(4) {
        let bytes = 1 + random.below(8);
        chunks.push((*b"tRNS", (0..bytes).map(|_| random.bits() as u8).collect()));
    }
    chunks.push((*b"IDAT", packed(random, pixels)));
    chunks.push((*b"IEND", vec![]));
    chunks
}

fn packed(random: &mut Random, mut pixels: Vec<u8>) -> Vec<u8> {
    match random.below(12) {
        0 => mutate::bytes(random, &mut pixels),
        1 => pixels.resize(1 << random.below(18), 0),
        _ => {}
    }
    let mut encoder = ZlibEncoder::new(vec![], Compression::new(random.below(10) as u32));
    encoder.write_all(&pixels).and_then(|()| encoder.finish()).expect("writing to a Vec does not fail")
}

fn change(random: &mut Random, chunks: &mut Vec<Chunk>) {
    const TYPES: [&[u8; 4]; 16] = [
        b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"iCCP", b"zTXt", b"iTXt", b"acTL", b"fcTL",
        b"fdAT", b"sBIT", b"eXIf", b"cICP",
    ];
    let which = random.below(chunks.len());
    match random.below(8) {
        0 | 1 => {
            // A field of the header: width, height, or one of its bytes.
            if let Some((_, header)) = chunks.iter_mut().find(|(kind, _)| kind == b"IHDR") {
                match random.below(7) {
                    field @ 0..2 if header.len() >= 8 => {
                        let value = (mutate::edge(random) as u32).to_be_bytes();
                        header[4 * field..4 * field + 4].copy_from_slice(&value);
                    }
                    _ => {
                        let at = random.below(header.len());
                        if let Some(byte) = header.get_mut(at) {
                            *byte = random.below(20) as u8;
                        }
                    }
                }
            }
        }
        2 => drop(chunks.remove(which)),
        3 => {
            let chunk = chunks[which].clone();
            chunks.insert(random.below(chunks.len() + 1), chunk);
        }
        4 => {
            let kind = *TYPES[random.below(TYPES.len())];
            let mut data: Vec<u8> = (0..random.below(40)).map(|_| random.bits() as u8).collect();
            if matches!(&kind, b"zTXt" | b"iCCP" | b"iTXt") {
                let text = vec![b'a'; 1 << random.below(20)];
                data = [b"name\0\0", &packed(random, text)[..]].concat();
            }
            chunks.insert(random.below(chunks.len() + 1), (kind, data));
        }
        5 => {
            let split = random.below(chunks[which].1.len() + 1);
            let (kind, rest) = (chunks[which].0, chunks[which].1.split_off(split));
            chunks.insert(which + 1, (kind, rest));
        }
        6 => chunks[which].0 = *TYPES[random.below(TYPES.len())],
        _ => mutate::bytes(random, &mut chunks[which].1),
    }
    if chunks.is_empty() {
        chunks.push((*b"IEND", vec![]));
    }
}
