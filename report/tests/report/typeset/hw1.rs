//! hw1.pdf for fixed figures: its pages, its text, and its robustness against hostile names.

use report::figures::{Counts, Gpu};
use report::timed::Table;
use report::{Figures, document, excerpts, notes, statements, tables};

use super::{squeezed, texts_of, typeset};
use crate::figures::{with_measured_gpu, with_recorded_gpu, without_gpu};

/// Page count of a report, with or without a GPU's figures.
const PAGES: std::ops::RangeInclusive<usize> = 8..=12;

/// Typesets the figures and checks what must hold for every report. Returns the PDF's text.
fn report_of(figures: &Figures) -> Option<String> {
    let document = document::document(figures, Some("Ada Student"), &[]).unwrap();
    let pages = typeset(&document, false);
    assert!(PAGES.contains(&pages.count), "{} pages", pages.count);
    let pages = texts_of(&pages)?;
    let last = pages.last().unwrap();
    assert!(
        last.contains("References") && !last.starts_with("References"),
        "the last page has references only: {last}"
    );
    let text = pages.concat();
    let must_contain = |words: &str| assert!(text.contains(&squeezed(words)), "{words} is missing in {text}");
    must_contain("Introduction to Parallel Deep Neural Networks, homework 1");
    must_contain("Ada Student");
    must_contain(&figures.machine.processor);
    for table in Table::ALL {
        for cell in tables::times(figures, table).rows.iter().flatten() {
            must_contain(cell);
        }
    }
    for heading in
        ["Machine and method", "The element-wise maximum", "The activation", "The network", "Conclusions", "References"]
    {
        must_contain(heading);
    }
    for reference in
        ["Roofline", "Validity of the single processor approach", "Measuring parallel processor performance"]
    {
        must_contain(reference);
    }
    Some(text)
}

#[test]
#[ignore = "builds Typst"]
fn without_a_gpu_no_gpu_times_are_stated() {
    let Some(text) = report_of(&without_gpu()) else { return };
    assert!(text.contains(&squeezed("No GPU times are stated, since none were measured: no CUDA driver")), "{text}");
    assert!(text.contains(&squeezed("These are counts, not times")));
    for words in ["max_gpu (kernel alone)", "kernel time by GPU events", "Test GPU"] {
        assert!(!text.contains(&squeezed(words)), "{words}");
    }
}

#[test]
#[ignore = "builds Typst"]
fn recorded_times_of_a_gpu_are_labelled() {
    let Some(text) = report_of(&with_recorded_gpu()) else { return };
    for words in [
        "recorded on another machine with the GPU Test GPU 1 (driver 570.1) on 2026-10-01 (docs/results/test.json)",
        "The speed-up max_gpu/max_numba is not stated: Numba was not measured on the GPU's machine",
        "max_gpu (kernel alone)",
    ] {
        assert!(text.contains(&squeezed(words)), "{words} is missing in {text}");
    }
}

#[test]
#[ignore = "builds Typst"]
fn a_measured_gpu_has_the_homeworks_speed_ups() {
    let Some(text) = report_of(&with_measured_gpu()) else { return };
    // 210 µs for Numba, divided by 5 µs for the kernel and by 2.5 ms with copies.
    let words = "The speed-up max_gpu/max_numba by the medians is 42.0 for the kernel alone and 0.084 with copies";
    assert!(text.contains(&squeezed(words)), "{text}");
    // 4.2 ms divided by 5 µs.
    assert!(
        text.contains(&squeezed("max_gpu (kernel alone) takes 5.000 µs: 840 times as fast as max_cpu at 4.200 ms"))
    );
    // 784 · 785 · 128 operations in 500 µs, with a peak of 2 · 128 · 1.98e9 per second.
    assert!(text.contains(&squeezed("rung 5 (wide, buffered) reaches 31 % of it")), "{text}");
}

#[test]
#[ignore = "builds Typst"]
fn the_authors_explanation_is_a_part_only_if_given() {
    let figures = without_gpu();
    let pages = |notes: &[notes::Block]| {
        let document = document::document(&figures, None, notes).unwrap();
        texts_of(&typeset(&document, false))
    };
    let Some(without) = pages(&[]) else { return };
    assert!(!without.concat().contains("Explanation"));
    let with = pages(&notes::blocks("My own words.\n\n# Why\nBecause *two* cores")).unwrap().concat();
    assert!(with.contains("7ExplanationMyownwords.7.1WhyBecause*two*cores"), "{with}");
}

/// Markup of Typst, HTML, JSON, XML and shells.
const HOSTILE: &str = r##"$x^2$ #panic() _a_ <b> *c* `d` @e \u{41} [f] {g} //h /*i*/ "j" 'k' &amp; ]]> %s ~ = + 𝒜Ω"##;

#[test]
#[ignore = "builds Typst"]
fn no_name_can_break_the_report() {
    let mut figures = with_recorded_gpu();
    HOSTILE.clone_into(&mut figures.machine.processor);
    figures.machine.gpu = format!("{HOSTILE}\n= Heading\n#let x = 1");
    HOSTILE.clone_into(&mut figures.machine.system);
    HOSTILE.clone_into(&mut figures.training.data);
    HOSTILE.clone_into(&mut figures.training.device);
    HOSTILE.clone_into(&mut figures.made.checked_on);
    figures.peers.names.push(HOSTILE.to_owned());
    figures.peers.missing.push(HOSTILE.to_owned());
    for peer in &mut figures.peers.times {
        HOSTILE.clone_into(&mut peer.label);
    }
    if let Gpu::Recorded { file, run, .. } = &mut figures.gpu {
        HOSTILE.clone_into(file);
        HOSTILE.clone_into(&mut run.gpu.name);
    }
    if let Counts::Counted(counts) = &mut figures.counts {
        HOSTILE.clone_into(&mut counts.rungs[0].name);
    }
    let notes = notes::blocks(&format!("# {HOSTILE}\n{HOSTILE}\n#### {HOSTILE}"));
    let document = document::document(&figures, Some(HOSTILE), &notes).unwrap();
    let pages = typeset(&document, true);
    assert!((8..=14).contains(&pages.count), "{} pages", pages.count);
    let html = pages.html.as_deref().unwrap();
    assert!(html.contains("&lt;b"));
    assert!(tags_of(html).all(|tag| tag != "b"), "the name is markup");
    if let Some(pages) = texts_of(&pages) {
        let text = pages.concat();
        let times = text.matches(&squeezed(r"$x^2$ #panic() _a_ <b> *c* `d` @e \u{41} [f] {g} //h /*i*/")).count();
        assert!(times >= 11, "the name occurs {times} times in {text}");
    }
}

/// The names of a page's tags. A `<` inside an attribute's quotes does not begin a tag.
fn tags_of(html: &str) -> impl Iterator<Item = String> {
    let (mut tags, mut in_tag, mut in_quotes) = (Vec::<String>::new(), false, false);
    for letter in html.chars() {
        match letter {
            '<' if !in_tag => {
                (in_tag, in_quotes) = (true, false);
                tags.push(String::new());
            }
            '>' if in_tag && !in_quotes => in_tag = false,
            '"' if in_tag => in_quotes = !in_quotes,
            _ if in_tag => tags.last_mut().unwrap().push(letter),
            _ => {}
        }
    }
    tags.into_iter().map(|tag| tag.split_whitespace().next().unwrap_or_default().to_owned())
}

#[test]
#[ignore = "builds Typst"]
fn the_html_page_has_every_part_of_the_report() {
    let notes = notes::blocks("# What I learned\nThreads that wait\ndo not compute.");
    for figures in [without_gpu(), with_recorded_gpu()] {
        let document = document::document(&figures, Some("Ada Student"), &notes).unwrap();
        let html = typeset(&document, true).html.unwrap();
        assert!(!html.contains("src=\"http") && !html.contains("<link "), "the page is not self-contained");
        assert_eq!(html.matches("<img ").count(), document.charts.len());
        for part in [
            "<h1>Introduction to Parallel Deep Neural Networks, homework 1</h1>",
            "<p>Ada Student</p><p>2026-11-21</p>",
            "Explanation</h2>",
            "What I learned</h3>",
            "<p>Threads that wait do not compute.</p>",
        ] {
            assert!(html.contains(part), "{part} is missing");
        }
        let equations: Vec<&str> = html.split("class=\"equation\"").skip(1).collect();
        assert_eq!(equations.len(), 4);
        for (index, equation) in equations.into_iter().enumerate() {
            let (_, number) = equation.split_once("</math><p><span>").unwrap();
            assert!(number.starts_with(&format!("({})</span></p></div>", index + 1)), "{number}");
        }
        // Without tags, since function names have markup.
        let mut text = String::new();
        for part in html.split('<') {
            text.push_str(part.split_once('>').map_or(part, |(_, text)| text));
        }
        let text =
            squeezed(&text.replace("&lt;", "<").replace("&gt;", ">").replace("&#39;", "'").replace("&amp;", "&"));
        for excerpt in excerpts::all(report::Template::Homework1).unwrap() {
            assert!(text.contains(&squeezed(&excerpt.source)), "the listing {} is missing in {text}", excerpt.name);
        }
        for (section, sentences) in statements::all(&figures) {
            for sentence in sentences {
                assert!(text.contains(&squeezed(&sentence.text)), "{section:?}: {} is missing", sentence.text);
            }
        }
    }
}
