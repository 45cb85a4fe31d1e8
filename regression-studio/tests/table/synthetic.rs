//! Generated tables: consistent prices, wide distributions, rents that match their formula, and
//! determinism in the seed.

use std::collections::HashMap;

use regression_studio::table::{Column, Table, synthetic};

fn numbers<'a>(table: &'a Table, name: &str) -> &'a [f64] {
    table.column(name).and_then(Column::numbers).unwrap()
}

#[test]
fn prices_quantities_and_trades_are_consistent() {
    let table = synthetic::stock_market(50_000, 3);
    assert_eq!((table.rows(), table.columns().len()), (50_000, 15));
    let [previous, open, high, low, last, close, quantity, trades] =
        synthetic::FEATURES.map(|name| numbers(&table, name));
    let (average, turnover) = (numbers(&table, "AVG_PRICE"), numbers(&table, synthetic::TARGET));
    let symbols = table.column("SYMBOL").unwrap();
    let mut close_before: HashMap<String, f64> = HashMap::new();
    for row in 0..table.rows() {
        for price in [open, last, close, average].map(|prices| prices[row]) {
            assert!(0.0 < low[row] && low[row] <= price && price <= high[row], "row {row}");
        }
        assert!(trades[row] >= 1.0 && trades[row] <= quantity[row], "row {row}");
        assert_eq!((trades[row].fract(), quantity[row].fract()), (0.0, 0.0), "row {row}");
        assert_eq!(turnover[row], average[row] * quantity[row] / 1e5, "row {row}");
        let yesterday = close_before.insert(symbols.text(row).into_owned(), close[row]);
        assert!(yesterday.is_none_or(|yesterday| yesterday == previous[row]), "row {row}");
    }
    assert_eq!(close_before.len(), 446);
}

#[test]
fn rows_are_ordered_by_day_and_share() {
    let table = synthetic::stock_market(1_000, 3);
    let text = |row, name: &str| table.column(name).unwrap().text(row).into_owned();
    let shares = 62;
    assert!((1..shares).all(|row| text(row - 1, "SYMBOL") < text(row, "SYMBOL")));
    for row in shares..table.rows() {
        assert_eq!(text(row, "SYMBOL"), text(row - shares, "SYMBOL"));
        assert_eq!(text(row, "SERIES"), text(row - shares, "SERIES"));
    }
    assert_eq!(
        [0, 61, 62, 999].map(|row| text(row, "DATE1")),
        ["01-Jan-2024", "01-Jan-2024", "02-Jan-2024", "23-Jan-2024"]
    );
    assert_eq!((table.source(), table.line(0)), ("synthetic stock market", None));
}

#[test]
fn the_table_is_deterministic_in_the_seed() {
    let cells = |table: &Table| -> Vec<Vec<u64>> {
        let bits =
            |column: &Column| column.numbers().map(|numbers| numbers.iter().map(|number| number.to_bits()).collect());
        table.columns().iter().filter(|column| !column.is_date()).filter_map(bits).collect()
    };
    let (first, again, other) =
        (synthetic::stock_market(3_000, 7), synthetic::stock_market(3_000, 7), synthetic::stock_market(3_000, 8));
    assert_eq!(cells(&first), cells(&again));
    assert!(cells(&first).iter().zip(cells(&other)).all(|(first, other)| *first != other));
    let in_one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(cells(&first), cells(&in_one_thread.install(|| synthetic::stock_market(3_000, 7))));
}

/// FNV-1a over the numbers' bytes. NaN has many bit patterns and counts as zero.
fn hash(table: &Table) -> String {
    let bits =
        |column: &Column| column.numbers().map(|numbers| numbers.iter().map(|number| number.to_bits()).collect());
    let all: Vec<Vec<u64>> = table.columns().iter().filter(|column| !column.is_date()).filter_map(bits).collect();
    let number = |bits: u64| if f64::from_bits(bits).is_nan() { 0 } else { bits };
    let bytes = all.into_iter().flatten().flat_map(|bits| number(bits).to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    format!("{hash:016x}")
}

#[test]
fn the_tables_are_the_same_on_every_machine() {
    assert_eq!(hash(&synthetic::stock_market(2_000, 42)), "4a73f73aed88d98a");
    assert_eq!(hash(&synthetic::rents(2_000, 0)), "7242a7ebf80902ce");
}

/// The formula in docs/regression-studio-reference.md. The ratio of the rent to the noiseless
/// formula is the noise, which has no trend left.
#[test]
fn rents_follow_their_formula() {
    let table = synthetic::rents(20_000, 5);
    let [size, built, km, rent] = ["size_m2", "built", "km_to_center", "rent"].map(|name| numbers(&table, name));
    let is = |row: usize, name: &str, text: &str| f64::from(u8::from(table.column(name).unwrap().text(row) == text));
    let noise: Vec<f64> = (0..table.rows())
        .map(|row| {
            let level =
                2.0 * is(row, "district", "Harbor") + 1.5 * is(row, "district", "Hill") + is(row, "district", "Center")
                    - 1.5 * is(row, "district", "Station")
                    - is(row, "district", "Mill");
            let age = (built[row] - 1960.0) / 60.0;
            let by_age = if age < 0.0 { 2.0 } else { 4.0 } * age * age;
            let by_lift = is(row, "lift", "yes");
            let per_meter = 7.0 + 5.0 * (-km[row] / 2.0).exp() + level + by_age + by_lift;
            ((rent[row] - 150.0) / (per_meter * size[row])).ln()
        })
        .collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let deviation = mean(&noise.iter().map(|value| value * value).collect::<Vec<_>>()).sqrt();
    assert!(mean(&noise).abs() < 0.006 && (deviation - 0.18).abs() < 0.005, "{} ± {deviation}", mean(&noise));
    for column in [size, built, km] {
        let center = mean(column);
        let product: Vec<f64> = column.iter().zip(&noise).map(|(value, noise)| (value - center) * noise).collect();
        let spread = mean(&column.iter().map(|value| (value - center) * (value - center)).collect::<Vec<_>>()).sqrt();
        assert!((mean(&product) / spread / deviation).abs() < 0.03);
    }
    assert!(table.columns().iter().all(|column| column.missing() == 0));
    assert_eq!(synthetic::rents(3, 5).rows(), 3);
}

#[test]
fn trade_values_span_powers_of_ten_and_a_tenth_lacks_the_delivery() {
    let table = synthetic::stock_market(200_000, 1);
    let mut turnover = numbers(&table, synthetic::TARGET).to_vec();
    turnover.sort_by(f64::total_cmp);
    let quantile = |share: f64| turnover[(share * (turnover.len() - 1) as f64) as usize].log10();
    assert!(quantile(1.0) - quantile(0.0) > 7.0, "{} … {}", quantile(0.0), quantile(1.0));
    assert!(quantile(0.99) - quantile(0.01) > 4.5, "{} … {}", quantile(0.01), quantile(0.99));
    // Heavy tails: the mean is far above the median, as in the price files (3,538 and 135).
    let mean = turnover.iter().sum::<f64>() / turnover.len() as f64;
    assert!(mean > 5.0 * turnover[turnover.len() / 2], "mean {mean}, median {}", turnover[turnover.len() / 2]);
    for column in table.columns() {
        let share = column.missing() as f64 / table.rows() as f64;
        match column.name() {
            "DELIV_QTY" | "DELIV_PER" => assert!((0.06..0.14).contains(&share), "{}: {share}", column.name()),
            name => assert_eq!(column.missing(), 0, "{name}"),
        }
        assert_eq!(column.not_numeric(), 0, "{}", column.name());
    }
}

#[test]
fn any_number_of_rows_can_be_generated() {
    for rows in [0, 1, 2, 3, 17] {
        let table = synthetic::stock_market(rows, 0);
        assert_eq!((table.rows(), table.columns().len()), (rows, 15));
        assert!(table.columns().iter().all(|column| column.missing() <= rows && column.name().len() > 4));
    }
}
