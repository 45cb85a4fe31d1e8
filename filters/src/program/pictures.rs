use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use filters::picture::{to_grey, write_png};
use filters::{EDGES, NEIGHBOURS, correlation_rayon, sobel_operator};
use ndarray::ArrayRef2;
use timing::Report;

/// The file name of the picture that no filter produced.
const IMAGE: &str = "image";

/// The files that [`write`] writes.
pub(super) fn files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let names = EDGES.iter().map(|filter| filter.name).chain([IMAGE, NEIGHBOURS.name]);
    names.map(|name| file_of(folder, name))
}

fn file_of(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.png"))
}

/// Writes the image, its edges by each filter and its blurred version to `folder`.
pub(super) fn write(report: &mut Report, folder: &Path, image: &ArrayRef2<u8>) -> Result<()> {
    ensure!(!image.is_empty(), "an image without pixels has no picture");
    std::fs::create_dir_all(folder).with_context(|| format!("{}: cannot be made", folder.display()))?;
    let file = |name: &str| file_of(folder, name);
    write_png(&file(IMAGE), image)?;
    for filter in EDGES {
        write_png(&file(filter.name), &to_grey(&sobel_operator(&filter.kernel(), image)))?;
    }
    write_png(&file(NEIGHBOURS.name), &to_grey(&correlation_rayon(&NEIGHBOURS.kernel(), image)))?;
    let count = EDGES.len() + 2;
    report.remark(
        "pictures",
        &format!("Wrote {count} pictures to {}; white is the largest value of each", folder.display()),
    );
    Ok(())
}
