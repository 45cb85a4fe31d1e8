//! Text fields: formats settings as text, and parses them.

use crate::Settings;
use crate::settings::Field;

/// All fields with a text input.
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

/// Placeholder of a field that may be empty.
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
    let Settings { data, split, network, training, .. } = settings;
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

/// Parses a field's text into the settings.
///
/// # Errors
/// If it is not a number. The message is one line with a remedy. The settings do not change.
pub(crate) fn set(settings: &mut Settings, field: Field, text: &str) -> Result<(), String> {
    let text = text.trim();
    let Settings { data, split, network, training, .. } = settings;
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

/// Parses an integer, with or without thousands separators.
fn whole<N: std::str::FromStr>(field: Field, text: &str) -> Result<N, String> {
    let digits: String = text.chars().filter(|character| !matches!(character, ',' | '_' | ' ' | '\u{202f}')).collect();
    digits.parse().map_err(|_| not_a_number(field, text, "whole number"))
}

fn number(field: Field, text: &str) -> Result<f64, String> {
    let parsed = text.replace('−', "-").parse::<f64>().ok().filter(|value| value.is_finite());
    parsed.ok_or_else(|| match text.matches(',').count() {
        1 if text.replace(',', ".").parse::<f64>().is_ok() => {
            format!("{text:?} is not a number: use a decimal point, {}", text.replace(',', "."))
        }
        _ => not_a_number(field, text, "number"),
    })
}

fn not_a_number(field: Field, text: &str, kind: &str) -> String {
    match text {
        "" => format!("the field is empty, must be {}", field.range()),
        _ => format!("{text:?} is not a {kind}, must be {}", field.range()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formatted_settings_are_parsed_back() {
        let mut settings = Settings::default();
        settings.data.samples = Some(12_345);
        settings.network.hidden = vec![32, 16, 8];
        settings.training.regularization = 1e-5;
        settings.training.threads = Some(2);
        let mut read_back = Settings::default();
        for field in TYPED {
            set(&mut read_back, field, &text_of(&settings, field)).expect("its own text");
        }
        assert_eq!(read_back, settings);
    }

    #[test]
    fn invalid_numbers_are_rejected_with_a_remedy() {
        let mut settings = Settings::default();
        let mut message = |field, text| set(&mut settings, field, text).expect_err(text);
        assert_eq!(
            message(Field::LearningRate, "fast"),
            r#""fast" is not a number, must be greater than 0 and at most 10"#
        );
        assert_eq!(message(Field::LearningRate, "0,05"), r#""0,05" is not a number: use a decimal point, 0.05"#);
        assert_eq!(message(Field::Momentum, ""), "the field is empty, must be at least 0 and less than 1");
        let expected = r#""inf" is not a number, must be at least 0 and less than 1"#;
        assert_eq!(message(Field::Momentum, "inf"), expected);
        assert!(message(Field::BatchSize, "2.5").contains("not a whole number"));
        assert!(message(Field::Hidden, "32, x").contains("\"x\""));
        assert_eq!(settings, Settings::default(), "a text that cannot be read changes nothing");
        set(&mut settings, Field::Samples, "400,000").expect("thousands separators are accepted");
        assert_eq!(settings.data.samples, Some(400_000));
        set(&mut settings, Field::Samples, "all").expect("the placeholder is accepted");
        assert_eq!(settings.data.samples, None);
    }
}
