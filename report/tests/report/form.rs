//! The blank forms for students.

use report::form;
use serde_json::Value;

use super::assert_asks;
use super::program::{names_in, run};

#[test]
fn a_form_asks_what_the_report_answers_and_answers_nothing() {
    assert_asks(&form::document("2", None), &super::assignment2::QUESTIONS);
    assert_asks(&form::document("3", None), &super::distributed::QUESTIONS);
    for assignment in ["1", "2", "3"] {
        let document = form::document(assignment, Some("Ada Student"));
        assert!(document.charts.is_empty() && document.pictures.is_empty());
        assert_eq!(document.value["author"], "Ada Student");
        assert!(document.value["title"].as_str().unwrap().ends_with(&format!("homework {assignment}")));
        let questions = document.value["questions"].as_array().unwrap();
        assert!(questions.len() >= 9, "{questions:?}");
        for question in questions {
            assert!(question["lines"].as_u64().unwrap() > 5, "{question}");
            let rows = question["table"]["rows"].as_array().into_iter().flatten();
            let cells = rows.flat_map(|row| &row.as_array().unwrap()[1..]);
            assert!(cells.map(Value::as_str).all(|cell| cell == Some("")), "{question}");
        }
    }
    let homework = form::document("1", None);
    let tables = homework.value["questions"].as_array().unwrap().iter().filter(|question| !question["table"].is_null());
    assert_eq!(tables.count(), 3);
}

/// Nothing is measured, so a form accepts neither measurement options nor options for their results.
#[test]
fn a_form_takes_no_options_of_a_measurement() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("form.pdf");
    for option in ["--quick", "--json", "--html", "--zip", "--no-python"] {
        let (code, _, stderr) = run(&["--blank", "--out", out.to_str().unwrap(), option]);
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains("cannot be used with"), "{stderr}");
    }
    let (code, _, stderr) = run(&["--blank", "--out", folder.path().join("form.zip").to_str().unwrap()]);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("give --out a name that ends in .pdf"), "{stderr}");
    assert!(names_in(folder.path()).is_empty());
}
