//! The text of the project: words that are not used, and patterns that may only become rarer.

#[path = "../src/workspace.rs"]
mod workspace;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use self::workspace::workspace_root;

/// Words and phrases with a plain one to write in their place.
const FORBIDDEN: [(&str, &str); 14] = [
    ("albeit", "although"),
    ("anew", "again"),
    ("has no say", "is not used"),
    ("hence", "so"),
    ("in vain", "without effect"),
    ("lest", "so … not"),
    ("nobody", "no one, or a name"),
    ("seldom", "rarely"),
    ("such as has", "with"),
    ("thereby", "so"),
    ("therein", "in it"),
    ("trainings", "training runs"),
    ("wherein", "in which"),
    ("whoever", "the person who"),
];

/// Patterns of stiff sentences, each with the most there may be. Lower a count when it has fallen; never raise one.
const RARE: [(&str, usize); 7] = [
    ("by turns", 1),
    ("of which", 72),
    ("so that", 150),
    ("stands for", 11),
    ("that of", 85),
    ("those of", 159),
    ("whose", 200),
];

/// The endings of files of text.
const TEXT: [&str; 7] = ["html", "md", "mjs", "rs", "toml", "txt", "typ"];

/// The files under version control with text, without this one and the pages that programs write.
fn files() -> Vec<PathBuf> {
    let output = Command::new("git").args(["ls-files", "-z"]).current_dir(workspace_root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).unwrap();
    let is_text = |name: &&str| {
        let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
        let is_written_by_hand = !matches!(*name, "docs/draw/index.html" | "docs/lab/index.html");
        ending.is_some_and(|ending| TEXT.contains(&ending)) && is_written_by_hand && !name.ends_with("plain_english.rs")
    };
    names.split('\0').filter(is_text).map(|name| workspace_root().join(name)).collect()
}

/// The words of a text with their line numbers. An identifier is one word; only a word's first letter becomes small.
fn words(text: &str) -> Vec<(usize, String)> {
    let small = |word: &str| word.chars().take(1).flat_map(char::to_lowercase).chain(word.chars().skip(1)).collect();
    let words = |line: &str| -> Vec<String> {
        let is_between = |letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '\'';
        line.split(is_between).filter(|word| !word.is_empty()).map(small).collect()
    };
    let numbered = |(index, line)| words(line).into_iter().map(move |word| (index + 1, word));
    text.lines().enumerate().flat_map(numbered).collect()
}

/// The lines at which a phrase begins, also one that goes on in the next line.
fn lines_with(words: &[(usize, String)], phrase: &str) -> Vec<usize> {
    let phrase: Vec<&str> = phrase.split(' ').collect();
    let is_phrase = |window: &&[(usize, String)]| window.iter().map(|(_, word)| word).eq(phrase.iter());
    words.windows(phrase.len()).filter(is_phrase).map(|window| window[0].0).collect()
}

/// The places of each phrase, as `FILE:LINE`.
fn places(phrases: &[&str]) -> Vec<Vec<String>> {
    let mut places = vec![Vec::new(); phrases.len()];
    for file in files() {
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let words = words(&text);
        let name = file.strip_prefix(workspace_root()).unwrap().display();
        for (phrase, places) in phrases.iter().zip(&mut places) {
            places.extend(lines_with(&words, phrase).into_iter().map(|line| format!("{name}:{line}")));
        }
    }
    places
}

#[test]
fn phrases_are_found_across_lines_and_not_in_identifiers() {
    let words = words("/// It waits, so\n/// that all have their value; those_of and SoThat are names.\nSo that");
    assert_eq!(lines_with(&words, "so that"), [1, 3]);
    assert!(lines_with(&words, "those of").is_empty());
    assert_eq!(lines_with(&words, "value"), [2]);
}

#[test]
fn forbidden_words_are_not_used() {
    let phrases = FORBIDDEN.map(|(phrase, _)| phrase);
    let found = FORBIDDEN.iter().zip(places(&phrases)).filter(|(_, places)| !places.is_empty());
    let lines: Vec<String> =
        found.map(|((phrase, plain), places)| format!("{}: {phrase:?}; write {plain}", places.join(", "))).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

#[test]
fn patterns_of_stiff_sentences_become_no_more() {
    let phrases = RARE.map(|(phrase, _)| phrase);
    let counts: Vec<(&str, usize)> = phrases.into_iter().zip(places(&phrases).iter().map(Vec::len)).collect();
    let more = counts.iter().zip(RARE).filter(|((_, count), (_, most))| count > most);
    let lines: Vec<String> = more
        .map(|((phrase, count), (_, most))| format!("{phrase:?} is in {count} places, and {most} are the most"))
        .collect();
    assert!(lines.is_empty(), "{}\nRewrite the sentences that you added.", lines.join("\n"));
}
