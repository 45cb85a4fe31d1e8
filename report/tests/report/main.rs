//! The report's tests. The tests in `typeset` are ignored because they build Typst. CI runs them by name.

mod archive;
mod assignment2;
mod distributed;
mod figures;
mod form;
mod functions_with_copies;
mod program;
mod sentences;
mod statements_follow_the_tables;
mod typeset;

use report::document::Document;
use serde_json::Value;

/// The texts of a document's questions and answers, one per line.
fn texts_of(document: &Document) -> String {
    fn add(value: &Value, texts: &mut String) {
        match value {
            Value::String(text) => texts.extend([text, "\n"]),
            Value::Array(values) => values.iter().for_each(|value| add(value, texts)),
            Value::Object(values) => values.values().for_each(|value| add(value, texts)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut texts = String::new();
    add(&document.value["questions"], &mut texts);
    texts
}

/// Asserts that a document has these questions, in this order.
#[track_caller]
fn assert_asks(document: &Document, questions: &[&str]) {
    let asked = document.value["questions"].as_array().unwrap();
    let asked: Vec<&str> = asked.iter().map(|question| question["question"].as_str().unwrap()).collect();
    assert_eq!(asked, questions);
}
