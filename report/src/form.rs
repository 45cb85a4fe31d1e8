//! The blank form of an assignment's report, for students: its questions, tables without numbers,
//! and lines to write on. It contains no measurements and no listings.

use serde::Serialize;
use serde_json::json;

use crate::document::Document;
use crate::tables::FormattedTable;
use crate::template::Template;

/// A question with room for its answer.
#[derive(Debug, PartialEq, Serialize)]
struct Blank {
    question: &'static str,
    /// What an answer should explain. Empty if the question says it.
    prompt: &'static str,
    /// A table for the student's own measurements.
    table: Option<FormattedTable>,
    lines: usize,
}

/// The questions of assignment 2, as answered by [`crate::assignment2::document`].
const ASSIGNMENT2: [&str; 12] = [
    "How long does training with augmentation take with 8, 16 and 32 cores?",
    "Why is that so?",
    "How does the accuracy of both networks develop by epoch?",
    "Why processes and not threads?",
    "Which two ideas would accelerate it further?",
    "How does the queue work?",
    "How does the correlation on the processor work?",
    "How does the correlation on the GPU work?",
    "What are the speed-ups?",
    "What happens with a larger kernel?",
    "What do the filters make of the image?",
    "Why do their images differ?",
];

/// The questions of assignment 3, as answered by [`crate::distributed::document`].
const ASSIGNMENT3: [&str; 13] = [
    "How does the synchronous network work?",
    "How does the asynchronous network work?",
    "How long does the synchronous network take on 4, 8 and 16 cores, beside the original?",
    "By which law does it gain, Amdahl’s or Gustafson’s?",
    "What does the other law need?",
    "With 2 masters on 4 and 8 cores, how long does the asynchronous network take, and how accurate is it?",
    "And with 4 masters on 8 and 16 cores?",
    "Why are the masters split over machines?",
    "How does the final accuracy depend on the number of workers?",
    "Why does the asynchronous network diverge with many workers?",
    "What are the advantages of each?",
    "How do naive and ring all-reduce compare on 2, 4 and 8 cores?",
    "What is the complexity of both?",
];

/// The form for assignment "1", "2" or "3", with the author's name if given.
pub fn document(assignment: &str, author: Option<&str>) -> Document {
    let questions: Vec<Blank> = match assignment {
        "2" => ASSIGNMENT2.map(|question| blank(question, "", None)).into(),
        "3" => ASSIGNMENT3.map(|question| blank(question, "", None)).into(),
        _ => homework1(),
    };
    let value = json!({
        "author": author,
        "title": format!("Introduction to Parallel Deep Neural Networks, homework {assignment}"),
        "questions": questions,
    });
    Document { template: Template::Form, value, charts: Vec::new(), pictures: Vec::new() }
}

/// The questions of homework 1, in the order of hw1.pdf's parts.
fn homework1() -> Vec<Blank> {
    let threads = |name: &str| {
        [1, 2, 4, 8].map(|threads| format!("{name}, {threads} thread{}", if threads == 1 { "" } else { "s" }))
    };
    let times = |trivial: &str, rayon: &str| {
        let versions = [trivial.to_owned()].into_iter().chain(threads(rayon));
        Some(with_rows(["version", "fastest", "median", "n", "speed-up"], versions))
    };
    let how = "Explain each version in your own words, with the lines of your code that matter.";
    let gain = "Compare with what the processor can do at best. Name a cause only if you have measured it.";
    vec![
        blank("How do your versions of the maximum work?", how, None),
        blank(
            "How long does the maximum take, and why does it scale with threads as it does?",
            gain,
            times("max_cpu", "max_rayon"),
        ),
        blank("How do your versions of X·Xᵀ work?", how, None),
        blank(
            "How long does X·Xᵀ take, and why does it scale with threads as it does?",
            gain,
            times("matmul_transpose_trivial", "matmul_transpose_rayon"),
        ),
        blank("How does one block of 1024 threads compute X·Xᵀ, and what would make it faster?", "", None),
        blank(
            "Which bytes do the three steps of the activation move, and what does one kernel for all of them save?",
            "",
            None,
        ),
        blank(
            "Which shapes do the matrices of your network have, and how are its weights drawn?",
            "",
            Some(with_rows(["layer", "activations", "weights", "biases"], ["1", "2", "3"].map(str::to_owned))),
        ),
        blank("How is the error propagated back, and how accurate does your network become?", "", None),
        blank("What do you conclude?", "", None),
    ]
}

fn blank(question: &'static str, prompt: &'static str, table: Option<FormattedTable>) -> Blank {
    Blank { question, prompt, table, lines: 9 }
}

/// A table with these rows. Only the first column is filled in.
fn with_rows<const N: usize>(columns: [&str; N], first: impl IntoIterator<Item = String>) -> FormattedTable {
    let mut table = FormattedTable::new(columns);
    for name in first {
        let mut cells = [const { String::new() }; N];
        cells[0] = name;
        table.push(cells);
    }
    table
}
