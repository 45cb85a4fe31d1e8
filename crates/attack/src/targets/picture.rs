//! JPEG and PNG files, as `filters --image` reads them.

use std::fs;
use std::path::{Path, PathBuf};

use filters::picture::read_grey;

use crate::finding::{Case, Expected, Verdict, wrong};
use crate::mutate;
use crate::random::Random;
use crate::targets::{Reader, png};

/// JPEG files to begin with.
const JPEGS: [&[u8]; 2] = [
    include_bytes!("../../../../filters/tests/correlation/grey.jpg"),
    include_bytes!("../../../../filters/tests/correlation/colours.jpg"),
];

pub(super) struct Picture {
    path: PathBuf,
}

impl Picture {
    pub(super) fn new(folder: &Path) -> Self {
        Self { path: folder.join("picture") }
    }
}

impl Reader for Picture {
    fn case(&self, random: &mut Random) -> Case {
        let (name, bytes) = match random.one_in(3) {
            true => ("picture.png", png::changed(random)),
            false => ("picture.jpg", jpeg(random)),
        };
        Case { name: name.to_owned(), bytes, expected: Expected::Any }
    }

    fn read(&self, case: &Case) -> Verdict {
        if let Err(error) = fs::write(&self.path, &case.bytes) {
            return wrong("the attack can write", error.to_string());
        }
        match read_grey(&self.path) {
            Err(error) => Verdict::rejected(error, self.path.display()),
            Ok(_) => Verdict::Accepted,
        }
    }
}

/// A JPEG file, most often not a valid one.
fn jpeg(random: &mut Random) -> Vec<u8> {
    let file = JPEGS[random.below(JPEGS.len())];
    if random.one_in(8) {
        return file.to_vec();
    }
    let mut segments = segments(file);
    for _ in 0..1 + random.below(3) {
        change(random, &mut segments);
    }
    let mut bytes = segments.concat();
    if random.one_in(8) {
        mutate::bytes(random, &mut bytes);
    }
    bytes
}

/// The parts of a JPEG file: its beginning, each segment with its marker and length, and from the scan on what is left.
fn segments(file: &[u8]) -> Vec<Vec<u8>> {
    const SCAN: u8 = 0xda;
    let (mut parts, mut rest) = (vec![file[..2].to_vec()], &file[2..]);
    while let [0xff, marker, high, low, ..] = *rest {
        let end = 2 + usize::from(u16::from_be_bytes([high, low]));
        if marker == SCAN || end > rest.len() {
            break;
        }
        let (segment, after) = rest.split_at(end);
        parts.push(segment.to_vec());
        rest = after;
    }
    parts.push(rest.to_vec());
    parts
}

/// The segments of baseline, progressive and lossless frames, of tables, restarts, comments, and of arithmetic coding.
const MARKERS: [u8; 12] = [0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc9, 0xcc, 0xdb, 0xdd, 0xe1, 0xee, 0xfe];

fn change(random: &mut Random, segments: &mut Vec<Vec<u8>>) {
    let which = random.below(segments.len());
    match random.below(7) {
        0 => drop(segments.remove(which)),
        1 => {
            let segment = segments[which].clone();
            segments.insert(random.below(segments.len() + 1), segment);
        }
        2 => {
            // The length of a segment.
            if let Some(length) = segments[which].get_mut(2..4) {
                length.copy_from_slice(&(mutate::edge(random) as u16).to_be_bytes());
            }
        }
        3 => {
            let marker = MARKERS[random.below(MARKERS.len())];
            if let Some(byte) = segments[which].get_mut(1) {
                *byte = marker;
            }
        }
        4 => {
            // A field of a segment: a size, a number of components, a table's number.
            let at = 4 + random.below(12);
            if let Some(field) = segments[which].get_mut(at..at + 2) {
                field.copy_from_slice(&(mutate::edge(random) as u16).to_be_bytes());
            }
        }
        5 => {
            let length = random.below(segments[which].len() + 1);
            segments[which].truncate(length);
        }
        _ => mutate::bytes(random, &mut segments[which]),
    }
    if segments.is_empty() {
        segments.push(Vec::new());
    }
}
