//! The figures that `report --json` prints and `report --figures` reads.

use std::fs;
use std::path::{Path, PathBuf};

use report::Figures;
use report::document::document;
use serde_json::{Value, json};

use crate::finding::{Case, Expected, Verdict, wrong};
use crate::mutate;
use crate::random::Random;
use crate::targets::Reader;

pub(super) struct FigureFiles {
    path: PathBuf,
    bases: Vec<Value>,
}

impl FigureFiles {
    pub(super) fn new(folder: &Path) -> Self {
        let bases = [test_figures::without_gpu(), test_figures::with_recorded_gpu(), test_figures::with_measured_gpu()];
        Self { path: folder.join("figures.json"), bases: bases.map(|figures| json!(figures)).to_vec() }
    }
}

/// The figures of the report's own tests.
#[path = "../../../../report/tests/report/figures.rs"]
mod test_figures;

/// The content of a valid file.
pub(crate) fn valid() -> String {
    json!(test_figures::without_gpu()).to_string()
}

impl Reader for FigureFiles {
    fn case(&self, random: &mut Random) -> Case {
        let mut value = self.bases[random.below(self.bases.len())].clone();
        mutate::json(random, &mut value);
        let mut bytes = value.to_string().into_bytes();
        if random.one_in(5) {
            mutate::text(random, &mut bytes);
        }
        Case { name: "figures.json".to_owned(), bytes, expected: Expected::Any }
    }

    fn read(&self, case: &Case) -> Verdict {
        if let Err(error) = fs::write(&self.path, &case.bytes) {
            return wrong("the attack can write", error.to_string());
        }
        // As the program reads it, except that the program adds the file's name to an error.
        let figures = match fs::read_to_string(&self.path).map(|text| serde_json::from_str::<Figures>(&text)) {
            Ok(Ok(figures)) => figures,
            Ok(Err(error)) => return Verdict::rejected(error, ""),
            Err(error) => return Verdict::rejected(error, ""),
        };
        match document(&figures, Some("An author"), &[]) {
            Ok(_) => {}
            Err(error) => return Verdict::rejected(error, ""),
        }
        match serde_json::to_string(&figures).map(|text| serde_json::from_str::<Figures>(&text)) {
            Ok(Ok(again)) if again == figures => Verdict::Accepted,
            again => wrong("what is written again is read again", format!("{:?}", again.map(|again| again.is_ok()))),
        }
    }
}
