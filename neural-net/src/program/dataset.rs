//! Finds, downloads or draws the images.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use neural_net::data::convention::Convention;
use neural_net::data::{BUILTIN_SEED, Dataset, download_directory, find_mnist, idx};
use neural_net::network::Architecture;

use super::arguments::DataArguments;
use super::download::download;

/// Loads the images. Also returns one line about their origin.
pub(super) fn load(arguments: &DataArguments) -> Result<(Dataset, String)> {
    if arguments.download {
        let directory = download_directory(arguments.data.as_deref());
        download(&directory, &arguments.mirror)?;
        return from_files(&directory);
    }
    match find_mnist(arguments.data.as_deref()) {
        Some(directory) => from_files(&directory),
        None => {
            let dataset = Dataset::builtin(BUILTIN_SEED);
            let line =
                "Data: built-in digits, drawn by this program, since MNIST was not found. For the real ones add \
                        --download, or --data DIR if you have the files."
                    .to_owned();
            Ok((dataset, line))
        }
    }
}

/// The files that [`load`] reads.
pub(super) fn files(arguments: &DataArguments) -> Vec<PathBuf> {
    let directory = match arguments.download {
        true => Some(download_directory(arguments.data.as_deref())),
        false => find_mnist(arguments.data.as_deref()),
    };
    directory.map(|directory| idx::files_in(&directory)).unwrap_or_default()
}

fn from_files(directory: &Path) -> Result<(Dataset, String)> {
    let dataset = Dataset::read(directory).map_err(|error| match error {
        idx::IdxError::Missing(_) => anyhow!("{error}, or --download"),
        error => error.into(),
    })?;
    let (train, test) = (dataset.train.len(), dataset.test.len());
    let (name, directory) = (&dataset.name, directory.display());
    let target = if dataset.is_mnist {
        ""
    } else {
        " Target accuracy: none, since their checksums differ from the original MNIST's."
    };
    let line = format!("Data: {name} from {directory}, {train} training and {test} test images.{target}");
    Ok((dataset, line))
}

/// Prints a note about images that show their digits differently from MNIST.
pub(super) fn note_convention(dataset: &Dataset) {
    let Convention { dark_on_light, transposed } = dataset.convention;
    let differences = [
        dark_on_light.then_some("dark on light"),
        transposed.then_some("transposed (rows and columns exchanged, as in EMNIST's files)"),
    ];
    let differences: Vec<&str> = differences.into_iter().flatten().collect();
    if !differences.is_empty() {
        command_line::note!(
            "note: the images of {} are {}, unlike MNIST's: a network trained on them reads images like them, and \
             `predict` converts PNG files to them",
            dataset.name,
            differences.join(", and ")
        );
    }
}

/// Warns if a network trained on images of one convention is evaluated on images of another.
pub(super) fn warn_of_other_convention(trained: Convention, dataset: &Dataset) {
    if trained != dataset.convention {
        let (name, found) = (&dataset.name, dataset.convention);
        command_line::warn(format_args!(
            "the network was trained on images that are {trained}, but the images of {name} are {found}: it cannot read them"
        ));
    }
}

/// Checks that the images match the network's inputs and outputs.
pub(super) fn require_fit(dataset: &Dataset, architecture: &Architecture) -> Result<()> {
    let (rows, columns) = dataset.train.shape;
    if dataset.test.shape != dataset.train.shape {
        let (test_rows, test_columns) = dataset.test.shape;
        bail!(
            "training images of {rows} × {columns} pixels and test images of {test_rows} × {test_columns}: the sizes must be \
             the same"
        );
    }
    if architecture.inputs() != rows * columns {
        let inputs = architecture.inputs();
        bail!("a network with {inputs} inputs cannot read {rows} × {columns} pixels: it needs {}", rows * columns);
    }
    if architecture.outputs() != neural_net::data::CLASSES {
        bail!("a network with {} outputs cannot distinguish ten digits: it needs 10", architecture.outputs());
    }
    Ok(())
}
