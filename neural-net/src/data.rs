//! Handwritten digits, re-exported from the crate `digits`, and their conversion to a network's samples.

use ndarray::{Array2, s};

use crate::Samples;

pub use digits::*;

/// The conversion of [`LabelledImages`] to samples.
pub trait ToSamples {
    /// Images `first` … `first + count − 1` as samples: pixel bytes, where b means b / 255, and
    /// one-hot labels.
    ///
    /// # Panics
    /// If there are fewer than `first + count` images.
    fn samples(&self, first: usize, count: usize) -> Samples;
}

impl ToSamples for LabelledImages {
    fn samples(&self, first: usize, count: usize) -> Samples {
        let pixels = self.pixels.clone().slice_move(s![first..first + count, ..]);
        let labels = &self.labels[first..first + count];
        let mut targets = vec![0.0; count * CLASSES];
        for (target, &label) in targets.as_chunks_mut::<CLASSES>().0.iter_mut().zip(labels) {
            target[usize::from(label)] = 1.0;
        }
        let targets = match Array2::from_shape_vec((count, CLASSES), targets) {
            Ok(targets) => targets,
            Err(error) => unreachable!("a target for each class: {error}"),
        };
        match Samples::from_bytes(pixels, 255.0, targets) {
            Ok(samples) => samples,
            Err(error) => unreachable!("the numbers of labels and images are equal: {error}"),
        }
    }
}
