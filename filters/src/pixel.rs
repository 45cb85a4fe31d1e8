use std::borrow::Cow;
use std::ops::Range;

use ndarray::{ArrayRef2, ArrayView2};

mod sealed {
    pub trait Sealed {}
}

/// The element types of images: `f32` and `u8`.
pub trait Pixel: Copy + sealed::Sealed {
    /// The pixels, by their type.
    #[doc(hidden)]
    fn pixels(pixels: &[Self]) -> Pixels<'_>;
}

/// Pixels of either type. Their processing is compiled in this crate, with its optimization level.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Pixels<'a> {
    F32(&'a [f32]),
    U8(&'a [u8]),
}

impl sealed::Sealed for f32 {}
impl sealed::Sealed for u8 {}

impl Pixel for f32 {
    fn pixels(pixels: &[Self]) -> Pixels<'_> {
        Pixels::F32(pixels)
    }
}

impl Pixel for u8 {
    fn pixels(pixels: &[Self]) -> Pixels<'_> {
        Pixels::U8(pixels)
    }
}

impl<'a> Pixels<'a> {
    /// The number of pixels.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::F32(pixels) => pixels.len(),
            Self::U8(pixels) => pixels.len(),
        }
    }

    /// A range of the pixels as f32, converted if necessary.
    pub(crate) fn to_f32(self, range: Range<usize>) -> Cow<'a, [f32]> {
        match self {
            Self::F32(pixels) => Cow::Borrowed(&pixels[range]),
            Self::U8(pixels) => Cow::Owned(pixels[range].iter().map(|&pixel| f32::from(pixel)).collect()),
        }
    }
}

/// Calls `work` with the pixels of an image, row-major. A row-major image is not copied, but views
/// with other strides are.
pub(crate) fn row_major<P: Pixel, R>(image: &ArrayRef2<P>, work: impl FnOnce(Pixels) -> R) -> R {
    let image = image.as_standard_layout();
    work(P::pixels(image.as_slice().expect("the standard layout is row-major")))
}

/// Calls `work` with the image converted to f32.
pub(crate) fn in_f32<P: Pixel, R>(image: &ArrayRef2<P>, work: impl FnOnce(ArrayView2<f32>) -> R) -> R {
    row_major(image, |pixels| {
        let pixels = pixels.to_f32(0..pixels.len());
        work(ArrayView2::from_shape(image.dim(), &pixels).expect("as many pixels as the image has"))
    })
}
