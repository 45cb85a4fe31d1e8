//! Excerpts of the workspace's sources between two markers. They keep the report's listings up to
//! date.
//!
//! The markers are `// report: begin NAME` and `// report: end NAME`, on separate lines or after
//! the code of the first and last line.

use serde::Serialize;

use crate::template::Template;

/// An excerpt of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Excerpt {
    /// The name in its markers.
    pub name: &'static str,
    /// The file's path, relative to the workspace.
    pub file: &'static str,
    /// Line number of the first line, counted from 1.
    pub first_line: usize,
    /// Line number of the last line.
    pub last_line: usize,
    /// The lines, without their common indentation.
    pub source: String,
}

/// The error for a file that does not have an excerpt's two markers once each, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file} must have one line with \"// report: begin {name}\" and, after it, one with \"// report: end {name}\"")]
pub struct MarkerError {
    file: &'static str,
    name: &'static str,
}

macro_rules! sources {
    ($list:ident: $(($name:literal, $file:literal)),* $(,)?) => {
        /// Each excerpt's name, its file and the file's text.
        const $list: &[Source] = &[$(($name, $file, include_str!(concat!("../../", $file)))),*];
    };
}

type Source = (&'static str, &'static str, &'static str);

sources![HOMEWORK1:
    ("max_cpu", "max_functions/src/trivial.rs"),
    ("max_rayon", "max_functions/src/parallel.rs"),
    ("max_kernel", "kernels-gpu/src/maximum.rs"),
    ("matmul_trivial", "matmul_functions/src/trivial.rs"),
    ("matmul_rayon", "matmul_functions/src/parallel/stripes.rs"),
    ("matmul_naive", "kernels-gpu/src/product/rung1_naive.rs"),
    ("matmul_buffered", "kernels-gpu/src/product/rung5_double_buffered.rs"),
    ("activate", "activation_functions/src/trivial.rs"),
    ("fused_kernel", "kernels-gpu/src/greyscale.rs"),
    ("random_weights", "utils/src/weights.rs"),
    ("gradients", "neural-net/perceptron/src/reference.rs"),
];

sources![ASSIGNMENT2:
    ("correlation_trivial", "filters/src/trivial.rs"),
    ("correlation_rayon", "filters/src/parallel.rs"),
    ("correlation_naive", "kernels-gpu/src/correlation/rung1_naive.rs"),
    ("sobel_operator", "filters/src/sobel.rs"),
];

/// All excerpts of a report. The report on assignment 3 has none.
///
/// # Errors
/// If a file lacks a marker.
pub fn all(report: Template) -> Result<Vec<Excerpt>, MarkerError> {
    let sources = match report {
        Template::Homework1 => HOMEWORK1,
        Template::Assignment2 => ASSIGNMENT2,
        Template::Assignment3 | Template::Form => &[],
    };
    sources.iter().map(|&(name, file, text)| excerpt(name, file, text)).collect()
}

/// Finds the excerpt `name` in a file's text.
///
/// # Errors
/// If the text does not have its markers once each, in order.
pub fn excerpt(name: &'static str, file: &'static str, text: &str) -> Result<Excerpt, MarkerError> {
    let error = MarkerError { file, name };
    let (begin, end) = (format!("// report: begin {name}"), format!("// report: end {name}"));
    let lines: Vec<&str> = text.lines().collect();
    let only = |marker: &str| {
        let mut found = lines.iter().enumerate().filter(|(_, line)| line.trim_end().ends_with(marker));
        let index = found.next().map(|(index, _)| index);
        index.filter(|_| found.next().is_none()).ok_or(error)
    };
    let (first, last) = (only(&begin)?, only(&end)?);
    let within = lines.get(first..=last).ok_or(error)?;
    let unmarked = |line: &&str| line.replace(&begin, "").replace(&end, "").trim_end().to_owned();
    let mut source: Vec<(usize, String)> = within.iter().map(unmarked).enumerate().collect();
    // A line with only a marker is not part of the excerpt.
    source.retain(|(index, line)| !line.is_empty() || (*index > 0 && *index + 1 < within.len()));
    let (Some(&(from, _)), Some(&(to, _))) = (source.first(), source.last()) else { return Err(error) };
    let indentation = |line: &String| line.len() - line.trim_start().len();
    let indent =
        source.iter().map(|(_, line)| line).filter(|line| !line.is_empty()).map(indentation).min().unwrap_or(0);
    let source: Vec<&str> = source.iter().map(|(_, line)| line.get(indent..).unwrap_or_default()).collect();
    Ok(Excerpt { name, file, first_line: first + from + 1, last_line: first + to + 1, source: source.join("\n") })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str =
        "fn a() {\n    // report: begin x\n    if b {\n        c();\n    }\n\n    d();\n    // report: end x\n}\n";

    #[test]
    fn an_excerpt_is_between_its_markers_without_common_indentation() {
        let found = excerpt("x", "a.rs", FILE).unwrap();
        assert_eq!(found.source, "if b {\n    c();\n}\n\nd();");
        assert_eq!((found.first_line, found.last_line), (3, 7));
    }

    #[test]
    fn markers_may_follow_code() {
        let text = "#[kernel] // report: begin k\nfn k() {\n} // report: end k\nfn other() {}\n";
        let found = excerpt("k", "k.rs", text).unwrap();
        assert_eq!((found.source.as_str(), found.first_line, found.last_line), ("#[kernel]\nfn k() {\n}", 1, 3));
    }

    #[test]
    fn missing_duplicate_and_reversed_markers_are_errors() {
        let doubled = format!("{FILE}{FILE}");
        let reversed = "// report: end x\na\n// report: begin x\n";
        let other = FILE.replace("end x", "end xy");
        for text in ["", "// report: begin x\n", "// report: begin x\n// report: end x\n", &doubled, reversed, &other] {
            let error = excerpt("x", "a.rs", text).unwrap_err();
            assert!(error.to_string().starts_with("a.rs must have one line with"), "{text}");
        }
    }

    #[test]
    fn every_source_has_its_markers() {
        let excerpts = [Template::Homework1, Template::Assignment2].map(|report| all(report).unwrap());
        assert_eq!(excerpts.each_ref().map(Vec::len), [HOMEWORK1.len(), ASSIGNMENT2.len()]);
        for excerpt in excerpts.into_iter().flatten() {
            assert!(!excerpt.source.contains("report:"), "{}", excerpt.source);
            assert!((2..=40).contains(&excerpt.source.lines().count()), "{}: {}", excerpt.name, excerpt.source);
        }
    }
}
