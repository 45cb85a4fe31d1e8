//! Given: shows a digit and distorted copies of it, then times the workers. `cargo run -p augmentation -- -c 2`

use std::num::NonZeroUsize;
use std::process::ExitCode;

use augmentation::{Distortion, Image, PIXELS, SIDE, augmented, processed};
use clap::Parser;
use command_line::{counted, parse_cores, say};
use teaching_tests::call;
use timing::{Report, measure};

/// Distorted copies of images, made by workers
#[derive(Parser)]
struct Arguments {
    /// Workers [default: one for each core]
    #[arg(short, long, value_name = "N", value_parser = parse_cores)]
    cores: Option<NonZeroUsize>,
}

fn main() -> ExitCode {
    let Arguments { cores } = command_line::arguments();
    command_line::run(|| run(cores))
}

/// A seven.
fn seven() -> Image {
    let mut image = [0.0; PIXELS];
    for step in 0..16 {
        for thickness in 0..3 {
            image[(6 + thickness) * SIDE + 7 + step.min(13)] = 1.0;
            image[(6 + step) * SIDE + 19 - step / 2 + thickness - 1] = 1.0;
        }
    }
    image
}

/// Images side by side, a character for each pixel, every second row.
fn shown(images: &[Image]) -> String {
    let character = |pixel: f32| [' ', '.', ':', '+', '#'][((pixel * 5.0) as usize).min(4)];
    let row = |row: usize| images.iter().flat_map(move |image| image[row * SIDE..(row + 1) * SIDE].iter());
    (0..SIDE).step_by(2).map(|index| row(index).map(|&pixel| character(pixel)).collect::<String>() + "\n").collect()
}

fn run(cores: Option<NonZeroUsize>) -> anyhow::Result<ExitCode> {
    let workers = cores.or(std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
    let largest = Distortion { degrees: 20.0, pixels: 3, noise: 0.2, tilt: 0.3 };
    let mut report = Report::new("augmentation", false);
    let distorted = call(|| Ok::<_, String>([1, 2].map(|seed| processed(&seven(), &largest, seed))));
    if let Ok(distorted) = &distorted {
        say!("{}", shown(&[seven(), distorted[0], distorted[1]]));
    }
    report.check("process_image", distorted.map(drop));
    let images = vec![seven(); 5000];
    let made = call(|| Ok::<_, String>(augmented(&images, workers, largest, 1)));
    let is_whole = |made: Vec<Image>| match made.len() == images.len() && made.iter().all(|image| *image != seven()) {
        true => Ok(()),
        false => Err("not every image has a distorted copy".to_owned()),
    };
    report.check("augmented", made.and_then(is_whole));
    if report.all_passed() {
        let repeats = NonZeroUsize::MIN.saturating_add(4);
        let named = counted(workers.get(), "worker");
        report.time(
            "One worker",
            ", 5000 images",
            measure(repeats, || augmented(&images, NonZeroUsize::MIN, largest, 1)),
        );
        report.time("Workers", &format!(", {named}"), measure(repeats, || augmented(&images, workers, largest, 1)));
        report.speedup("Workers", "One worker");
    }
    Ok(report.finish())
}
