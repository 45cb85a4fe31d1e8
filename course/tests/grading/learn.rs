//! Wrong submissions of the extra assignment.

use super::Change::{Remove, Replace, Write};
use super::Submission;

const PUZZLES: &str = "learn/src/puzzles.rs";

/// Tests of the steps.
const STEPS: &[&str] = &[
    "step01_index",
    "step02_grid_stride",
    "step03_rows_and_columns",
    "step04_atomics",
    "step05_shared_memory",
    "step06_tree",
    "step07_shuffles",
    "step08_transposition",
    "step09_tiles",
    "step10_double_buffer",
    "hidden::step01_index_in_more_schedules",
    "hidden::step02_grid_stride_in_more_schedules",
    "hidden::step03_rows_and_columns_in_more_schedules",
    "hidden::step04_atomics_in_more_schedules",
    "hidden::step05_shared_memory_in_more_schedules",
    "hidden::step06_tree_in_more_schedules",
    "hidden::step07_shuffles_in_more_schedules",
    "hidden::step08_transposition_in_more_schedules",
    "hidden::step09_tiles_in_more_schedules",
    "hidden::step10_double_buffer_in_more_schedules",
];

/// End of `dot`'s first line, and its barrier.
const BARRIER_OF_DOT: &str = "element(y, i));\n    thread::sync_threads();\n";

pub(crate) fn all() -> Vec<Submission> {
    let of = |name, changes, lost, feedback| Submission { name, changes, lost, feedback };
    vec![
        of(
            "adds_11",
            vec![Replace(PUZZLES, "out.set(i, x[i] + 10)", "out.set(i, x[i] + 11)")],
            &["puzzle_map", "hidden::puzzle_map_in_more_schedules"],
            &["map: out[0] is 14, expected 13, for size 12"],
        ),
        of(
            "without_a_barrier",
            vec![Replace(PUZZLES, BARRIER_OF_DOT, "element(y, i));\n")],
            &["puzzle_dot", "hidden::puzzle_dot_in_more_schedules"],
            &[
                "dot: kernel dot, block (0, 0, 0), thread (0, 0, 0), learn/src/puzzles.rs:",
                "is read before it is written",
            ],
        ),
        of(
            "a_step_without_a_guard",
            vec![Replace("learn/src/step01_index.rs", "if i < x.len() {", "if true {")],
            &["step01_index", "hidden::step01_index_in_more_schedules"],
            &["double: kernel double, block (0, 0, 0), thread (1, 0, 0), learn/src/step01_index.rs:"],
        ),
        // A file saved from the kernel lab, with the steps unchanged.
        of(
            "the_puzzles_alone",
            [
                "lib.rs",
                "cases.rs",
                "checks.rs",
                "drive.rs",
                "step01_index.rs",
                "step02_grid_stride.rs",
                "step03_rows_and_columns.rs",
                "step04_atomics.rs",
                "step05_shared_memory.rs",
                "step06_tree.rs",
                "step07_shuffles.rs",
                "step08_transposition.rs",
                "step09_tiles.rs",
                "step10_double_buffer.rs",
            ]
            .map(|file| Remove(format!("learn/src/{file}").leak()))
            .into(),
            STEPS,
            &["double: kernel double, ", "not written yet: sum_by_halves", "60 of 100 points"],
        ),
        // The judge compares values; it does not trust messages of the submission's process.
        of(
            "other_cases",
            vec![
                Replace("learn/src/cases.rs", "x.iter().map(|x| x + 10)", "x.iter().map(|x| x + 11)"),
                Replace(PUZZLES, "out.set(i, x[i] + 10)", "out.set(i, x[i] + 11)"),
            ],
            &["puzzle_map", "hidden::puzzle_map_in_more_schedules"],
            &["map: out[0] is 14, expected 13, for size 12"],
        ),
        of(
            "no_kernels",
            vec![Write(PUZZLES, "# My puzzles\n\nThey are all solved.\n")],
            &["learn"],
            &["it does not compile:", "learn/src/puzzles.rs:1:3: error: "],
        ),
        of(
            "more_than_kernels",
            vec![Replace(
                PUZZLES,
                "/// Index of an element",
                "pub fn starts() {\n    let _ = std::process::Command::new(\"true\");\n}\n\n/// Index of an element",
            )],
            &[],
            &["to look at: learn/src/puzzles.rs, starts: Command: it starts programs", "100 of 100 points"],
        ),
    ]
}
