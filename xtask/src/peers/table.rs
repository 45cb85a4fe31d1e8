use std::fmt::Write;

use timing::format_seconds;

use super::comparison::{Outcome, Row};

const HEADINGS: [&str; 8] = ["work", "threads", "ours", "peer", "peer time", "ratio", "median", ""];

/// The table as text, its columns aligned, with the peers' versions above and the meaning of the figures below.
pub(crate) fn render(rows: &[Row], peers: &[String], meaning: &str) -> String {
    let lines: Vec<_> = std::iter::once(HEADINGS.map(str::to_owned)).chain(rows.iter().map(cells)).collect();
    // The last cell may be a whole sentence and nothing follows it: it is not padded.
    let widths: Vec<_> = (0..HEADINGS.len() - 1)
        .map(|column| lines.iter().map(|cells| cells[column].chars().count()).max().unwrap_or(0))
        .collect();

    let mut text = String::new();
    if !peers.is_empty() {
        let _ = writeln!(text, "[*] {}", peers.join(", "));
    }
    for cells in &lines {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(&widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        line.push_str(&cells[HEADINGS.len() - 1]);
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let _ = writeln!(text, "[*] {meaning}");
    text
}

fn cells(row: &Row) -> [String; 8] {
    let absent = || "-".to_owned();
    let threads = row.threads.map_or_else(absent, |threads| threads.to_string());
    let (work, peer) = (row.work.clone(), row.peer.clone().unwrap_or_else(absent));
    match &row.outcome {
        Outcome::Compared(comparison) => [
            work,
            threads,
            format_seconds(comparison.ours_seconds),
            peer,
            format_seconds(comparison.peer_seconds),
            format!("{:.3}", comparison.ratio),
            format!("{:.3}", comparison.median_ratio),
            if comparison.slower { "slower".to_owned() } else { String::new() },
        ],
        Outcome::Missing { reason } => [work, threads, absent(), peer, absent(), absent(), absent(), reason.clone()],
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;
    use crate::peers::comparison::Comparison;

    #[test]
    fn peers_the_table_is_aligned_and_marks_what_is_slower() {
        let row = |work: &str, peer: &str, outcome| Row {
            work: work.to_owned(),
            threads: Some(NonZeroUsize::MIN),
            peer: Some(peer.to_owned()),
            outcome,
        };
        let compared = |pairs: &[(f64, f64)]| Outcome::Compared(Comparison::of(pairs).unwrap());
        let rows = [
            row("max 1000×1000 i32", "NumPy", compared(&[(4e-4, 5e-4)])),
            row("max 1000×1000 i32", "Numba", Outcome::Missing { reason: "not installed".to_owned() }),
            row("epoch", "NumPy", compared(&[(1.5, 1.25), (1.6, 1.6)])),
        ];
        let expected = "\
[*] NumPy 2.4.6, Numba 0.68.1
work               threads  ours      peer   peer time  ratio  median
max 1000×1000 i32  1        400.0 µs  NumPy  500.0 µs   0.800  0.800
max 1000×1000 i32  1        -         Numba  -          -      -       not installed
epoch              1        1.500 s   NumPy  1.250 s    1.200  1.100   slower
[*] ratio: ours / peer.
";
        let peers = ["NumPy 2.4.6", "Numba 0.68.1"].map(str::to_owned);
        assert_eq!(render(&rows, &peers, "ratio: ours / peer."), expected);
    }
}
