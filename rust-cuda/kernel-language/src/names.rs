//! Suggests known names that resemble an unknown one.

/// The known name closest to `name`, if they differ by only a few letters.
pub(crate) fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    // Longer names are unlikely and would take long.
    if name.len() > 40 {
        return None;
    }
    let limit = (name.chars().count() / 3).max(1);
    let near = known.into_iter().filter(|known| !known.is_empty() && *known != name && known.len() <= 40);
    let distances = near.map(|known| (distance(name, known), known));
    let (_, nearest) = distances.filter(|(distance, _)| *distance <= limit).min_by_key(|(distance, _)| *distance)?;
    // Any two single letters are equally close.
    (name.chars().count() > 1).then_some(nearest)
}

/// The edit distance: letters to insert, delete, replace or swap with the next one; 0 if only the
/// case differs.
fn distance(a: &str, b: &str) -> usize {
    if a.eq_ignore_ascii_case(b) {
        return 0;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = match (i, j) {
                (0, _) | (_, 0) => i + j,
                _ => {
                    let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                    let mut least = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                    if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                        least = least.min(rows[i - 2][j - 2] + 1);
                    }
                    least
                }
            };
        }
    }
    rows[a.len()][b.len()]
}
