//! All CPU versions agree with the correlation in double precision for any size.

use filters::{Pixel, Reference, correlation_rayon, correlation_trivial};
use ndarray::{Array2, ArrayRef2, array, s};
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rayon::ThreadPoolBuilder;

fn random(shape: (usize, usize), seed: u64) -> Array2<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Array2::from_shape_simple_fn(shape, || rng.random_range(-1.0..1.0))
}

fn random_bytes(shape: (usize, usize), seed: u64) -> Array2<u8> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Array2::from_shape_simple_fn(shape, || rng.random())
}

fn all_are_right<P: Pixel>(kernel: &ArrayRef2<f32>, image: &ArrayRef2<P>) {
    let reference = Reference::of(kernel, image);
    assert_eq!(reference.verify(&correlation_trivial(kernel, image)), Ok(()), "trivial");
    assert_eq!(reference.verify(&correlation_rayon(kernel, image)), Ok(()), "rayon");
}

proptest! {
    #[test]
    fn correlation_of_random_shapes_is_right(
        rows in 0..40_usize, columns in 0..90_usize, kernel_rows in 0..9_usize, kernel_columns in 0..9_usize, seed: u64
    ) {
        let kernel = random((kernel_rows, kernel_columns), seed);
        all_are_right(&kernel, &random((rows, columns), !seed));
        all_are_right(&kernel, &random_bytes((rows, columns), !seed));
        all_are_right(&kernel.mapv(|value| (9.0 * value).round()), &random_bytes((rows, columns), !seed));
    }
}

/// Several tasks. Some of them begin within a kernel's height of the image's top and bottom.
#[test]
fn correlation_across_tasks_is_right() {
    for (shape, kernel) in [((300, 1001), (7, 5)), ((70_001, 2), (3, 3)), ((9, 50_000), (20, 4)), ((40, 4000), (90, 1))]
    {
        all_are_right(&random(kernel, 1), &random(shape, 2));
        all_are_right(&random(kernel, 1), &random_bytes(shape, 2));
    }
}

#[test]
fn correlation_does_not_depend_on_the_number_of_threads() {
    let image = random((500, 333), 3);
    for kernel in [random((5, 4), 4), filters::SOBEL_5X5.kernel().to_owned()] {
        let bits = |threads| {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| correlation_rayon(&kernel, &image)).mapv(f32::to_bits)
        };
        let expected = bits(1);
        for threads in [2, 3, 8] {
            assert!(bits(threads) == expected, "{threads} threads");
        }
    }
}

#[test]
fn correlation_of_views_with_other_strides_is_right() {
    let (image, kernel) = (random((60, 50), 5), random((6, 8), 6));
    all_are_right(&kernel, &image.t());
    all_are_right(&kernel.t(), &image.slice(s![..;2, ..;-3]));
    all_are_right(&kernel.slice(s![..;-1, 1..]), &image.slice(s![3.., 7..]));
}

/// 0 · NaN and 0 · ∞ are NaN, as in SciPy. A non-finite pixel spreads to its whole neighborhood. A
/// non-finite coefficient spreads to the whole image, because of the zeros around it.
#[test]
fn correlation_with_values_that_are_not_finite_is_right() {
    let mut image = random((20, 40), 7);
    (image[[3, 5]], image[[12, 30]], image[[13, 30]]) = (f32::NAN, f32::INFINITY, f32::NEG_INFINITY);
    for kernel in [random((3, 3), 8), filters::SOBEL.kernel().to_owned(), filters::NEIGHBOURS.kernel().to_owned()] {
        all_are_right(&kernel, &image);
        let result = correlation_rayon(&kernel, &image);
        assert_eq!(result.iter().filter(|value| !value.is_finite()).count(), 9 + 12);
    }
    for value in [f32::NAN, f32::INFINITY] {
        let mut kernel = random((3, 5), 9);
        kernel[[0, 0]] = value;
        all_are_right(&kernel, &image);
        all_are_right(&kernel, &random((2, 2), 10));
    }
}

#[test]
fn correlation_without_pixels_or_coefficients_is_empty_or_zero() {
    for shape in [(0, 0), (0, 7), (7, 0)] {
        let nothing = correlation_rayon(&random((3, 3), 11), &random(shape, 12));
        assert_eq!(nothing.dim(), shape);
        assert_eq!(correlation_rayon(&random(shape, 11), &random((2, 5), 12)), Array2::<f32>::zeros((2, 5)));
    }
}

/// Centered as in SciPy: an even kernel's center element is right of and below its middle.
#[test]
fn correlation_with_even_kernels_is_centred_as_in_scipy() {
    let image = array![[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]];
    let ones = Array2::<f32>::ones;
    // scipy.signal.convolve2d(image, numpy.rot90(kernel, 2), mode='same') of SciPy 1.17.
    assert_eq!(correlation_rayon(&ones((2, 2)), &image), array![[1., 3., 5.], [5., 12., 16.], [11., 24., 28.]]);
    assert_eq!(correlation_rayon(&array![[1.0, 2.0, 3.0, 4.0]], &array![[1_u8, 0, 0]]), array![[3.0, 2.0, 1.0]]);
    assert_eq!(correlation_rayon(&ones((1, 7)), &array![[1_u8, 2]]), array![[3.0, 3.0]]);
}
