//! Random changes of a kernel, as a learner makes them.

/// A sequence of numbers from a seed (xorshift, Marsaglia 2003).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % count.max(1)
    }
}

/// What is replaced by what, as words or marks of their own.
const REPLACED: [(&str, &str); 36] = [
    (" < ", " <= "),
    (" < ", " > "),
    (" <= ", " < "),
    (" > ", " >= "),
    (" > ", " < "),
    (" >= ", " > "),
    (" == ", " != "),
    (" && ", " || "),
    (" || ", " && "),
    (" + ", " - "),
    (" + ", " * "),
    (" - ", " + "),
    (" * ", " + "),
    (" / ", " * "),
    (" / ", " % "),
    (" % ", " / "),
    (" += ", " -= "),
    (" += ", " = "),
    (" *= ", " += "),
    (" /= ", " -= "),
    ("thread_idx_x", "thread_idx_y"),
    ("thread_idx_y", "thread_idx_x"),
    ("thread_idx_x", "block_idx_x"),
    ("block_idx_x", "thread_idx_x"),
    ("block_idx_y", "block_idx_x"),
    ("index_1d", "thread_idx_x"),
    ("block_dim_x", "grid_dim_x"),
    ("shuffle_down", "shuffle_up"),
    ("shuffle_down", "shuffle_xor"),
    (" as usize", ""),
    (" as usize", " as u32"),
    ("let mut ", "let "),
    ("THREADS", "THREADS / 2"),
    ("SIDE", "(SIDE - 1)"),
    (" if ", " if !"),
    ("0.0", "1.5"),
];

/// The kernel with one or two changes.
pub(crate) fn changed(text: &str, random: &mut Random) -> String {
    let mut changed = text.to_owned();
    let count = 1 + random.below(4) / 3;
    for _ in 0..200 {
        if change(&mut changed, random) && (count == 1 || random.below(2) == 0) && changed != text {
            break;
        }
    }
    changed
}

fn change(text: &mut String, random: &mut Random) -> bool {
    // Not the signature: the launch is that of the lesson.
    let body = text.find("{\n").map_or(0, |at| at + 2);
    match random.below(10) {
        0 | 1 => lines(text, body, random),
        2 => number(text, body, random),
        3 => variable(text, body, random),
        _ => {
            let (from, to) = REPLACED[random.below(REPLACED.len())];
            let places: Vec<usize> = text[body..].match_indices(from).map(|(at, _)| body + at).collect();
            let Some(&at) = places.get(random.below(places.len())) else { return false };
            text.replace_range(at..at + from.len(), to);
            true
        }
    }
}

/// Deletes a statement in one line, doubles it, or swaps it with the next.
fn lines(text: &mut String, body: usize, random: &mut Random) -> bool {
    let first = text[..body].lines().count();
    let mut all: Vec<String> = text.lines().map(str::to_owned).collect();
    let statements: Vec<usize> = (first..all.len()).filter(|&at| all[at].trim_end().ends_with(';')).collect();
    let Some(&at) = statements.get(random.below(statements.len())) else { return false };
    match random.below(4) {
        0 | 1 => drop(all.remove(at)),
        2 => all.insert(at, all[at].clone()),
        _ if statements.contains(&(at + 1)) => all.swap(at, at + 1),
        _ => return false,
    }
    *text = all.join("\n");
    true
}

/// Another number nearby.
fn number(text: &mut String, body: usize, random: &mut Random) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
    let bytes = text.as_bytes();
    let starts: Vec<usize> =
        (body..bytes.len()).filter(|&at| bytes[at].is_ascii_digit() && !is_part(bytes[at - 1])).collect();
    let Some(&at) = starts.get(random.below(starts.len())) else { return false };
    let end = (at..bytes.len()).find(|&end| !bytes[end].is_ascii_digit()).unwrap_or(bytes.len());
    let Ok(value) = text[at..end].parse::<u64>() else { return false };
    let other = match random.below(4) {
        0 => value + 1,
        1 => value.saturating_sub(1),
        2 => 2 * value + 1,
        _ => value / 2,
    };
    text.replace_range(at..end, &other.to_string());
    true
}

/// Another name of the kernel in place of one.
fn variable(text: &mut String, body: usize, random: &mut Random) -> bool {
    const NAMES: [&str; 24] = [
        "x", "y", "out", "i", "t", "tx", "ty", "row", "column", "rows", "columns", "first", "sum", "value", "k",
        "half", "left", "right", "tile", "values", "counts", "own", "delta", "first_k",
    ];
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = text.as_bytes();
    let places: Vec<(usize, usize)> = NAMES
        .iter()
        .flat_map(|name| text[body..].match_indices(name).map(move |(at, _)| (body + at, body + at + name.len())))
        .filter(|&(at, end)| !is_part(bytes[at - 1]) && bytes.get(end).is_none_or(|&byte| !is_part(byte)))
        .collect();
    if places.len() < 2 {
        return false;
    }
    let (from, to) = (places[random.below(places.len())], places[random.below(places.len())]);
    let other = text[to.0..to.1].to_owned();
    text.replace_range(from.0..from.1, &other);
    true
}
