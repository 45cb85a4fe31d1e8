use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Polygon, Rectangle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont, RGBColor, ShapeStyle};

/// SVG units per point. Coordinates are integers, so this sets their resolution.
const SCALE: f64 = 4.0;

/// The width of the page's text, in points.
pub(crate) const WIDTH: u32 = 454;

// Colors that are distinguishable with color blindness and in gray (Okabe and Ito, "Color Universal Design", 2008).
pub(crate) const BLUE: RGBColor = RGBColor(0, 114, 178);
pub(crate) const ORANGE: RGBColor = RGBColor(213, 94, 0);
pub(crate) const GREEN: RGBColor = RGBColor(0, 158, 115);
pub(crate) const PURPLE: RGBColor = RGBColor(170, 85, 140);
pub(crate) const SKY: RGBColor = RGBColor(86, 180, 233);
pub(crate) const GREY: RGBColor = RGBColor(110, 110, 110);
pub(crate) const LIGHT: RGBColor = RGBColor(215, 215, 215);
const WHITE: RGBColor = RGBColor(255, 255, 255);
pub(crate) const BLACK: RGBColor = RGBColor(20, 20, 20);

/// A picture could not be drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a chart could not be drawn: {0}")]
pub struct ChartError(String);

impl ChartError {
    fn new(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// On which side of its point a text is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Side {
    Left,
    Centre,
    Right,
}

/// The page's font, and fonts of about the same width for browsers without it.
const FONTS: &str = "Libertinus Serif, Times New Roman, Liberation Serif, Nimbus Roman, Times, serif";

type Drawn = Result<(), ChartError>;

/// A picture in points, with the origin at the upper left.
pub(crate) struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
}

impl Canvas<'_> {
    /// Draws an SVG that is `height` points high.
    pub(crate) fn draw(height: u32, draw: impl FnOnce(&Canvas) -> Drawn) -> Result<String, ChartError> {
        let mut svg = String::new();
        {
            let canvas = Canvas {
                area: SVGBackend::with_string(&mut svg, (WIDTH * SCALE as u32, height * SCALE as u32))
                    .into_drawing_area(),
            };
            draw(&canvas)?;
            canvas.area.present().map_err(ChartError::new)?;
        }
        Ok(svg)
    }

    pub(crate) fn line(&self, points: &[(f64, f64)], colour: RGBColor, width: f64) -> Drawn {
        let points: Vec<(i32, i32)> = points.iter().map(|point| rounded(*point)).collect();
        self.area
            .draw(&PathElement::new(points, colour.stroke_width((SCALE * width).round() as u32)))
            .map_err(ChartError::new)
    }

    /// A dashed straight line.
    pub(crate) fn dashes(&self, from: (f64, f64), to: (f64, f64), colour: RGBColor) -> Drawn {
        const DASH: f64 = 4.0;
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let at = |along: f64| {
            let share = (along / length).min(1.0);
            (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1))
        };
        let count = (length / (2.0 * DASH)).ceil() as usize;
        (0..count)
            .map(|dash| 2.0 * DASH * dash as f64)
            .try_for_each(|start| self.line(&[at(start), at(start + DASH)], colour, 0.75))
    }

    pub(crate) fn rectangle(&self, from: (f64, f64), to: (f64, f64), colour: RGBColor) -> Drawn {
        self.area.draw(&Rectangle::new([rounded(from), rounded(to)], colour.filled())).map_err(ChartError::new)
    }

    pub(crate) fn frame(&self, from: (f64, f64), to: (f64, f64), colour: RGBColor) -> Drawn {
        let style = ShapeStyle { color: colour.to_rgba(), filled: false, stroke_width: (0.6 * SCALE) as u32 };
        self.area.draw(&Rectangle::new([rounded(from), rounded(to)], style)).map_err(ChartError::new)
    }

    pub(crate) fn polygon(&self, points: &[(f64, f64)], colour: RGBColor) -> Drawn {
        let points: Vec<(i32, i32)> = points.iter().map(|point| rounded(*point)).collect();
        self.area.draw(&Polygon::new(points, colour.filled())).map_err(ChartError::new)
    }

    pub(crate) fn dot(&self, at: (f64, f64), colour: RGBColor) -> Drawn {
        self.area.draw(&Circle::new(rounded(at), (2.5 * SCALE) as i32, colour.filled())).map_err(ChartError::new)
    }

    /// A text of `size` points, vertically centered on the point.
    pub(crate) fn text(&self, text: &str, at: (f64, f64), side: Side, size: f64, colour: RGBColor) -> Drawn {
        let horizontal = match side {
            Side::Left => HPos::Right,
            Side::Centre => HPos::Center,
            Side::Right => HPos::Left,
        };
        // plotters divides font sizes by this factor.
        const FACTOR: f64 = 1.24;
        let style = (FONTS, SCALE * size * FACTOR).into_font().color(&colour);
        let style = style.pos(Pos::new(horizontal, VPos::Center));
        self.area.draw_text(text, &style, rounded(at)).map_err(ChartError::new)
    }

    /// A value to the right of a bar, on a white background that covers the grid.
    pub(crate) fn value(&self, text: &str, at: (f64, f64)) -> Drawn {
        const SIZE: f64 = 8.5;
        let width = 0.5 * SIZE * text.chars().count() as f64;
        self.rectangle((at.0 - 1.0, at.1 - 0.55 * SIZE), (at.0 + width, at.1 + 0.55 * SIZE), WHITE)?;
        self.text(text, at, Side::Right, SIZE, BLACK)
    }

    /// An arrow with its head at `to`.
    pub(crate) fn arrow(&self, from: (f64, f64), to: (f64, f64), colour: RGBColor) -> Drawn {
        self.line(&[from, to], colour, 0.75)?;
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let (x, y) = ((to.0 - from.0) / length, (to.1 - from.1) / length);
        let back = (to.0 - 6.0 * x, to.1 - 6.0 * y);
        self.polygon(&[to, (back.0 - 3.0 * y, back.1 + 3.0 * x), (back.0 + 3.0 * y, back.1 - 3.0 * x)], colour)
    }
}

fn rounded((x, y): (f64, f64)) -> (i32, i32) {
    ((SCALE * x).round() as i32, (SCALE * y).round() as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        let svg = Canvas::draw(20, |canvas| canvas.text("<a> & \"b\" $x_1$", (1.0, 1.0), Side::Right, 9.0, BLACK));
        let svg = svg.unwrap();
        assert!(svg.contains("&lt;a&gt; &amp;"), "{svg}");
    }
}
