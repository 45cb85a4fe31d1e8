//! hw3.pdf for fixed figures.

use report::distributed::document;
use report::notes;

use super::{assert_has_answers, squeezed, texts_of, typeset};
use crate::distributed::{figures, missing_and_extreme_figures};

#[test]
#[ignore = "builds Typst"]
fn hw3_has_every_answer_on_at_most_five_pages() {
    let document = document(&figures(), Some("Ada Student"), &[]).unwrap();
    let pages = typeset(&document, false);
    assert!(pages.count <= 5, "{} pages, and the assignment allows 5", pages.count);
    let Some(text) = assert_has_answers(&document, &pages) else { return };
    let last = texts_of(&pages).unwrap().pop().unwrap();
    assert!(last.contains("References") && !last.starts_with("References"), "references only: {last}");
    for words in ["homework 3", "Ada Student", "processes of Open MPI v4.1.4", "Patarasuk"] {
        assert!(text.contains(&squeezed(words)), "{words} is missing in {text}");
    }
}

#[test]
#[ignore = "builds Typst"]
fn hw3_as_a_page_has_the_authors_words() {
    let notes = notes::blocks("# My words\nBecause.");
    let html = typeset(&document(&figures(), Some("Ada Student"), &notes).unwrap(), true).html.unwrap();
    assert!(html.contains("Because.") && html.matches("<h2").count() >= 13);
}

/// Figures may come from a file.
#[test]
#[ignore = "builds Typst"]
fn hw3_of_missing_and_extreme_figures_is_typeset() {
    for figures in missing_and_extreme_figures() {
        typeset(&document(&figures, None, &[]).unwrap(), false);
    }
}
