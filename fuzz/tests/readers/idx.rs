//! MNIST's IDX files: images and labels, plain or compressed with gzip.

use std::fs;
use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use neural_net::data::idx;

use crate::cases::{Answer, rejected, scratch};
use crate::edits::{Input, edit_bytes, edit_parts};

/// Reading an accepted file returns exactly what it contains.
pub(crate) fn reader() -> impl Fn(&Input) -> Answer {
    let folder = scratch();
    move |input| {
        let path = folder.path().join("file");
        let are_images = input.file.is_multiple_of(2);
        let (header, length): (&[u8], _) = match are_images {
            true => (&[0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0, 4], 60),
            false => (&[0, 0, 8, 1, 0, 0, 0, 30], 30),
        };
        let mut parts = vec![header.to_vec(), (0..length).map(|byte| byte % 10).collect()];
        edit_parts(&input.parts, &mut parts, &[header, &[0x1f, 0x8b]]);
        let mut file = parts.concat();
        for layer in 0..[0, 1, 1, 2][usize::from(input.choice % 4)] {
            // In one or two gzip members.
            let (first, second) = file.split_at(if layer == 0 { file.len() / 2 } else { file.len() });
            file = [packed(first), packed(second)].concat();
        }
        if input.choice >= 128 {
            edit_bytes(&input.bytes, &mut file);
        }
        fs::write(&path, &file).unwrap();
        let read = match are_images {
            true => idx::read_images(&path).map(|(pixels, (rows, columns))| {
                (vec![pixels.nrows(), rows, columns], pixels.iter().copied().collect::<Vec<u8>>())
            }),
            false => idx::read_labels(&path).map(|labels| (vec![labels.len()], labels)),
        };
        let (sizes, elements) = match read {
            Ok(read) => read,
            Err(error) => return rejected(error, &path),
        };
        let mut expected = vec![0, 0, 8, sizes.len() as u8];
        expected.extend(sizes.iter().flat_map(|&size| (size as u32).to_be_bytes()));
        expected.extend(elements);
        let mut content = vec![];
        match file.starts_with(&[0x1f, 0x8b]) {
            true => drop(MultiGzDecoder::new(&file[..]).read_to_end(&mut content)),
            false => content = file,
        }
        assert!(expected == content, "what is read is what the file contains: sizes {sizes:?}");
        Answer::Accepted
    }
}

/// The bytes compressed with gzip.
pub(crate) fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(vec![], Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("writing to a Vec does not fail")
}
