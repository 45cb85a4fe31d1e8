//! What submissions have in common, beyond the code that they were given: fingerprints of their tokens, chosen by
//! winnowing (Schleimer, Wilkerson and Aiken, "Winnowing: Local Algorithms for Document Fingerprinting", 2003).
//!
//! Names, literals, comments and the layout do not count, nor does the order of functions. A result is a list of places
//! for a person to read, never a verdict: short functions of the same assignment are alike.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::ops::RangeInclusive;
use std::path::PathBuf;

use rustc_lexer::{FrontmatterAllowed, TokenKind, tokenize};

/// Number of tokens that a fingerprint covers.
const TOKENS: usize = 16;
/// One of each `WINDOW` consecutive fingerprints is kept, so that a common run of `TOKENS + WINDOW − 1` tokens is found.
const WINDOW: usize = 8;
/// A fingerprint that more submissions have than this share, and than three, is common knowledge.
const COMMON: f64 = 0.2;
/// Shares of common fingerprints from which a pair is listed, and their least number.
const LEAST_SHARE: f64 = 0.4;
const LEAST: usize = 6;

/// The sources of a submission by their paths.
pub(super) type Files = BTreeMap<PathBuf, String>;

/// A file and its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: PathBuf,
    pub(super) lines: RangeInclusive<usize>,
}

/// Two submissions that have more in common than others.
#[derive(Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) names: [String; 2],
    /// Common fingerprints as a share of those of the submission that has fewer, 0 … 1.
    pub(super) share: f64,
    /// The places that are alike, in both.
    pub(super) places: Vec<[Place; 2]>,
}

/// The pairs of submissions that are alike, most of all first. `given` is what all have been given.
pub(super) fn pairs(submissions: &[(String, Files)], given: &Files) -> Vec<Pair> {
    let known: HashSet<u64> = fingerprints(given).into_keys().collect();
    let mut prints: Vec<HashMap<u64, Place>> = submissions.iter().map(|(_, files)| fingerprints(files)).collect();
    let mut holders: HashMap<u64, usize> = HashMap::new();
    for hash in prints.iter().flat_map(HashMap::keys) {
        *holders.entry(*hash).or_default() += 1;
    }
    let most = (COMMON * submissions.len() as f64).max(3.0) as usize;
    for prints in &mut prints {
        prints.retain(|hash, _| !known.contains(hash) && holders[hash] <= most);
    }
    let mut pairs = Vec::new();
    for (second, b) in prints.iter().enumerate() {
        for (first, a) in prints[..second].iter().enumerate() {
            let common: Vec<u64> = a.keys().filter(|hash| b.contains_key(hash)).copied().collect();
            let share = common.len() as f64 / a.len().min(b.len()).max(1) as f64;
            if common.len() >= LEAST && share >= LEAST_SHARE {
                let names = [first, second].map(|index| submissions[index].0.clone());
                let places = merged(common.iter().map(|hash| [a[hash].clone(), b[hash].clone()]).collect());
                pairs.push(Pair { names, share, places });
            }
        }
    }
    pairs.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.names.cmp(&b.names)));
    pairs
}

/// Places that overlap or touch in both files, as one.
fn merged(mut places: Vec<[Place; 2]>) -> Vec<[Place; 2]> {
    places.sort_by_key(|[a, b]| (a.file.clone(), b.file.clone(), *a.lines.start(), *b.lines.start()));
    let mut merged: Vec<[Place; 2]> = Vec::new();
    for place in places {
        let touches = |last: &[Place; 2]| {
            last.iter().zip(&place).all(|(last, next)| {
                last.file == next.file
                    && *next.lines.start() <= last.lines.end() + 1
                    && *last.lines.start() <= next.lines.end() + 1
            })
        };
        match merged.last_mut().filter(|last| touches(last)) {
            None => merged.push(place),
            Some(last) => {
                for (last, next) in last.iter_mut().zip(place) {
                    let start = *last.lines.start().min(next.lines.start());
                    last.lines = start..=*last.lines.end().max(next.lines.end());
                }
            }
        }
    }
    merged
}

/// The fingerprints of all files, with the first place of each.
fn fingerprints(files: &Files) -> HashMap<u64, Place> {
    let mut prints = HashMap::new();
    for (path, text) in files {
        let tokens = tokens_of(text);
        let hashes: Vec<u64> = tokens
            .windows(TOKENS)
            .map(|run| {
                let mut hasher = DefaultHasher::new();
                run.iter().for_each(|(token, _)| token.hash(&mut hasher));
                hasher.finish()
            })
            .collect();
        for at in winnowed(&hashes) {
            let run = &tokens[at..at + TOKENS];
            let place = || Place { file: path.clone(), lines: run[0].1..=run[TOKENS - 1].1 };
            prints.entry(hashes[at]).or_insert_with(place);
        }
    }
    prints
}

/// The positions that winnowing keeps: the last least hash of each window.
fn winnowed(hashes: &[u64]) -> BTreeSet<usize> {
    let least = |window: RangeInclusive<usize>| window.rev().min_by_key(|&at| hashes[at]);
    match hashes.len() {
        0 => BTreeSet::new(),
        count => (0..count.saturating_sub(WINDOW - 1).max(1))
            .filter_map(|at| least(at..=(at + WINDOW - 1).min(count - 1)))
            .collect(),
    }
}

/// The tokens with their lines, without comments. Names that the language does not have, and literals, are all the same.
fn tokens_of(text: &str) -> Vec<(&str, usize)> {
    const WORDS: [&str; 18] = [
        "as", "break", "continue", "else", "fn", "for", "if", "impl", "in", "let", "loop", "match", "move", "mut",
        "return", "unsafe", "use", "while",
    ];
    let (mut tokens, mut at, mut line) = (Vec::new(), 0, 1);
    for token in tokenize(text, FrontmatterAllowed::No) {
        let written = &text[at..at + token.len as usize];
        let kept = match token.kind {
            TokenKind::LineComment { .. } | TokenKind::BlockComment { .. } | TokenKind::Whitespace => None,
            TokenKind::Ident if WORDS.contains(&written) => Some(written),
            TokenKind::Ident | TokenKind::RawIdent => Some("name"),
            TokenKind::Literal { .. } => Some("literal"),
            _ => Some(written),
        };
        tokens.extend(kept.map(|kept| (kept, line)));
        line += written.matches('\n').count();
        at += written.len();
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "max_functions/src/trivial.rs";
    const ORIGINAL: &str = "\
fn largest(a: &[i32], b: &[i32]) -> Vec<i32> {
    let mut c = Vec::with_capacity(a.len());
    let mut i = 0;
    while i < a.len() {
        let (x, y) = (a[i], b[i]);
        if x > y {
            c.push(x);
        } else {
            c.push(y);
        }
        i += 1;
    }
    c
}
fn total(values: &[i32]) -> i64 {
    let mut sum = 0;
    for value in values {
        if *value < 0 {
            sum -= i64::from(*value) * 2;
        } else {
            sum += i64::from(*value);
        }
    }
    sum
}
";
    const OTHER: &str = "\
fn largest(a: &[i32], b: &[i32]) -> Vec<i32> {
    a.iter().zip(b).map(|(left, right)| std::cmp::max(*left, *right)).collect::<Vec<i32>>()
}
fn total(values: &[i32]) -> i64 {
    values.iter().fold(0, |sum, value| match value.cmp(&0) {
        std::cmp::Ordering::Less => sum - 2 * i64::from(*value),
        std::cmp::Ordering::Equal | std::cmp::Ordering::Greater => sum + i64::from(*value),
    })
}
";

    fn submission(name: &str, text: &str) -> (String, Files) {
        (name.to_owned(), Files::from([(FILE.into(), text.to_owned())]))
    }

    /// The names, the comments, the layout and the order of the functions are others.
    fn disguised() -> String {
        let (first, second) = ORIGINAL.split_at(ORIGINAL.find("fn total").unwrap());
        let text = format!("// My own work.\n{second}\n{first}");
        let text =
            text.replace("largest", "maximum").replace("sum", "acc").replace(" c", " result").replace("    ", "\t");
        text.replace("i += 1;", "i\n+= 1; // next")
    }

    #[test]
    fn grade_finds_a_copy_with_other_names_comments_and_order() {
        let class = [submission("ann", ORIGINAL), submission("bob", OTHER), submission("cai", &disguised())];
        let found = pairs(&class, &Files::new());
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].names, ["ann", "cai"]);
        assert!(found[0].share > 0.8, "{found:?}");
        let [ann, cai] = &found[0].places[0];
        assert_eq!((ann.file.to_str(), cai.file.to_str()), (Some(FILE), Some(FILE)));
    }

    #[test]
    fn grade_does_not_compare_what_was_given_nor_what_many_have() {
        let class = [submission("ann", ORIGINAL), submission("cai", &disguised())];
        assert!(pairs(&class, &submission("given", ORIGINAL).1).is_empty());
        let class: Vec<_> = (0..10).map(|student| submission(&student.to_string(), ORIGINAL)).collect();
        assert!(pairs(&class, &Files::new()).is_empty());
    }

    #[test]
    fn grade_keeps_a_fingerprint_of_every_window() {
        for count in [0, 1, WINDOW - 1, WINDOW, 100] {
            let hashes: Vec<u64> = (0..count as u64).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32).collect();
            let kept: Vec<usize> = winnowed(&hashes).into_iter().collect();
            assert_eq!(kept.is_empty(), count == 0);
            assert!(kept.windows(2).all(|pair| pair[1] - pair[0] <= WINDOW), "{kept:?}");
        }
    }

    #[test]
    fn grade_compares_what_is_no_rust_too() {
        let class = [submission("ann", "fn f( {"), submission("bob", ""), submission("cai", "\"endless")];
        assert!(pairs(&class, &Files::new()).is_empty());
        let broken = ORIGINAL.replace("    c\n}", "    c\n");
        let class = [submission("ann", ORIGINAL), submission("bob", &broken)];
        assert_eq!(pairs(&class, &Files::new()).len(), 1);
    }
}
