//! Detection and removal of ruled lines.

use ndarray::{Array2, ArrayView1, Axis, s};

/// Minimum fraction of a line that is inked.
const COVERAGE: f64 = 0.95;
/// Maximum slope of a line.
const SLOPE: f64 = 0.1;
/// Maximum fraction of the image that lines cover. A larger one is a digit that fills the image,
/// such as a 1.
const MAX_AREA: f64 = 0.5;
/// Maximum fraction of the border that other ink covers. More means a digit without a margin, with
/// bars that look like lines.
const MAX_BORDER: f64 = 0.02;
/// Up to this many lines, the border is checked: a digit has at most this many bars.
const MAX_BARS: usize = 3;

/// Removes straight lines from border to border, horizontal and vertical, except where a stroke
/// crosses them.
pub(super) fn without_rules(inked: Array2<bool>) -> Array2<bool> {
    let horizontal = lines(&inked);
    // Found in the transposed image, then transposed back.
    let vertical = lines(&inked.t().to_owned()).reversed_axes();
    let mut rest = inked.clone();
    rest.zip_mut_with(&horizontal, |is_inked, &is_line| *is_inked &= !is_line);
    rest.zip_mut_with(&vertical, |is_inked, &is_line| *is_inked &= !is_line);
    let count = |mask: &Array2<bool>| mask.iter().filter(|&&is_set| is_set).count();
    if rest == inked || (count(&inked) - count(&rest)) as f64 > MAX_AREA * inked.len() as f64 {
        return inked;
    }
    let ends = |border: ArrayView1<bool>| border.to_vec().chunk_by(|a, b| a == b).filter(|run| run[0]).count();
    let lines = ends(horizontal.column(0)) + ends(vertical.row(0));
    let (height, width) = rest.dim();
    let border = [rest.row(0), rest.row(height - 1), rest.column(0), rest.column(width - 1)];
    let at_border = border.into_iter().flatten().filter(|&&is_inked| is_inked).count() as f64;
    if lines <= MAX_BARS && at_border > MAX_BORDER * (2 * (height + width)) as f64 {
        return inked;
    }
    let mut crossings = crossed(&horizontal, &rest);
    let vertical = crossed(&vertical.t().to_owned(), &rest.t().to_owned()).reversed_axes();
    crossings.zip_mut_with(&vertical, |is_crossing, &other| *is_crossing |= other);
    rest.zip_mut_with(&crossings, |is_inked, &is_crossing| *is_inked |= is_crossing);
    rest
}

/// The pixels of the lines from the left border to the right one.
fn lines(inked: &Array2<bool>) -> Array2<bool> {
    let (height, width) = inked.dim();
    let mut is_line = Array2::from_elem((height, width), false);
    let max_rise = (SLOPE * width as f64) as usize;
    let max_gaps = ((1.0 - COVERAGE) * width as f64) as usize;
    for from in (0..height).filter(|&row| inked[[row, 0]]) {
        let reached = from.saturating_sub(max_rise)..(from + max_rise + 1).min(height);
        for to in reached.filter(|&row| inked[[row, width - 1]]) {
            let row = |column: usize| {
                let share = column as f64 / (width - 1).max(1) as f64;
                (from as f64 + (to as f64 - from as f64) * share).round() as usize
            };
            // The steps of an inclined line may be in neighboring columns.
            let beside = usize::from(from != to);
            let near = |column: usize| row(column).saturating_sub(beside)..(row(column) + beside + 1).min(height);
            let mut gaps = (0..width).filter(|&column| near(column).all(|row| !inked[[row, column]]));
            if gaps.nth(max_gaps).is_none() {
                for (row, column) in (0..width).flat_map(|column| near(column).map(move |row| (row, column))) {
                    is_line[[row, column]] = inked[[row, column]];
                }
            }
        }
    }
    is_line
}

/// The pixels of horizontal lines with other ink above and below them, where a stroke crosses the line.
fn crossed(is_line: &Array2<bool>, rest: &Array2<bool>) -> Array2<bool> {
    let (height, width) = is_line.dim();
    let mut is_crossing = Array2::from_elem((height, width), false);
    for (column, lane) in is_line.axis_iter(Axis(1)).enumerate() {
        let columns = column.saturating_sub(1)..(column + 2).min(width);
        let is_stroke = |row: usize| rest.slice(s![row, columns.clone()]).iter().any(|&is_inked| is_inked);
        let mut row = 0;
        while row < height {
            let thickness = lane.iter().skip(row).take_while(|&&is_line| is_line).count();
            let end = row + thickness;
            if thickness > 0 && row > 0 && end < height && is_stroke(row - 1) && is_stroke(end) {
                is_crossing.slice_mut(s![row..end, column]).fill(true);
            }
            row = end + 1;
        }
    }
    is_crossing
}
