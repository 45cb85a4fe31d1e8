//! Sentences about scaling with threads.

use super::{Statement, Verdict, compare, comparison, on_all_cores};
use crate::figures::{Figures, OnThreads, Roofs};
use crate::timed::{Table, on_threads};
use crate::words::{bandwidth, counted, operations, percent, significant, threads};

/// A version's demand on the resource that limits it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Demand {
    /// Bytes read.
    Memory(f64),
    /// Floating-point operations.
    Arithmetic(f64),
}

/// Minimum fraction of the roof for a version that is bound by it.
const BOUND_SHARE: f64 = 0.6;
/// Maximum plausible fraction of the roof. Above it, the roof was measured too low.
pub(crate) const MAX_SHARE: f64 = 1.05;

/// The sentences about a version on ascending numbers of threads.
pub(super) fn explain(
    figures: &Figures,
    table: Table,
    name: &str,
    ladder: &[OnThreads],
    demand: Demand,
) -> Vec<Statement> {
    let cores = figures.machine.cores;
    let Some((one, more)) = ladder.split_first() else {
        return vec!["Scaling with threads was not measured.".into()];
    };
    let mut sentences: Vec<Statement> = Vec::new();
    for on in more.iter().filter(|on| on.threads <= cores) {
        sentences.push(comparison(table, &on_threads(name, on, cores), [&on_threads(name, one, cores)]));
        sentences.push(efficiency_sentence(one, on).into());
        sentences.extend(fastest_call_sentence(one, on).map(Statement::from));
    }
    sentences.push(bound_sentence(figures, ladder, demand).into());
    sentences.extend(oversubscription_sentences(table, name, ladder, cores));
    sentences
}

/// The speed-up over one thread, from the medians.
pub(crate) fn speedup(one: &OnThreads, on: &OnThreads) -> f64 {
    one.times.median / on.times.median
}

/// Karp and Flatt's experimentally determined serial fraction: (1/S − 1/p) / (1 − 1/p). `None`
/// outside 0 … 1: below 0, the speed-up exceeds the number of threads; above 1, more threads were
/// slower.
pub(crate) fn serial_fraction(speedup: f64, threads: usize) -> Option<f64> {
    let processors = threads as f64;
    let fraction = (1.0 / speedup - 1.0 / processors) / (1.0 - 1.0 / processors);
    (threads > 1 && (0.0..=1.0).contains(&fraction)).then_some(fraction)
}

fn efficiency_sentence(one: &OnThreads, on: &OnThreads) -> String {
    let is_slower = matches!(compare(&on.times, &one.times), Verdict::Slower(_));
    let speedup = speedup(one, on);
    let share = percent(speedup / on.threads as f64);
    let ideal = format!("The speed-up of {} is {share} of the ideal {}", significant(speedup), on.threads);
    match serial_fraction(speedup, on.threads) {
        Some(fraction) => format!("{ideal}; the Karp-Flatt serial fraction is {}.", significant(fraction)),
        None if is_slower => format!("{ideal}: more threads were slower, and there is no serial fraction."),
        None => format!("{ideal}."),
    }
}

/// The speed-up of the fastest calls, if it is much larger than the speed-up of the medians.
fn fastest_call_sentence(one: &OnThreads, on: &OnThreads) -> Option<String> {
    let (usual, best) = (speedup(one, on), one.times.min / on.times.min);
    (best > 1.2 * usual).then(|| {
        format!(
            "Between the fastest calls it is {}: on {} the median call takes {} times as long as the fastest.",
            significant(best),
            threads(on.threads),
            significant(on.times.median / on.times.min)
        )
    })
}

/// The sentence about what limits a version on all cores, from the fraction of the roof that it reaches.
fn bound_sentence(figures: &Figures, ladder: &[OnThreads], demand: Demand) -> String {
    let at = |threads| figures.roofs.iter().find(|roofs| roofs.threads == threads);
    let found = on_all_cores(ladder, figures.machine.cores).and_then(|on| Some((on, at(on.threads)?, at(1)?)));
    let Some((on, roofs, one)) = found else {
        return "The roofs of the machine were not measured, so no bound is stated.".to_owned();
    };
    let share = share_of_roof(on, roofs, demand);
    let on_all = threads(on.threads);
    let of_the_roof = match demand {
        Demand::Memory(bytes) => format!(
            "On {on_all} its fastest call reads the operands at {}, {} of the roof of {}",
            bandwidth(bytes / on.times.min),
            percent(share),
            bandwidth(roofs.bytes_per_second())
        ),
        Demand::Arithmetic(needed) => format!(
            "On {on_all} its fastest call runs at {}, {} of the roof of {}",
            operations(needed / on.times.min),
            percent(share),
            operations(roofs.operations_per_second())
        ),
    };
    let bound = match demand {
        Demand::Memory(_) => "memory-bound",
        Demand::Arithmetic(_) => "compute-bound",
    };
    let factor = significant(1.0 / share);
    let verdict = match share {
        s if s > MAX_SHARE => {
            return format!("{of_the_roof}: the roof was measured too low, and no bound is stated.");
        }
        s if s >= 1.0 => format!("it is {bound}, and at the roof"),
        s if s >= BOUND_SHARE => format!("it is {bound}; at the roof it would be {factor} times as fast"),
        _ => format!("it is not {bound}; at the roof it would be {factor} times as fast"),
    };
    let scaling =
        if on.threads > 1 { format!(" {}", roof_scaling(on.threads, roofs, one, demand)) } else { String::new() };
    format!("{of_the_roof}: {verdict}.{scaling}")
}

/// Compares the roof on all cores with the roof on one core. The ratio limits the speed-up of a
/// version at the roof.
fn roof_scaling(threads: usize, all: &Roofs, one: &Roofs, demand: Demand) -> String {
    let (growth, what) = match demand {
        Demand::Memory(_) => (all.bytes_per_second() / one.bytes_per_second(), "when only reading"),
        Demand::Arithmetic(_) => (all.operations_per_second() / one.operations_per_second(), "with only multiply-adds"),
    };
    let gain = format!("{what}, {threads} threads reach {} times the rate of one", significant(growth));
    match growth {
        g if g < 1.0 + 0.25 * (threads as f64 - 1.0) => {
            format!("The roof itself hardly scales: {gain}, and no version at the roof gains more.")
        }
        g if g < 0.85 * threads as f64 => format!("The roof itself scales less than ideally: {gain}."),
        _ => format!("The roof itself scales with the threads: {gain}."),
    }
}

/// The fraction of the roof that a version's fastest call reaches.
pub(crate) fn share_of_roof(on: &OnThreads, roofs: &Roofs, demand: Demand) -> f64 {
    match demand {
        Demand::Memory(bytes) => bytes / on.times.min / roofs.bytes_per_second(),
        Demand::Arithmetic(needed) => needed / on.times.min / roofs.operations_per_second(),
    }
}

/// The effect of using more threads than cores, if measured.
fn oversubscription_sentences(table: Table, name: &str, ladder: &[OnThreads], cores: usize) -> Vec<Statement> {
    let available = counted(cores, "core");
    let oversubscribed = ladder.iter().filter(|on| on.threads > cores).max_by_key(|on| on.threads);
    let (Some(oversubscribed), Some(all)) = (oversubscribed, on_all_cores(ladder, cores)) else {
        return vec![
            format!("The machine has {available}, at least one per thread: it was not over-subscribed.").into(),
        ];
    };
    let [subject, object] = [oversubscribed, all].map(|on| on_threads(name, on, cores));
    let (n, spread) = (threads(oversubscribed.threads), spread_note(all, oversubscribed));
    let meaning = format!("With {n} the {available} are over-subscribed: the threads share them{spread}.");
    vec![comparison(table, &subject, [&object]), meaning.into()]
}

/// The growth of the spread under oversubscription. Empty if a spread is unknown or does not
/// clearly grow.
fn spread_note(all: &OnThreads, oversubscribed: &OnThreads) -> String {
    let width = |on: &OnThreads| on.times.quartiles.map(|[lower, upper]| (upper - lower) / on.times.median);
    match (width(all), width(oversubscribed)) {
        (Some(narrow), Some(wide)) if wide > 1.5 * narrow && percent(wide) != percent(narrow) => {
            format!("; the interquartile range is {} of the median instead of {}", percent(wide), percent(narrow))
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_serial_fraction_is_karp_and_flatts() {
        // Amdahl's law with 10 % serial work on 4 processors: S = 1 / (0.1 + 0.9 / 4).
        let fraction = serial_fraction(1.0 / (0.1 + 0.9 / 4.0), 4).unwrap();
        assert!((fraction - 0.1).abs() < 1e-12, "{fraction}");
        assert_eq!(serial_fraction(1.0, 1), None);
        assert_eq!((serial_fraction(1.0, 4), serial_fraction(4.0, 4)), (Some(1.0), Some(0.0)));
        assert_eq!((serial_fraction(0.9, 4), serial_fraction(4.1, 4)), (None, None));
    }
}
