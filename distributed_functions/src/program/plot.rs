//! A plot of simulated speed-ups against the number of ranks, as an SVG file.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use plotters::prelude::*;
use whole_files::write_atomically;

use super::row::Row;

const SIZE: (u32, u32) = (1080, 400);
const COLOURS: [RGBColor; 4] =
    [RGBColor(213, 94, 0), RGBColor(0, 114, 178), RGBColor(0, 158, 115), RGBColor(204, 121, 167)];

/// Parses the path of the plot, which must end in `.svg`.
pub(super) fn parse_path(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg")) {
        true => Ok(path),
        false => Err("the plot is an SVG file: the name must end in .svg".to_owned()),
    }
}

/// Writes the plot atomically.
pub(super) fn write(path: &Path, by_network: &[(String, &[Row])]) -> Result<()> {
    let drawing = draw(by_network).map_err(|error| anyhow!("the plot cannot be drawn: {error}"))?;
    write_atomically(path, drawing.as_bytes())
        .map_err(|error| anyhow!("{}: cannot be written: {error}", path.display()))
}

/// A panel: its title, and a function that returns a row's speed-up.
type Panel = (&'static str, fn(&Row) -> f64);

const PANELS: [Panel; 3] = [
    ("Strong: the same batch", |row| row.strong_speedup),
    ("Weak: a batch for each rank", |row| row.weak_speedup),
    ("Asynchronous: workers and masters", |row| row.async_speedup),
];

/// Draws three panels, each with a line for each network and the ideal line.
fn draw(by_network: &[(String, &[Row])]) -> Result<String, Box<dyn std::error::Error>> {
    let ranks = || by_network.iter().flat_map(|(_, rows)| rows.iter().map(|row| row.ranks as f64));
    let (least, most) = ranks().fold((f64::INFINITY, 1.0_f64), |(least, most), n| (least.min(n), most.max(n)));
    let lowest = by_network.iter().flat_map(|(_, rows)| rows.iter());
    let lowest = lowest.flat_map(|row| PANELS.map(|(_, speedup)| speedup(row))).fold(1.0, f64::min).max(1e-3);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        for (panel, (title, speedup)) in area.split_evenly((1, PANELS.len())).iter().zip(PANELS) {
            let mut chart = ChartBuilder::on(panel)
                .caption(title, ("sans-serif", 17))
                .margin(10)
                .x_label_area_size(40)
                .y_label_area_size(56)
                .build_cartesian_2d((least..most * 1.3).log_scale(), (lowest / 1.5..most * 1.5).log_scale())?;
            chart
                .configure_mesh()
                .light_line_style(WHITE)
                .x_desc("ranks")
                .y_desc("speed-up")
                .label_style(("sans-serif", 13))
                .x_label_formatter(&|value| format!("{value:.0}"))
                .y_label_formatter(&|value| format!("{value}"))
                .draw()?;
            let ideal = [least, most].map(|ranks| (ranks, ranks));
            chart
                .draw_series(LineSeries::new(ideal, BLACK.mix(0.35).stroke_width(1)))?
                .label("ideal")
                .legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], BLACK.mix(0.35).stroke_width(1)));
            for ((name, rows), &colour) in by_network.iter().zip(COLOURS.iter().cycle()) {
                let points: Vec<(f64, f64)> = rows.iter().map(|row| (row.ranks as f64, speedup(row))).collect();
                chart
                    .draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?
                    .label(name)
                    .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(2)));
                chart.draw_series(points.iter().map(|&point| Circle::new(point, 3, colour.filled())))?;
            }
            chart
                .configure_series_labels()
                .position(SeriesLabelPosition::UpperLeft)
                .background_style(WHITE.mix(0.9))
                .border_style(BLACK.mix(0.3))
                .label_font(("sans-serif", 12))
                .draw()?;
        }
        area.present()?;
    }
    Ok(svg)
}
