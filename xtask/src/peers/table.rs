use std::fmt::Write;

use timing::format_seconds;

use super::comparison::{Outcome, Row, Target};

const HEADINGS: [&str; 9] = ["work", "threads", "ours", "peer", "peer time", "ratio", "median", "goal", ""];
/// The column that is omitted if no row has a goal.
const GOAL: usize = 7;

/// Formats the table with aligned columns, the peers' versions above, and the meaning of the
/// figures below.
pub(crate) fn render(rows: &[Row], peers: &[String], meaning: &str) -> String {
    let any_goal = rows.iter().any(|row| row.target.is_some());
    let lines: Vec<Vec<String>> = std::iter::once(HEADINGS.map(str::to_owned))
        .chain(rows.iter().map(cells))
        .map(|cells| cells.into_iter().enumerate().filter(|(column, _)| *column != GOAL || any_goal))
        .map(|cells| cells.map(|(_, cell)| cell).collect())
        .collect();

    let mut text = String::new();
    if !peers.is_empty() {
        let _ = writeln!(text, "[*] {}", peers.join(", "));
    }
    text.push_str(&aligned(&lines));
    let _ = writeln!(text, "[*] {meaning}");
    text
}

/// Lines of cells as text with aligned columns. The last cell may be a whole sentence, so it is not padded.
pub(crate) fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0).saturating_sub(1);
    let width =
        |column: usize| lines.iter().filter_map(|cells| cells.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<_> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for cells in lines {
        let padded = cells.iter().zip(widths.iter().copied().chain(std::iter::once(0)));
        let line = padded.map(|(cell, width)| format!("{cell:width$}")).collect::<Vec<_>>().join("  ");
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

fn cells(row: &Row) -> [String; 9] {
    let absent = || "-".to_owned();
    let threads = row.threads.map_or_else(absent, |threads| threads.to_string());
    let (work, peer) = (row.work.clone(), row.peer.clone().unwrap_or_else(absent));
    let goal = row.target.as_ref().map_or_else(absent, |target| target.goal.to_string());
    match &row.outcome {
        Outcome::Compared(comparison) => [
            work,
            threads,
            format_seconds(comparison.ours_seconds),
            peer,
            format_seconds(comparison.peer_seconds),
            format!("{:.3}", comparison.ratio),
            format!("{:.3}", comparison.median_ratio),
            goal,
            match &row.target {
                Some(target) => verdict(target),
                None if comparison.slower => "slower".to_owned(),
                None => String::new(),
            },
        ],
        Outcome::Missing { reason } => {
            [work, threads, absent(), peer, absent(), absent(), absent(), goal, reason.clone()]
        }
    }
}

/// The last cell of a row with a goal. A miss is rounded up, so it is never shown as 0 %.
fn verdict(target: &Target) -> String {
    match target.short_by {
        None => "not measured".to_owned(),
        Some(share) if share > 0.0 => format!("short by {:.0} %", (100.0 * share).ceil()),
        Some(_) => "reached".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;
    use crate::peers::comparison::Comparison;

    #[test]
    fn peers_the_table_is_aligned_and_marks_slower_rows() {
        let row = |work: &str, peer: &str, outcome| Row {
            work: work.to_owned(),
            threads: Some(NonZeroUsize::MIN),
            peer: Some(peer.to_owned()),
            target: None,
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

    #[test]
    fn peers_the_table_shows_goals_and_marks_misses() {
        let row = |peer: &str, goal: Option<f64>, outcome: Outcome| Row {
            work: "max".to_owned(),
            threads: Some(NonZeroUsize::MIN),
            peer: Some(peer.to_owned()),
            target: goal.map(|goal| Target::of(goal, &outcome)),
            outcome,
        };
        let compared = |ours| Outcome::Compared(Comparison::of(&[(ours, 1.0)]).unwrap());
        let rows = [
            row("NumPy", Some(0.85), compared(0.85)),
            row("Numba", Some(0.8), compared(0.8001)),
            row("Numba parallel", Some(0.25), compared(1.5)),
            row("CuPy", None, compared(1.5)),
            row("PyTorch", Some(0.1), Outcome::Missing { reason: "not installed".to_owned() }),
        ];
        let expected = "\
work  threads  ours      peer            peer time  ratio  median  goal
max   1        850.0 ms  NumPy           1.000 s    0.850  0.850   0.85  reached
max   1        800.1 ms  Numba           1.000 s    0.800  0.800   0.8   short by 1 %
max   1        1.500 s   Numba parallel  1.000 s    1.500  1.500   0.25  short by 500 %
max   1        1.500 s   CuPy            1.000 s    1.500  1.500   -     slower
max   1        -         PyTorch         -          -      -       0.1   not installed
[*] ratio: ours / peer.
";
        assert_eq!(render(&rows, &[], "ratio: ours / peer."), expected);
    }
}
