//! The figures that `report --json` prints and `report --figures` reads.

use report::Figures;
use report::document::document;

use crate::cases::Answer;
use crate::edits::{Input, edit_text, pick};

/// The figures of the report's own tests.
#[path = "../../../report/tests/report/figures.rs"]
mod of_tests;

/// Accepted figures produce a document or an error, and survive being written and read again.
pub(crate) fn reader() -> impl Fn(&Input) -> Answer {
    let valid = [of_tests::without_gpu(), of_tests::with_recorded_gpu(), of_tests::with_measured_gpu()];
    // One member per line: line edits then edit members.
    let valid = valid.map(|figures| serde_json::to_string_pretty(&figures).unwrap());
    move |input| {
        let mut text = pick(&valid, input.file).clone().into_bytes();
        edit_text(input, &mut text, &[b"", b"null, ", b"\"a\": "]);
        // Reads like the program, which adds the file's name to an error.
        let Ok(figures) = serde_json::from_slice::<Figures>(&text) else { return Answer::Rejected };
        if let Err(error) = document(&figures, Some("An author"), &[]) {
            assert!(!error.to_string().trim().is_empty());
            return Answer::Rejected;
        }
        let again: Figures = serde_json::from_str(&serde_json::to_string(&figures).unwrap()).unwrap();
        assert!(again == figures, "what is written is read again");
        Answer::Accepted
    }
}
