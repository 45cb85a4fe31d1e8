//! Shrinks a case: removes lines, then bytes, as long as the same defect shows.

use std::time::{Duration, Instant};

/// Maximum number of smaller cases to try.
pub(crate) const TRIES: usize = 600;
/// Maximum time for shrinking one case.
pub(crate) const TIME: Duration = Duration::from_secs(120);

/// The smallest case found for which `shows` is true. `shows(bytes)` must be true.
pub(crate) fn shrink(bytes: &[u8], shows: &mut dyn FnMut(&[u8]) -> bool) -> Vec<u8> {
    let (mut left, end) = (TRIES, Instant::now() + TIME);
    let mut limited = |candidate: &[u8]| {
        left = left.saturating_sub(1);
        left > 0 && Instant::now() < end && shows(candidate)
    };
    let lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
    let kept = delta(lines, &mut |lines| limited(&lines.concat()));
    let bytes: Vec<&[u8]> = kept.iter().flat_map(|line| line.chunks(1)).collect();
    delta(bytes, &mut |bytes| limited(&bytes.concat())).concat()
}

/// Removes halves, quarters, … of the pieces while `shows` stays true (Zeller and Hildebrandt's ddmin, without its step
/// that reduces to a single subset).
fn delta<'a>(mut pieces: Vec<&'a [u8]>, shows: &mut dyn FnMut(&[&'a [u8]]) -> bool) -> Vec<&'a [u8]> {
    let mut size = pieces.len().div_ceil(2);
    while size > 0 && !pieces.is_empty() {
        let mut start = 0;
        let mut is_smaller = false;
        while start < pieces.len() {
            let end = (start + size).min(pieces.len());
            let candidate = [&pieces[..start], &pieces[end..]].concat();
            if shows(&candidate) {
                pieces = candidate;
                is_smaller = true;
            } else {
                start = end;
            }
        }
        size = if size == 1 && !is_smaller { 0 } else { (size / 2).max(1) };
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_the_part_that_shows_the_defect() {
        let text = (0..200).map(|line| format!("line {line}\n")).collect::<String>() + "a needle here\n";
        let mut shows = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("needle");
        assert_eq!(shrink(text.as_bytes(), &mut shows), b"needle");
    }

    #[test]
    fn two_distant_pieces_are_both_kept() {
        let text = [vec![b'.'; 300], b"A".to_vec(), vec![b'.'; 300], b"B".to_vec()].concat();
        let mut shows = |bytes: &[u8]| bytes.contains(&b'A') && bytes.contains(&b'B');
        assert_eq!(shrink(&text, &mut shows), b"AB");
    }

    #[test]
    fn an_irreducible_case_stays() {
        assert_eq!(shrink(b"abc", &mut |bytes| bytes == b"abc"), b"abc");
    }
}
