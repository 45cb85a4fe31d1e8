//! `neural-net digits`: draws a sheet of the built-in digits.

use std::process::ExitCode;

use anyhow::{Context, Result};
use image::{GrayImage, Luma};
use neural_net::data::CLASSES;
use neural_net::data::builtin_digits::{SIDE, draw};

use super::arguments::DigitsArguments;

/// Number of digits in a row; a row shows one class.
const COLUMNS: usize = 20;
/// Number of images: [`COLUMNS`] of each class, since the classes are balanced.
const IMAGES: usize = COLUMNS * CLASSES;
/// Width and height in pixels of the square that shows one pixel.
const SCALE: usize = 2;

pub(crate) fn run(arguments: &DigitsArguments) -> Result<ExitCode> {
    let (pixels, labels) = draw(IMAGES, arguments.seed);
    let mut sheet = GrayImage::new((COLUMNS * SIDE * SCALE) as u32, (CLASSES * SIDE * SCALE) as u32);
    let mut drawn = [0; CLASSES];
    for (image, &label) in pixels.chunks_exact(SIDE * SIDE).zip(&labels) {
        let (row, column) = (usize::from(label), drawn[usize::from(label)]);
        drawn[row] += 1;
        for y in 0..SIDE * SCALE {
            for x in 0..SIDE * SCALE {
                let grey = image[y / SCALE * SIDE + x / SCALE];
                let (sheet_x, sheet_y) = (column * SIDE * SCALE + x, row * SIDE * SCALE + y);
                sheet.put_pixel(sheet_x as u32, sheet_y as u32, Luma([grey]));
            }
        }
    }
    let file = arguments.file.display();
    let mut png = std::io::Cursor::new(Vec::new());
    sheet.write_to(&mut png, image::ImageFormat::Png)?;
    neural_net::files::write_atomically(&arguments.file, png.get_ref())
        .with_context(|| format!("{file}: cannot be written"))?;
    timing::say!("{IMAGES} built-in digits drawn to {file}");
    Ok(ExitCode::SUCCESS)
}
