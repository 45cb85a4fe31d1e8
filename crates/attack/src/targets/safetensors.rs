//! Mutations of safetensors files: the header's length in 8 bytes, the header as JSON, and the tensors' bytes.

use serde_json::{Value, json};

use crate::finding::{Case, Expected};
use crate::mutate;
use crate::random::Random;

/// A file split into header and tensor data.
struct Parts {
    header: Value,
    data: Vec<u8>,
}

impl Parts {
    fn of(file: &[u8]) -> Option<Self> {
        let (length, rest) = file.split_first_chunk::<8>()?;
        let (header, data) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        Some(Self { header: serde_json::from_slice(header).ok()?, data: data.to_vec() })
    }

    fn file(&self) -> Vec<u8> {
        let mut header = self.header.to_string().into_bytes();
        // The tensors begin at a multiple of 8 bytes.
        header.resize(header.len().next_multiple_of(8), b' ');
        [&(header.len() as u64).to_le_bytes()[..], &header, &self.data].concat()
    }

    /// Converts the file to version 1 of the format, without a checksum, so that mutations reach the readers of its
    /// content.
    fn remove_checksum(&mut self) {
        let Some(metadata) = self.metadata() else { return };
        let Some(format) = metadata.get("format").and_then(Value::as_str) else { return };
        let (format, is_run) = (format.replace(" 2", " 1"), format.contains("checkpoint"));
        drop(metadata.remove("checksum"));
        // Version 1 has these in separate files.
        for key in ["settings", "ended"].into_iter().filter(|_| is_run) {
            drop(metadata.remove(key));
        }
        metadata.insert("format".to_owned(), json!(format));
    }

    fn metadata(&mut self) -> Option<&mut serde_json::Map<String, Value>> {
        self.header.get_mut("__metadata__")?.as_object_mut()
    }
}

/// A case made of a valid file. In one of four cases only one bit is flipped, which the reader must detect.
pub(super) fn case(random: &mut Random, name: &str, file: &[u8]) -> Case {
    let mut bytes = file.to_vec();
    if random.one_in(4) {
        mutate::flip_bit(random, &mut bytes);
        return Case { name: name.to_owned(), bytes, expected: Expected::Rejected };
    }
    if let Some(mut parts) = Parts::of(file) {
        if !random.one_in(4) {
            parts.remove_checksum();
        }
        for _ in 0..1 + random.below(2) {
            change(random, &mut parts);
        }
        bytes = parts.file();
    }
    if random.one_in(5) {
        mutate::bytes(random, &mut bytes);
    }
    Case { name: name.to_owned(), bytes, expected: Expected::Any }
}

/// The file in version 1 of the format, without a checksum.
pub(super) fn without_checksum(file: &[u8]) -> Vec<u8> {
    let Some(mut parts) = Parts::of(file) else { return file.to_vec() };
    parts.remove_checksum();
    parts.file()
}

fn change(random: &mut Random, parts: &mut Parts) {
    match random.below(6) {
        0 => mutate::json(random, &mut parts.header),
        1 | 2 => metadata_change(random, parts),
        3 => tensor_change(random, parts),
        4 => {
            // Replace a whole element, so that only its value changes.
            let values = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN_POSITIVE, -0.0, 1e30];
            let at = 4 * random.below(parts.data.len() / 4);
            if let Some(element) = parts.data.get_mut(at..at + 4) {
                element.copy_from_slice(&values[random.below(values.len())].to_le_bytes());
            }
        }
        _ => mutate::bytes(random, &mut parts.data),
    }
}

/// Changes a value of the metadata: as JSON where it is JSON, else as text.
fn metadata_change(random: &mut Random, parts: &mut Parts) {
    let Some(metadata) = parts.metadata() else { return };
    let count = metadata.len();
    let Some(value) = metadata.values_mut().nth(random.below(count)) else { return };
    let text = value.as_str().unwrap_or_default();
    let changed = match serde_json::from_str::<Value>(text) {
        Ok(mut inner) if !random.one_in(6) => {
            mutate::json(random, &mut inner);
            inner.to_string()
        }
        _ => mutate::text_changed(random, text),
    };
    *value = json!(changed);
}

/// Changes a tensor's type, shape or offsets.
fn tensor_change(random: &mut Random, parts: &mut Parts) {
    const TYPES: [&str; 8] = ["F32", "F64", "F16", "BF16", "I64", "U8", "BOOL", "F8_E4M3"];
    let Some(tensors) = parts.header.as_object_mut() else { return };
    let count = tensors.len();
    let tensor = tensors.values_mut().nth(random.below(count)).and_then(Value::as_object_mut);
    let Some(tensor) = tensor else { return };
    match random.below(3) {
        0 => drop(tensor.insert("dtype".to_owned(), json!(random.pick(&TYPES)))),
        key => {
            let integers = tensor.get_mut(if key == 1 { "shape" } else { "data_offsets" });
            let Some(integers) = integers.and_then(Value::as_array_mut) else { return };
            match random.below(4) {
                0 => integers.reverse(),
                1 => integers.push(json!(mutate::edge(random))),
                _ => {
                    let which = random.below(integers.len());
                    if let Some(integer) = integers.get_mut(which) {
                        *integer = json!(mutate::edge(random));
                    }
                }
            }
        }
    }
}
