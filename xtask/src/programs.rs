//! Builds and runs the workspace's programs for timing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::capture::stdout_of;
use crate::cargo::build_executable;
use crate::workspace::Workspace;
use crate::workspace_root;

/// A program of the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Program {
    /// The main program of the package with this name.
    Main(&'static str),
    /// An example (package and name) that times something the main program does not.
    Example(&'static str, &'static str),
}

/// Times X·Xᵀ without the trivial version, which takes far longer and is part of the main program.
pub(crate) const TIME_MATMUL: Program = Program::Example("matmul_functions", "time_matmul");
/// Times the correlation without the trivial version, for the same reason.
pub(crate) const TIME_CORRELATION: Program = Program::Example("filters", "time_correlation");
/// Times predictions of the notebook's network.
pub(crate) const TIME_PREDICTION: Program = Program::Example("neural-net", "time_prediction");
/// Times epochs of the regression studio's default network.
pub(crate) const TIME_REGRESSOR: Program = Program::Example("neural-net", "time_regressor");

/// One of cargo's profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Profile of `cargo run`.
    Dev,
    /// Profile of `cargo run --release`.
    Release,
}

impl Program {
    /// The name of the executable.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Main(name) | Self::Example(_, name) => name,
        }
    }

    /// The workspace of its package.
    fn workspace(self) -> Workspace {
        match self {
            Self::Main("regression-studio") | Self::Example("regression-studio", _) => Workspace::Studio,
            Self::Main(_) | Self::Example(..) => Workspace::Homework,
        }
    }

    /// Arguments of the cargo command that builds it.
    fn build_arguments(self, profile: Profile) -> Vec<&'static str> {
        let mut arguments = match self {
            Self::Main(package) => vec!["build", "--package", package],
            Self::Example(package, name) => vec!["build", "--package", package, "--example", name],
        };
        arguments.extend((profile == Profile::Release).then_some("--release"));
        arguments
    }
}

/// Programs built in one profile, with `None` for a program that does not build.
pub(crate) struct Executables {
    profile: Profile,
    paths: BTreeMap<Program, Option<PathBuf>>,
}

/// Output and duration of a program's run.
pub(crate) struct Run {
    /// Standard output.
    pub(crate) output: String,
    /// Elapsed seconds from the start of the process to its end.
    pub(crate) seconds: f64,
}

impl Executables {
    /// Builds the programs. The compiler's messages go to stderr. A program that does not build is
    /// not an error here: [`Executables::run`] reports it.
    ///
    /// # Errors
    /// If cargo cannot be started.
    pub(crate) fn build(programs: BTreeSet<Program>, profile: Profile) -> Result<Self> {
        let find = |program: Program| {
            Ok((program, build_executable(program.workspace(), &program.build_arguments(profile), program.name())?))
        };
        Ok(Self { profile, paths: programs.into_iter().map(find).collect::<Result<_>>()? })
    }

    /// Runs a program in the workspace's folder, with the same MNIST files as the peers.
    ///
    /// # Errors
    /// If there is no such program, or it fails.
    pub(crate) fn run(&self, program: Program, arguments: impl IntoIterator<Item = String>) -> Result<Run> {
        let path = self.path(program)?;
        let mut command = Command::new(path);
        command.args(arguments).current_dir(workspace_root()).envs(mnist_variable());
        let start = Instant::now();
        let output = stdout_of(&mut command).with_context(|| format!("{} failed", program.name()))?;
        Ok(Run { output, seconds: start.elapsed().as_secs_f64() })
    }

    fn path(&self, program: Program) -> Result<&Path> {
        let found = self.paths.get(&program).and_then(Option::as_deref);
        found.with_context(|| {
            format!("cargo {} builds no program of that name", program.build_arguments(self.profile).join(" "))
        })
    }
}

/// The environment variable with the folder of MNIST's files, if they are found. It makes both
/// sides read the same images, since our program searches more folders than the scripts.
pub(crate) fn mnist_variable() -> Option<(&'static str, PathBuf)> {
    let path = std::path::absolute(neural_net::data::find_mnist(None)?).ok()?;
    Some(("MNIST_DIR", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_is_built_by_its_name_in_either_profile() {
        let arguments = |profile| TIME_PREDICTION.build_arguments(profile).join(" ");
        assert_eq!(arguments(Profile::Dev), "build --package neural-net --example time_prediction");
        assert_eq!(arguments(Profile::Release), "build --package neural-net --example time_prediction --release");
        assert_eq!((TIME_PREDICTION.name(), Program::Main("neural-net").name()), ("time_prediction", "neural-net"));
    }
}
