//! What bolero draws: which valid file to change, and how. An edit applies to any file: positions
//! are taken modulo its length.

use std::ops::{Bound, Range};

use bolero::{Driver, TypeGenerator};

/// A change to a valid file. A target uses the edits that suit its format.
#[derive(Debug)]
pub(crate) struct Input {
    /// Selects one of the valid files.
    pub(crate) file: u8,
    /// Selects other options of a target: compression, or a corrected checksum.
    pub(crate) choice: u8,
    pub(crate) place: u16,
    /// Changes to chunks, segments and lines.
    pub(crate) parts: Vec<PartEdit>,
    pub(crate) words: Vec<WordEdit>,
    pub(crate) bytes: Vec<ByteEdit>,
}

impl TypeGenerator for Input {
    // Not derived: a derived generator may modify the previous input, and a case would depend on
    // earlier ones.
    fn generate<D: Driver>(driver: &mut D) -> Option<Self> {
        let (file, choice, place) = driver.produce()?;
        let (parts, words, bytes) = (up_to_three(driver)?, up_to_three(driver)?, up_to_three(driver)?);
        Some(Self { file, choice, place, parts, words, bytes })
    }
}

fn up_to_three<D: Driver, T: TypeGenerator>(driver: &mut D) -> Option<Vec<T>> {
    let count = driver.gen_usize(Bound::Included(&0), Bound::Included(&3))?;
    (0..count).map(|_| driver.produce()).collect()
}

/// An item of a list, selected by an arbitrary number.
pub(crate) fn pick<T>(items: &[T], which: u8) -> &T {
    &items[usize::from(which) % items.len()]
}

/// An integer, half of the time next to a power of two.
#[derive(Debug)]
pub(crate) struct Edge(u64);

impl TypeGenerator for Edge {
    fn generate<D: Driver>(driver: &mut D) -> Option<Self> {
        let (which, bits): (u8, u64) = driver.produce()?;
        let power = 1_u64 << (which % 64);
        Some(Self(if which < 128 { power.wrapping_add(bits % 3).wrapping_sub(1) } else { bits >> (which % 64) }))
    }
}

/// A number in text form, which may be malformed or out of range.
#[derive(Debug)]
pub(crate) struct Number(String);

const NUMBERS: &str = "0 -0 1 -1 0.5 255 1000000 -2147483648 4294967296 9007199254740993 -9223372036854775808 18446744073709551615 \
    18446744073709551616 340282366920938463463374607431768211456 1e38 3.5e38 1e308 -1e999 5e-324 nan inf true null 0x7fffffff 1_000 1,5";

impl TypeGenerator for Number {
    fn generate<D: Driver>(driver: &mut D) -> Option<Self> {
        let (which, Edge(bits)) = driver.produce()?;
        let numbers: Vec<&str> = NUMBERS.split(' ').collect();
        Some(Self(match which {
            0..160 => (*pick(&numbers, which)).to_owned(),
            160..208 => bits.to_string(),
            _ => f64::from_bits(bits).to_string(),
        }))
    }
}

/// A text that a terminal, a parser or a file system may misinterpret.
#[derive(Debug)]
pub(crate) struct Odd(&'static str);

const TEXTS: &str = "|\t|\n|\r\n|\u{1b}[31m|\u{feff}|\u{202e}|\u{fffd}|\u{2028}|💥|../../etc/passwd|\"|\\|%s%n|,|;|:|.|=|+|-|*|/|(|)|[|]|{|}|<|>|@|!|'|#";

impl TypeGenerator for Odd {
    fn generate<D: Driver>(driver: &mut D) -> Option<Self> {
        let texts: Vec<&str> = TEXTS.split('|').chain(["\0", "|"]).collect();
        Some(Self(pick::<&str>(&texts, driver.produce()?)))
    }
}

#[derive(Debug, TypeGenerator)]
pub(crate) enum ByteEdit {
    Flip { at: u16, bit: u8 },
    Word { at: u16, value: Edge, width: u8, is_big_endian: bool },
    Remove { at: u16, length: u8 },
    Copy { at: u16, length: u8, to: u16 },
    Insert { at: u16, bytes: Vec<u8> },
    Cut { at: u16 },
    Random { bytes: Vec<u8> },
}

pub(crate) fn edit_bytes(edits: &[ByteEdit], file: &mut Vec<u8>) {
    for edit in edits {
        let place = |at: &u16| usize::from(*at) % (file.len() + 1);
        let range = |at: &u16, length: usize| place(at)..(place(at) + length).min(file.len());
        let (range, bytes) = match edit {
            ByteEdit::Flip { at, bit } => {
                let range = range(at, 1);
                (range.clone(), file[range].iter().map(|byte| byte ^ 1 << (bit % 8)).collect())
            }
            ByteEdit::Word { at, value: Edge(value), width, is_big_endian } => {
                let width = 1 << (width % 4);
                let [little, big] = [&value.to_le_bytes()[..width], &value.to_be_bytes()[8 - width..]];
                (range(at, width), if *is_big_endian { big.to_vec() } else { little.to_vec() })
            }
            ByteEdit::Remove { at, length } => (range(at, usize::from(*length)), vec![]),
            ByteEdit::Copy { at, length, to } => (range(to, 0), file[range(at, usize::from(*length))].to_vec()),
            ByteEdit::Insert { at, bytes } => (range(at, 0), bytes.clone()),
            ByteEdit::Cut { at } => (place(at)..file.len(), vec![]),
            ByteEdit::Random { bytes } => (0..file.len(), bytes.clone()),
        };
        file.splice(range, bytes);
    }
}

#[derive(Debug, TypeGenerator)]
pub(crate) enum PartEdit {
    Remove { which: u8 },
    Copy { which: u8, times: u8, to: u8 },
    Begin { which: u8, with: u8 },
    Change { which: u8, edit: ByteEdit },
}

/// Edits the parts of a file. `beginnings` are the prefixes by which a format distinguishes its parts.
pub(crate) fn edit_parts(edits: &[PartEdit], parts: &mut Vec<Vec<u8>>, beginnings: &[&[u8]]) {
    for edit in edits {
        if parts.is_empty() {
            return;
        }
        let place = |which: &u8| usize::from(*which) % parts.len();
        match edit {
            PartEdit::Remove { which } => drop(parts.remove(place(which))),
            PartEdit::Copy { which, times, to } => {
                let copies = vec![parts[place(which)].clone(); 1 + usize::from(times % 3)];
                let to = place(to);
                parts.splice(to..to, copies);
            }
            PartEdit::Begin { which, with } => {
                let (which, with) = (place(which), pick(beginnings, *with));
                let end = with.len().min(parts[which].len());
                parts[which].splice(..end, with.iter().copied());
            }
            PartEdit::Change { which, edit } => {
                let which = place(which);
                edit_bytes(std::slice::from_ref(edit), &mut parts[which]);
            }
        }
    }
}

/// Edits the words and lines of a text, and sometimes its bytes. The result need not be UTF-8.
pub(crate) fn edit_text(input: &Input, text: &mut Vec<u8>, beginnings: &[&[u8]]) {
    edit_words(&input.words, text);
    if input.choice.is_multiple_of(4) {
        let mut lines = text.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
        edit_parts(&input.parts, &mut lines, beginnings);
        *text = lines.concat();
    }
    if input.choice.is_multiple_of(16) {
        edit_bytes(&input.bytes, text);
    }
}

#[derive(Debug, TypeGenerator)]
pub(crate) enum WordEdit {
    Number { at: u16, with: Number },
    Other { at: u16, from: u16 },
    Remove { at: u16 },
    Insert { at: u16, text: Odd },
    Nest { at: u16, kind: u8, is_closed: bool, depth: Edge },
}

/// Edits the words of a text.
pub(crate) fn edit_words(edits: &[WordEdit], text: &mut Vec<u8>) {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_.%$".contains(&byte);
    for edit in edits {
        let (range, with) = match edit {
            WordEdit::Number { at, with } => {
                (piece(text, at, |byte| byte.is_ascii_digit() || b".-".contains(&byte)), with.0.clone().into_bytes())
            }
            WordEdit::Other { at, from } => (piece(text, at, is_word), text[piece(text, from, is_word)].to_vec()),
            WordEdit::Remove { at } => (piece(text, at, is_word), vec![]),
            WordEdit::Insert { at, text: odd } => {
                let at = usize::from(*at) % (text.len() + 1);
                (at..at, odd.0.as_bytes().to_vec())
            }
            WordEdit::Nest { at, kind, is_closed, depth: Edge(depth) } => {
                // Sometimes deeper than any recursion limit.
                let depth = if *depth == 0x1_0000 { 50_000 } else { (depth % 200) as usize };
                let (open, close) =
                    *pick(&[("[", "]"), ("{", "}"), ("(", ")"), ("{a=", "}"), ("{\"a\":", "}"), ("a.", "")], *kind);
                let closed = if *is_closed { close.repeat(depth) } else { String::new() };
                (piece(text, at, |byte| byte.is_ascii_alphanumeric()), (open.repeat(depth) + &closed).into_bytes())
            }
        };
        text.splice(range, with);
    }
}

/// The range of bytes that satisfy `belongs`, around or after a position. Empty if there are none.
fn piece(text: &[u8], at: &u16, belongs: impl Fn(u8) -> bool) -> Range<usize> {
    let from = usize::from(*at) % (text.len() + 1);
    let first = text[from..].iter().position(|&byte| belongs(byte)).map_or(from, |offset| from + offset);
    let start = text[..first].iter().rposition(|&byte| !belongs(byte)).map_or(0, |before| before + 1);
    let end = text[first..].iter().position(|&byte| !belongs(byte)).map_or(text.len(), |offset| first + offset);
    if start <= end { start..end } else { first..first }
}
