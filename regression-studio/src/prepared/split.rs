//! Splits the rows into training, validation and test part.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

use crate::settings::{Fold, SplitOrder, SplitSettings};

/// The training, validation and test rows, each ascending. They depend only on the rows and the
/// settings.
pub fn split(mut rows: Vec<u32>, settings: &SplitSettings) -> [Vec<u32>; 3] {
    if settings.order == SplitOrder::Shuffled {
        rows.shuffle(&mut ChaCha8Rng::seed_from_u64(settings.seed));
    }
    let [_, validation, test] = part_sizes(rows.len(), settings);
    let mut test = rows.split_off(rows.len() - test);
    let mut validation = rows.split_off(rows.len() - validation);
    for part in [&mut rows, &mut validation, &mut test] {
        part.sort_unstable();
    }
    [rows, validation, test]
}

/// Like [`split`], for rows that belong together: each unit stays in one part. The sizes of the
/// parts match `part_sizes` up to the size of a unit. A unit goes to the training part if it is
/// larger than twice what another part still needs.
pub(super) fn split_units(mut units: Vec<Vec<u32>>, settings: &SplitSettings) -> [Vec<u32>; 3] {
    if settings.order == SplitOrder::Shuffled {
        units.shuffle(&mut ChaCha8Rng::seed_from_u64(settings.seed));
    }
    let [_, validation, test] = part_sizes(units.iter().map(Vec::len).sum(), settings);
    let (mut parts, sizes) = ([Vec::new(), Vec::new(), Vec::new()], [usize::MAX, validation, test]);
    for unit in units.into_iter().rev() {
        let has_room = |part: &usize| {
            let room = sizes[*part].saturating_sub(parts[*part].len());
            room > 0 && unit.len() <= 2 * room.min(usize::MAX / 2)
        };
        let part = [2, 1].into_iter().find(has_room).unwrap_or(0);
        parts[part].extend(unit);
    }
    parts.iter_mut().for_each(|part| part.sort_unstable());
    parts
}

/// Like [`split_units`], for one fold of a cross-validation. If shuffled, the units are distributed
/// to folds of about the same number of rows. One fold is the test part. The others are divided
/// into training and validation part by their ratio. In time order, the units are divided into one
/// block more than there are folds. Each block after the first is tested by a network trained on
/// the blocks before it.
pub(super) fn split_by_fold(mut units: Vec<Vec<u32>>, settings: &SplitSettings, fold: Fold) -> [Vec<u32>; 3] {
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
    // At least one unit remains for training.
    while validation.len() < wanted && rest.len() > 1 {
        validation.extend(rest.pop().unwrap_or_default());
    }
    let mut parts = [rest.concat(), validation, test];
    parts.iter_mut().for_each(|part| part.sort_unstable());
    parts
}

/// Sizes of the training, validation and test part of `count` rows, by the ratio in `settings`. If
/// `count` ≥ 4, they are at least 2, 1 and 1.
pub fn part_sizes(count: usize, settings: &SplitSettings) -> [usize; 3] {
    let SplitSettings { train, validation, test, .. } = *settings;
    let sum = train + validation + test;
    // The 1e-9 keeps rounding from turning 70 % of 10 into 6.
    let share = |part: f64| ((count as f64 * (part / sum) + 1e-9).floor() as usize).min(count);
    let until_train = share(train);
    let until_validation = share(train + validation).max(until_train);
    let validation = (until_validation - until_train).clamp(1.min(count), count.saturating_sub(3).max(1).min(count));
    let test =
        (count - until_validation).max(1).min(count.saturating_sub(validation + 2).max(1)).min(count - validation);
    [count - validation - test, validation, test]
}
