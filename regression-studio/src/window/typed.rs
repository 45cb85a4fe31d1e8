//! The inputs that are typed as text: from settings to text and back.

use crate::Settings;
use crate::settings::Field;

/// All fields that are typed.
pub(crate) const TYPED: [Field; 17] = [
    Field::Samples,
    Field::OneHotLimit,
    Field::TrainShare,
    Field::ValidationShare,
    Field::TestShare,
    Field::SplitSeed,
    Field::Hidden,
    Field::Gain,
    Field::Threshold,
    Field::LearningRate,
    Field::Momentum,
    Field::Regularization,
    Field::BatchSize,
    Field::Epochs,
    Field::Patience,
    Field::Seed,
    Field::Threads,
];

/// What stands in a field that may be left empty.
pub(crate) fn hint(field: Field) -> &'static str {
    match field {
        Field::Samples => "all",
        Field::Patience => "off",
        Field::Threads => "all cores",
        Field::Hidden => "none",
        _ => "",
    }
}

/// A field's value as the user would type it.
pub(crate) fn text_of(settings: &Settings, field: Field) -> String {
    let Settings { data, split, network, training } = settings;
    let optional = |value: Option<usize>| value.map_or_else(String::new, |value| value.to_string());
    match field {
        Field::Samples => optional(data.samples),
        Field::OneHotLimit => data.one_hot_limit.to_string(),
        Field::TrainShare => split.train.to_string(),
        Field::ValidationShare => split.validation.to_string(),
        Field::TestShare => split.test.to_string(),
        Field::SplitSeed => split.seed.to_string(),
        Field::Hidden => network.hidden.iter().map(usize::to_string).collect::<Vec<_>>().join(", "),
        Field::Gain => network.gain.to_string(),
        Field::Threshold => network.threshold.to_string(),
        Field::LearningRate => training.learning_rate.to_string(),
        Field::Momentum => training.momentum.to_string(),
        Field::Regularization => training.regularization.to_string(),
        Field::BatchSize => training.batch_size.to_string(),
        Field::Epochs => training.epochs.to_string(),
        Field::Patience => optional(training.patience),
        Field::Seed => training.seed.to_string(),
        Field::Threads => optional(training.threads),
        _ => String::new(),
    }
}

/// Takes what was typed over into the settings.
///
/// # Errors
/// If it is no number; one line with the way out. The settings are then as before.
pub(crate) fn read(settings: &mut Settings, field: Field, text: &str) -> Result<(), String> {
    let text = text.trim();
    let Settings { data, split, network, training } = settings;
    match field {
        Field::Samples => data.samples = optional(field, text)?,
        Field::OneHotLimit => data.one_hot_limit = whole(field, text)?,
        Field::TrainShare => split.train = number(field, text)?,
        Field::ValidationShare => split.validation = number(field, text)?,
        Field::TestShare => split.test = number(field, text)?,
        Field::SplitSeed => split.seed = whole(field, text)?,
        Field::Hidden => {
            let layers = text.split([',', ' ', '-', ';']).filter(|layer| !layer.is_empty());
            network.hidden = layers.map(|layer| whole(field, layer)).collect::<Result<_, _>>()?;
        }
        Field::Gain => network.gain = number(field, text)?,
        Field::Threshold => network.threshold = number(field, text)?,
        Field::LearningRate => training.learning_rate = number(field, text)?,
        Field::Momentum => training.momentum = number(field, text)?,
        Field::Regularization => training.regularization = number(field, text)?,
        Field::BatchSize => training.batch_size = whole(field, text)?,
        Field::Epochs => training.epochs = whole(field, text)?,
        Field::Patience => training.patience = optional(field, text)?,
        Field::Seed => training.seed = whole(field, text)?,
        Field::Threads => training.threads = optional(field, text)?,
        _ => {}
    }
    Ok(())
}

fn optional(field: Field, text: &str) -> Result<Option<usize>, String> {
    if text.is_empty() || text.eq_ignore_ascii_case(hint(field)) { Ok(None) } else { whole(field, text).map(Some) }
}

/// A whole number; thousands may be set apart.
fn whole<N: std::str::FromStr>(field: Field, text: &str) -> Result<N, String> {
    let digits: String = text.chars().filter(|character| !matches!(character, ',' | '_' | ' ' | '\u{202f}')).collect();
    digits.parse().map_err(|_| no_number(field, text, "whole number"))
}

fn number(field: Field, text: &str) -> Result<f64, String> {
    let parsed = text.replace('−', "-").parse::<f64>().ok().filter(|value| value.is_finite());
    parsed.ok_or_else(|| match text.matches(',').count() {
        1 if text.replace(',', ".").parse::<f64>().is_ok() => {
            format!("{text:?} is no number: write a point, {}", text.replace(',', "."))
        }
        _ => no_number(field, text, "number"),
    })
}

fn no_number(field: Field, text: &str, kind: &str) -> String {
    match text {
        "" => format!("nothing is there: choose {}", field.range()),
        _ => format!("{text:?} is no {kind}: choose {}", field.range()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let mut settings = Settings::default();
        settings.data.samples = Some(12_345);
        settings.network.hidden = vec![32, 16, 8];
        settings.training.regularization = 1e-5;
        settings.training.threads = Some(2);
        let mut read_back = Settings::default();
        for field in TYPED {
            read(&mut read_back, field, &text_of(&settings, field)).expect("its own text");
        }
        assert_eq!(read_back, settings);
    }

    #[test]
    fn what_is_no_number_is_told_with_the_way_out() {
        let mut settings = Settings::default();
        let mut message = |field, text| read(&mut settings, field, text).expect_err(text);
        assert_eq!(message(Field::LearningRate, "fast"), r#""fast" is no number: choose above 0, up to 10"#);
        assert_eq!(message(Field::LearningRate, "0,05"), r#""0,05" is no number: write a point, 0.05"#);
        assert_eq!(message(Field::Momentum, ""), "nothing is there: choose 0 … below 1");
        assert_eq!(message(Field::Momentum, "inf"), r#""inf" is no number: choose 0 … below 1"#);
        assert!(message(Field::BatchSize, "2.5").contains("no whole number"));
        assert!(message(Field::Hidden, "32, x").contains("\"x\""));
        assert_eq!(settings, Settings::default(), "a text that cannot be read changes nothing");
        read(&mut settings, Field::Samples, "400,000").expect("thousands apart");
        assert_eq!(settings.data.samples, Some(400_000));
        read(&mut settings, Field::Samples, "all").expect("the hint's word");
        assert_eq!(settings.data.samples, None);
    }
}
