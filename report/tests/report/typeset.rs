//! Reports as PDF and HTML. `cargo test -p report -- --ignored typeset` runs these tests.

mod form;
mod hw1;
mod hw2;
mod hw3;
mod program;

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use report::archive::workspace;
use report::document::Document;
use report::typeset::{Pages, Typesetter};
use test_support::{Need, skip};

fn typeset(document: &Document, with_html: bool) -> Pages {
    static TYPESETTER: OnceLock<Typesetter> = OnceLock::new();
    let pages =
        TYPESETTER.get_or_init(|| Typesetter::build(&workspace()).unwrap()).typeset(document, with_html).unwrap();
    assert!(pages.pdf.starts_with(b"%PDF-"));
    assert_eq!(pages.html.is_some(), with_html);
    pages
}

/// The text of each page without whitespace and hyphens, which line breaks add and remove. Returns
/// `None`, and prints a skip message, if pdftotext is missing.
fn texts_of(pages: &Pages) -> Option<Vec<String>> {
    let mut command = Command::new("pdftotext");
    let child = command.args(["-enc", "UTF-8", "-", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = child else {
        skip(
            Need::PdfToText,
            "the PDF's text is not checked: pdftotext is not installed (apt-get install poppler-utils)",
        );
        return None;
    };
    let mut stdin = child.stdin.take().unwrap();
    let bytes = pages.pdf.clone();
    let writer = std::thread::spawn(move || stdin.write_all(&bytes));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let texts: Vec<String> = text.trim_end_matches('\u{c}').split('\u{c}').map(squeezed).collect();
    assert_eq!(texts.len(), pages.count);
    Some(texts)
}

fn squeezed(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace() && *letter != '-').collect()
}

/// Asserts that an assignment's PDF has each question of its document as a numbered heading, in
/// order, followed by the answer's paragraphs, captions and cells. Returns its text.
#[track_caller]
fn assert_has_answers(document: &Document, pages: &Pages) -> Option<String> {
    let texts = texts_of(pages)?;
    let text = texts.concat();
    let (mut at, questions) = (0, document.value["questions"].as_array().unwrap());
    for (index, question) in questions.iter().enumerate() {
        let heading = squeezed(&format!("{} {}", index + 1, question["question"].as_str().unwrap()));
        let found = text[at..].find(&heading);
        at += found.unwrap_or_else(|| panic!("{heading} is missing, or not in the document's order, in {text}"));
        let rows = question["table"]["rows"].as_array().into_iter().flatten();
        let cells = rows.flat_map(|row| row.as_array().unwrap());
        let parts =
            question["paragraphs"].as_array().unwrap().iter().chain([&question["table"]["caption"]]).chain(cells);
        for part in parts.filter_map(|part| part.as_str()) {
            assert!(text[at..].contains(&squeezed(part)), "{part} is missing below {heading} in {text}");
        }
    }
    Some(text)
}
