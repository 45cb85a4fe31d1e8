//! A plot of images per second against batch size, as an SVG file.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use compute_shader::Gpu;
use neural_net::files::write_atomically;
use plotters::prelude::*;

use super::row::Row;

const SIZE: (u32, u32) = (800, 480);
const COLOURS: [RGBColor; 3] = [RGBColor(0, 114, 178), RGBColor(213, 94, 0), RGBColor(0, 158, 115)];

/// Parses the path of the plot, which must end in `.svg`.
pub(super) fn parse_path(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg")) {
        true => Ok(path),
        false => Err("the plot is an SVG file: the name must end in .svg".to_owned()),
    }
}

/// Writes the plot atomically.
pub(super) fn write(path: &Path, rows: &[Row], gpu: &Gpu) -> Result<()> {
    let drawing = draw(rows, gpu.name()).map_err(|error| anyhow!("the plot cannot be drawn: {error}"))?;
    write_atomically(path, drawing.as_bytes())
        .map_err(|error| anyhow!("{}: cannot be written: {error}", path.display()))
}

/// A line of the plot: its name, and points of (batch size, images per second).
type Line = (&'static str, Vec<(f64, f64)>);

fn draw(rows: &[Row], adapter: &str) -> Result<String, Box<dyn std::error::Error>> {
    let rate = |row: &Row, seconds: f64| (row.batch as f64, row.batch as f64 / seconds.max(1e-9));
    let lines: [Line; 3] = [
        ("CPU", rows.iter().map(|row| rate(row, row.cpu.min)).collect()),
        ("shader, with transfers", rows.iter().map(|row| rate(row, row.shader.min)).collect()),
        ("shader, compute only", rows.iter().filter_map(|row| Some(rate(row, row.compute?.min))).collect()),
    ];
    let points = || lines.iter().flat_map(|(_, points)| points);
    let bounds = |of: fn(&(f64, f64)) -> f64| {
        points().map(of).fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)))
    };
    let ((left, right), (low, high)) = (bounds(|point| point.0), bounds(|point| point.1));

    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(format!("Images per second on {adapter}"), ("sans-serif", 18))
            .margin(16)
            .x_label_area_size(44)
            .y_label_area_size(76)
            .build_cartesian_2d((left..right * 1.2).log_scale(), (low / 2.0..high * 2.0).log_scale())?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .x_desc("images in a batch")
            .y_desc("images per second")
            .label_style(("sans-serif", 14))
            .x_label_formatter(&|value| format!("{value:.0}"))
            .y_label_formatter(&|value| format!("{value:.0e}"))
            .draw()?;
        for ((name, points), colour) in lines.iter().zip(COLOURS) {
            if points.is_empty() {
                continue;
            }
            chart
                .draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?
                .label(*name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 24, y)], colour.stroke_width(2)));
            chart.draw_series(points.iter().map(|&point| Circle::new(point, 4, colour.filled())))?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .background_style(WHITE.mix(0.9))
            .border_style(BLACK.mix(0.3))
            .label_font(("sans-serif", 14))
            .margin(10)
            .draw()?;
        area.present()?;
    }
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use timing::Measurement;

    use super::*;

    fn row(batch: usize, compute: Option<f64>) -> Row {
        let fixed = |min| Measurement { min, median: min, repeats: 1 };
        let (cpu, shader) = (fixed(1e-6 * batch as f64), fixed(1e-4 + 2e-7 * batch as f64));
        Row { batch, cpu, shader, compute: compute.map(fixed), upload: fixed(1e-5), read_back: fixed(5e-5) }
    }

    #[test]
    fn shader_plot_has_a_line_per_measured_time() {
        let timed: Vec<Row> = [1, 10, 100].map(|batch| row(batch, Some(1e-5))).into();
        let svg = draw(&timed, "adapter <1> & \"2\"").unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("adapter &lt;1&gt; &amp;"), "{svg}");
        assert_eq!((svg.matches("<circle").count(), svg.matches("compute only").count()), (9, 1));
        let untimed: Vec<Row> = [1, 10, 100].map(|batch| row(batch, None)).into();
        let svg = draw(&untimed, "adapter").unwrap();
        assert_eq!((svg.matches("<circle").count(), svg.matches("compute only").count()), (6, 0));
    }

    #[test]
    fn shader_plot_rejects_other_formats() {
        assert!(parse_path("a/b.svg").is_ok() && parse_path("B.SVG").is_ok());
        assert!(parse_path("b.png").unwrap_err().contains(".svg"));
    }
}
