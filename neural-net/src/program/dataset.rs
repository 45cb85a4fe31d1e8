//! Loads the images: finds, downloads or draws them.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use neural_net::data::idx::IdxError;
use neural_net::data::{BUILTIN_SEED, Dataset, download_directory, find_mnist};
use neural_net::network::Architecture;

use super::arguments::DataArguments;
use super::download::download;

/// The images, and one line on their origin.
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

fn from_files(directory: &Path) -> Result<(Dataset, String)> {
    let dataset = Dataset::mnist(directory).map_err(|error| match error {
        IdxError::Missing(_) => anyhow!("{error}, or --download"),
        error => error.into(),
    })?;
    let (train, test) = (dataset.train.len(), dataset.test.len());
    let line = format!("Data: MNIST from {}, {train} training and {test} test images.", directory.display());
    Ok((dataset, line))
}

/// Checks that the images fit the network's inputs and outputs.
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
