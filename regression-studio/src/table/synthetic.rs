//! A stock market that the program makes up, so that there is something to learn without a file.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::{Column, Table};

/// Its features, named as in the price files of exchanges.
pub const FEATURES: [&str; 8] = [
    "PREV_CLOSE",
    "OPEN_PRICE",
    "HIGH_PRICE",
    "LOW_PRICE",
    "LAST_PRICE",
    "CLOSE_PRICE",
    "TTL_TRD_QNTY",
    "NO_OF_TRADES",
];

/// Its target: what was traded, in 100,000 units of money.
pub const TARGET: &str = "TURNOVER_LACS";

/// A table of `rows` days of shares, the same for the same seed.
pub fn stock_market(rows: usize, seed: u64) -> Table {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut columns = vec![Vec::with_capacity(rows); FEATURES.len() + 1];
    for _ in 0..rows {
        let previous = 10.0_f64.powf(rng.random_range(0.5..4.0));
        let trades = 10.0_f64.powf(rng.random_range(0.0..5.0)).round();
        let quantity = (trades * 10.0_f64.powf(rng.random_range(0.0..2.0))).round();
        let mut near = || previous * (1.0 + rng.random_range(-0.05..0.05));
        let (open, last) = (near(), near());
        let (high, low) = (open.max(last) * 1.01, open.min(last) * 0.99);
        let values = [previous, open, high, low, last, last, quantity, trades, quantity * (high + low) / 2.0 / 1e5];
        columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
    }
    let names = FEATURES.into_iter().chain([TARGET]);
    let columns = names.zip(columns).map(|(name, values)| Column::of_numbers(name, values));
    Table::new("synthetic stock market".to_owned(), columns.collect())
}
