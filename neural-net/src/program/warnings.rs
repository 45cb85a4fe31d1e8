//! Warnings of training runs that cannot work: of steps that are too large, and of a network that reads one class.

use neural_net::Hyperparameters;
use neural_net::one_class::OneClass;
use neural_net::training::{GradientScale, MAX_EFFECTIVE_STEP, Progress, USUAL_EFFECTIVE_STEP};

/// Minimum number of images in the first epoch after which a network that reads one class, though no layer is saturated,
/// is worth a warning: with the default settings, 2000 are enough to tell several classes apart.
const MIN_IMAGES: usize = 10_000;

/// The batch size of the default settings.
const USUAL_BATCH: usize = 16;

/// The warning before training if the steps are too large.
pub(super) fn of_effective_step(hyperparameters: &Hyperparameters, images: usize) -> Option<String> {
    let step = hyperparameters.effective_step(images).filter(|&step| step > MAX_EFFECTIVE_STEP)?;
    let divided = if hyperparameters.momentum == 0.0 { "" } else { " / (1 − momentum)" };
    let why = match hyperparameters.gradient {
        GradientScale::Sum => {
            let batch = hyperparameters.batch_size.map_or(images, |size| size.min(images));
            format!(
                "gradients are summed over batches of {batch}, so that the effective step, learning rate · batch size{divided}, is"
            )
        }
        GradientScale::Mean => format!("the effective step, the learning rate{divided}, is"),
    };
    Some(format!(
        "{why} {}: above {MAX_EFFECTIVE_STEP} the network ends up reading all images as one class, or diverges; {}",
        shown(step),
        smaller_steps(hyperparameters, images)
    ))
}

/// The warning after the first measured epoch if the network reads nearly all images as one class. None if it may only
/// have had too few steps.
pub(super) fn of_one_class(
    found: &OneClass,
    progress: &Progress,
    hyperparameters: &Hyperparameters,
    images: usize,
) -> Option<String> {
    let OneClass { class, assigned, count, saturated_layer } = found;
    let is_large = hyperparameters.effective_step(images).map(|step| step > USUAL_EFFECTIVE_STEP);
    let (why, way_out) = match saturated_layer {
        Some(layer) => (
            format!(": layer {layer} is saturated, so that further steps hardly change it"),
            smaller_steps(hyperparameters, images),
        ),
        None if images < MIN_IMAGES => return None,
        None if is_large == Some(true) => (String::new(), smaller_steps(hyperparameters, images)),
        None => (String::new(), larger_steps(hyperparameters, images)),
    };
    let epoch = progress.epoch.max(1);
    Some(format!("after epoch {epoch} the network reads {assigned} of {count} images as class {class}{why}; {way_out}"))
}

/// The ways out of steps that are too large: flags with a quarter of the effective step, at most that of the default
/// settings.
fn smaller_steps(hyperparameters: &Hyperparameters, images: usize) -> String {
    let Some(step) = hyperparameters.effective_step(images) else {
        let rate = hyperparameters.learning_rate;
        return format!("choose a smaller --learning-rate than {rate}, such as {}", shown(rate / 10.0));
    };
    let step = USUAL_EFFECTIVE_STEP.min(step / 4.0);
    let rate = |hyperparameters: &Hyperparameters| shown(hyperparameters.learning_rate_for(step, images));
    let by_mean = match hyperparameters.gradient {
        GradientScale::Sum => {
            let by_mean = Hyperparameters { gradient: GradientScale::Mean, ..hyperparameters.clone() };
            format!(", or --gradient mean --learning-rate {}", rate(&by_mean))
        }
        GradientScale::Mean => String::new(),
    };
    let of_default = if step == USUAL_EFFECTIVE_STEP { ", that of the default settings" } else { "" };
    let is_large = hyperparameters.batch_size.is_none_or(|size| size > USUAL_BATCH);
    let epochs = if is_large { "; an epoch of large batches has few steps: choose more --epochs as well" } else { "" };
    format!(
        "choose --learning-rate {}{by_mean}, for an effective step of {}{of_default}{epochs}",
        rate(hyperparameters),
        shown(step)
    )
}

/// The ways out of steps that are too small.
fn larger_steps(hyperparameters: &Hyperparameters, images: usize) -> String {
    let rate = match hyperparameters.effective_step(images) {
        Some(step) if step < USUAL_EFFECTIVE_STEP => hyperparameters.learning_rate_for(USUAL_EFFECTIVE_STEP, images),
        _ => return "choose more --epochs, or another --learning-rate".to_owned(),
    };
    format!("its steps are small: choose --learning-rate {}, or more --epochs", shown(rate))
}

/// A number with three significant digits, without trailing zeros, as a flag takes it.
fn shown(number: f64) -> String {
    format!("{number:.2e}").parse().map_or_else(|_| number.to_string(), |rounded: f64| rounded.to_string())
}
