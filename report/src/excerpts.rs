//! Pieces of the real sources, taken from the files between two markers, so that they cannot go stale:
//! `// report: begin NAME` and `// report: end NAME`, each in a line of its own or behind the code of the first or last line.

use serde::Serialize;

/// A piece of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Excerpt {
    /// The name that its markers have.
    pub name: &'static str,
    /// The file, from the workspace's root.
    pub file: &'static str,
    /// Its first line in that file, counted from 1.
    pub first_line: usize,
    /// Its last line.
    pub last_line: usize,
    /// The lines, without the indentation that all of them have.
    pub source: String,
}

/// A file does not have a piece's two markers once each, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file} must hold one line with \"// report: begin {name}\" and, after it, one with \"// report: end {name}\"")]
pub struct MarkerError {
    file: &'static str,
    name: &'static str,
}

macro_rules! sources {
    ($(($name:literal, $file:literal)),* $(,)?) => {
        /// Each piece's name, its file and the file's text.
        const SOURCES: &[(&str, &str, &str)] = &[$(($name, $file, include_str!(concat!("../../", $file)))),*];
    };
}

sources![
    ("max_cpu", "max_functions/src/trivial.rs"),
    ("max_rayon", "max_functions/src/parallel.rs"),
    ("max_kernel", "kernels-gpu/src/maximum.rs"),
    ("matmul_trivial", "matmul_functions/src/trivial.rs"),
    ("matmul_rayon", "matmul_functions/src/parallel/stripes.rs"),
    ("matmul_naive", "kernels-gpu/src/product/rung1_naive.rs"),
    ("matmul_buffered", "kernels-gpu/src/product/rung5_double_buffered.rs"),
    ("activate", "activation_functions/src/trivial.rs"),
    ("fused_kernel", "kernels-gpu/src/greyscale.rs"),
    ("gradients", "neural-net/perceptron/src/reference.rs"),
];

/// All pieces that the report shows.
///
/// # Errors
/// If a file lacks a marker.
pub fn all() -> Result<Vec<Excerpt>, MarkerError> {
    SOURCES.iter().map(|&(name, file, text)| excerpt(name, file, text)).collect()
}

/// The piece `name` of a file's text.
///
/// # Errors
/// If its markers are not there once each, in order.
pub fn excerpt(name: &'static str, file: &'static str, text: &str) -> Result<Excerpt, MarkerError> {
    let error = MarkerError { file, name };
    let (begin, end) = (format!("// report: begin {name}"), format!("// report: end {name}"));
    let lines: Vec<&str> = text.lines().collect();
    let only = |marker: &str| {
        let mut places = lines.iter().enumerate().filter(|(_, line)| line.trim_end().ends_with(marker));
        let place = places.next().map(|(place, _)| place);
        place.filter(|_| places.next().is_none()).ok_or(error)
    };
    let (first, last) = (only(&begin)?, only(&end)?);
    let within = lines.get(first..=last).ok_or(error)?;
    let unmarked = |line: &&str| line.replace(&begin, "").replace(&end, "").trim_end().to_owned();
    let mut source: Vec<(usize, String)> = within.iter().map(unmarked).enumerate().collect();
    // A line with nothing but a marker is no line of the source.
    source.retain(|(place, line)| !line.is_empty() || (*place > 0 && *place + 1 < within.len()));
    let (Some(&(from, _)), Some(&(to, _))) = (source.first(), source.last()) else { return Err(error) };
    let indentation = |line: &String| line.len() - line.trim_start().len();
    let least = source.iter().map(|(_, line)| line).filter(|line| !line.is_empty()).map(indentation).min().unwrap_or(0);
    let source: Vec<&str> = source.iter().map(|(_, line)| line.get(least..).unwrap_or_default()).collect();
    Ok(Excerpt { name, file, first_line: first + from + 1, last_line: first + to + 1, source: source.join("\n") })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str =
        "fn a() {\n    // report: begin x\n    if b {\n        c();\n    }\n\n    d();\n    // report: end x\n}\n";

    #[test]
    fn a_piece_lies_between_its_markers_without_their_indentation() {
        let piece = excerpt("x", "a.rs", FILE).unwrap();
        assert_eq!(piece.source, "if b {\n    c();\n}\n\nd();");
        assert_eq!((piece.first_line, piece.last_line), (3, 7));
    }

    #[test]
    fn markers_may_stand_behind_the_code() {
        let text = "#[kernel] // report: begin k\nfn k() {\n} // report: end k\nfn other() {}\n";
        let piece = excerpt("k", "k.rs", text).unwrap();
        assert_eq!((piece.source.as_str(), piece.first_line, piece.last_line), ("#[kernel]\nfn k() {\n}", 1, 3));
    }

    #[test]
    fn a_marker_that_is_missing_or_doubled_or_in_the_wrong_place_is_an_error() {
        let doubled = format!("{FILE}{FILE}");
        let reversed = "// report: end x\na\n// report: begin x\n";
        let other = FILE.replace("end x", "end xy");
        for text in ["", "// report: begin x\n", "// report: begin x\n// report: end x\n", &doubled, reversed, &other] {
            let error = excerpt("x", "a.rs", text).unwrap_err();
            assert!(error.to_string().starts_with("a.rs must hold one line with"), "{text}");
        }
    }

    #[test]
    fn every_source_has_its_markers() {
        let pieces = all().unwrap();
        assert_eq!(pieces.len(), SOURCES.len());
        for piece in pieces {
            assert!(!piece.source.contains("report:"), "{}", piece.source);
            assert!((2..=40).contains(&piece.source.lines().count()), "{}: {}", piece.name, piece.source);
        }
    }
}
