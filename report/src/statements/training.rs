//! Sentences about the network.

use super::Statement;
use super::cores::serial_fraction;
use crate::figures::{Figures, Gpu, GpuTraining, Run, StepTimes, Training};
use crate::words::{accuracy, counted, grouped, listed, percent, seconds, significant, threads};

pub(super) fn sentences(figures: &Figures) -> Vec<Statement> {
    let training = &figures.training;
    let mut sentences = vec![result(training), Statement::from(target(training))];
    sentences.extend(to_target(training).map(Statement::from));
    sentences.extend(rise(training).map(Statement::from));
    sentences.push(gpu(figures).into());
    sentences
}

/// Compares a step on one thread with a step on all cores: how much each phase loses against the
/// ideal time, which is the time on one thread divided by the number of threads.
pub(super) fn cores(figures: &Figures) -> Vec<Statement> {
    let steps = &figures.training.steps;
    let (Some(one), Some(team)) = (steps.first(), steps.last()) else {
        return vec!["The phases of a step were not measured.".into()];
    };
    let share = |phase: f64| percent(phase / one.seconds());
    let mut sentences = vec![format!(
        "On one thread a step on {} takes {}: {} of it for the first layer's products, {} for the other layers and {} for the update.",
        counted(figures.training.batch, "image"),
        seconds(one.seconds()),
        share(one.first_layer),
        share(one.other_layers),
        share(one.update)
    )];
    if team.threads > 1 {
        sentences.extend([speedup_of_step(one, team), losses_of_step(one, team)]);
    }
    sentences.into_iter().map(Statement::from).collect()
}

fn speedup_of_step(one: &StepTimes, team: &StepTimes) -> String {
    let speedup = one.seconds() / team.seconds();
    let takes = format!(
        "On {} it takes {}, a speed-up of {}",
        threads(team.threads),
        seconds(team.seconds()),
        significant(speedup)
    );
    match serial_fraction(speedup, team.threads) {
        Some(fraction) => {
            format!("{takes}; the Karp-Flatt serial fraction is {}.", significant(fraction))
        }
        None if speedup < 1.0 => format!("{takes}: more threads were slower."),
        None => format!("{takes}."),
    }
}

fn losses_of_step(one: &StepTimes, team: &StepTimes) -> String {
    let members = team.threads as f64;
    let losses = [
        ("the first layer", team.first_layer - one.first_layer / members),
        ("the other layers", team.other_layers - one.other_layers / members),
        ("the update", team.update - one.update / members),
        ("waiting at the barrier", team.meetings),
    ];
    let losses =
        losses.map(|(phase, loss)| format!("{phase} {}{}", if loss < 0.0 { "−" } else { "" }, seconds(loss.abs())));
    format!("Ideal would be {}; the difference by phase: {}.", seconds(one.seconds() / members), listed(&losses))
}

/// The target, the time to reach it, and the speed-up of a step.
pub(super) fn conclusion(training: &Training) -> String {
    let mut sentences = vec![target(training)];
    sentences.extend(to_target(training).filter(|_| training.is_mnist));
    if let (Some(one), Some(team)) = (training.steps.first(), training.steps.last())
        && team.threads > 1
    {
        let (whole, waiting) = (team.seconds(), team.meetings / team.seconds());
        sentences.push(format!(
            "A step on {} has a speed-up of {}, and waits {} of its time at the barrier.",
            threads(team.threads),
            significant(one.seconds() / whole),
            percent(waiting)
        ));
    }
    sentences.join(" ")
}

/// Time and test accuracy of the training runs, in one sentence.
pub(super) fn result(training: &Training) -> Statement {
    let mut tests: Vec<f64> = training.runs.iter().map(|run| run.test_accuracy).collect();
    tests.sort_by(f64::total_cmp);
    let (Some(lowest), Some(highest)) = (tests.first(), tests.last()) else {
        return "No network was trained.".into();
    };
    let mut times: Vec<f64> = training.runs.iter().map(Run::seconds).collect();
    times.sort_by(f64::total_cmp);
    let (fastest, slowest) = (times.first().copied().unwrap_or(0.0), times.last().copied().unwrap_or(0.0));
    let epochs = counted(training.epochs, "epoch");
    let test_images = grouped(training.images[2]);
    match tests.len() {
        1 => format!(
            "After {epochs}, {} of training, the network classifies {} of the {} test images of {} correctly.",
            seconds(fastest),
            accuracy(*lowest),
            test_images,
            training.data
        ),
        n => format!(
            "After {epochs}, {} to {} of training, the network classifies {} to {} of the {} test images of {} correctly (n = {n} \
             seeds).",
            seconds(fastest),
            seconds(slowest),
            accuracy(*lowest),
            accuracy(*highest),
            test_images,
            training.data
        ),
    }
    .into()
}

/// Whether the homework's target is reached. The target is set for MNIST.
fn target(training: &Training) -> String {
    let target = accuracy(training.target);
    if !training.is_mnist {
        return format!(
            "These images are not MNIST's: the accuracy says nothing about the homework's target of {target}, which is set \
             for MNIST."
        );
    }
    let reached = training.runs.iter().filter(|run| run.test_accuracy >= training.target).count();
    match (reached, training.runs.len()) {
        (_, 0) => format!("The homework's target of {target} was not tested."),
        (reached, all) if reached == all => format!("The homework's target of {target} is reached from every seed."),
        (0, _) => format!("The homework's target of {target} is not reached."),
        (reached, all) => format!("The homework's target of {target} is reached from {reached} of {all} seeds."),
    }
}

/// The training time until the validation accuracy first reaches the target.
fn to_target(training: &Training) -> Option<String> {
    let first = |run: &Run| run.curve.iter().find(|point| point.accuracy >= training.target).map(|point| point.seconds);
    let mut reached: Vec<f64> = training.runs.iter().filter_map(first).collect();
    reached.sort_by(f64::total_cmp);
    let (fastest, slowest) = (reached.first()?, reached.last()?);
    let of = match reached.len() {
        n if n == training.runs.len() => String::new(),
        n => format!(", in {n} of {} runs", training.runs.len()),
    };
    let when =
        if reached.len() == 1 { seconds(*fastest) } else { format!("{} to {}", seconds(*fastest), seconds(*slowest)) };
    Some(format!("The validation accuracy first reaches {} after {when} of training{of}.", accuracy(training.target)))
}

/// The fraction of the total rise in accuracy that happens in the first epoch.
fn rise(training: &Training) -> Option<String> {
    let run = training.runs.first()?;
    let (first, last) = (run.curve.first()?, run.curve.last()?);
    let epoch = run.curve.iter().find(|point| point.epochs >= 1.0)?;
    let total = last.accuracy - first.accuracy;
    (total > 0.0 && last.epochs > 1.0).then(|| {
        let share = significant(100.0 * (epoch.accuracy - first.accuracy) / total);
        format!(
            "From seed {} the validation accuracy rises from {} to {}; {share} % of the rise is in the first epoch.",
            run.seed,
            accuracy(first.accuracy),
            accuracy(last.accuracy)
        )
    })
}

fn gpu(figures: &Figures) -> String {
    let training = figures.gpu.run().and_then(|run| Some((&run.gpu, run.training.as_ref()?)));
    match (training, &figures.gpu) {
        (Some((gpu, GpuTraining { data, curve, test_accuracy })), _) => {
            let time = curve.last().map_or(0.0, |point| point.seconds);
            let place = match &figures.gpu {
                Gpu::Recorded { date, .. } => format!(" of another machine, recorded on {date},"),
                _ => String::new(),
            };
            format!(
                "On the {}{place} training takes {} and reaches a test accuracy of {} on {data}.",
                gpu.name,
                seconds(time),
                accuracy(*test_accuracy)
            )
        }
        (None, Gpu::Missing(reason)) => format!("Training on a GPU was not measured: {reason}."),
        (None, _) => "Training on the GPU was not measured.".to_owned(),
    }
}

/// The seeds, in words.
pub(crate) fn seeds(training: &Training) -> String {
    listed(&training.runs.iter().map(|run| run.seed.to_string()).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_losses_of_a_step_add_up_to_its_distance_from_the_ideal() {
        let step = |threads, [first_layer, other_layers, update, meetings]: [f64; 4]| StepTimes {
            threads,
            first_layer,
            other_layers,
            update,
            meetings,
        };
        let one = step(1, [8e-6, 9e-6, 7e-6, 0.0]);
        let team = step(2, [6e-6, 5e-6, 3e-6, 1.5e-6]);
        assert_eq!(
            losses_of_step(&one, &team),
            "Ideal would be 12.00 µs; the difference by phase: the first layer 2.000 µs, the other layers 500.0 ns, the update −500.0 ns \
             and waiting at the barrier 1.500 µs."
        );
        assert!(
            speedup_of_step(&one, &team).contains("a speed-up of 1.55; the Karp-Flatt serial fraction is 0.292."),
            "{}",
            speedup_of_step(&one, &team)
        );
        let slower = step(2, [9e-6, 9e-6, 7e-6, 1.5e-6]);
        assert_eq!(
            speedup_of_step(&one, &slower),
            "On 2 threads it takes 26.50 µs, a speed-up of 0.906: more threads were slower."
        );
    }
}
