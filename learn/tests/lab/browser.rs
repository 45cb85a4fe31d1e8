//! The page in headless Chromium: all lessons are solved, every wrong kernel is convicted at its line, and the page
//! loads nothing.

use learn::host::STEPS;
use serde::Deserialize;

use crate::node::chromium;
use crate::support::marked_place;
use crate::tree::Tree;
use crate::{page, run_in_node};

/// What the page shows after a run.
#[derive(Debug, Deserialize)]
struct Shown {
    verdict: String,
    faults: Vec<String>,
    /// Files and lines that are marked in the source.
    marked: Vec<(String, u32)>,
}

#[derive(Debug, Deserialize)]
struct First {
    milliseconds: u64,
    clicks: u32,
    #[serde(flatten)]
    shown: Shown,
}

#[derive(Debug, Deserialize)]
struct Run {
    kernel: String,
    role: String,
    #[serde(flatten)]
    shown: Shown,
}

/// The first lesson before anything was run.
#[derive(Debug, Deserialize)]
struct Before {
    /// Texts of the kernels, and of the source.
    shown: Vec<String>,
    tree: Tree,
    hints: Vec<String>,
}

/// What the keyboard alone leads to.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Keys {
    chosen: String,
    verdict: String,
    closed_by: u32,
    focused: String,
}

/// The page on a large screen.
#[derive(Debug, Deserialize)]
struct Wide {
    /// Sizes of letters in pixels.
    text: f64,
    code: f64,
    /// Length of a line of text in sizes of its letters.
    line: f64,
    width: u32,
}

/// A run of an edited kernel.
#[derive(Debug, Deserialize)]
struct Edit {
    /// Whether the text was changed, in the focused editor.
    changed: bool,
    milliseconds: u64,
    /// The numbers of the editor's lines with a fault, and the sentences below it.
    editor: Vec<u32>,
    marks: String,
    counts: String,
    #[serde(flatten)]
    shown: Shown,
}

/// Markup in an edited source.
#[derive(Debug, Deserialize)]
struct EditedMarkup {
    /// Number of images in the page, and whether the script in it ran.
    images: (u32, bool),
    #[serde(flatten)]
    edit: Edit,
}

/// What the script prints.
#[derive(Deserialize)]
struct Report {
    first: First,
    runs: Vec<Run>,
    /// Beside each lesson, what of it has been solved.
    solved: Vec<String>,
    #[serde(rename = "byKey")]
    by_key: String,
    edits: Vec<Edit>,
    #[serde(rename = "byKeyInEditor")]
    by_key_in_editor: String,
    #[serde(rename = "leftBy")]
    left_by: String,
    restored: (String, bool),
    fragment: String,
    before: Before,
    after: Vec<String>,
    keys: Keys,
    #[serde(rename = "markupInEditor")]
    markup_in_editor: EditedMarkup,
    wide: Wide,
    /// Width of each lesson in a window of 360 pixels.
    narrow: Vec<u32>,
    loaded: Vec<String>,
    errors: Vec<String>,
}

#[test]
fn the_lessons_are_solved_and_every_wrong_kernel_is_convicted() {
    let Some(chromium) = chromium() else { return };
    let Some(output) = run_in_node("browser.mjs", &[&chromium, page()], b"") else { return };
    let report: Report = serde_json::from_str(&output).expect("the script prints its report");
    assert_eq!(report.errors, Vec::<String>::new());

    let First { milliseconds, clicks, shown } = &report.first;
    eprintln!("the first race: {clicks} clicks, {milliseconds} ms after opening on a processor slowed four times");
    assert!(*clicks <= 4 && shown.faults[0].contains("race"), "{:?}", report.first);

    assert_eq!(report.runs.len(), 5 * STEPS.len());
    for Run { kernel, role, shown } in &report.runs {
        if role == "wrong" {
            assert!(shown.verdict.starts_with("Wrong: "), "{kernel}: {shown:?}");
            assert!(shown.marked.contains(&marked_place(kernel)), "{kernel}: {shown:?}");
        } else {
            assert!(shown.verdict.starts_with("Right: ") && shown.faults.is_empty(), "{kernel}: {shown:?}");
        }
    }
    assert_eq!(report.solved, ["✓"; 10]);
    assert!(report.by_key.starts_with("Right: "), "{}", report.by_key);
    assert!(report.fragment.contains("lesson=10&kernel=product_double_buffered&size=40"), "{}", report.fragment);

    check_choice(&report);
    check_edits(&report);

    let EditedMarkup { images, edit } = &report.markup_in_editor;
    assert!(edit.changed && edit.shown.verdict.starts_with("Not run: "), "{edit:?}");
    assert_eq!(*images, (0, false));
    assert_eq!(report.narrow, [360; 10]);
    let Wide { text, code, line, width } = report.wide;
    assert!(text >= 22.0 && code >= 18.0 && line <= 55.0 && width == 3840, "{:?}", report.wide);

    let is_own =
        |url: &&String| url.ends_with("/docs/lab/index.html") || url.starts_with("blob:") || url.starts_with("data:");
    let others: Vec<&String> = report.loaded.iter().filter(|url| !is_own(url) && *url != "about:srcdoc").collect();
    assert!(others.is_empty(), "the page loads {others:?}");
}

/// Nothing says what a kernel is before it has been run, hints come by degree, and keys and screen readers reach everything.
fn check_choice(Report { before, after, keys, .. }: &Report) {
    let Before { shown, tree, hints } = before;
    assert_eq!(shown[..5], ["A", "B", "C", "D", "E"].map(|letter| format!("Kernel {letter}")));
    assert!(shown[5].contains("pub fn double(") && !shown[5].contains("guard"), "{}", shown[5]);
    assert_eq!(tree.radios, shown[..5]);
    // The second one was run.
    assert!(after[1].contains("double_with_inclusive_guard") && after[1].contains("wrong"), "{after:?}");
    assert!(after[5].contains("pub fn double_with_inclusive_guard("), "{}", after[5]);
    let [question, place, fix] = &hints[..] else { panic!("{hints:?}") };
    let (_, line) = marked_place("double_without_guard");
    assert!(question.ends_with('?') && !question.contains("guard"), "{question}");
    assert!(place.starts_with(&format!("Look at line {line}: x.set(")) && fix.contains("if i < x.len()"), "{hints:?}");
    assert_eq!(keys.chosen, "double_with_inclusive_guard");
    assert!(keys.verdict.starts_with("Wrong: ") && keys.closed_by < 80, "{keys:?}");
    assert_eq!(keys.focused, "play");
    tree.check("1. One thread for each element");
}

/// An edit shows the sentence and the line of its mistake, and the original returns.
fn check_edits(report: &Report) {
    let [too_far, without_barrier, unknown, same] = &report.edits[..] else { panic!("{:?}", report.edits) };
    for edit in &report.edits {
        eprintln!("{} ms from Run to: {}", edit.milliseconds, edit.shown.verdict);
        assert!(edit.changed, "{edit:?}");
    }
    let index = "index 1000 is outside of `x`, which has 1000 elements";
    assert!(too_far.shown.faults[0].contains(index) && too_far.marks.contains(index), "{too_far:?}");
    // Line 22 of the file with the comment of the students' workspace, which the editor has not.
    assert_eq!((&too_far.editor[..], too_far.marks.starts_with("line 21: Here: ")), (&[21][..], true), "{too_far:?}");
    assert_eq!(too_far.shown.marked, [("learn/src/step01_index.rs".to_owned(), 21)]);
    let tile = "which has never been written";
    assert!(without_barrier.shown.faults[0].contains(tile), "{without_barrier:?}");
    assert_eq!(without_barrier.shown.verdict, "Wrong: 1 fault, marked in the source.");
    let reason =
        "learn/src/step01_index.rs, line 20: `length` of `GlobalMut<f32>` is not known here: did you mean `x.len()`?";
    assert_eq!(unknown.shown.verdict, format!("Not run: {reason}"));
    assert_eq!(unknown.editor, [20]);
    assert!(same.shown.verdict.starts_with("Right: ") && same.counts.contains("compiled alike"), "{same:?}");
    assert!(report.by_key_in_editor.starts_with("Right: "), "{}", report.by_key_in_editor);
    assert_ne!(report.left_by, "editor-text");
    assert!(report.restored.0.starts_with("Right: ") && !report.restored.1, "{:?}", report.restored);
}
