//! The split for one fold of a cross-validation.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

use crate::settings::{Fold, SplitOrder, SplitSettings};

/// Training, validation and test rows, each ascending, of units whose rows belong together. Shuffled, the units are
/// distributed to folds of about the same number of rows: one is the test part, and the others are divided into
/// training and validation part by their ratio. In the order of time, the units are divided into one block more than
/// there are folds: a block is tested by what comes before it.
pub(super) fn split(mut units: Vec<Vec<u32>>, settings: &SplitSettings, fold: Fold) -> [Vec<u32>; 3] {
    let (mut test, mut rest) = (Vec::new(), Vec::new());
    match settings.order {
        SplitOrder::Shuffled => {
            units.shuffle(&mut ChaCha8Rng::seed_from_u64(settings.seed));
            let mut sizes = vec![0; fold.count];
            for unit in units {
                let smallest = (0..fold.count).min_by_key(|&of| sizes[of]).unwrap_or(0);
                sizes[smallest] += unit.len();
                if smallest == fold.index { test.extend(unit) } else { rest.push(unit) }
            }
        }
        SplitOrder::Time => {
            let (rows, mut before) = (units.iter().map(Vec::len).sum::<usize>(), 0);
            for unit in units {
                let block = before * (fold.count + 1) / rows.max(1);
                before += unit.len();
                match block.cmp(&(fold.index + 1)) {
                    std::cmp::Ordering::Less => rest.push(unit),
                    std::cmp::Ordering::Equal => test.extend(unit),
                    std::cmp::Ordering::Greater => {}
                }
            }
        }
    }
    let rows: usize = rest.iter().map(Vec::len).sum();
    let share = settings.validation / (settings.train + settings.validation);
    let wanted = ((rows as f64 * share).round() as usize).max(1);
    let mut validation = Vec::new();
    // At least one unit is trained on.
    while validation.len() < wanted && rest.len() > 1 {
        validation.extend(rest.pop().unwrap_or_default());
    }
    let mut parts = [rest.concat(), validation, test];
    parts.iter_mut().for_each(|part| part.sort_unstable());
    parts
}
