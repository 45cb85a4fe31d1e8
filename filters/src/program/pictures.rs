use std::path::Path;

use anyhow::{Context, Result, ensure};
use filters::picture::{to_grey, write_png};
use filters::{EDGES, NEIGHBOURS, correlation_rayon, sobel_operator};
use ndarray::ArrayRef2;
use timing::Report;

/// Writes the image, its edges by each filter and its blurred version to `folder`.
pub(super) fn write(report: &mut Report, folder: &Path, image: &ArrayRef2<u8>) -> Result<()> {
    ensure!(!image.is_empty(), "an image without pixels has no picture");
    std::fs::create_dir_all(folder).with_context(|| format!("{}: cannot be made", folder.display()))?;
    let file = |name: &str| folder.join(format!("{name}.png"));
    write_png(&file("image"), image)?;
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
