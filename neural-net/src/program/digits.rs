//! `neural-net digits`: draws a sheet of the built-in digits.

use std::process::ExitCode;

use anyhow::{Context, Result};
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
    let (width, height) = (COLUMNS * SIDE * SCALE, CLASSES * SIDE * SCALE);
    let mut sheet = vec![0; width * height];
    let mut drawn = [0; CLASSES];
    for (image, &label) in pixels.chunks_exact(SIDE * SIDE).zip(&labels) {
        let (row, column) = (usize::from(label), drawn[usize::from(label)]);
        drawn[row] += 1;
        for y in 0..SIDE * SCALE {
            for x in 0..SIDE * SCALE {
                let (sheet_x, sheet_y) = (column * SIDE * SCALE + x, row * SIDE * SCALE + y);
                sheet[sheet_y * width + sheet_x] = image[y / SCALE * SIDE + x / SCALE];
            }
        }
    }
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, width as u32, height as u32);
    encoder.set_color(png::ColorType::Grayscale);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&sheet)?;
    writer.finish()?;
    let file = arguments.file.display();
    neural_net::files::write_atomically(&arguments.file, &png).with_context(|| format!("{file}: cannot be written"))?;
    command_line::say!("{IMAGES} built-in digits drawn to {file}");
    Ok(ExitCode::SUCCESS)
}
