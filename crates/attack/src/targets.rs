//! The targets of an attack, and the readers that worker processes attack with files.

mod checkpoint;
mod csv;
mod figures;
mod idx;
mod model;
mod picture;
mod png;
mod ptx;
mod safetensors;
pub(crate) mod selftest;
mod settings;
mod studio;

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};

pub(crate) use self::figures::valid as valid_figures;
pub(crate) use self::model::network;
pub(crate) use self::png::valid as valid_picture;
pub(crate) use self::studio::settings as studio_settings;
use crate::finding::{Case, Verdict};
use crate::random::Random;

/// A reader under attack, and its generator of cases.
pub(crate) trait Reader {
    /// A case, determined by the random choices only.
    fn case(&self, random: &mut Random) -> Case;

    /// Reads a case as the programs do, and checks what was read.
    fn read(&self, case: &Case) -> Verdict;
}

/// A target of the attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Target {
    /// MNIST files
    Idx,
    /// CSV tables
    Csv,
    /// Saved networks
    Model,
    /// Checkpoints and run folders
    Checkpoint,
    /// Settings of the regression studio
    Settings,
    /// Images of a digit
    Png,
    /// JPEG and PNG files of the filters
    Picture,
    /// Figures of a report
    Figures,
    /// PTX modules, loaded and run
    Ptx,
    /// Command lines of every program
    Cli,
    /// Training runs that are killed and resumed
    Kill,
    /// Two processes that train in the same folder
    Two,
    /// The attack's own test
    #[value(hide = true)]
    Selftest,
}

impl Target {
    /// All targets except the attack's own test.
    pub(crate) const ALL: [Self; 12] = [
        Self::Idx,
        Self::Csv,
        Self::Model,
        Self::Checkpoint,
        Self::Settings,
        Self::Png,
        Self::Picture,
        Self::Figures,
        Self::Ptx,
        Self::Cli,
        Self::Kill,
        Self::Two,
    ];

    /// Name on the command line and in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Idx => "idx",
            Self::Csv => "csv",
            Self::Model => "model",
            Self::Checkpoint => "checkpoint",
            Self::Settings => "settings",
            Self::Png => "png",
            Self::Picture => "picture",
            Self::Figures => "figures",
            Self::Ptx => "ptx",
            Self::Cli => "cli",
            Self::Kill => "kill",
            Self::Two => "two",
            Self::Selftest => "selftest",
        }
    }

    /// Time limit of a case.
    pub(crate) fn time_limit(self) -> Duration {
        match self {
            Self::Selftest => Duration::from_secs(1),
            // Typesetting a report takes the longest.
            Self::Cli | Self::Kill | Self::Two => Duration::from_secs(30),
            _ => Duration::from_secs(5),
        }
    }

    /// Whether its cases run programs instead of reading files in a worker.
    pub(crate) fn runs_programs(self) -> bool {
        matches!(self, Self::Cli | Self::Kill | Self::Two)
    }

    /// The target's reader, with its files in `folder`.
    ///
    /// # Errors
    /// If the valid base files cannot be written, or the target has no reader.
    pub(crate) fn reader(self, folder: &Path) -> Result<Box<dyn Reader>> {
        Ok(match self {
            Self::Idx => Box::new(idx::Idx::new(folder)),
            Self::Csv => Box::new(csv::Csv::new(folder)),
            Self::Model => Box::new(model::Models::new(folder)?),
            Self::Checkpoint => Box::new(checkpoint::Checkpoints::new(folder)?),
            Self::Settings => Box::new(settings::SettingsFiles::new(folder)),
            Self::Png => Box::new(png::Png::new(folder)),
            Self::Picture => Box::new(picture::Picture::new(folder)),
            Self::Figures => Box::new(figures::FigureFiles::new(folder)),
            Self::Ptx => Box::new(ptx::Ptx::new()),
            Self::Selftest => Box::new(selftest::Selftest),
            Self::Cli | Self::Kill | Self::Two => bail!("{} runs programs and reads no files", self.name()),
        })
    }
}
