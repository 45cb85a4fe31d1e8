//! The results of a submission, and their formats.

use serde_json::json;

use super::points::Test;

/// The result of a test.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    pub(super) package: &'static str,
    pub(super) name: &'static str,
    pub(super) points: f64,
    pub(super) maximum: f64,
    /// Empty if it passed.
    pub(super) feedback: String,
}

impl Item {
    pub(super) fn passed(test: &Test) -> Self {
        Self { points: test.points, ..Self::failed(test, "") }
    }

    pub(super) fn failed(test: &Test, feedback: &str) -> Self {
        let &Test { part, name, points, .. } = test;
        Self { package: part.package(), name, points: 0.0, maximum: points, feedback: feedback.to_owned() }
    }
}

/// A graded submission.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Grade {
    pub(super) items: Vec<Item>,
    /// What a person should look at.
    pub(super) findings: Vec<String>,
}

impl Grade {
    pub(super) fn points(&self) -> f64 {
        self.items.iter().map(|item| item.points).sum()
    }

    pub(super) fn maximum(&self) -> f64 {
        self.items.iter().map(|item| item.maximum).sum()
    }

    /// Lines for a student: the points of each test, and why they are lost.
    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        for Item { name, points, maximum, feedback, .. } in &self.items {
            let mark = if points == maximum { "[+]" } else { "[-]" };
            text.push_str(&format!("{mark} {points:>4} of {maximum:>4}  {name}\n"));
            feedback.lines().for_each(|line| text.push_str(&format!("                   {line}\n")));
        }
        self.findings.iter().for_each(|finding| text.push_str(&format!("[*] to look at: {finding}\n")));
        text + &format!("{} of {} points\n", self.points(), self.maximum())
    }

    /// `results.json` of Gradescope's autograder.
    pub(super) fn to_gradescope(&self) -> String {
        let tests: Vec<_> = self
            .items
            .iter()
            .map(|item| {
                json!({
                    "name": format!("{}: {}", item.package, item.name),
                    "score": item.points,
                    "max_score": item.maximum,
                    "status": if item.points == item.maximum { "passed" } else { "failed" },
                    "output": item.feedback,
                    "visibility": "visible",
                })
            })
            .collect();
        format!("{:#}\n", json!({ "score": self.points(), "output": self.findings.join("\n"), "tests": tests }))
    }

    /// JUnit's XML, as the schema junit-10.xsd of Jenkins' xUnit plugin has it.
    pub(super) fn to_junit(&self) -> String {
        let failures = self.items.iter().filter(|item| item.points < item.maximum).count();
        let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        text.push_str(&format!(
            "<testsuite name=\"homework\" tests=\"{}\" failures=\"{failures}\" errors=\"0\">\n",
            self.items.len()
        ));
        for item in &self.items {
            text.push_str(&format!("  <testcase classname=\"{}\" name=\"{}\"", item.package, item.name));
            match item.points < item.maximum {
                true => {
                    let feedback = escaped(&item.feedback);
                    text.push_str(&format!("><failure message=\"{feedback}\"/></testcase>\n"));
                }
                false => text.push_str("/>\n"),
            }
        }
        text + "</testsuite>\n"
    }
}

/// Text in an attribute of XML, without the characters that XML does not have.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            letter if letter.is_control() => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grade::points::Program;
    use crate::starter::Part;

    /// What Gradescope's specification of autograders has, as far as it is written here; other fields are errors.
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "their types are checked")]
    struct Gradescope {
        score: f64,
        output: String,
        tests: Vec<GradescopeTest>,
    }

    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "their types are checked")]
    struct GradescopeTest {
        score: f64,
        max_score: f64,
        status: Status,
        name: String,
        output: String,
        visibility: Visibility,
    }

    #[derive(serde::Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Status {
        Passed,
        Failed,
    }

    #[derive(serde::Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Visibility {
        Hidden,
        AfterDueDate,
        AfterPublished,
        Visible,
    }

    #[test]
    fn grade_is_written_for_gradescope_and_as_junit() {
        let test = |name, points| Test { part: Part::Two, program: Program::Source, name, points, is_timed: false };
        let items =
            vec![Item::passed(&test("good", 7.0)), Item::failed(&test("bad", 3.0), "c[0][1] < \"4\" & \u{1b}[31m")];
        let grade = Grade { items, findings: vec!["look".to_owned()] };
        let documented: Gradescope = serde_json::from_str(&grade.to_gradescope()).unwrap();
        assert!(documented.tests.iter().all(|test| test.score <= test.max_score && !test.name.is_empty()));
        let json: serde_json::Value = serde_json::from_str(&grade.to_gradescope()).unwrap();
        assert_eq!((&json["score"], &json["tests"][1]["status"]), (&json!(7.0), &json!("failed")));
        assert_eq!(json["tests"][0]["max_score"], 7.0);
        let xml = grade.to_junit();
        assert!(xml.contains("tests=\"2\" failures=\"1\" errors=\"0\""), "{xml}");
        assert!(xml.contains("message=\"c[0][1] &lt; &quot;4&quot; &amp; \u{fffd}[31m\""), "{xml}");
    }
}
