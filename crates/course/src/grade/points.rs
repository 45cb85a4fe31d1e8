//! The tests and their points.

use crate::starter::Part;

/// A test with its points.
pub(super) struct Test {
    pub(super) part: Part,
    pub(super) program: Program,
    pub(super) name: &'static str,
    pub(super) points: f64,
    /// Whether it compares times, for which it needs more than one core.
    pub(super) is_timed: bool,
}

/// The test program that a test belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// The tests that students have and those of `grading/PACKAGE/hidden.rs`.
    Source,
    /// `grading/PACKAGE/ptx.rs`, on the kernels' PTX, for which it needs a toolchain.
    Ptx,
}

const fn test(part: Part, name: &'static str, points: f64) -> Test {
    Test { part, program: Program::Source, name, points, is_timed: false }
}

const fn ptx(part: Part, name: &'static str, points: f64) -> Test {
    Test { program: Program::Ptx, ..test(part, name, points) }
}

const fn speed(part: Part, name: &'static str, points: f64) -> Test {
    Test { is_timed: true, ..test(part, name, points) }
}

/// The tests of all parts: 100 points.
pub(super) const TESTS: [Test; 26] = [
    test(Part::One, "sigmoid_has_known_values", 5.0),
    test(Part::One, "sigmoid_prime_has_known_values", 5.0),
    test(Part::One, "random_weights_have_the_shapes_the_bounds_and_the_seed", 5.0),
    test(Part::One, "zeros_have_the_shapes", 3.0),
    test(Part::One, "batches_have_all_rows_in_order_and_the_remainder_last", 5.0),
    test(Part::One, "lists_are_added_pair_by_pair", 2.0),
    test(Part::Two, "max_cpu_is_right", 5.0),
    test(Part::Two, "max_rayon_is_right", 6.0),
    test(Part::Two, "max_gpu_is_right_on_the_simulator", 7.0),
    test(Part::Two, "max_gpu_takes_the_homeworks_matrices", 2.0),
    test(Part::Two, "different_shapes_are_rejected", 2.0),
    test(Part::Two, "hidden::max_gpu_launches_1000_blocks_of_1000_threads", 2.0),
    test(Part::Two, "hidden::max_gpu_reads_and_writes_each_element_once", 1.0),
    speed(Part::Two, "hidden::max_rayon_is_faster_than_two_loops", 2.0),
    ptx(Part::Two, "max_kernels_ptx_is_right", 3.0),
    test(Part::Three, "matmul_transpose_trivial_is_right", 7.0),
    test(Part::Three, "matmul_transpose_rayon_is_right", 7.0),
    test(Part::Three, "matmul_transpose_gpu_is_right_on_the_simulator", 8.0),
    test(Part::Three, "hidden::matmul_transpose_gpu_launches_one_block_of_1024_threads", 2.0),
    test(Part::Three, "hidden::matmul_transpose_gpu_reads_no_more_than_three_loops", 1.0),
    speed(Part::Three, "hidden::matmul_transpose_rayon_is_faster_than_three_loops", 2.0),
    ptx(Part::Three, "matmul_kernels_ptx_is_right", 3.0),
    test(Part::Activation, "each_step_is_right", 4.0),
    test(Part::Activation, "the_loops_are_right", 3.0),
    test(Part::Activation, "the_kernels_are_right_on_the_simulator", 5.0),
    ptx(Part::Activation, "the_kernels_ptx_is_right", 3.0),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace_root;

    /// Every test of the starter and of the grader has points, and every name is a test's.
    #[test]
    fn grade_gives_points_for_every_test_and_100_in_all() {
        assert_eq!(TESTS.iter().map(|test| test.points).sum::<f64>(), 100.0);
        for part in Part::HOMEWORK {
            let package = part.package();
            let files = [
                (Program::Source, "", format!("starter/{package}/tests/public.rs")),
                (Program::Source, "hidden::", format!("grading/{package}/hidden.rs")),
                (Program::Ptx, "", format!("grading/{package}/ptx.rs")),
            ];
            let mut found = Vec::new();
            for (program, module, file) in files {
                let text =
                    std::fs::read_to_string(workspace_root().join("crates/course").join(file)).unwrap_or_default();
                let names = text.split("#[test]\nfn ").skip(1).filter_map(|rest| rest.split('(').next());
                found.extend(names.map(|name| (program, format!("{module}{name}"))));
            }
            let graded = TESTS.iter().filter(|test| test.part == part);
            let mut graded: Vec<_> = graded.map(|test| (test.program, test.name.to_owned())).collect();
            for tests in [&mut found, &mut graded] {
                tests.sort_by(|a, b| a.1.cmp(&b.1));
            }
            assert_eq!(found, graded);
        }
    }
}
