//! The break-even batch size, above which the shader is faster than the CPU.

use anyhow::Result;

use super::row::Row;
use super::table::thousands;

/// Between which batch sizes the shader becomes faster than the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BreakEven {
    /// The CPU is faster at the largest measured batch.
    Never,
    /// The shader is faster at every measured batch; the smallest is given.
    Always(usize),
    /// The CPU is faster at the first batch, the shader at the second and at all measured larger ones.
    Between(usize, usize),
}

/// Bisects between the table's largest batch where the CPU is faster and the next larger one.
/// `ratio` measures shader / CPU.
pub(super) fn find(rows: &[Row], mut ratio: impl FnMut(usize) -> Result<f64>) -> Result<BreakEven> {
    let Some(last) = rows.iter().rposition(|row| row.ratio() >= 1.0) else {
        return Ok(rows.first().map_or(BreakEven::Never, |row| BreakEven::Always(row.batch)));
    };
    let Some(next) = rows.get(last + 1) else { return Ok(BreakEven::Never) };
    let (mut cpu_wins, mut shader_wins) = (rows[last].batch, next.batch);
    // To within 10 %, since the measurements' noise is larger.
    while shader_wins > cpu_wins + 1 && shader_wins as f64 > 1.1 * cpu_wins as f64 {
        let middle = ((cpu_wins as f64 * shader_wins as f64).sqrt() as usize).clamp(cpu_wins + 1, shader_wins - 1);
        if ratio(middle)? < 1.0 { shader_wins = middle } else { cpu_wins = middle }
    }
    Ok(BreakEven::Between(cpu_wins, shader_wins))
}

impl BreakEven {
    /// The smallest batch for which the shader was faster.
    pub(super) fn batch(self) -> Option<usize> {
        match self {
            Self::Never => None,
            Self::Always(batch) | Self::Between(_, batch) => Some(batch),
        }
    }

    pub(super) fn sentence(self, rows: &[Row], is_software: bool) -> String {
        match self {
            Self::Never => {
                let best = rows.iter().min_by(|a, b| a.ratio().total_cmp(&b.ratio()));
                let closest = best.map_or(String::new(), |row| {
                    format!(" The lowest ratio is {1:.2}, at {0} images.", row.batch, row.ratio())
                });
                let why =
                    if is_software { " This adapter is software and runs on the same cores as the CPU." } else { "" };
                format!("Break-even: none. The CPU is faster at the largest measured batch.{closest}{why}")
            }
            Self::Always(batch) => {
                format!("Break-even: the shader is faster at every measured batch, from {batch} up.")
            }
            Self::Between(cpu, shader) => format!(
                "Break-even: between {} and {} images. For smaller batches the transfers cost more than the shader \
                 gains.",
                thousands(cpu as f64),
                thousands(shader as f64)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use timing::Measurement;

    use super::*;

    fn row(batch: usize, cpu: f64, shader: f64) -> Row {
        let fixed = |min| Measurement { min, median: min, repeats: 1 };
        Row { batch, cpu: fixed(cpu), shader: fixed(shader), compute: None, upload: fixed(0.0), read_back: fixed(0.0) }
    }

    #[test]
    fn shader_break_even_is_bisected_between_the_last_loss_and_the_next_win() {
        let rows = [row(1, 1.0, 9.0), row(10, 1.0, 0.9), row(100, 1.0, 1.5), row(1000, 1.0, 0.5)];
        let mut asked = Vec::new();
        let found = find(&rows, |batch| {
            asked.push(batch);
            Ok(if batch >= 400 { 0.9 } else { 1.1 })
        });
        let BreakEven::Between(cpu, shader) = found.unwrap() else { panic!("a break-even is found") };
        assert!(cpu < 400 && 400 <= shader && shader as f64 <= 1.1 * cpu as f64, "{cpu} {shader}");
        assert!(asked.len() < 10 && asked.iter().all(|batch| (101..1000).contains(batch)), "{asked:?}");
    }

    #[test]
    fn shader_break_even_may_be_missing_or_at_the_first_batch() {
        let never = find(&[row(1, 1.0, 9.0), row(10, 1.0, 1.25)], |_| unreachable!()).unwrap();
        assert_eq!((never, never.batch()), (BreakEven::Never, None));
        let sentence = never.sentence(&[row(1, 1.0, 9.0), row(10, 1.0, 1.25)], true);
        assert!(sentence.contains("none") && sentence.contains("1.25, at 10 images") && sentence.contains("software"));
        let always = find(&[row(1, 1.0, 0.5), row(10, 1.0, 0.25)], |_| unreachable!()).unwrap();
        assert_eq!(always, BreakEven::Always(1));
        assert!(always.sentence(&[], false).contains("from 1 up"));
    }
}
