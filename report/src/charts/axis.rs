use super::canvas::{BLACK, Canvas, ChartError, GREY, LIGHT, Side};

/// A logarithmic axis from one power of ten to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LogAxis {
    pub(crate) first: i32,
    pub(crate) last: i32,
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl LogAxis {
    /// An axis from `from` to `to` points that contains all values, which must be positive. Even
    /// the smallest value has a visible bar.
    pub(crate) fn holding(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (smallest, largest) = values
            .fold((f64::INFINITY, 0.0_f64), |(smallest, largest), value| (smallest.min(value), largest.max(value)));
        let first = (0.8 * smallest).log10().floor() as i32;
        let last = (largest.log10().ceil() as i32).max(first + 1);
        Self { first, last, from, to }
    }

    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = (value.log10() - f64::from(self.first)) / f64::from(self.last - self.first);
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// The exponents of the powers of ten that have a tick, at most about eight.
    pub(crate) fn ticks(&self) -> impl Iterator<Item = i32> {
        let step = 1 + (self.last - self.first) / 8;
        (self.first..=self.last).step_by(step as usize)
    }

    /// Draws the grid between two heights, the ticks' names below it, the axis title, and the base
    /// line of the bars.
    pub(crate) fn draw(
        &self,
        canvas: &Canvas,
        (top, bottom): (f64, f64),
        title: &str,
        name: impl Fn(i32) -> String,
    ) -> Result<(), ChartError> {
        for power in self.ticks() {
            let x = self.at(10.0_f64.powi(power));
            canvas.line(&[(x, top), (x, bottom)], LIGHT, 0.5)?;
            canvas.text(&name(power), (x, bottom + 8.0), Side::Centre, 8.5, BLACK)?;
        }
        canvas.line(&[(self.from, top), (self.from, bottom)], GREY, 0.75)?;
        canvas.text(title, (0.5 * (self.from + self.to), bottom + 23.0), Side::Centre, 9.0, BLACK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logarithmic_axis_holds_its_values() {
        let axis = LogAxis::holding([2e-4, 0.35].into_iter(), 100.0, 400.0);
        assert_eq!((axis.first, axis.last), (-4, 0));
        assert_eq!((axis.at(1e-4), axis.at(1.0), axis.at(1e-2)), (100.0, 400.0, 250.0));
        let one = LogAxis::holding([1e-3].into_iter(), 0.0, 1.0);
        assert!(one.first < one.last && one.at(1e-3) > 0.0);
    }
}
