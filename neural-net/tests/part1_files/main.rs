//! Files that are read and written.

mod checksums;
mod drawings;
mod idx_files;
mod mnist_crate_agrees;
mod model_file;
mod names;
mod png;
mod samples_of_images;
#[path = "../support/mod.rs"]
mod support;
mod whole_files;
