//! hw2.pdf for fixed figures.

use report::assignment2::{document, noise};
use report::notes;

use super::{assert_has_answers, squeezed, typeset};
use crate::assignment2::{figures, figures_with_a_gpu_and_all_peers, missing_and_extreme_figures, noisy_figures};

#[test]
#[ignore = "builds Typst"]
fn hw2_has_every_answer_on_at_most_seven_pages() {
    for figures in [figures(), figures_with_a_gpu_and_all_peers(), noisy_figures()] {
        let document = document(&figures, Some("Ada Student"), &[]).unwrap();
        let pages = typeset(&document, false);
        assert!(pages.count <= 7, "{} pages, and the assignment allows 7", pages.count);
        let Some(text) = assert_has_answers(&document, &pages) else { return };
        for words in ["homework 2", "Ada Student"].map(str::to_owned).into_iter().chain(noise(&figures)) {
            assert!(text.contains(&squeezed(&words)), "{words} is missing in {text}");
        }
    }
}

#[test]
#[ignore = "builds Typst"]
fn hw2_as_a_page_has_its_pictures_and_the_authors_words() {
    let notes = notes::blocks("# My words\nBecause.");
    let html = typeset(&document(&figures(), Some("Ada Student"), &notes).unwrap(), true).html.unwrap();
    assert!(html.contains("Because.") && html.matches("<h2").count() >= 12);
    assert_eq!(html.matches("<img ").count(), 7, "a chart and six pictures");
}

/// Figures may come from a file.
#[test]
#[ignore = "builds Typst"]
fn hw2_of_missing_and_extreme_figures_is_typeset() {
    for figures in missing_and_extreme_figures() {
        typeset(&document(&figures, None, &[]).unwrap(), false);
    }
}
