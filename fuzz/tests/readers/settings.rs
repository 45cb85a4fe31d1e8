//! Settings of the regression studio, as TOML.

use std::fs;

use regression_studio::settings::{DataSettings, Settings, Source};

use crate::cases::{Answer, rejected, scratch};
use crate::edits::{Input, edit_text, pick};
use crate::studio::{small_settings, small_table};

/// Accepted settings survive being written and read again. Valid ones turn a table into samples, or
/// cause an error.
pub(crate) fn reader() -> impl Fn(&Input) -> Answer {
    let folder = scratch();
    let synthetic = Settings { data: DataSettings::market(50, 1), ..Settings::default() };
    let inline = "data = { source = { file = \"a.csv\" }, features = [\"x\"], target = \"y\" }\n".to_owned();
    let valid = [synthetic.to_toml(), small_settings().to_toml(), inline];
    let table = small_table(40, 1);
    move |input| {
        let path = folder.path().join("settings.toml");
        let mut file = pick(&valid, input.file).clone().into_bytes();
        edit_text(input, &mut file, &[b"[data]\n", b"[", b"#"]);
        fs::write(&path, &file).unwrap();
        let settings = match Settings::read(&path) {
            Ok(settings) => settings,
            Err(error) => return rejected(error, &path),
        };
        let again = Settings::from_toml(&settings.to_toml()).expect("what is written is read again");
        // Compared as text, since NaN does not equal itself.
        assert_eq!(format!("{again:?}"), format!("{settings:?}"), "what is written is read again");
        if let Some(problem) = settings.problems(Some(&table)).first() {
            assert!(!problem.to_string().trim().is_empty());
            return Answer::Rejected;
        }
        if matches!(settings.data.source, Source::Demo { rows, .. } | Source::Synthetic { rows, .. } if rows <= 200) {
            let table = settings.data.table().expect("a synthetic table needs no file");
            let _prepared = regression_studio::prepare(&table, &settings);
        }
        Answer::Accepted
    }
}
