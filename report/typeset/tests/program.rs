//! The program makes a PDF file and an HTML page from a document. It reports an invalid document in
//! one line.

use std::io::Write;
use std::process::{Command, Stdio};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

/// A PNG file of one gray pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==";

/// Exit code, stdout and stderr of the program.
fn run(arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_typeset"));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that rejects its arguments does not read its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// A document of assignment 3 with one question, a chart and a picture.
fn document() -> Value {
    let question = json!({
        "question": "Why?",
        "paragraphs": ["Because of #panic() and <b>."],
        "listings": [],
        "table": { "name": "times", "caption": "Times.", "columns": ["n", "time"], "rows": [["1", "2 ms"]] },
        "charts": [{ "name": "line", "caption": "A line." }],
        "pictures": { "names": ["pixel"], "caption": "A pixel." },
    });
    let value = json!({
        "author": "Ada Student", "notes": [], "date": "2026-11-23", "quick": false, "measured_in": "130 s",
        "processor": "a processor", "cores": "2 cores", "system": "a system", "library": "threads", "data": "digits",
        "is_mnist": false, "sizes": "784-10", "kilobytes": "31", "images": ["1", "2"], "questions": [question],
        "charts": { "line": "a line from left to right" },
    });
    let svg =
        "<svg xmlns='http://www.w3.org/2000/svg' width='90' height='9'><path d='M0 0L90 9' stroke='black'/></svg>";
    json!({ "template": "Assignment3", "value": value, "charts": { "line": svg }, "pictures": { "pixel": PIXEL } })
}

#[test]
fn a_document_becomes_a_pdf_file_and_a_page() {
    let input = document().to_string();
    let (code, stdout, stderr) = run(&["--html"], &input);
    assert_eq!((code, &stderr[..]), (Some(0), ""));
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert!(BASE64_STANDARD.decode(report["pdf"].as_str().unwrap()).unwrap().starts_with(b"%PDF-"));
    assert!((1..=2).contains(&report["pages"].as_u64().unwrap()), "{} pages", report["pages"]);
    let html = report["html"].as_str().unwrap();
    assert!(html.contains("Because of #panic() and &lt;b>."), "{html}");
    assert_eq!(html.matches("<img ").count(), 2);
    let (code, without_html, _) = run(&[], &input);
    assert_eq!(code, Some(0));
    assert_eq!(serde_json::from_str::<Value>(&without_html).unwrap()["html"], Value::Null);
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let with = |change: fn(&mut Value)| {
        let mut document = document();
        change(&mut document);
        document.to_string()
    };
    let cases = [
        (String::new(), "stdin has no document of report: EOF"),
        (with(|document| document["template"] = json!("Homework4")), "unknown variant `Homework4`"),
        (with(|document| document["pictures"]["pixel"] = json!("?")), "Invalid symbol"),
        (with(|document| document["other"] = json!(1)), "unknown field `other`"),
        (with(|document| document["value"]["questions"] = Value::Null), "shared.typ, line "),
        (with(|document| document["value"]["images"] = json!([])), "hw3.typ, line "),
        (with(|document| document["charts"] = json!({})), "file not found"),
    ];
    for (input, words) in cases {
        let (code, stdout, stderr) = run(&[], &input);
        assert_eq!((code, &stdout[..], stderr.lines().count()), (Some(2), "", 1), "{stderr}");
        assert!(stderr.starts_with("error: ") && stderr.contains(words), "{stderr}");
    }
}

#[test]
fn its_help_says_who_starts_it() {
    let (code, stdout, stderr) = run(&["--help"], "");
    assert_eq!((code, &stderr[..]), (Some(0), ""));
    assert!(stdout.contains("`cargo run -p report` builds this program and starts it"), "{stdout}");
    let (code, stdout, stderr) = run(&["document.json"], "");
    assert_eq!((code, &stdout[..]), (Some(2), ""));
    assert_eq!(stderr, "error: [\"document.json\"] are not its arguments: see --help\n");
}
