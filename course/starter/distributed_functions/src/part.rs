//! Given: the parts of a buffer.

use std::ops::Range;

/// The indices of part `index` when `length` elements are cut into `parts` parts, whose lengths differ by 1 at most:
/// `part(10, 1, 3)` is 3..6. With fewer elements than parts, some parts are empty.
pub fn part(length: usize, index: usize, parts: usize) -> Range<usize> {
    length * index / parts..length * (index + 1) / parts
}
