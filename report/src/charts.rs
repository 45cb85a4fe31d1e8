//! The charts, drawn with plotters as SVG. Coordinates are points on the page, for a chart as wide
//! as the text. Typst sets the labels in its embedded fonts.

mod accuracies;
mod axis;
mod bars;
mod canvas;
mod curves;
mod diagrams;
mod ladder;
mod speedup;

pub(crate) use self::accuracies::{Line, accuracies};
pub(crate) use self::canvas::{BLUE, Canvas, ChartError, GREEN, GREY, LIGHT, ORANGE, Side, WIDTH};
use crate::Figures;
use crate::timed::Table;

/// A chart, which the template includes as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart {
    /// The file's name without extension.
    pub name: String,
    /// The picture.
    pub svg: String,
    /// Alternative text.
    pub alt: String,
}

/// All charts and diagrams for which figures exist.
pub(crate) fn all(figures: &Figures) -> Result<Vec<Chart>, ChartError> {
    let mut charts = vec![diagrams::launch()?, diagrams::tiles(figures.product.size)?];
    // The rungs have a chart of their own, the ladder's.
    for table in Table::ALL.into_iter().filter(|table| *table != Table::GpuProduct) {
        charts.extend(bars::times(figures, table)?);
    }
    charts.extend(speedup::by_threads(figures)?);
    charts.extend(ladder::counts(figures)?);
    charts.extend(ladder::times(figures)?);
    charts.extend(curves::accuracy(figures)?);
    Ok(charts)
}
