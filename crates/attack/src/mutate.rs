//! Mutations of bytes, of texts and of JSON values.

use std::ops::Range;

use serde_json::{Map, Value, json};

use crate::random::Random;

/// Integers at the limits of integer types.
const EDGES: [u64; 20] = [
    0,
    1,
    2,
    7,
    127,
    128,
    255,
    256,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    1 << 53,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX,
];

/// Numbers in text form, and malformed or out-of-range ones.
const NUMBERS: [&str; 32] = [
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "0.5",
    "-0.0",
    "255",
    "65536",
    "1000000",
    "2147483647",
    "-2147483648",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "1e38",
    "3.5e38",
    "1e308",
    "1e309",
    "-1e999",
    "5e-324",
    "nan",
    "inf",
    "0x7fffffff",
    "1_000",
];

/// Strings that a terminal, a parser or a file system may misinterpret.
pub(crate) const TEXTS: [&str; 20] = [
    "",
    " ",
    "\t",
    "\0",
    "\n",
    "\r\n",
    "\u{1b}[31m",
    "\u{1b}]0;title\u{7}",
    "\u{feff}",
    "\u{202e}",
    "\u{fffd}",
    "\u{85}",
    "\u{2028}",
    "é",
    "💥",
    "../../etc/passwd",
    "\"",
    "'",
    "\\",
    "%s%n",
];

/// An integer, often one of [`EDGES`].
pub(crate) fn edge(random: &mut Random) -> u64 {
    match random.below(4) {
        0 => random.bits(),
        1 => random.bits() >> random.below(64),
        _ => EDGES[random.below(EDGES.len())],
    }
}

/// A number in text form, often one of [`NUMBERS`].
pub(crate) fn number(random: &mut Random) -> String {
    match random.below(4) {
        0 => edge(random).to_string(),
        1 => f64::from_bits(random.bits()).to_string(),
        _ => random.pick(&NUMBERS).to_owned(),
    }
}

/// One to four small changes of bytes.
pub(crate) fn bytes(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..1 + random.below(4) {
        byte_change(random, bytes);
    }
}

/// Flips one bit.
pub(crate) fn flip_bit(random: &mut Random, bytes: &mut [u8]) {
    let at = random.below(bytes.len());
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << random.below(8);
    }
}

fn byte_change(random: &mut Random, bytes: &mut Vec<u8>) {
    let range = random.range(bytes.len());
    match random.below(10) {
        0 => flip_bit(random, bytes),
        1 => bytes[range].fill_with(|| random.bits() as u8),
        2 => drop(bytes.drain(range)),
        3 => {
            let piece = bytes[range].to_vec();
            let at = random.below(bytes.len() + 1);
            bytes.splice(at..at, piece);
        }
        4 => bytes.truncate(range.start),
        5 => bytes[range].fill([0, 0xff, b' ', b'0', b'"', b'\n'][random.below(6)]),
        6 | 7 => {
            let value = edge(random);
            let width = [1, 2, 4, 8][random.below(4)];
            let written = match random.one_in(2) {
                true => value.to_le_bytes()[..width].to_vec(),
                false => value.to_be_bytes()[8 - width..].to_vec(),
            };
            let end = (range.start + width).min(bytes.len());
            bytes.splice(range.start..end, written);
        }
        8 => {
            let other = random.range(bytes.len());
            let piece = bytes[other].to_vec();
            bytes.splice(range, piece);
        }
        _ => {
            let piece: Vec<u8> = (0..1 + random.below(64)).map(|_| random.bits() as u8).collect();
            bytes.splice(range.start..range.start, piece);
        }
    }
}

/// One to four changes of a text's tokens and lines, sometimes of its bytes. The result need not be UTF-8.
pub(crate) fn text(random: &mut Random, text: &mut Vec<u8>) {
    for _ in 0..[1, 1, 1, 2, 2, 3, 4][random.below(7)] {
        match random.below(8) {
            0 => byte_change(random, text),
            1 | 2 => line_change(random, text),
            _ => token_change(random, text),
        }
    }
}

fn line_change(random: &mut Random, text: &mut Vec<u8>) {
    let line = piece(random, text, |byte| byte != b'\n');
    let whole = line.start..(line.end + 1).min(text.len());
    match random.below(4) {
        0 => drop(text.drain(whole)),
        1 => {
            let copy = text[whole.clone()].repeat(1 + random.below(3));
            text.splice(whole.end..whole.end, copy);
        }
        2 => {
            let other = piece(random, text, |byte| byte != b'\n');
            let copy = text[other].to_vec();
            text.splice(line, copy);
        }
        _ => {
            let other = piece(random, text, |byte| byte != b'\n');
            let copy = text[whole].to_vec();
            text.splice(other.start..other.start, copy);
        }
    }
}

fn token_change(random: &mut Random, text: &mut Vec<u8>) {
    let is_number = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'%' | b'$');
    match random.below(9) {
        0..3 => {
            let place = piece(random, text, is_number);
            text.splice(place, number(random).into_bytes());
        }
        3 => {
            let place = piece(random, text, is_word);
            let other = piece(random, text, is_word);
            let copy = text[other].to_vec();
            text.splice(place, copy);
        }
        4 => {
            let place = piece(random, text, is_word);
            text.drain(place);
        }
        5 => {
            let at = random.below(text.len() + 1);
            text.splice(at..at, random.pick(&TEXTS).bytes());
        }
        6 => {
            let at = random.below(text.len() + 1);
            text.splice(at..at, [b",;:.=+-*/()[]{}<>@!|\"'#"[random.below(23)]]);
        }
        7 => {
            let place = piece(random, text, is_word);
            let copy = text[place.clone()].repeat(1 + random.below(4));
            text.splice(place, copy);
        }
        _ => nest(random, text),
    }
}

/// Nests brackets up to 200 deep; in one of 20 calls up to 50,000 deep, which takes long and exceeds any recursion
/// limit.
fn nest(random: &mut Random, text: &mut Vec<u8>) {
    let depth = if random.one_in(20) { 1 + random.below(50_000) } else { 1 + random.below(200) };
    let (open, close) =
        random.pick(&[&("[", "]"), &("{", "}"), &("(", ")"), &("{a=", "}"), &("{\"a\":", "}"), &("a.", "")]);
    let closed = if random.one_in(2) { close.repeat(depth) } else { String::new() };
    let place = piece(random, text, |byte| byte.is_ascii_alphanumeric());
    text.splice(place, format!("{}{closed}", open.repeat(depth)).into_bytes());
}

/// The range of bytes that satisfy `belongs`, around or after a random position; empty if there is none.
fn piece(random: &mut Random, text: &[u8], belongs: impl Fn(u8) -> bool) -> Range<usize> {
    let from = random.below(text.len());
    let first = text.iter().skip(from).position(|&byte| belongs(byte)).map_or(from, |offset| from + offset);
    let start = text[..first].iter().rposition(|&byte| !belongs(byte)).map_or(0, |before| before + 1);
    let end = text[first..].iter().position(|&byte| !belongs(byte)).map_or(text.len(), |offset| first + offset);
    if start <= end { start..end } else { first..first }
}

/// One to three changes of a JSON value.
pub(crate) fn json(random: &mut Random, value: &mut Value) {
    for _ in 0..1 + random.below(3) {
        let copied = node(random, value).clone();
        let changed = node(random, value);
        json_change(random, changed, copied);
    }
}

/// A random node of the tree of values.
fn node<'a>(random: &mut Random, value: &'a mut Value) -> &'a mut Value {
    let children = match value {
        Value::Array(items) => items.len(),
        Value::Object(members) => members.len(),
        _ => 0,
    };
    if children == 0 || random.one_in(12) {
        return value;
    }
    let chosen = random.below(children);
    match value {
        Value::Array(items) => node(random, &mut items[chosen]),
        Value::Object(members) => match members.values_mut().nth(chosen) {
            Some(member) => node(random, member),
            None => unreachable!("{chosen} is below the number of members"),
        },
        _ => unreachable!("a value without children was returned above"),
    }
}

fn json_change(random: &mut Random, value: &mut Value, copied: Value) {
    let replaced = random.below(12);
    match (&mut *value, replaced) {
        (Value::Array(items), 0..8) => array_change(random, items, copied),
        (Value::Object(members), 0..8) => object_change(random, members, copied),
        (Value::String(text), 0..6) => *text = text_changed(random, text),
        (Value::Number(_), 0..8) => *value = json_number(random),
        (Value::Bool(is), 0..6) => *is = !*is,
        (_, 8) => *value = copied,
        (_, 9) => *value = Value::Null,
        (_, 10) => *value = json!(random.pick(&TEXTS)),
        _ => *value = json_number(random),
    }
}

fn json_number(random: &mut Random) -> Value {
    match number(random) {
        number if random.one_in(8) => json!(number),
        number => serde_json::from_str(&number).unwrap_or_else(|_| json!(edge(random) as i64)),
    }
}

fn array_change(random: &mut Random, items: &mut Vec<Value>, copied: Value) {
    let range = random.range(items.len());
    match random.below(5) {
        0 => drop(items.drain(range)),
        1 => items.push(copied),
        2 => items.insert(range.start, copied),
        3 => {
            let more: Vec<Value> = items[range].to_vec();
            let times = if random.one_in(20) { 1000 } else { 2 };
            (0..times).for_each(|_| items.extend_from_slice(&more));
        }
        _ => items.clear(),
    }
}

fn object_change(random: &mut Random, members: &mut Map<String, Value>, copied: Value) {
    let keys: Vec<String> = members.keys().cloned().collect();
    let key = keys.get(random.below(keys.len())).cloned().unwrap_or_default();
    match random.below(4) {
        0 => drop(members.remove(&key)),
        1 => {
            let renamed = text_changed(random, &key);
            if let Some(value) = members.remove(&key) {
                members.insert(renamed, value);
            }
        }
        2 => drop(members.insert(key, copied)),
        _ => drop(members.insert(text_changed(random, &key), copied)),
    }
}

/// A mutated copy of a text.
pub(crate) fn text_changed(random: &mut Random, before: &str) -> String {
    let mut after = before.as_bytes().to_vec();
    match random.below(4) {
        0 => after = random.pick(&TEXTS).as_bytes().to_vec(),
        1 => after = after.repeat(2 + if random.one_in(50) { random.below(5000) } else { 0 }),
        _ => text(random, &mut after),
    }
    String::from_utf8_lossy(&after).into_owned()
}
