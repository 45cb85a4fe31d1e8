//! The questions, with answers derived from the figures.

mod correlation;
mod workers;

use super::Figures;
use super::filtered::Filtered;
use crate::Times;
use crate::questions::Question;
use crate::statements::{compare, result};
use crate::words::seconds;

/// The assignment's questions, in its order.
pub(super) fn all(figures: &Figures, filtered: &[Filtered]) -> Vec<Question> {
    let augmentation = &figures.augmentation;
    let cores = figures.machine.cores;
    vec![
        workers::run_time(augmentation, cores),
        workers::why(augmentation, cores),
        workers::accuracies(augmentation),
        workers::processes_or_threads(augmentation, cores),
        workers::ideas(augmentation, cores),
        workers::queue(augmentation),
        correlation::on_the_processor(),
        correlation::on_the_gpu(figures),
        correlation::speedups(figures),
        correlation::larger_kernels(figures),
        correlation::pictures(filtered),
        correlation::why_they_differ(filtered),
    ]
}

/// Compares two times, without the object's name: "2.00 times as fast as".
fn compared(subject: &Times, object: &Times) -> String {
    result(compare(subject, object), subject, object)
}

/// The cells of a time: fastest, median, interquartile range, n.
fn cells(times: &Times) -> [String; 4] {
    let range = match times.quartiles {
        Some([lower, upper]) => format!("{} – {}", seconds(lower), seconds(upper)),
        None => "not recorded".to_owned(),
    };
    [seconds(times.min), seconds(times.median), range, times.repeats.to_string()]
}
