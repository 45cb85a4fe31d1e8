//! The filters' pictures of a drawing that is the same on every machine.

use filters::picture::{drawing, to_grey};
use filters::{EDGES, Filter, NEIGHBOURS, correlation_rayon, sobel_operator};
use ndarray::{Array2, ArrayRef2};
use png::{ColorType, Encoder};

use crate::document::{DocumentError, Picture};

/// Rows and columns of the drawing.
const SIZE: [usize; 2] = [240, 360];

/// A filter's result.
pub(super) struct Filtered {
    /// The filter; `None` for the drawing itself.
    pub(super) filter: Option<Filter>,
    /// The result's values.
    pub(super) values: Array2<f32>,
}

/// The drawing, its edges according to each filter, and the sums of its pixels' neighbors.
pub(super) fn all() -> Vec<Filtered> {
    let image = drawing(SIZE[0], SIZE[1]);
    let mut all = vec![Filtered { filter: None, values: image.mapv(f32::from) }];
    all.extend(EDGES.map(|filter| Filtered { filter: Some(filter), values: sobel_operator(&filter.kernel(), &image) }));
    all.push(Filtered { filter: Some(NEIGHBOURS), values: correlation_rayon(&NEIGHBOURS.kernel(), &image) });
    all
}

impl Filtered {
    pub(super) fn name(&self) -> &'static str {
        self.filter.map_or("drawing", |filter| filter.name)
    }

    /// The mean and the largest value.
    pub(super) fn mean_and_largest(&self) -> (f32, f32) {
        (self.values.mean().unwrap_or(0.0), self.values.iter().copied().fold(0.0, f32::max))
    }

    /// The fraction of pixels above half of the largest value.
    pub(super) fn share_of_bright(&self) -> f64 {
        let (_, largest) = self.mean_and_largest();
        self.values.iter().filter(|&&value| value > 0.5 * largest).count() as f64 / self.values.len().max(1) as f64
    }

    /// The sum of the positive coefficients: the result at an edge between 0 and 1.
    pub(super) fn gain(&self) -> f32 {
        self.filter.map_or(1.0, |filter| filter.kernel().iter().filter(|&&value| value > 0.0).sum())
    }

    /// Converts the result to a picture with the largest value as white.
    pub(super) fn picture(self) -> Result<Picture, DocumentError> {
        let png = png(&to_grey(&self.values)).map_err(|error| DocumentError::Picture(error.to_string()))?;
        Ok(Picture { name: self.name().to_owned(), png })
    }
}

/// Gray pixels as a PNG file.
fn png(pixels: &ArrayRef2<u8>) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, pixels.ncols() as u32, pixels.nrows() as u32);
    encoder.set_color(ColorType::Grayscale);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels.as_slice().expect("a new picture is row-major"))?;
    writer.finish()?;
    Ok(bytes)
}
