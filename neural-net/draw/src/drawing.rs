//! Converts pen strokes to an image in MNIST's format.

/// Width and height of an image in pixels.
pub const SIDE: usize = 28;
/// Number of pixels of an image.
pub const PIXELS: usize = SIDE * SIDE;

/// Width and height in pixels of the box into which a drawing is scaled.
const BOX: f32 = 20.0;
/// Pixels between the edges of the box and of the image.
const MARGIN: f32 = (SIDE as f32 - BOX) / 2.0;
/// Column and row of the pixel that holds the center of mass in MNIST's images, half a pixel from
/// the image's center. It is a hundredth less than 14, so a symmetric drawing with its center at
/// 13.5 does not jump between two pixels.
const CENTRE_OF_MASS: f32 = 13.99;
/// Half the width of a line in pixels, up to the middle of its edge. It gives a drawn digit as much
/// ink as MNIST's.
const PEN_RADIUS: f32 = 1.3;
/// Width of a line's anti-aliased edge in pixels.
const EDGE: f32 = 1.2;
/// Half the width of a line including its whole edge.
const REACH: f32 = PEN_RADIUS + EDGE / 2.0;
/// Maximum scale, in pixels per width of the field. A drawing smaller than a tenth of the field
/// does not fill the box, so a dot remains a dot.
const MAX_SCALE: f32 = 200.0;

/// Lines in the box of 20 × 20 pixels.
///
/// As in MNIST, the longer side of a digit has 20 pixels, the aspect ratio is kept, and the center
/// of mass is at the image's center. MNIST scales scanned images. Here, the strokes are scaled, so
/// the width of a line does not depend on the size of the drawing.
///
/// Source: Y. LeCun, C. Cortes, C. Burges, "The MNIST database of handwritten digits", 1998.
///
/// ```
/// let mut drawing = draw::drawing::Drawing::within([0.5, 0.2], [0.5, 0.8]);
/// drawing.line([0.5, 0.2], [0.5, 0.8]);
/// let network = draw::network::Network::new(draw::network::Weights::Trained);
/// assert_eq!(network.predict(&drawing.image()).digit(), 1);
/// ```
pub struct Drawing {
    /// The fraction of each pixel that is covered with ink, 0 … 1.
    coverage: [f32; PIXELS],
    /// In pixels per width of the field.
    scale: f32,
    /// The point of the field that is drawn at the image's center.
    centre: [f32; 2],
}

impl Drawing {
    /// An empty image for a drawing with points in `min` … `max`. Points are (x, y), in widths of
    /// the field.
    pub const fn within(min: [f32; 2], max: [f32; 2]) -> Self {
        let extent = (max[0] - min[0]).max(max[1] - min[1]);
        Self {
            coverage: [0.0; PIXELS],
            scale: ((BOX - 2.0 * REACH) / extent).min(MAX_SCALE),
            centre: [(min[0] + max[0]) / 2.0, (min[1] + max[1]) / 2.0],
        }
    }

    /// Draws a straight line with a round pen. A line from a point to itself is a dot.
    pub fn line(&mut self, from: [f32; 2], to: [f32; 2]) {
        let (from, to) = (self.to_pixels(from), self.to_pixels(to));
        let along = [to[0] - from[0], to[1] - from[1]];
        let squared_length = (along[0] * along[0] + along[1] * along[1]).max(1e-9);
        // The columns (axis 0) or rows (axis 1) that the line may cover. Negative values convert to 0.
        let reached = |axis: usize| {
            let (low, high) = (from[axis].min(to[axis]) - REACH, from[axis].max(to[axis]) + REACH);
            (low + 1.0) as usize..SIDE.min((high + 1.0) as usize)
        };
        for row in reached(1) {
            for column in reached(0) {
                let offset = [column as f32 - from[0], row as f32 - from[1]];
                let share = ((offset[0] * along[0] + offset[1] * along[1]) / squared_length).clamp(0.0, 1.0);
                let gap = [offset[0] - share * along[0], offset[1] - share * along[1]];
                let gap = libm::sqrtf(gap[0] * gap[0] + gap[1] * gap[1]);
                let covered = &mut self.coverage[row * SIDE + column];
                *covered = covered.max(((REACH - gap) / EDGE).clamp(0.0, 1.0));
            }
        }
    }

    fn to_pixels(&self, point: [f32; 2]) -> [f32; 2] {
        // Pixel i is the interval i − 0.5 … i + 0.5.
        let middle = (SIDE as f32 - 1.0) / 2.0;
        [0, 1].map(|axis| middle + (point[axis] - self.centre[axis]) * self.scale)
    }

    /// The image, row by row, with 0 for the background and 255 for ink. It is moved by whole
    /// pixels to bring its center of mass within half a pixel of MNIST's, but never so far that ink
    /// leaves the image.
    pub fn image(&self) -> [u8; PIXELS] {
        let [right, down] = self.shift();
        core::array::from_fn(|at| {
            let column = (at % SIDE).checked_add_signed(-right).filter(|&column| column < SIDE);
            let row = (at / SIDE).checked_add_signed(-down);
            let covered = row.zip(column).and_then(|(row, column)| self.coverage.get(row * SIDE + column));
            covered.map_or(0, |covered| libm::roundf(covered * 255.0) as u8)
        })
    }

    /// How many pixels to the right and down the ink must move.
    fn shift(&self) -> [isize; 2] {
        let (mut ink, mut moment) = (f32::MIN_POSITIVE, [0.0; 2]);
        for (at, covered) in self.coverage.iter().enumerate() {
            ink += covered;
            moment[0] += covered * (at % SIDE) as f32;
            moment[1] += covered * (at / SIDE) as f32;
        }
        moment.map(|moment| libm::roundf(CENTRE_OF_MASS - moment / ink).clamp(-MARGIN, MARGIN) as isize)
    }
}
