//! Similarities of submissions to each other and to the published solutions, beyond the code that
//! students are given. Compares fingerprints of tokens, chosen by winnowing (Schleimer, Wilkerson
//! and Aiken, "Winnowing: Local Algorithms for Document Fingerprinting", 2003).
//!
//! Names, literals, comments, layout and the order of functions are ignored. The result is a list
//! of passages for a person to read, never a verdict: short functions for the same assignment look
//! alike.

use std::cmp::Reverse;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::hash::{Hash, Hasher};
use std::ops::RangeInclusive;
use std::path::PathBuf;

use rustc_lexer::{FrontmatterAllowed, TokenKind, tokenize};

/// Number of tokens that a fingerprint covers.
const TOKENS: usize = 16;
/// One of every `WINDOW` consecutive fingerprints is kept. This finds any common run of `TOKENS +
/// WINDOW − 1` tokens.
const WINDOW: usize = 8;
/// A fingerprint held by more than this share of the submissions, and by more than three, is listed
/// once for all of them.
const COMMON: f64 = 0.2;
/// Minimum share of common fingerprints, and their minimum number, for a pair to be listed.
const LEAST_SHARE: f64 = 0.4;
const LEAST: usize = 6;
/// Two sets of fingerprints belong to one cluster if at least this share of the submissions that
/// have either set have both.
const SAME_HOLDERS: f64 = 0.75;

/// Sources of a submission by path.
pub(super) type Files = BTreeMap<PathBuf, String>;

/// A range of lines in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: PathBuf,
    pub(super) lines: RangeInclusive<usize>,
}

/// Two unusually similar submissions, or a submission that resembles the published solutions.
#[derive(Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) names: [String; 2],
    /// Number of common fingerprints divided by the smaller submission's number of fingerprints,
    /// from 0 to 1.
    pub(super) share: f64,
    /// Similar passages in both.
    pub(super) places: Vec<[Place; 2]>,
}

/// Code that many submissions have.
#[derive(Debug, PartialEq)]
pub(super) struct Cluster {
    /// The submissions, in class order.
    pub(super) names: Vec<String>,
    /// The submission with the most of this code, and the passages there.
    pub(super) example: String,
    pub(super) places: Vec<Place>,
    /// Whether the published solutions contain most of this code.
    pub(super) is_published: bool,
}

/// The name of the published solutions in a pair.
pub(super) const PUBLISHED: &str = "the published solution";

/// Similarities within a class. Code that students are given does not count.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Likeness {
    /// Submissions that resemble the published solutions, most similar first.
    pub(super) published: Vec<Pair>,
    /// Code that more than a fifth of the class shares, the most widespread first.
    pub(super) clusters: Vec<Cluster>,
    /// Pairs of submissions that share code outside the clusters, most similar first.
    pub(super) pairs: Vec<Pair>,
}

/// Fingerprints of a submission or of the published solutions.
type Prints = HashMap<u64, Place>;

/// Finds what submissions share beyond `given`, with each other and with the `published` solutions.
pub(super) fn likeness(submissions: &[(String, Files)], given: &Files, published: &Files) -> Likeness {
    let known: HashSet<u64> = fingerprints(given).into_keys().collect();
    let solutions = fingerprints(published);
    let names: Vec<&str> = submissions.iter().map(|(name, _)| name.as_str()).collect();
    let mut prints: Vec<Prints> = submissions.iter().map(|(_, files)| own_prints(files, &known)).collect();
    let with_published =
        names.iter().zip(&prints).filter_map(|(name, prints)| with_published(name, prints, &solutions));
    let with_published = sorted(with_published.collect());
    let mut holders: HashMap<u64, Vec<usize>> = HashMap::new();
    for (index, prints) in prints.iter().enumerate() {
        prints.keys().for_each(|hash| holders.entry(*hash).or_default().push(index));
    }
    let most = (COMMON * submissions.len() as f64).max(3.0) as usize;
    holders.retain(|_, holders| holders.len() > most);
    let clusters = clusters(&names, &prints, &holders, &solutions);
    prints.iter_mut().for_each(|prints| prints.retain(|hash, _| !holders.contains_key(hash)));
    Likeness { published: with_published, clusters, pairs: pairs(&names, &prints) }
}

/// Compares one submission with the published solutions; returns a pair if they share enough to be
/// listed.
pub(super) fn with_solutions(name: &str, files: &Files, given: &Files, published: &Files) -> Option<Pair> {
    let known: HashSet<u64> = fingerprints(given).into_keys().collect();
    with_published(name, &own_prints(files, &known), &fingerprints(published))
}

/// Fingerprints of code that was not given.
fn own_prints(files: &Files, known: &HashSet<u64>) -> Prints {
    let mut prints = fingerprints(files);
    prints.retain(|hash, _| !known.contains(hash));
    prints
}

/// Finds the crates of a submission that resemble the published solutions. Each crate is compared
/// separately: a student who copied one part may have written the others.
fn with_published(name: &str, prints: &Prints, solutions: &Prints) -> Option<Pair> {
    let mut crates: BTreeMap<&OsStr, Vec<u64>> = BTreeMap::new();
    for (hash, place) in prints {
        crates.entry(place.file.iter().next().unwrap_or_default()).or_default().push(*hash);
    }
    let (mut all, mut common) = (0, Vec::new());
    for hashes in crates.into_values() {
        let alike = hashes.iter().filter(|hash| solutions.contains_key(hash));
        let alike: Vec<u64> = alike.copied().collect();
        if is_listed(alike.len(), hashes.len()) {
            all += hashes.len();
            common.extend(alike);
        }
    }
    let share = common.len() as f64 / all.max(1) as f64;
    let places = merged(common.iter().map(|hash| [prints[hash].clone(), solutions[hash].clone()]).collect());
    (!common.is_empty()).then(|| Pair { names: [name.to_owned(), PUBLISHED.to_owned()], share, places })
}

/// Whether `common` of `all` fingerprints are enough to be listed.
fn is_listed(common: usize, all: usize) -> bool {
    common >= LEAST && common as f64 >= LEAST_SHARE * all as f64
}

/// Pairs of similar submissions.
fn pairs(names: &[&str], prints: &[Prints]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (second, b) in prints.iter().enumerate() {
        for (first, a) in prints[..second].iter().enumerate() {
            let common: Vec<u64> = a.keys().filter(|hash| b.contains_key(hash)).copied().collect();
            let all = a.len().min(b.len());
            if is_listed(common.len(), all) {
                let names = [first, second].map(|index| names[index].to_owned());
                let places = merged(common.iter().map(|hash| [a[hash].clone(), b[hash].clone()]).collect());
                pairs.push(Pair { names, share: common.len() as f64 / all as f64, places });
            }
        }
    }
    sorted(pairs)
}

fn sorted(mut pairs: Vec<Pair>) -> Vec<Pair> {
    pairs.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.names.cmp(&b.names)));
    pairs
}

/// Clusters the fingerprints that many submissions share. Fingerprints with the same `holders` form
/// a group. A smaller group joins the first larger group with nearly the same holders.
fn clusters(names: &[&str], prints: &[Prints], holders: &HashMap<u64, Vec<usize>>, solutions: &Prints) -> Vec<Cluster> {
    let mut of_same: BTreeMap<&[usize], Vec<u64>> = BTreeMap::new();
    for (hash, holders) in holders {
        of_same.entry(holders).or_default().push(*hash);
    }
    let mut of_same: Vec<(&[usize], Vec<u64>)> = of_same.into_iter().collect();
    of_same.sort_by_key(|(_, hashes)| Reverse(hashes.len()));
    let mut groups: Vec<(&[usize], Vec<u64>)> = Vec::new();
    for (holders, hashes) in of_same {
        match groups.iter_mut().find(|(of_group, _)| are_same(of_group, holders)) {
            Some((_, group)) => group.extend(hashes),
            None => groups.push((holders, hashes)),
        }
    }
    groups.retain(|(_, hashes)| hashes.len() >= LEAST);
    groups.sort_by_key(|(of_group, hashes)| Reverse((of_group.len(), hashes.len())));
    let cluster = |(of_group, hashes): (&[usize], Vec<u64>)| {
        let count = |&index: &usize| hashes.iter().filter(|hash| prints[index].contains_key(hash)).count();
        // The first one wins if counts are equal.
        let example = of_group.iter().copied().rev().max_by_key(count)?;
        let places = hashes.iter().filter_map(|hash| prints[example].get(hash)).map(|place| [place.clone()]);
        let published = hashes.iter().filter(|hash| solutions.contains_key(hash)).count();
        Some(Cluster {
            names: of_group.iter().map(|&index| names[index].to_owned()).collect(),
            example: names[example].to_owned(),
            places: merged(places.collect()).into_iter().flatten().collect(),
            is_published: 2 * published > hashes.len(),
        })
    };
    groups.into_iter().filter_map(cluster).collect()
}

/// Whether two sorted lists of submissions are nearly identical.
fn are_same(a: &[usize], b: &[usize]) -> bool {
    let common = a.iter().filter(|index| b.binary_search(index).is_ok()).count();
    common as f64 >= SAME_HOLDERS * (a.len() + b.len() - common) as f64
}

/// Merges places that overlap or touch in all of their files.
fn merged<const FILES: usize>(mut places: Vec<[Place; FILES]>) -> Vec<[Place; FILES]> {
    places.sort_by_cached_key(|place| {
        (place.each_ref().map(|place| place.file.clone()), place.each_ref().map(|place| *place.lines.start()))
    });
    let mut merged: Vec<[Place; FILES]> = Vec::new();
    for place in places {
        let touches = |last: &[Place; FILES]| {
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

/// Fingerprints of all files, each with its first place.
fn fingerprints(files: &Files) -> Prints {
    let mut prints = Prints::new();
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

/// Positions that winnowing keeps: the last minimum hash of each window.
fn winnowed(hashes: &[u64]) -> BTreeSet<usize> {
    let least = |window: RangeInclusive<usize>| window.rev().min_by_key(|&at| hashes[at]);
    match hashes.len() {
        0 => BTreeSet::new(),
        count => (0..count.saturating_sub(WINDOW - 1).max(1))
            .filter_map(|at| least(at..=(at + WINDOW - 1).min(count - 1)))
            .collect(),
    }
}

/// Tokens with their lines, without comments. All names other than keywords are equal, and so are
/// all literals.
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
    use std::path::Path;

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

    /// A solution with other names, comments and layout, and its functions in another order.
    fn disguised() -> String {
        let (first, second) = ORIGINAL.split_at(ORIGINAL.find("fn total").unwrap());
        let text = format!("// My own work.\n{second}\n{first}");
        let text =
            text.replace("largest", "maximum").replace("sum", "acc").replace(" c", " result").replace("    ", "\t");
        text.replace("i += 1;", "i\n+= 1; // next")
    }

    /// Similarities within a class, without published solutions.
    fn of_class(class: &[(String, Files)]) -> Likeness {
        likeness(class, &Files::new(), &Files::new())
    }

    #[test]
    fn grade_finds_a_copy_with_other_names_comments_and_order() {
        let class = [submission("ann", ORIGINAL), submission("bob", OTHER), submission("cai", &disguised())];
        let found = of_class(&class).pairs;
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].names, ["ann", "cai"]);
        assert!(found[0].share > 0.8, "{found:?}");
        let [ann, cai] = &found[0].places[0];
        assert_eq!((ann.file.to_str(), cai.file.to_str()), (Some(FILE), Some(FILE)));
    }

    #[test]
    fn grade_does_not_compare_what_was_given() {
        let class = [submission("ann", ORIGINAL), submission("cai", &disguised())];
        let given = submission("given", ORIGINAL).1;
        assert_eq!(likeness(&class, &given, &given), Likeness::default());
        assert_eq!(with_solutions("ann", &class[0].1, &given, &given), None);
        let class: Vec<_> = (0..10).map(|student| submission(&student.to_string(), ORIGINAL)).collect();
        assert_eq!(likeness(&class, &given, &Files::new()), Likeness::default());
    }

    #[test]
    fn grade_finds_a_disguised_copy_of_the_published_solution() {
        let published = Files::from([("solutions/max_functions/src/trivial.rs".into(), ORIGINAL.to_owned())]);
        let class = [submission("ann", OTHER), submission("bob", &disguised())];
        let found = likeness(&class, &Files::new(), &published);
        assert!(found.pairs.is_empty() && found.clusters.is_empty(), "{found:?}");
        let [pair] = &found.published[..] else { panic!("{found:?}") };
        assert_eq!(pair.names, ["bob", PUBLISHED]);
        assert!(pair.share > 0.8, "{pair:?}");
        assert!(
            pair.places
                .iter()
                .all(|[own, solution]| own.file.starts_with("max_functions") && solution.file.starts_with("solutions"))
        );
        assert_eq!(with_solutions("bob", &class[1].1, &Files::new(), &published).as_ref(), Some(pair));
        // A student's own code does not hide one copied part.
        let own = (0..200).map(|n| format!("fn f{n}(a: u32) -> u32 {{ a {} a * a }}\n", ["+", "-", "/"][n % 3]));
        let mut files = submission("bob", &disguised()).1;
        files.insert("utils/src/lists.rs".into(), own.collect());
        let found = with_solutions("bob", &files, &Files::new(), &published).unwrap();
        assert!(found.places.iter().all(|[own, _]| own.file.starts_with("max_functions")), "{found:?}");
    }

    #[test]
    fn grade_lists_what_many_have_once_with_its_size() {
        let name = |student: usize| format!("student {student}");
        let of = |student: usize| match student {
            0 | 2 | 4 => submission(&name(student), ORIGINAL),
            1 | 3 | 5 => submission(&name(student), &disguised()),
            6 => submission(&name(student), OTHER),
            _ => submission(&name(student), &format!("fn f() {{ {} }}\n", "g(1);".repeat(student))),
        };
        let class: Vec<_> = (0..10).map(of).collect();
        let published = Files::from([("solutions/a.rs".into(), ORIGINAL.to_owned())]);
        for (published, is_published) in [(Files::new(), false), (published, true)] {
            let found = likeness(&class, &Files::new(), &published);
            assert!(found.pairs.is_empty(), "{found:?}");
            let cluster = found.clusters.iter().find(|cluster| cluster.names.contains(&name(0)));
            let cluster = cluster.unwrap_or_else(|| panic!("{found:?}"));
            assert_eq!(cluster.names, (0..=5).map(name).collect::<Vec<_>>());
            assert_eq!((&cluster.example, cluster.is_published), (&name(0), is_published));
            let lines: usize = cluster.places.iter().map(|place| place.lines.clone().count()).sum();
            assert!(lines > 15 && cluster.places.iter().all(|place| place.file == Path::new(FILE)), "{cluster:?}");
            assert_eq!(found.published.len(), if is_published { 6 } else { 0 });
        }
    }

    #[test]
    fn grade_takes_two_lists_for_one_that_differ_in_a_few() {
        let list = |range: std::ops::Range<usize>| range.collect::<Vec<_>>();
        assert!(are_same(&list(0..10), &list(0..10)) && are_same(&list(0..10), &list(1..10)));
        assert!(!are_same(&list(0..10), &list(5..15)) && !are_same(&list(0..3), &list(0..10)));
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
        assert!(of_class(&class).pairs.is_empty());
        let broken = ORIGINAL.replace("    c\n}", "    c\n");
        let class = [submission("ann", ORIGINAL), submission("bob", &broken)];
        assert_eq!(of_class(&class).pairs.len(), 1);
    }
}
