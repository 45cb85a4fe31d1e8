//! The charts, drawn by plotters as SVG. A unit is a point of the page when a chart is as wide as the text; Typst sets the
//! labels in its embedded fonts.

mod axis;
mod bars;
mod canvas;
mod curves;
mod ladder;
mod speedup;

use serde::Serialize;

pub(crate) use self::canvas::{BLUE, Canvas, ChartError, GREY, LIGHT, ORANGE, Place, WIDTH};
use crate::Figures;
use crate::timed::Table;

/// A chart as a file that the template includes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chart {
    /// The file's name without its ending.
    pub name: String,
    /// The picture.
    #[serde(skip)]
    pub svg: String,
    /// What it shows, for those who cannot see it.
    pub alt: String,
}

/// All charts and diagrams for which there are figures.
pub(crate) fn all(figures: &Figures) -> Result<Vec<Chart>, ChartError> {
    let mut charts = vec![crate::diagrams::launch()?, crate::diagrams::tiles(figures.product.size)?];
    // The rungs have a chart of their own.
    for table in Table::ALL.into_iter().filter(|table| *table != Table::GpuProduct) {
        charts.extend(bars::times(figures, table)?);
    }
    charts.extend(speedup::by_threads(figures)?);
    charts.extend(ladder::counts(figures)?);
    charts.extend(ladder::times(figures)?);
    charts.extend(curves::accuracy(figures)?);
    Ok(charts)
}
