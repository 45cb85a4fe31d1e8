//! A reader with one defect of each kind, which the attack's tests require to be found.

use crate::finding::{Case, Expected, Verdict, wrong};
use crate::mutate;
use crate::random::Random;
use crate::targets::Reader;

/// Reader of a text of words, in which a word of [`DEFECTS`] triggers a defect.
pub(super) struct Selftest;

/// Words that trigger a defect.
const DEFECTS: [&str; 8] = ["PANIC", "OTHER-PANIC", "OVERFLOW", "ABORT", "HANG", "MEMORY", "WRONG", "NAMELESS"];

impl Reader for Selftest {
    /// A text of words; one case of 24 has a defect.
    fn case(&self, random: &mut Random) -> Case {
        let mut words: Vec<String> = (0..100).map(|word| format!("word{word}")).collect();
        if random.one_in(24) {
            let place = random.below(words.len());
            words[place] = random.pick(&DEFECTS).to_owned();
        }
        let mut bytes = words.join("\n").into_bytes();
        bytes.extend(if random.one_in(2) { mutate::edge(random).to_string() } else { ".".to_owned() }.bytes());
        Case { name: "words".to_owned(), bytes, expected: Expected::Any }
    }

    fn read(&self, case: &Case) -> Verdict {
        let text = String::from_utf8_lossy(&case.bytes);
        let has = |word: &str| text.lines().any(|line| line == word);
        if has("PANIC") {
            panic!("the reader panics at this word");
        }
        if has("OTHER-PANIC") {
            panic!("the reader panics at another word");
        }
        if has("OVERFLOW") {
            return Verdict::Rejected { message: recursion(1).to_string(), names: String::new() };
        }
        if has("ABORT") {
            std::process::abort();
        }
        if has("HANG") {
            loop {
                std::hint::spin_loop();
            }
        }
        if has("MEMORY") {
            // Well above the limit: a buffer of the watching thread may have counted when the case began, and be freed now.
            let bytes: Vec<u8> = Vec::with_capacity(crate::memory::LIMIT + (1 << 20));
            return Verdict::Rejected { message: format!("{:p}", bytes.as_ptr()), names: String::new() };
        }
        if has("WRONG") {
            return wrong("a word is not WRONG", "it is");
        }
        if has("NAMELESS") {
            return Verdict::Rejected { message: "something is wrong".to_owned(), names: "words".to_owned() };
        }
        match text.ends_with(|last: char| last.is_ascii_digit()) {
            true => Verdict::Accepted,
            false => Verdict::Rejected { message: "words: no number at the end".to_owned(), names: "words".to_owned() },
        }
    }
}

/// Unbounded recursion that no optimisation turns into a loop.
#[allow(unconditional_recursion)]
fn recursion(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    frame[depth as usize % 64] + recursion(depth + 1) + frame[0]
}
