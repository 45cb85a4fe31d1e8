//! Finds the objects on a sheet and decides which of them are the digit.

use std::ops::Range;

use ndarray::{Array2, Zip, s};

use super::Grey;
use super::rules::without_rules;

/// Minimum side of a digit, as a fraction of the image's longer side.
const MIN_SIDE: f64 = 0.02;
/// The same for a digit at the border: a smaller object there is a shadow or the edge of a scan.
const MIN_SIDE_AT_BORDER: f64 = 0.3;
/// The same in pixels.
const MIN_PIXELS: usize = 4;
/// Minimum difference between the means of ink and paper, in standard deviations of the noise. Pure
/// noise has 1.6.
const MIN_DIFFERENCE: f64 = 3.0;
/// Minimum difference between the means of ink and paper.
const MIN_INK: f64 = 24.0;
/// Weight of ink at the border, which may be part of a frame.
const BORDER_WEIGHT: f64 = 0.25;
/// Minimum side of an object in a frame, as a fraction of the frame's side.
const FRAMED: f64 = 0.25;
/// Minimum fraction of an object's rows and columns that meet a frame around it.
const AROUND: f64 = 0.8;
/// Maximum distance between a digit's parts, as a fraction of its longer side.
const GAP: f64 = 0.15;
/// Minimum ink of a part of the digit, as a fraction of the digit's ink. Less is a speck.
const MIN_PART: f64 = 0.02;
/// Minimum height of another digit, as a fraction of the digit's height.
const OTHER_HEIGHT: f64 = 0.6;
/// Minimum ink of another object, as a fraction of the digit's ink. Less is a speck.
const OTHER: f64 = 0.1;
/// Ink values up to this count as noise if the digit's maximum is 255.
const NOISE: u32 = 32;
/// Minimum fraction of all ink that belongs to the digit.
const MIN_SHARE: f64 = 0.25;

/// The result of searching a sheet.
pub(super) enum Found {
    /// The digit.
    Digit {
        /// Its pixels, including those at its edge.
        mask: Array2<bool>,
        /// Number of other objects, not counting specks, lines and frames.
        others: usize,
    },
    /// Only specks and lines.
    Nothing,
    /// Too many objects to tell which one is meant.
    Many {
        /// Number of objects.
        objects: usize,
    },
}

/// A connected region of ink.
#[derive(Clone)]
struct Object {
    label: usize,
    rows: Range<usize>,
    columns: Range<usize>,
    /// The sum of its ink.
    mass: f64,
    is_on_border: bool,
}

/// Finds the digit: the object with the most ink, and its parts.
pub(super) fn find(ink: &Grey) -> Found {
    let Some(threshold) = threshold(ink) else { return Found::Nothing };
    let inked = ink.mapv(|value| value > threshold);
    let (labels, all) = objects(&without_rules(inked.clone()), ink);
    let (height, width) = ink.dim();
    let is_large = |object: &Object| {
        let share = if object.is_on_border { MIN_SIDE_AT_BORDER } else { MIN_SIDE };
        object.longer_side() >= ((share * height.max(width) as f64).ceil() as usize).max(MIN_PIXELS)
    };
    let large: Vec<&Object> = all.iter().filter(|object| is_large(object)).collect();
    let is_frame = |frame: &Object| {
        let framed = large.iter().filter(|object| object.longer_side() as f64 >= FRAMED * frame.longer_side() as f64);
        framed.clone().any(|object| frame.label != object.label && is_around(frame, object, &labels))
    };
    let large: Vec<&Object> = large.iter().copied().filter(|object| !is_frame(object)).collect();
    let weight = |object: &Object| object.mass * if object.is_on_border { BORDER_WEIGHT } else { 1.0 };
    let Some(largest) = large.iter().max_by(|a, b| weight(a).total_cmp(&weight(b))) else { return Found::Nothing };

    let mut digit = (*largest).clone();
    let mut labels_of_digit = vec![digit.label];
    let mut rest: Vec<&Object> = all.iter().filter(|object| object.label != digit.label && !is_frame(object)).collect();
    while let Some(index) = rest.iter().position(|object| digit.has_part(object)) {
        let part = rest.swap_remove(index);
        labels_of_digit.push(part.label);
        digit.add(part);
    }
    let total: f64 =
        digit.mass + rest.iter().filter(|object| !object.is_on_border).map(|object| object.mass).sum::<f64>();
    let others = rest.iter().filter(|object| object.mass >= OTHER * digit.mass && is_large(object));
    let others = others.count();
    if others > 1 && digit.mass < MIN_SHARE * total {
        return Found::Many { objects: others + 1 };
    }
    let mask = labels.mapv(|label| labels_of_digit.contains(&label));
    Found::Digit { mask: with_edge(&mask, &inked), others }
}

impl Object {
    fn longer_side(&self) -> usize {
        self.rows.len().max(self.columns.len())
    }

    /// Whether an object is a part of this digit: close to it, and neither a speck nor another
    /// digit next to it.
    fn has_part(&self, object: &Self) -> bool {
        let gaps = [gap(&self.rows, &object.rows), gap(&self.columns, &object.columns)];
        let is_apart = gaps.iter().any(|&gap| gap > 0);
        let is_digit = is_apart && object.rows.len() as f64 >= OTHER_HEIGHT * self.rows.len() as f64;
        let is_near = gaps.iter().all(|&gap| gap as f64 <= GAP * self.longer_side() as f64);
        // A shadow or a piece of a frame may be close to the digit.
        let may_belong = object.is_on_border <= self.is_on_border;
        is_near && !is_digit && may_belong && object.mass >= MIN_PART * self.mass
    }

    fn add(&mut self, part: &Self) {
        let hull = |a: &Range<usize>, b: &Range<usize>| a.start.min(b.start)..a.end.max(b.end);
        (self.rows, self.columns) = (hull(&self.rows, &part.rows), hull(&self.columns, &part.columns));
        self.mass += part.mass;
        self.is_on_border |= part.is_on_border;
    }
}

/// Number of rows or columns between two ranges.
fn gap(a: &Range<usize>, b: &Range<usize>) -> usize {
    a.start.max(b.start).saturating_sub(a.end.min(b.end))
}

/// The ink value above which a pixel belongs to an object; it excludes lines fainter than the
/// digit. This is the threshold between two classes that maximizes the variance between them.
/// `None` if the class means differ too little.
///
/// Source: N. Otsu, "A threshold selection method from gray-level histograms", 1979.
fn threshold(ink: &Grey) -> Option<u8> {
    let mut counts = [0.0_f64; 256];
    ink.iter().for_each(|&value| counts[usize::from(value)] += 1.0);
    let (count, sum) = (ink.len() as f64, ink.iter().map(|&value| f64::from(value)).sum::<f64>());
    let (mut below, mut sum_below) = (0.0, 0.0);
    let (mut best, mut threshold, mut difference) = (0.0, 0, 0.0);
    for value in 0..255_u8 {
        below += counts[usize::from(value)];
        sum_below += f64::from(value) * counts[usize::from(value)];
        let above = count - below;
        if below > 0.0 && above > 0.0 {
            let between = (sum - sum_below) / above - sum_below / below;
            let variance = below * above * between * between;
            if variance > best {
                (best, threshold, difference) = (variance, value, between);
            }
        }
    }
    (difference > MIN_DIFFERENCE * noise(ink) && difference > MIN_INK).then_some(threshold)
}

/// The standard deviation of noise, estimated from the median difference between neighbors in a row.
fn noise(ink: &Grey) -> f64 {
    let pairs = ink
        .rows()
        .into_iter()
        .flat_map(|row| row.to_vec().windows(2).map(|pair| pair[0].abs_diff(pair[1])).collect::<Vec<_>>());
    let mut differences: Vec<u8> = pairs.collect();
    if differences.is_empty() {
        return 0.0;
    }
    let middle = differences.len() / 2;
    // The median absolute difference of two normal values is 0.954 standard deviations.
    f64::from(*differences.select_nth_unstable(middle).1) / 0.954
}

/// Finds the connected objects (diagonal neighbors count as connected) and each pixel's label, 0
/// for paper.
fn objects(inked: &Array2<bool>, ink: &Grey) -> (Array2<usize>, Vec<Object>) {
    let (height, width) = inked.dim();
    let mut labels = Array2::zeros((height, width));
    let mut objects = Vec::new();
    let mut stack = Vec::new();
    for (place, _) in inked.indexed_iter().filter(|(_, is_inked)| **is_inked) {
        if labels[place] != 0 {
            continue;
        }
        let label = objects.len() + 1;
        let (rows, columns) = (place.0..place.0 + 1, place.1..place.1 + 1);
        let mut object = Object { label, rows, columns, mass: 0.0, is_on_border: false };
        labels[place] = label;
        stack.push(place);
        while let Some((row, column)) = stack.pop() {
            let is_on_border = row == 0 || column == 0 || row + 1 == height || column + 1 == width;
            object.add(&Object {
                label,
                rows: row..row + 1,
                columns: column..column + 1,
                mass: f64::from(ink[[row, column]]),
                is_on_border,
            });
            for row in row.saturating_sub(1)..(row + 2).min(height) {
                for column in column.saturating_sub(1)..(column + 2).min(width) {
                    if inked[[row, column]] && labels[[row, column]] == 0 {
                        labels[[row, column]] = label;
                        stack.push((row, column));
                    }
                }
            }
        }
        objects.push(object);
    }
    (labels, objects)
}

/// Whether `frame` surrounds `object`, perhaps with gaps: most rows and columns of the object meet
/// it on both sides.
fn is_around(frame: &Object, object: &Object, labels: &Array2<usize>) -> bool {
    let is_inside = |outer: &Range<usize>, inner: &Range<usize>| outer.start < inner.start && inner.end < outer.end;
    if !is_inside(&frame.rows, &object.rows) || !is_inside(&frame.columns, &object.columns) {
        return false;
    }
    let sides = |outer: &Range<usize>, inner: &Range<usize>| [outer.start..inner.start, inner.end..outer.end];
    let (left_right, above_below) = (sides(&frame.columns, &object.columns), sides(&frame.rows, &object.rows));
    let is_met = |label: &usize| *label == frame.label;
    let rows = object.rows.clone().flat_map(|row| left_right.clone().map(|side| labels.slice(s![row, side])));
    let columns =
        object.columns.clone().flat_map(|column| above_below.clone().map(|side| labels.slice(s![side, column])));
    let met = rows.chain(columns).filter(|line| line.iter().any(is_met)).count();
    met as f64 >= AROUND * (2 * (object.rows.len() + object.columns.len())) as f64
}

/// The mask's pixels and those next to them, without other ink.
fn with_edge(mask: &Array2<bool>, inked: &Array2<bool>) -> Array2<bool> {
    let (height, width) = mask.dim();
    let reach = (height.max(width) / 200).max(2);
    let mut near = mask.clone();
    for ((row, column), _) in mask.indexed_iter().filter(|(_, is_digit)| **is_digit) {
        let rows = row.saturating_sub(reach)..(row + reach + 1).min(height);
        near.slice_mut(s![rows, column.saturating_sub(reach)..(column + reach + 1).min(width)]).fill(true);
    }
    Zip::from(&mut near).and(mask).and(inked).for_each(|near, &is_digit, &is_inked| *near &= is_digit || !is_inked);
    near
}

/// The values of the mask's pixels, 0 elsewhere.
pub(super) fn masked(values: &Grey, mask: &Array2<bool>) -> Grey {
    Zip::from(values).and(mask).map_collect(|&value, &is_digit| if is_digit { value } else { 0 })
}

/// The digit's ink without noise, scaled to a maximum of 255.
pub(super) fn normalised(ink: &Grey, mask: &Array2<bool>) -> Grey {
    let ink = masked(ink, mask);
    let most = u32::from(ink.iter().copied().max().unwrap_or(0).max(1));
    ink.mapv(|value| match 255 * u32::from(value) / most {
        share if share < NOISE => 0,
        share => share as u8,
    })
}
