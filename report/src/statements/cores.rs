//! What more threads change, and why.

use super::{Statement, Verdict, comparison, on_all_cores};
use crate::figures::{Ceiling, Figures, OnThreads};
use crate::timed::{Table, on_threads};
use crate::words::{bandwidth, counted, operations, percent, significant, threads};

/// What a version needs most of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Need {
    /// So many bytes read and written.
    Memory(f64),
    /// So many floating-point operations.
    Arithmetic(f64),
}

/// From this share of the ceiling on, the ceiling decides.
const DECIDES: f64 = 0.6;
/// A share beyond this is none: what was to be the roof was disturbed.
pub(crate) const BEYOND: f64 = 1.05;
/// Below this share something else does.
const HARDLY: f64 = 0.3;

/// The sentences about a version on rising numbers of threads.
pub(super) fn explain(figures: &Figures, table: Table, name: &str, ladder: &[OnThreads], need: Need) -> Vec<Statement> {
    let cores = figures.machine.cores;
    let Some((one, more)) = ladder.split_first() else {
        return vec!["It was not measured by number of threads.".into()];
    };
    let mut sentences: Vec<Statement> = Vec::new();
    for on in more.iter().filter(|on| on.threads <= cores) {
        sentences.push(comparison(table, &on_threads(name, on), [&on_threads(name, one)]));
        sentences.push(beside_the_ideal(one, on).into());
        sentences.extend(in_the_fastest_call(one, on).map(Statement::from));
    }
    sentences.push(what_decides(figures, ladder, need).into());
    sentences.extend(more_threads_than_cores(table, name, ladder, cores));
    sentences
}

/// The speed-up over one thread, by the medians.
pub(crate) fn speedup(one: &OnThreads, on: &OnThreads) -> f64 {
    one.times.median / on.times.median
}

/// Karp and Flatt's experimentally determined serial fraction: (1/S − 1/p) / (1 − 1/p).
pub(crate) fn serial_fraction(speedup: f64, threads: usize) -> Option<f64> {
    let processors = threads as f64;
    (threads > 1).then(|| (1.0 / speedup - 1.0 / processors) / (1.0 - 1.0 / processors))
}

fn beside_the_ideal(one: &OnThreads, on: &OnThreads) -> String {
    let speedup = speedup(one, on);
    let share = percent(speedup / on.threads as f64);
    let ideal = format!("The speed-up of {} is {share} of the ideal {}", significant(speedup), on.threads);
    match serial_fraction(speedup, on.threads) {
        Some(fraction) if fraction > 0.0 => {
            format!("{ideal}, a serial fraction of {} by Karp and Flatt.", significant(fraction))
        }
        _ => format!(
            "{ideal}: no serial fraction is seen, and what is beyond the ideal is a core's own cache or chance."
        ),
    }
}

/// Where the fastest calls gain much more than the median, what comes and goes from call to call.
fn in_the_fastest_call(one: &OnThreads, on: &OnThreads) -> Option<String> {
    let (usual, best) = (speedup(one, on), one.times.min / on.times.min);
    (best > 1.2 * usual).then(|| {
        format!(
            "Between the fastest calls it is {}: threads that wait for work sleep, and whether one wakes in time differs from call to \
             call where the work is so short.",
            significant(best)
        )
    })
}

/// What a ceiling of the machine has to do with it.
fn what_decides(figures: &Figures, ladder: &[OnThreads], need: Need) -> String {
    let at = |threads| figures.ceiling.iter().find(|ceiling| ceiling.threads == threads);
    let found = on_all_cores(ladder, figures.machine.cores).and_then(|on| Some((on, at(on.threads)?, at(1)?)));
    let Some((on, ceiling, one)) = found else {
        return "What the machine does at most was not measured, so nothing is said about why.".to_owned();
    };
    let share = share_of_ceiling(on, ceiling, need);
    let on_so_many = threads(on.threads);
    let beside = match need {
        Need::Memory(bytes) => format!(
            "On {on_so_many} its operands are read at {} in the fastest call, where reading them and doing nothing else was measured at {}, {} of the roof",
            bandwidth(bytes / on.times.min),
            bandwidth(ceiling.bytes_per_second()),
            percent(share)
        ),
        Need::Arithmetic(needed) => format!(
            "On {on_so_many} it does {} in the fastest call, where multiply-adds in registers were measured at {}, {} of the roof",
            operations(needed / on.times.min),
            operations(ceiling.operations_per_second()),
            percent(share)
        ),
    };
    let (decides, rest) = match need {
        Need::Memory(_) => ("the memory", "writing the result and sharing out the work"),
        Need::Arithmetic(_) => ("arithmetic", "packing, mirroring and sharing out the work"),
    };
    let verdict = match share {
        s if s > BEYOND => {
            return format!(
                "{beside}. So the machine was disturbed while the roof was measured, and nothing is said about what decides."
            );
        }
        s if s >= DECIDES => format!("{decides} decides"),
        s if s >= HARDLY => format!("{decides} is a large part of it, and {rest} the other"),
        _ => format!("{rest} take more than {decides} does"),
    };
    let roof =
        if on.threads > 1 { format!(" {}", growth_of_the_roof(on.threads, ceiling, one, need)) } else { String::new() };
    format!("{beside}: {verdict}.{roof}")
}

/// How much higher the roof is on all cores than on one, which is all that more threads can gain below it.
fn growth_of_the_roof(threads: usize, all: &Ceiling, one: &Ceiling, need: Need) -> String {
    let (growth, what, shared) = match need {
        Need::Memory(_) => (all.bytes_per_second() / one.bytes_per_second(), "read", "the way to memory"),
        Need::Arithmetic(_) => {
            (all.operations_per_second() / one.operations_per_second(), "compute", "the arithmetic units of one core")
        }
    };
    let beside = format!("{threads} threads that do nothing else {what} {} times as fast as one", significant(growth));
    match growth {
        g if g < 1.0 + 0.25 * (threads as f64 - 1.0) => {
            format!(
                "The roof itself hardly rises: {beside}, as if they shared {shared}. More than that no version gains below it."
            )
        }
        g if g < 0.85 * threads as f64 => format!("The roof itself rises by less than the ideal: {beside}."),
        _ => format!("The roof itself rises with the threads: {beside}."),
    }
}

/// How much of what the machine does at most a version uses at best.
pub(crate) fn share_of_ceiling(on: &OnThreads, ceiling: &Ceiling, need: Need) -> f64 {
    match need {
        Need::Memory(bytes) => bytes / on.times.min / ceiling.bytes_per_second(),
        Need::Arithmetic(needed) => needed / on.times.min / ceiling.operations_per_second(),
    }
}

/// Over-subscription, where it was measured.
fn more_threads_than_cores(table: Table, name: &str, ladder: &[OnThreads], cores: usize) -> Vec<Statement> {
    let available = counted(cores, "core");
    let most = ladder.iter().filter(|on| on.threads > cores).max_by_key(|on| on.threads);
    let (Some(most), Some(all)) = (most, on_all_cores(ladder, cores)) else {
        return vec![
            format!("The machine has {available}, as many as there were threads or more: no core was shared.").into(),
        ];
    };
    let compared = comparison(table, &on_threads(name, most), [&on_threads(name, all)]);
    let verdict = compared.comparisons.first().map(|comparison| comparison.verdict);
    let (n, spread) = (threads(most.threads), wider(all, most));
    let why = match verdict {
        Some(Verdict::Slower(_)) => format!(
            "With {n} on {available} the threads take turns: work waits for a thread that is not running, and each change of \
             threads costs time and warm caches{spread}."
        ),
        Some(Verdict::Faster(_)) => format!(
            "With {n} on {available} no more work is done at once; it can be faster where one of more threads is found awake sooner, or \
             where other programs share the cores, of which more threads get a larger part{spread}."
        ),
        _ => format!(
            "With {n} on {available} the threads take turns, and no more work is done at once; that it costs nothing clear is due \
             to work stealing, since a thread that runs takes over the tasks of one that waits{spread}."
        ),
    };
    vec![compared, why.into()]
}

/// What over-subscription does to the spread, if both are known and it grows.
fn wider(all: &OnThreads, most: &OnThreads) -> String {
    let width = |on: &OnThreads| on.times.quartiles.map(|[lower, upper]| (upper - lower) / on.times.median);
    match (width(all), width(most)) {
        (Some(narrow), Some(wide)) if wide > 1.5 * narrow && percent(wide) != percent(narrow) => {
            format!(
                "; the middle half of the times spreads over {} of the median instead of {}",
                percent(wide),
                percent(narrow)
            )
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
    }
}
