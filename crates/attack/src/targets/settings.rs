//! Settings of the regression studio, as TOML.

use std::fs;
use std::path::{Path, PathBuf};

use regression_studio::settings::{Settings, Source};

use crate::finding::{Case, Expected, Verdict, wrong};
use crate::mutate;
use crate::random::Random;
use crate::targets::{Reader, studio};

pub(super) struct SettingsFiles {
    path: PathBuf,
    bases: Vec<String>,
}

impl SettingsFiles {
    pub(super) fn new(folder: &Path) -> Self {
        let mut synthetic = Settings::default();
        synthetic.data.source = Source::Synthetic { rows: 50, seed: 1 };
        let inline = "data = { source = { file = \"a.csv\" }, features = [\"x\"], target = \"y\" }\n".to_owned();
        let bases = vec![synthetic.to_toml(), studio::settings().to_toml(), inline];
        Self { path: folder.join("settings.toml"), bases }
    }
}

impl Reader for SettingsFiles {
    fn case(&self, random: &mut Random) -> Case {
        let mut bytes = self.bases[random.below(self.bases.len())].clone().into_bytes();
        mutate::text(random, &mut bytes);
        Case { name: "settings.toml".to_owned(), bytes, expected: Expected::Any }
    }

    fn read(&self, case: &Case) -> Verdict {
        if let Err(error) = fs::write(&self.path, &case.bytes) {
            return wrong("the attack can write", error.to_string());
        }
        let settings = match Settings::read(&self.path) {
            Ok(settings) => settings,
            Err(error) => return Verdict::rejected(error, self.path.display()),
        };
        match Settings::from_toml(&settings.to_toml()) {
            // Compared as text, since NaN is not equal to itself.
            Ok(again) if format!("{again:?}") == format!("{settings:?}") => {}
            Ok(_) => return wrong("what is written again is read again", "other settings"),
            Err(error) => return wrong("what is written again is read again", error),
        }
        let problems = settings.problems(Some(&studio::table()));
        let rows = match settings.data.source {
            Source::Synthetic { rows, .. } if rows <= 200 => rows,
            _ => 0,
        };
        let problem = problems.first().map(ToString::to_string);
        match problem {
            Some(problem) => Verdict::Rejected { message: problem, names: String::new() },
            None if rows == 0 => Verdict::Accepted,
            None => match settings.data.table() {
                Ok(table) => {
                    let _prepared = regression_studio::prepare(&table, &settings);
                    Verdict::Accepted
                }
                Err(error) => Verdict::rejected(error, ""),
            },
        }
    }
}
