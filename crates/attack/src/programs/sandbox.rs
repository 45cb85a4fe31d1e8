//! A working folder for programs, with small valid files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use neural_net::model_file;
use neural_net::{Activation, Architecture};
use regression_studio::settings::{Settings, Source};
use tempfile::TempDir;

use crate::random::Random;
use crate::targets;
use crate::{supervisor, system};

/// Width and height of the images, in pixels.
pub(super) const SIDE: usize = 8;

/// A temporary folder for one case.
pub(super) struct Sandbox(TempDir);

impl Sandbox {
    pub(super) fn new() -> Result<Self> {
        Ok(Self(supervisor::scratch()?))
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    /// Adds IDX files with `train` training images and 20 test images.
    pub(super) fn with_digits(self, train: usize) -> Result<Self> {
        let folder = self.join("digits");
        fs::create_dir(&folder)?;
        let mut random = Random::of(0, "digits", 0);
        for (subset, count) in [("train", train), ("t10k", 20)] {
            let labels: Vec<u8> = (0..count).map(|image| (image % 10) as u8).collect();
            // Each label lights one pixel of its own.
            let pixels = labels.iter().flat_map(|&label| {
                let lit = usize::from(label) % SIDE * SIDE + usize::from(label) / SIDE;
                (0..SIDE * SIDE).map(move |pixel| if pixel == lit { 200 } else { 0 }).collect::<Vec<u8>>()
            });
            let pixels: Vec<u8> = pixels.map(|pixel| pixel + random.below(50) as u8).collect();
            let side = SIDE as u32;
            fs::write(folder.join(format!("{subset}-images-idx3-ubyte")), idx(&[count as u32, side, side], &pixels))?;
            fs::write(folder.join(format!("{subset}-labels-idx1-ubyte")), idx(&[count as u32], &labels))?;
        }
        Ok(self)
    }

    /// Adds a table, and the given settings.
    pub(super) fn with_table(self, rows: usize, settings: &str) -> Result<Self> {
        let row =
            |row: usize| format!("{},{},{}\n", row * 7 % 11, ["north", "south"][row % 2], row * 7 % 11 * 3 + row % 5);
        fs::write(self.join("table.csv"), "size,side,price\n".to_owned() + &(0..rows).map(row).collect::<String>())?;
        fs::write(self.join("settings.toml"), settings)?;
        Ok(self)
    }

    /// Adds a saved network, an image, report figures, and odd files: a folder, an empty file, a dangling link.
    pub(super) fn with_odd_files(self) -> Result<Self> {
        let architecture = Architecture::new(vec![SIDE * SIDE, 4, 10], Activation::Sigmoid, Activation::Sigmoid)?;
        let network = targets::network(architecture);
        let model =
            model_file::Model { network, dataset: "built-in digits".to_owned(), convention: Default::default() };
        model_file::save(&self.join("model.safetensors"), &model)?;
        fs::write(self.join("digit.png"), targets::valid_picture(&mut Random::of(0, "picture", 0)))?;
        fs::create_dir(self.join("folder"))?;
        fs::write(self.join("empty"), "")?;
        fs::write(self.join("zeros"), [0; 4096])?;
        fs::write(self.join("name\u{1b}[31m"), "a,b\n1,2\n")?;
        fs::write(self.join("figures.json"), targets::valid_figures())?;
        system::dangling_link(&self.join("dangling"))?;
        Ok(self)
    }

    /// Paths of all files in the folder, recursively.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    true => walk(&entry.path(), files),
                    false => files.push(entry.path()),
                }
            }
        }
        let mut files = vec![];
        walk(self.path(), &mut files);
        files
    }
}

/// The regression studio's settings for a table of [`Sandbox::with_table`].
pub(super) fn settings(epochs: usize) -> Settings {
    let mut settings = targets::studio_settings();
    settings.data.source = Source::File("table.csv".into());
    settings.training.epochs = epochs;
    settings.training.patience = None;
    settings
}

/// An IDX file of bytes.
fn idx(sizes: &[u32], content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, sizes.len() as u8];
    bytes.extend(sizes.iter().flat_map(|size| size.to_be_bytes()));
    bytes.extend(content);
    bytes
}
