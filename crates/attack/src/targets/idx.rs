//! MNIST's IDX files: images and labels, plain or compressed with gzip.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use neural_net::data::idx;

use crate::finding::{Case, Expected, Verdict, wrong};
use crate::mutate;
use crate::random::Random;
use crate::targets::Reader;

const IMAGES: &str = "images";
const LABELS: &str = "labels";

pub(super) struct Idx {
    folder: PathBuf,
}

impl Idx {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }
}

impl Reader for Idx {
    fn case(&self, random: &mut Random) -> Case {
        let are_images = random.one_in(2);
        let sizes: Vec<u32> = match are_images {
            true => vec![1 + random.below(5) as u32, 1 + random.below(7) as u32, 1 + random.below(7) as u32],
            false => vec![1 + random.below(40) as u32],
        };
        let total: u32 = sizes.iter().product();
        let body: Vec<u8> =
            (0..total).map(|_| if are_images { random.bits() as u8 } else { random.below(10) as u8 }).collect();
        let mut header: Vec<u8> = vec![0, 0, 8, sizes.len() as u8];
        header.extend(sizes.iter().flat_map(|size| size.to_be_bytes()));
        // Half of the headers stay valid; in the others one word or some bytes change.
        match random.below(8) {
            0 => {}
            1..4 => {
                let word = 4 * random.below(header.len() / 4);
                header[word..word + 4].copy_from_slice(&(mutate::edge(random) as u32).to_be_bytes());
            }
            4 => mutate::bytes(random, &mut header),
            _ => {}
        }
        let mut bytes = [header, body].concat();
        if random.one_in(3) {
            mutate::bytes(random, &mut bytes);
        }
        for _ in 0..[0, 0, 1, 1, 1, 2][random.below(6)] {
            bytes = packed(random, &bytes);
            if random.one_in(2) {
                mutate::bytes(random, &mut bytes);
            }
        }
        let name = if are_images { IMAGES } else { LABELS };
        Case { name: name.to_owned(), bytes, expected: Expected::Any }
    }

    fn read(&self, case: &Case) -> Verdict {
        let path = self.folder.join(&case.name);
        if let Err(error) = fs::write(&path, &case.bytes) {
            return wrong("the attack can write", error.to_string());
        }
        let read = match case.name == IMAGES {
            true => idx::read_images(&path).map(|(pixels, (rows, columns))| {
                let sizes = vec![pixels.nrows(), rows, columns];
                (sizes, pixels.iter().copied().collect::<Vec<u8>>())
            }),
            false => idx::read_labels(&path).map(|labels| (vec![labels.len()], labels)),
        };
        match read {
            Err(error) => Verdict::rejected(error, path.display()),
            Ok((sizes, elements)) => {
                let mut expected = vec![0, 0, 8, sizes.len() as u8];
                expected.extend(sizes.iter().flat_map(|&size| (size as u32).to_be_bytes()));
                expected.extend(elements);
                match expected == unpacked(&case.bytes) {
                    true => Verdict::Accepted,
                    false => wrong("the elements read are those of the file", format!("sizes {sizes:?}")),
                }
            }
        }
    }
}

/// The bytes compressed with gzip, in one or two members.
fn packed(random: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let cut = if random.one_in(3) { random.below(bytes.len() + 1) } else { bytes.len() };
    let (first, second) = bytes.split_at(cut);
    let pack = |bytes: &[u8], level| {
        let mut encoder = GzEncoder::new(vec![], Compression::new(level));
        encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("writing to a Vec does not fail")
    };
    let mut packed = pack(first, random.below(10) as u32);
    if !second.is_empty() || random.one_in(8) {
        packed.extend(pack(second, 6));
    }
    packed
}

/// The content of a file, decompressed once if it is compressed.
fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut content = vec![];
    match bytes.starts_with(&[0x1f, 0x8b]) {
        true => drop(MultiGzDecoder::new(bytes).read_to_end(&mut content)),
        false => content = bytes.to_vec(),
    }
    content
}
