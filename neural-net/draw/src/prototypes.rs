//! Builds `prototypes.bin` from MNIST's images. [`crate::reading`] compares drawings with these
//! prototypes.

use crate::drawing::PIXELS;
use crate::reading::{self, Thumbnail};
use crate::redrawn::redraw;

/// Maximum number of prototypes per digit.
const OF_DIGIT: usize = 48;
/// Minimum number of images averaged in a prototype. No prototype shows one person's digit.
const LEAST: usize = 10;
/// Number of k-means rounds. After that, the prototypes hardly move.
const ROUNDS: usize = 20;
/// The fraction of held-out images within the distance limit.
const WITHIN: f64 = 0.99;

/// Images of MNIST's format with their digits.
pub type Labelled<'a> = (&'a [[u8; PIXELS]], &'a [u8]);

/// Encodes the prototypes of training images and the distance limit in the format of
/// `prototypes.bin`. 99 % of the held-out images are within the limit.
///
/// # Panics
/// If no image is held out.
pub fn encode((images, digits): Labelled<'_>, held_out: &[[u8; PIXELS]]) -> Vec<u8> {
    let thumbnails: Vec<Thumbnail> = images.iter().map(of_redrawn).collect();
    let mut prototypes = vec![];
    for digit in 0..10 {
        let own = digits.iter().zip(&thumbnails).filter(|(label, _)| **label == digit).map(|(_, own)| *own);
        for average in averages(&own.collect::<Vec<_>>()) {
            prototypes.push(digit);
            prototypes.extend(average.map(|ink| (ink * 255.0).round() as u8));
        }
    }
    let distance = |image: &[u8; PIXELS]| reading::nearest_of(&prototypes, &of_redrawn(image)).distance;
    let mut distances: Vec<f32> = held_out.iter().map(distance).collect();
    distances.sort_by(f32::total_cmp);
    let limit = distances[(WITHIN * (distances.len() - 1) as f64) as usize];
    [&limit.to_le_bytes()[..], &prototypes].concat()
}

fn of_redrawn(image: &[u8; PIXELS]) -> Thumbnail {
    reading::thumbnail(&redraw(image))
}

/// Averages groups of similar thumbnails by k-means, starting from thumbnails at equal intervals.
fn averages(thumbnails: &[Thumbnail]) -> Vec<Thumbnail> {
    let count = OF_DIGIT.min(thumbnails.len());
    let mut means: Vec<Thumbnail> = (0..count).map(|index| thumbnails[index * thumbnails.len() / count]).collect();
    let mut sizes = vec![0; count];
    for _ in 0..ROUNDS {
        let mut sums = vec![[0.0_f32; _]; count];
        sizes.fill(0);
        for thumbnail in thumbnails {
            let nearest = nearest_of(&means, thumbnail);
            sizes[nearest] += 1;
            sums[nearest].iter_mut().zip(thumbnail).for_each(|(sum, ink)| *sum += ink);
        }
        for ((mean, sum), &size) in means.iter_mut().zip(sums).zip(&sizes).filter(|(_, size)| **size > 0) {
            *mean = sum.map(|ink| ink / size as f32);
        }
    }
    means.into_iter().zip(sizes).filter(|(_, size)| *size >= LEAST).map(|(mean, _)| mean).collect()
}

/// The index of the nearest mean; the first one if several are equal.
fn nearest_of(means: &[Thumbnail], thumbnail: &Thumbnail) -> usize {
    let square = |mean: &Thumbnail| -> f32 { mean.iter().zip(thumbnail).map(|(a, b)| (a - b) * (a - b)).sum() };
    let squares = means.iter().map(square).enumerate();
    squares.min_by(|(_, one), (_, other)| one.total_cmp(other)).map_or(0, |(index, _)| index)
}
