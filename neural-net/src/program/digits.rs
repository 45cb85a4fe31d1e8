//! `neural-net digits`: draws a sheet of the built-in digits.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use neural_net::data::CLASSES;
use neural_net::data::builtin_digits::{SIDE, draw};

use super::arguments::DigitsArguments;

/// Number of digits in a row. Each row shows one class.
const COLUMNS: usize = 20;
/// Number of images: [`COLUMNS`] of each class, since the classes are balanced.
const IMAGES: usize = COLUMNS * CLASSES;
/// Width and height in pixels of the square for one image pixel.
const SCALE: usize = 2;

/// The text in a sheet's file that identifies it.
const SOFTWARE: (&str, &str) = ("Software", "neural-net digits");

pub(crate) fn run(arguments: &DigitsArguments) -> Result<ExitCode> {
    let file = arguments.file.display();
    ensure!(
        arguments.force || may_replace(&arguments.file),
        "{file} exists and is not a sheet of digits: choose another file, or add --force to replace it"
    );
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
    encoder.add_text_chunk(SOFTWARE.0.to_owned(), SOFTWARE.1.to_owned())?;
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&sheet)?;
    writer.finish()?;
    neural_net::files::write_atomically(&arguments.file, &png).with_context(|| format!("{file}: cannot be written"))?;
    command_line::say!("{IMAGES} built-in digits drawn to {file}");
    Ok(ExitCode::SUCCESS)
}

/// Whether a sheet can be written to `path` without losing data: there is no file, an empty one, a
/// sheet, a pipe or a device.
fn may_replace(path: &Path) -> bool {
    let holds_content = fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0);
    !holds_content || is_sheet(path)
}

/// Whether the file is a PNG file that this program has drawn.
fn is_sheet(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let Ok(reader) = png::Decoder::new(BufReader::new(file)).read_info() else { return false };
    let texts = &reader.info().uncompressed_latin1_text;
    texts.iter().any(|text| (text.keyword.as_str(), text.text.as_str()) == SOFTWARE)
}
