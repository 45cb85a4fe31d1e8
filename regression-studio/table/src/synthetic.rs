//! Synthetic tables, which need no file: rents of flats, and a stock market.
//!
//! **Rents** follow a formula with noise, so no network can predict all of their variance.
//!
//! **Market**: shares follow geometric random walks with a common market factor. Trade value is
//! log-normal across shares and days, with a tail of busy days. It grows with the day's absolute
//! return, and the number of trades grows with it. Spreads and percentages match an exchange's
//! price files from January to July 2025: prices span five powers of ten, trade values nine, and a
//! tenth of the rows lack the delivered quantity. No real quotes are included.
//!
//! The same seed gives the same table on every machine. All random numbers come from one ChaCha8
//! stream. No function of the system's math library is used, because their last digits differ
//! between platforms.

mod calendar;
mod market;
mod noise;
mod rents;

use self::calendar::Day;
use self::market::{Market, Quote, SERIES};
use self::noise::Noise;
use self::rents::Flat;
use super::texts::Dictionary;
use super::{Categories, Column, Table};

/// The feature columns, named as in an exchange's price files.
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

/// The target column: the trade value in lakhs, average price × quantity / 100,000.
pub const TARGET: &str = "TURNOVER_LACS";

/// Size in bytes of a [`stock_market`] table with `rows` rows: three columns of codes, the rest
/// numbers.
pub fn bytes(rows: usize) -> u64 {
    let row = 3 * size_of::<u32>() + Quote::NAMES.len() * size_of::<f64>();
    (rows as u64).saturating_mul(row as u64)
}

/// The feature columns of [`rents`].
pub const RENT_FEATURES: [&str; 6] = ["district", "lift", "size_m2", "rooms", "built", "km_to_center"];

/// The target column of [`rents`]: the monthly rent.
pub const RENT: &str = "rent";

/// Size in bytes of a table with `rows` [`rents`].
pub fn bytes_of_rents(rows: usize) -> u64 {
    let row = 2 * size_of::<u32>() + Flat::NAMES.len() * size_of::<f64>();
    (rows as u64).saturating_mul(row as u64)
}

/// Flats in an invented town and their monthly rents: the [`RENT_FEATURES`] and the [`RENT`].
/// Deterministic in `seed`. No values are missing.
pub fn rents(rows: usize, seed: u64) -> Table {
    let mut noise = Noise::new(seed);
    let flats: Vec<Flat> = (0..rows).map(|_| Flat::draw(&mut noise)).collect();
    let mut columns = vec![
        coded("district", &rents::districts(), flats.iter().map(|flat| flat.district).collect()),
        coded("lift", &["no", "yes"], flats.iter().map(|flat| u32::from(flat.has_lift)).collect()),
    ];
    let numbers = Flat::NAMES.iter().enumerate();
    columns.extend(
        numbers.map(|(index, name)| Column::of_numbers(*name, flats.iter().map(|flat| flat.numbers[index]).collect())),
    );
    Table::new("synthetic rents of flats", columns)
}

/// A synthetic market of 2·√`rows` shares, deterministic in `seed`. Each row is one share on one
/// trading day. The rows are ordered by day, starting on 1 January 2024, then by the share's name.
///
/// The columns are SYMBOL, SERIES and DATE1, the eight [`FEATURES`], AVG_PRICE, the [`TARGET`],
/// DELIV_QTY and DELIV_PER. The last two are the quantity held beyond the day and its percentage.
/// They are missing for the series BE and BZ, about one share in ten. No other values are missing.
pub fn stock_market(rows: usize, seed: u64) -> Table {
    let shares = (2 * rows.isqrt()).max(1);
    let mut market = Market::new(shares, seed);
    let mut numbers: [Vec<f64>; Quote::NAMES.len()] = std::array::from_fn(|_| Vec::with_capacity(rows));
    let mut dates = Dictionary::default();
    let mut date_of_row = Vec::with_capacity(rows);
    let mut day = Day::FIRST;
    for first in (0..rows).step_by(shares) {
        let count = shares.min(rows - first);
        market.open();
        for share in 0..count {
            let quote = market.trade(share).values();
            numbers.iter_mut().zip(quote).for_each(|(column, value)| column.push(value));
        }
        let date = dates.code(&day.to_string());
        date_of_row.extend(std::iter::repeat_n(date, count));
        day = day.next_trading_day();
    }
    let each_day = |codes: Vec<u32>| codes.into_iter().cycle().take(rows).collect::<Vec<u32>>();
    let (symbols, series) = (market.symbols(), market.series());
    let text = |name: &str, texts: Dictionary, codes| Column::from_texts(name.to_owned(), texts.into_texts(), codes);
    let mut columns = vec![
        coded("SYMBOL", &symbols, each_day((0..shares as u32).collect())),
        coded("SERIES", &SERIES, each_day(series)),
        text("DATE1", dates, date_of_row),
    ];
    columns.extend(Quote::NAMES.into_iter().zip(numbers).map(|(name, values)| Column::of_numbers(name, values)));
    Table::new("synthetic stock market", columns)
}

/// A text column with `texts[index]` for each index. Only texts that occur become categories.
fn coded<T: AsRef<str>>(name: &str, texts: &[T], indices: Vec<u32>) -> Column {
    let mut dictionary = Dictionary::default();
    let mut code = |index: u32| texts.get(index as usize).map(|text| dictionary.code(text.as_ref()));
    let codes = indices.into_iter().map(|index| code(index).unwrap_or(Categories::MISSING)).collect();
    Column::from_texts(name.to_owned(), dictionary.into_texts(), codes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_takes_three_codes_and_twelve_numbers() {
        assert_eq!(bytes(1_000), 1_000 * (3 * 4 + 12 * 8));
        assert_eq!((bytes(0), bytes(usize::MAX)), (0, u64::MAX));
    }
}
