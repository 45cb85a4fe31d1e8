//! Random changes of a kernel, as a learner makes them.

use rand::RngExt;
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;

/// What is replaced by what, as words or marks of their own.
const REPLACED: [(&str, &str); 38] = [
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
    ("TREE", "TREE / 2"),
    ("CELLS", "(CELLS - 1)"),
    ("SIDE", "(SIDE - 1)"),
    (" if ", " if !"),
    ("0.0", "1.5"),
];

/// The kernel with one or two changes.
pub(crate) fn changed(text: &str, random: &mut ChaCha8Rng) -> String {
    let mut changed = text.to_owned();
    let has_two = random.random_ratio(1, 4);
    for _ in 0..200 {
        if change(&mut changed, random).is_some() && (!has_two || random.random()) && changed != text {
            break;
        }
    }
    changed
}

/// One change; None where there is nothing to change in the drawn way.
fn change(text: &mut String, random: &mut ChaCha8Rng) -> Option<()> {
    // Not the signature: the launch is that of the puzzle.
    let body = text.find("{\n").map_or(0, |at| at + 2);
    match random.random_range(0..10) {
        0 | 1 => lines(text, body, random),
        2 => number(text, body, random),
        3 => variable(text, body, random),
        _ => {
            let (from, to) = REPLACED.choose(random)?;
            let places: Vec<usize> = text[body..].match_indices(from).map(|(at, _)| body + at).collect();
            let at = *places.choose(random)?;
            text.replace_range(at..at + from.len(), to);
            Some(())
        }
    }
}

/// Deletes a statement in one line, doubles it, or swaps it with the next.
fn lines(text: &mut String, body: usize, random: &mut ChaCha8Rng) -> Option<()> {
    let first = text[..body].lines().count();
    let mut all: Vec<String> = text.lines().map(str::to_owned).collect();
    let statements: Vec<usize> = (first..all.len()).filter(|&at| all[at].trim_end().ends_with(';')).collect();
    let at = *statements.choose(random)?;
    match random.random_range(0..4) {
        0 | 1 => drop(all.remove(at)),
        2 => all.insert(at, all[at].clone()),
        _ if statements.contains(&(at + 1)) => all.swap(at, at + 1),
        _ => return None,
    }
    *text = all.join("\n");
    Some(())
}

/// Another number nearby.
fn number(text: &mut String, body: usize, random: &mut ChaCha8Rng) -> Option<()> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
    let bytes = text.as_bytes();
    let starts: Vec<usize> =
        (body..bytes.len()).filter(|&at| bytes[at].is_ascii_digit() && !is_part(bytes[at - 1])).collect();
    let at = *starts.choose(random)?;
    let end = (at..bytes.len()).find(|&end| !bytes[end].is_ascii_digit()).unwrap_or(bytes.len());
    let value: u64 = text[at..end].parse().ok()?;
    let other = *[value + 1, value.saturating_sub(1), 2 * value + 1, value / 2].choose(random)?;
    text.replace_range(at..end, &other.to_string());
    Some(())
}

/// Another name of the kernel in place of one.
fn variable(text: &mut String, body: usize, random: &mut ChaCha8Rng) -> Option<()> {
    const NAMES: [&str; 31] = [
        "x", "y", "out", "i", "t", "tx", "ty", "row", "column", "rows", "columns", "first", "sum", "value", "k",
        "half", "left", "right", "tile", "values", "counts", "own", "delta", "first_k", "a", "b", "w", "inner",
        "largest", "sums", "distance",
    ];
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = text.as_bytes();
    let places: Vec<(usize, usize)> = NAMES
        .iter()
        .flat_map(|name| text[body..].match_indices(name).map(move |(at, _)| (body + at, body + at + name.len())))
        .filter(|&(at, end)| !is_part(bytes[at - 1]) && bytes.get(end).is_none_or(|&byte| !is_part(byte)))
        .collect();
    let (&(at, end), &(from, to)) = (places.choose(random)?, places.choose(random)?);
    let other = text[from..to].to_owned();
    text.replace_range(at..end, &other);
    Some(())
}
