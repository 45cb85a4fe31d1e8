//! The simulated shares and their daily quotes.

use super::noise::{Noise, exp, exp10};

/// The series and the percentage of shares in each, as in an exchange's price files.
pub(super) const SERIES: [&str; 6] = ["EQ", "BE", "SM", "ST", "GB", "BZ"];
const SERIES_PERCENT: [f64; SERIES.len()] = [74.0, 9.0, 8.5, 5.5, 2.0, 1.0];

/// The series without a delivered quantity.
const WITHOUT_DELIVERY: [&str; 2] = ["BE", "BZ"];

/// Standard deviation of the market's daily log return.
const MARKET_MOVE: f64 = 0.008;

/// Ticks per unit of price: prices are rounded to 1 / 100.
const TICKS: f64 = 100.0;

/// All shares and the state of the current day.
pub(super) struct Market {
    noise: Noise,
    shares: Vec<Share>,
    /// Today's log return of the whole market.
    market_return: f64,
}

/// A share's parameters, which are the same for all days, and its latest price.
struct Share {
    symbol: String,
    series: usize,
    close: f64,
    /// Standard deviation of the daily log return.
    volatility: f64,
    /// Sensitivity of its log return to the market's.
    beta: f64,
    /// log₁₀ of its typical daily trade value, in units of money.
    value: f64,
    /// log₁₀ of the typical value of one trade, in units of money.
    trade_value: f64,
    /// Typical fraction of the quantity that is delivered, about 0 … 1.
    delivered: f64,
}

/// One share's figures for one day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Quote {
    previous_close: f64,
    open: f64,
    high: f64,
    low: f64,
    last: f64,
    close: f64,
    average: f64,
    quantity: f64,
    trades: f64,
    /// Delivered quantity, and its percentage of the total quantity; both NaN if missing.
    delivered: (f64, f64),
}

impl Market {
    pub(super) fn new(shares: usize, seed: u64) -> Self {
        let mut noise = Noise::new(seed);
        let mut symbols: Vec<String> = (0..shares).map(symbol).collect();
        symbols.sort_unstable();
        let shares = symbols.into_iter().map(|symbol| Share::new(symbol, &mut noise)).collect();
        Self { noise, shares, market_return: 0.0 }
    }

    /// Begins the next day: draws its market return.
    pub(super) fn open(&mut self) {
        self.market_return = MARKET_MOVE * self.noise.normal();
    }

    /// Simulates the current day of share `share`.
    pub(super) fn trade(&mut self, share: usize) -> Quote {
        self.shares[share].trade(self.market_return, &mut self.noise)
    }

    /// The shares' names, sorted.
    pub(super) fn symbols(&self) -> Vec<&str> {
        self.shares.iter().map(|share| share.symbol.as_str()).collect()
    }

    /// Each share's index in [`SERIES`].
    pub(super) fn series(&self) -> Vec<u32> {
        self.shares.iter().map(|share| share.series as u32).collect()
    }
}

impl Share {
    fn new(symbol: String, noise: &mut Noise) -> Self {
        let price = noise.normal();
        Self {
            symbol,
            series: series(100.0 * noise.uniform()),
            close: to_price(exp10(2.29 + 0.77 * price)),
            volatility: 0.022 * exp(0.4 * noise.normal()),
            beta: 1.0 + 0.4 * noise.normal(),
            // As the price grows, the trade value grows and the quantity falls.
            value: 7.1 + 0.58 * price + 1.1 * noise.normal(),
            trade_value: 4.1 + 0.45 * noise.normal(),
            delivered: 0.6 + 0.15 * noise.normal(),
        }
    }

    fn trade(&mut self, market_return: f64, noise: &mut Noise) -> Quote {
        let previous_close = self.close;
        let size = self.volatility;
        let open = to_price(previous_close * exp(0.4 * size * noise.normal()));
        let step = noise.normal();
        let close = to_price(open * exp(self.beta * market_return + size * step));
        let high = to_price(open.max(close) * exp(0.5 * size * noise.normal().abs()));
        let low = to_price(open.min(close) * exp(-0.5 * size * noise.normal().abs()));
        let last = to_price(close * exp(0.1 * size * noise.normal())).clamp(low, high);
        let average = to_price(low + (high - low) * (0.5 + 0.15 * noise.normal()).clamp(0.0, 1.0)).clamp(low, high);

        // One day in fifty is busy.
        let tail = if noise.uniform() < 0.02 { noise.normal().abs() } else { 0.0 };
        let value = self.value + 0.35 * noise.normal() + 0.15 * step.abs() + tail;
        let quantity = (exp10(value) / average).round().max(1.0);
        // A trade is at least one share.
        let trades = exp10(value - self.trade_value - 0.1 * noise.normal()).round().clamp(1.0, quantity);
        let part = (self.delivered + 0.15 * noise.normal()).clamp(0.0, 1.0);
        let delivered = match WITHOUT_DELIVERY.contains(&SERIES[self.series]) {
            true => (f64::NAN, f64::NAN),
            false => ((part * quantity).round(), (1e4 * (part * quantity).round() / quantity).round() / 1e2),
        };
        self.close = close;
        Quote { previous_close, open, high, low, last, close, average, quantity, trades, delivered }
    }
}

impl Quote {
    /// The column names of [`Quote::values`].
    pub(super) const NAMES: [&str; 12] = [
        "PREV_CLOSE",
        "OPEN_PRICE",
        "HIGH_PRICE",
        "LOW_PRICE",
        "LAST_PRICE",
        "CLOSE_PRICE",
        "AVG_PRICE",
        "TTL_TRD_QNTY",
        "TURNOVER_LACS",
        "NO_OF_TRADES",
        "DELIV_QTY",
        "DELIV_PER",
    ];

    pub(super) fn values(self) -> [f64; Self::NAMES.len()] {
        let turnover = self.average * self.quantity / 1e5;
        let prices = [self.previous_close, self.open, self.high, self.low, self.last, self.close, self.average];
        let [previous_close, open, high, low, last, close, average] = prices;
        let (delivered, percent) = self.delivered;
        [
            previous_close,
            open,
            high,
            low,
            last,
            close,
            average,
            self.quantity,
            turnover,
            self.trades,
            delivered,
            percent,
        ]
    }
}

/// Rounds to the nearest tick, at least 0.05.
fn to_price(value: f64) -> f64 {
    ((value * TICKS).round() / TICKS).max(0.05)
}

/// The index in [`SERIES`] at cumulative percentage `percent`, 0 … 100.
fn series(mut percent: f64) -> usize {
    SERIES_PERCENT
        .iter()
        .position(|share| {
            percent -= share;
            percent < 0.0
        })
        .unwrap_or(0)
}

/// A pronounceable name, distinct for each index: three syllables. From one million on, the number
/// of whole millions follows.
fn symbol(index: usize) -> String {
    const CONSONANTS: &[u8; 20] = b"BCDFGHJKLMNPRSTVWXYZ";
    const VOWELS: &[u8; 5] = b"AEIOU";
    // 617,039 and 1,000,000 are coprime, so this permutes the indices below one million.
    let mut rest = index % 1_000_000 * 617_039 % 1_000_000;
    let mut name = String::new();
    for _ in 0..3 {
        name.push(char::from(CONSONANTS[rest % 20]));
        name.push(char::from(VOWELS[rest / 20 % 5]));
        rest /= 100;
    }
    match index / 1_000_000 {
        0 => name,
        millions => format!("{name}{millions}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_names_are_distinct() {
        let names: std::collections::HashSet<String> = (0..1_000_100).map(symbol).collect();
        assert_eq!(names.len(), 1_000_100);
    }

    #[test]
    fn series_follow_their_percentages() {
        assert_eq!(SERIES_PERCENT.iter().sum::<f64>(), 100.0);
        let found = [0.0, 73.9, 74.1, 83.1, 99.5, 100.0].map(|percent| SERIES[series(percent)]);
        assert_eq!(found, ["EQ", "EQ", "BE", "SM", "BZ", "EQ"]);
    }

    #[test]
    fn names_are_three_syllables_and_count_on_after_a_million() {
        let known = [0, 1, 999_999, 1_000_000, 2_000_001].map(symbol);
        assert_eq!(known, ["BABABA", "ZENOCO", "COMEYE", "BABABA1", "ZENOCO2"]);
    }
}
