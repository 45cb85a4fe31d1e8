//! The workloads at other sizes. A peer may not be much faster at any of them.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use anyhow::{Result, bail};
use command_line::MAX_REPEATS;

use super::contest::Contest;
use super::rust_program::{EPOCH_IMAGES, OurTime, RAYON, RAYON_FUSED};
use super::workload::{Goals, Workload, words};
use super::workload_name::WorkloadName;
use crate::programs::{Program, TIME_MATMUL, TIME_PREDICTION};

/// Times the maximum without the trivial version and without the GPU version, which the main
/// program checks on a simulator.
const TIME_MAX: Program = Program::Example("max_functions", "time_max");

/// Sizes, and the factor for `--repeats` at each, as a numerator and a denominator.
const SIDES: [(usize, (usize, usize)); 5] =
    [(250, (20, 1)), (500, (10, 1)), (1000, (5, 1)), (2000, (2, 1)), (4000, (1, 1))];
/// The n of an n × n matrix in X·Xᵀ, with the factor for `--repeats`. The work grows with n³.
const SQUARES: [(usize, (usize, usize)); 5] =
    [(250, (10, 1)), (500, (5, 1)), (1000, (1, 1)), (2000, (1, 2)), (4000, (1, 8))];
const VALUES: [(usize, &str, (usize, usize)); 4] =
    [(10_000, "10⁴", (20, 1)), (100_000, "10⁵", (10, 1)), (1_000_000, "10⁶", (5, 1)), (10_000_000, "10⁷", (1, 1))];
/// Batch sizes of a training run, with its number of images. Small batches have fewer images, since
/// each takes longer.
const TRAINING_BATCHES: [(usize, usize); 7] =
    [(1, 2_000), (4, 8_000), (16, 20_000), (64, 50_000), (256, 50_000), (1024, 50_000), (10_000, 50_000)];
const PREDICTION_BATCHES: [(usize, usize); 5] = [(1, 200), (10, 200), (100, 200), (1000, 100), (10_000, 20)];

/// The workloads at all sizes.
///
/// # Errors
/// If the chosen workload has no other sizes.
pub(super) fn all(only: Option<WorkloadName>, repeats: NonZeroUsize, epochs: NonZeroUsize) -> Result<Vec<Workload>> {
    if matches!(only, Some(WorkloadName::Correlation | WorkloadName::Notebook | WorkloadName::ToTarget)) {
        bail!("--growth has no other sizes of this workload: choose max, matmul, activation, network or prediction");
    }
    let chosen = |name| only.is_none_or(|only| only == name);
    let mut workloads = Vec::new();
    if chosen(WorkloadName::Max) {
        workloads.extend(SIDES.map(|(side, times)| max(side, scaled(repeats, times))));
    }
    if chosen(WorkloadName::Matmul) {
        for dtype in ["f32", "f64"] {
            workloads.extend(SIDES.map(|(side, times)| matmul(dtype, side, 128, scaled(repeats, times))));
            workloads.extend(SQUARES.map(|(side, times)| matmul(dtype, side, side, scaled(repeats, times))));
        }
    }
    if chosen(WorkloadName::Activation) {
        workloads.extend(VALUES.map(|(number, shown, times)| activation(number, shown, scaled(repeats, times))));
    }
    if chosen(WorkloadName::Network) {
        workloads.extend(TRAINING_BATCHES.map(|(batch, images)| network(batch, images, epochs)));
    }
    if chosen(WorkloadName::Prediction) {
        workloads.extend(PREDICTION_BATCHES.map(|(batch, repeats)| prediction(batch, repeats)));
    }
    Ok(workloads)
}

/// Notes below the table: the peers that are not installed, and the number of images from which epochs are scaled.
pub(super) fn notes(contests: &[Contest]) -> Vec<String> {
    let missing: BTreeSet<_> = contests.iter().flat_map(Contest::missing).collect();
    let mut notes: Vec<_> = missing.into_iter().map(|(peer, reason)| format!("no rows for {peer}: {reason}")).collect();
    if contests.iter().any(Contest::is_of_epochs) {
        let sizes = TRAINING_BATCHES.map(|(batch, images)| format!("{images} at batch {batch}"));
        notes.push(format!(
            "epoch: of {EPOCH_IMAGES} images, scaled on all sides from epochs of fewer: {}",
            sizes.join(", ")
        ));
    }
    notes
}

/// The scaled number of repeats, at least 3: their minimum is then meaningful.
fn scaled(repeats: NonZeroUsize, (numerator, denominator): (usize, usize)) -> usize {
    (repeats.get().saturating_mul(numerator) / denominator).clamp(3, MAX_REPEATS)
}

fn max(side: usize, repeats: usize) -> Workload {
    let arguments = words(&format!("--size {side} {side} --repeats {repeats}"));
    Workload {
        title: format!("max {side}×{side} i32"),
        goals: Goals::Growth,
        program: TIME_MAX,
        program_arguments: arguments.clone(),
        time: RAYON,
        script: "max.py",
        script_arguments: arguments,
    }
}

fn matmul(dtype: &str, rows: usize, columns: usize, repeats: usize) -> Workload {
    let arguments = words(&format!("--dtype {dtype} --size {rows} {columns} --repeats {repeats}"));
    Workload {
        title: format!("X·Xᵀ {rows}×{columns} {dtype}"),
        goals: Goals::Growth,
        program: TIME_MATMUL,
        program_arguments: arguments.clone(),
        time: RAYON,
        script: "matmul.py",
        script_arguments: arguments,
    }
}

fn activation(number: usize, shown: &str, repeats: usize) -> Workload {
    let arguments = words(&format!("-n {number} --repeats {repeats}"));
    Workload {
        title: format!("activation {shown} f32"),
        goals: Goals::Growth,
        program: Program::Main("activation_functions"),
        program_arguments: arguments.clone(),
        time: RAYON_FUSED,
        script: "activation.py",
        script_arguments: arguments,
    }
}

fn network(batch: usize, images: usize, epochs: NonZeroUsize) -> Workload {
    // The gradients are summed, so a larger batch needs a smaller rate. Otherwise, its sigmoids saturate.
    let learning_rate = (1.6 / batch as f64).min(0.1);
    let shared = format!("--learning-rate {learning_rate}");
    Workload {
        title: format!("epoch, batch {batch}"),
        goals: Goals::Growth,
        program: Program::Main("neural-net"),
        program_arguments: words(&format!(
            "--preset homework --device cpu --batch-size {batch} --train-images {images} --validation-images 1000 \
             --epochs {epochs} --target-accuracy 0 {shared}"
        )),
        time: OurTime::Epoch,
        script: "network.py",
        script_arguments: words(&format!("--batch {batch} --images {images} --repeats {epochs} {shared}")),
    }
}

fn prediction(batch: usize, repeats: usize) -> Workload {
    let arguments = words(&format!("--batch {batch} --repeats {repeats}"));
    Workload {
        title: format!("predictions, batch {batch}"),
        goals: Goals::Growth,
        program: TIME_PREDICTION,
        program_arguments: arguments.clone(),
        time: OurTime::Batch(batch),
        script: "prediction.py",
        script_arguments: arguments,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workloads(only: Option<WorkloadName>) -> Result<Vec<Workload>> {
        all(only, NonZeroUsize::MIN, NonZeroUsize::MIN)
    }

    #[test]
    fn peers_growth_has_the_same_goal_for_every_peer() {
        let workloads = workloads(None).unwrap();
        assert_eq!(workloads.len(), 5 + 2 * (5 + 5) + 4 + 7 + 5);
        assert!(workloads.iter().all(|work| work.goal("any peer", NonZeroUsize::MIN) == Some(1.1)));
        assert!(workloads.iter().all(|work| work.peers_with_goals(NonZeroUsize::MIN).next().is_none()));
    }

    #[test]
    fn peers_growth_gives_both_sides_the_same_size() {
        for work in workloads(None).unwrap().iter().filter(|work| work.time != OurTime::Epoch) {
            assert_eq!(work.program_arguments, work.script_arguments);
        }
        let network = &workloads(Some(WorkloadName::Network)).unwrap()[0];
        for side in [&network.program_arguments, &network.script_arguments] {
            assert!(side.iter().any(|argument| argument == "2000"), "{side:?}");
        }
    }

    #[test]
    fn peers_growth_repeats_larger_squares_less_often() {
        let repeats = NonZeroUsize::new(20).unwrap();
        let workloads = all(Some(WorkloadName::Matmul), repeats, NonZeroUsize::MIN).unwrap();
        for dtype in ["f32", "f64"] {
            let expected = [(250, 200), (500, 100), (1000, 20), (2000, 10), (4000, 3)];
            for (side, repeats) in expected {
                let title = format!("X·Xᵀ {side}×{side} {dtype}");
                let work = workloads.iter().find(|work| work.title == title).expect(&title);
                let arguments = words(&format!("--dtype {dtype} --size {side} {side} --repeats {repeats}"));
                assert_eq!(work.program_arguments, arguments);
            }
        }
    }

    #[test]
    fn peers_growth_names_its_workloads() {
        for name in [WorkloadName::Notebook, WorkloadName::ToTarget] {
            let error = workloads(Some(name)).err().unwrap().to_string();
            assert!(error.contains("choose max, matmul"), "{error}");
        }
    }
}
