//! Sentences about the network.

use super::Statement;
use crate::figures::{Figures, Gpu, GpuTraining, Run, Training};
use crate::words::{accuracy, counted, grouped, listed, seconds, significant};

pub(super) fn sentences(figures: &Figures) -> Vec<Statement> {
    let training = &figures.training;
    let mut sentences = vec![result(training), Statement::from(target(training))];
    sentences.extend(to_target(training).map(Statement::from));
    sentences.extend(rise(training).map(Statement::from));
    sentences.push(gpu(figures).into());
    sentences
}

/// What the trainings reached, in one sentence.
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
    let test_images = grouped(&training.images[2].to_string());
    match tests.len() {
        1 => format!(
            "After {epochs}, {} of training, the network reads {} of the {} test images of {} right.",
            seconds(fastest),
            accuracy(*lowest),
            test_images,
            training.data
        ),
        n => format!(
            "After {epochs}, {} to {} of training, the network reads {} to {} of the {} test images of {} right (n = {n} seeds).",
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

/// Whether the homework's target is reached; it is one for MNIST only.
fn target(training: &Training) -> String {
    let target = accuracy(training.target);
    if !training.is_mnist {
        return format!(
            "These are not MNIST's images, which were not found: the accuracy says nothing about the homework's {target}, which is \
             set for MNIST."
        );
    }
    let reached = training.runs.iter().filter(|run| run.test_accuracy >= training.target).count();
    match (reached, training.runs.len()) {
        (_, 0) => format!("Whether the homework's {target} are reached was not measured."),
        (reached, all) if reached == all => format!("The homework's {target} are reached from every seed."),
        (0, _) => format!("The homework's {target} are not reached."),
        (reached, all) => format!("The homework's {target} are reached from {reached} of {all} seeds."),
    }
}

/// When the validation accuracy first reaches the target.
fn to_target(training: &Training) -> Option<String> {
    let first = |run: &Run| run.curve.iter().find(|point| point.accuracy >= training.target).map(|point| point.seconds);
    let mut reached: Vec<f64> = training.runs.iter().filter_map(first).collect();
    reached.sort_by(f64::total_cmp);
    let (fastest, slowest) = (reached.first()?, reached.last()?);
    let of = match reached.len() {
        n if n == training.runs.len() => String::new(),
        n => format!(", as far as it does: from {n} of {} seeds", training.runs.len()),
    };
    let when =
        if reached.len() == 1 { seconds(*fastest) } else { format!("{} to {}", seconds(*fastest), seconds(*slowest)) };
    Some(format!(
        "On the validation images the accuracy first reaches {} after {when} of training{of}.",
        accuracy(training.target)
    ))
}

/// How much of the rise comes in the first epoch.
fn rise(training: &Training) -> Option<String> {
    let run = training.runs.first()?;
    let (first, last) = (run.curve.first()?, run.curve.last()?);
    let epoch = run.curve.iter().find(|point| point.epochs >= 1.0)?;
    let total = last.accuracy - first.accuracy;
    (total > 0.0 && last.epochs > 1.0).then(|| {
        let share = significant(100.0 * (epoch.accuracy - first.accuracy) / total);
        format!(
            "From seed {} the accuracy rises from {} to {}; {share} % of that come in the first epoch, while the gradients are \
             still large.",
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
                "On the {}{place} the training takes {} and reaches {} of the test images of {data}.",
                gpu.name,
                seconds(time),
                accuracy(*test_accuracy)
            )
        }
        (None, Gpu::Missing(reason)) => format!("On a GPU it was not measured: {reason}."),
        (None, _) => "On the GPU it was not measured.".to_owned(),
    }
}

/// The seeds, in words.
pub(crate) fn seeds(training: &Training) -> String {
    listed(&training.runs.iter().map(|run| run.seed.to_string()).collect::<Vec<_>>())
}
