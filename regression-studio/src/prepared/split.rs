//! Which rows are trained on, and which are kept apart.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

use crate::settings::{SplitOrder, SplitSettings};

/// Training, validation and test rows; each ascending. A function of the rows, the settings and nothing else.
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

/// How many of `count` rows go into training, validation and test: by the ratio, but 2, 1 and 1 at least where there are 4.
pub fn part_sizes(count: usize, settings: &SplitSettings) -> [usize; 3] {
    let SplitSettings { train, validation, test, .. } = *settings;
    let sum = train + validation + test;
    // Rounding must not turn 70 % of 10 into 6.
    let share = |part: f64| ((count as f64 * (part / sum) + 1e-9).floor() as usize).min(count);
    let until_train = share(train);
    let until_validation = share(train + validation).max(until_train);
    let validation = (until_validation - until_train).clamp(1.min(count), count.saturating_sub(3).max(1).min(count));
    let test =
        (count - until_validation).max(1).min(count.saturating_sub(validation + 2).max(1)).min(count - validation);
    [count - validation - test, validation, test]
}
