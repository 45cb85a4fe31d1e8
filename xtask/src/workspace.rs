//! The repository's workspaces. Tests include this file, and each program uses only a part of it.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

/// A workspace of the repository. It is built and tested on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workspace {
    /// The homework, at the root.
    Homework,
    /// The toolchain for kernels.
    Toolchain,
    /// The program that typesets the report's pages.
    Typeset,
    /// The desktop program for tabular data, regression-studio.
    Studio,
    /// What teachers need: starter, hand-in, grades.
    Course,
    /// Tests with damaged files and odd command lines.
    Fuzz,
}

impl Workspace {
    /// All workspaces.
    pub(crate) const ALL: [Self; 6] =
        [Self::Homework, Self::Toolchain, Self::Typeset, Self::Studio, Self::Course, Self::Fuzz];

    /// The workspaces that it may depend on.
    pub(crate) fn uses(self) -> &'static [Self] {
        match self {
            Self::Toolchain | Self::Typeset => &[],
            Self::Homework => &[Self::Toolchain],
            Self::Studio | Self::Course => &[Self::Homework, Self::Toolchain],
            Self::Fuzz => &[Self::Studio, Self::Course, Self::Homework, Self::Toolchain],
        }
    }

    /// The folder of its Cargo.toml, relative to the repository's root.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Homework => ".",
            Self::Toolchain => "rust-cuda",
            Self::Typeset => "report/typeset",
            Self::Studio => "regression-studio",
            Self::Course => "course",
            Self::Fuzz => "fuzz",
        }
    }

    /// The folder of its Cargo.toml.
    pub(crate) fn folder(self) -> PathBuf {
        match self {
            Self::Homework => workspace_root().to_owned(),
            _ => workspace_root().join(self.name()),
        }
    }
}

/// The repository's root, which is the folder of the homework's workspace.
pub(crate) fn workspace_root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}
