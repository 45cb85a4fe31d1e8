//! Wrong submissions of assignment 2.

use super::Change::{Replace, Write as WriteFile};
use super::{Change, Submission};

const DISTORT: &str = "augmentation/src/distort.rs";
const QUEUE: &str = "augmentation/src/queue.rs";
const WORKER: &str = "augmentation/src/worker.rs";
const TRIVIAL: &str = "filters/src/trivial.rs";
const RAYON: &str = "filters/src/parallel.rs";
const KERNEL: &str = "filters/src/kernel.rs";
const GPU: &str = "filters/src/on_gpu.rs";
const SOBEL: &str = "filters/src/sobel.rs";

/// The tests that fail if the kernel is wrong.
const OF_KERNEL: &[&str] = &[
    "correlation_gpu_is_right_on_the_simulator",
    "hidden::correlation_gpu_launches_a_thread_for_each_pixel",
    "hidden::correlation_gpu_reads_no_more_than_four_loops",
    "correlation_kernels_ptx_is_right",
];

/// The result of a launch that writes zeros, and the correlation computed on the CPU.
const EMPTY_KERNEL: &str = "\
use cuda_std::{GlobalMut, kernel, thread};

#[kernel]
pub fn correlation_kernel(
    kernel: &[f32],
    image: &[f32],
    out: GlobalMut<f32>,
    kernel_rows: u32,
    kernel_columns: u32,
    rows: u32,
    columns: u32,
) {
    let _ = (kernel, image, kernel_rows, kernel_columns);
    let index = thread::index_1d();
    if index < rows * columns {
        out.set(index as usize, 0.0);
    }
}
";

pub(crate) fn all() -> Vec<Submission> {
    let one = |name, change: Change, lost, feedback| Submission { name, changes: vec![change], lost, feedback };
    vec![
        one(
            "noise_is_only_positive",
            Replace(DISTORT, "pixel + rng.random_range(-noise..=noise)", "pixel + rng.random_range(0.0..=noise)"),
            &["add_noise_adds_and_subtracts_within_legal_brightness", "process_image_distorts_by_each_function"],
            &["add_noise: with noise 0.3, 0 of 784 pixels of 0.5 are from 0.2 to 0.4"],
        ),
        one(
            "noise_of_one_value",
            Replace(
                DISTORT,
                "    image.map(|pixel| (pixel + rng.random_range(-noise..=noise)).clamp(0.0, 1.0))",
                "    let value = rng.random_range(-noise..=noise);\n    image.map(|pixel| (pixel + value).clamp(0.0, 1.0))",
            ),
            &["add_noise_adds_and_subtracts_within_legal_brightness"],
            &["another one for each pixel"],
        ),
        one(
            "noise_is_not_clipped",
            Replace(DISTORT, "noise)).clamp(0.0, 1.0))", "noise)))"),
            &["add_noise_adds_and_subtracts_within_legal_brightness"],
            &["add_noise: pixel ("],
        ),
        one(
            "shifts_to_the_right",
            Replace(DISTORT, "(index % SIDE) as i32 + dx", "(index % SIDE) as i32 - dx"),
            &["shift_moves_to_the_left_and_up"],
            &["shift by dx = "],
        ),
        one(
            "turns_with_the_clock",
            Replace(DISTORT, "degrees.to_radians().sin_cos();", "(-degrees).to_radians().sin_cos();"),
            &["rotate_turns_against_the_clock"],
            &["rotate by 90°: pixel ("],
        ),
        one(
            "skews_columns",
            Replace(
                DISTORT,
                "pixel(image, row, column + (row as f32 * tilt).round() as i32)",
                "pixel(image, row + (column as f32 * tilt).round() as i32, column)",
            ),
            &["skew_takes_pixels_from_the_right", "process_image_distorts_by_each_function"],
            &["skew by 1: pixel ("],
        ),
        one(
            "processes_without_a_shift",
            Replace(DISTORT, "shift(&rotated, dx, dy)", "shift(&rotated, dx, 0 * dy)"),
            &["process_image_distorts_by_each_function"],
            &["200 images have a dot in 3 places, expected 9"],
        ),
        one(
            "a_queue_without_bound",
            Replace(QUEUE, "state.items.len() == self.capacity && !state.is_closed", "false"),
            &["a_full_queue_makes_its_writers_wait"],
            &["put: a"],
        ),
        one(
            "a_stack_in_place_of_a_queue",
            Replace(QUEUE, "state.items.pop_front()", "state.items.pop_back()"),
            &["the_queue_passes_each_item_once_in_order", "a_full_queue_makes_its_writers_wait"],
            &["each comes once, in the order in which it was put"],
        ),
        one(
            "a_queue_that_tells_nobody",
            Replace(QUEUE, "        self.was_taken.notify_one();\n", ""),
            &[
                "the_queue_passes_each_item_once_in_order",
                "a_full_queue_makes_its_writers_wait",
                "a_worker_serves_the_queue",
                "augmented_has_an_image_for_each_in_order",
                "hidden::augmented_starts_its_workers_and_ends_them",
            ],
            &["stopped after 10 s: does it end?"],
        ),
        one(
            "one_generator_for_all",
            Replace(
                WORKER,
                "&self.largest, &mut rng_of(self.seed, job.number)",
                "&self.largest, &mut rng_of(self.seed, self.jobs.length() as u64)",
            ),
            &["a_worker_serves_the_queue", "augmented_has_an_image_for_each_in_order"],
            &["are the random numbers those of rng_of(seed, job.number)?"],
        ),
        one(
            "results_in_the_order_in_which_they_come",
            Replace(
                WORKER,
                "distorted[number as usize] = image;",
                "{ let _ = number; distorted.remove(0); distorted.push(image); }",
            ),
            &["augmented_has_an_image_for_each_in_order"],
            // The order in which results arrive determines which comparison fails first.
            &["image "],
        ),
        one(
            "one_worker_for_all",
            Replace(WORKER, "for _ in 0..workers.get() {", "for _ in 0..1 {"),
            &["hidden::augmented_starts_its_workers_and_ends_them"],
            &["with 5 workers, it has 2 threads"],
        ),
        one(
            "wraps_around_the_border",
            Replace(
                TRIVIAL,
                "if row < rows && column < columns {\n                        sum += kernel[[u, v]] * image[[row, column]];\n                    }",
                "let (row, column) = ((i + u + rows * kernel_rows - kernel_rows / 2) % rows, (j + v + columns * kernel_columns - kernel_columns / 2) % columns);\n                    sum += kernel[[u, v]] * image[[row, column]];",
            ),
            &["correlation_trivial_is_right"],
            &["correlation_trivial: out[0]["],
        ),
        one(
            "a_convolution",
            Replace(
                RAYON,
                "sums.scaled_add(kernel[[u, v]]",
                "sums.scaled_add(kernel[[kernel_rows - 1 - u, kernel_columns - 1 - v]]",
            ),
            &[
                "correlation_rayon_is_right",
                "sobel_operator_is_right",
                "hidden::correlation_rayon_is_faster_than_four_loops",
            ],
            &["correlation_rayon: out[0]["],
        ),
        one(
            "allocates_for_each_pixel",
            Replace(
                TRIVIAL,
                "let mut sum = 0.0;",
                "let mut sum = 0.0;\n            std::hint::black_box(vec![0.0_f32; 9]);",
            ),
            &["hidden::no_function_allocates_for_each_pixel"],
            &["correlation_trivial: it allocates memory 10"],
        ),
        one(
            "calls_the_library",
            Replace(
                TRIVIAL,
                "    let ((kernel_rows,",
                "    if kernel.is_empty() {\n        return Array2::from_elem(image.dim(), kernel.sum());\n    }\n    let ((kernel_rows,",
            ),
            &[],
            &["correlation_trivial: it calls sum, where loops were asked for"],
        ),
        one(
            "reads_beyond_the_image",
            Replace(KERNEL, "if row < rows && column < columns {", "if row < rows {"),
            OF_KERNEL,
            &["kernel correlation_kernel, block", "filters/src/kernel.rs:"],
        ),
        Submission {
            name: "an_empty_kernel",
            changes: vec![
                WriteFile(KERNEL, EMPTY_KERNEL),
                Replace(
                    GPU,
                    "    let values = out.to_vec()?;\n",
                    "    drop(out.to_vec()?);\n    let matrix = |shape, values: Vec<f32>| Array2::from_shape_vec(shape, values).expect(\"it fits\");\n    let (kernel, image) = (matrix((kernel_rows as usize, kernel_columns as usize), kernel), matrix((rows, columns), image));\n    let values = crate::correlation_trivial(&kernel, &image).into_iter().collect();\n",
                ),
            ],
            lost: OF_KERNEL,
            feedback: &["the kernels' own results, from PTX"],
        },
        one(
            "too_few_threads",
            Replace(
                GPU,
                "LaunchConfig::new(image.len().div_ceil(THREADS) as u32, THREADS as u32)",
                "LaunchConfig::new(image.len().div_ceil(4 * THREADS) as u32, THREADS as u32)",
            ),
            &[
                "correlation_gpu_is_right_on_the_simulator",
                "hidden::correlation_gpu_launches_a_thread_for_each_pixel",
                "hidden::correlation_gpu_reads_no_more_than_four_loops",
            ],
            &["was never written by `correlation_kernel`"],
        ),
        one(
            "sums_in_place_of_a_root",
            Replace(SOBEL, "(*x * *x + y * y).sqrt()", "x.abs() + y.abs()"),
            &["sobel_operator_is_right"],
            &["sobel_operator: out["],
        ),
        one(
            "one_direction_twice",
            Replace(SOBEL, "&filter.t()", "filter"),
            &["sobel_operator_is_right"],
            &["sobel_operator: out["],
        ),
    ]
}
