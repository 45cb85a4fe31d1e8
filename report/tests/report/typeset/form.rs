//! The blank forms as PDF.

use report::form;

use super::{squeezed, texts_of, typeset};

#[test]
#[ignore = "builds Typst"]
fn a_form_has_every_question_with_room_below() {
    for assignment in ["1", "2", "3"] {
        let document = form::document(assignment, None);
        let pages = typeset(&document, false);
        let Some(texts) = texts_of(&pages) else { return };
        let (text, mut at) = (texts.concat(), 0);
        for (index, question) in document.value["questions"].as_array().unwrap().iter().enumerate() {
            let heading = squeezed(&format!("{} {}", index + 1, question["question"].as_str().unwrap()));
            at += text[at..].find(&heading).unwrap_or_else(|| panic!("{heading} is missing in {text}"));
        }
        for words in [&format!("homework {assignment}"), "Name", "Answer in your own words"] {
            assert!(text.contains(&squeezed(words)), "{words} is missing in {text}");
        }
        // A question stays on one page with its table and lines. Each page has two or three questions.
        let questions = document.value["questions"].as_array().unwrap().len();
        assert!((questions.div_ceil(3)..=questions).contains(&pages.count), "{} pages", pages.count);
    }
}
