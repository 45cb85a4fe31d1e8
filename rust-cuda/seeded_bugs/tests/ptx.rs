//! The PTX contains every kernel with its bug at the marked line.

use seeded_bugs::{PTX, cooperative, marked_line};

/// Each kernel with its marks, and an instruction that the compiler must keep at each marked line.
const BUGS: [(&str, &[(&str, &str)]); 13] = [
    ("off_by_one", &[("off_by_one", "ld.global")]),
    ("missing_barrier", &[("missing_barrier", "ld.shared")]),
    ("missing_second_barrier", &[("overwrote", "st.shared"), ("missing_second_barrier", "ld.shared")]),
    ("barrier_in_a_branch", &[("barrier_in_a_branch", "bar.sync")]),
    ("two_barriers", &[("first_barrier", "bar.sync"), ("two_barriers", "bar.sync")]),
    ("swapped_index", &[("swapped_index", "st.global")]),
    ("unwritten_shared", &[("unwritten_shared", "ld.shared")]),
    ("accumulates_into_nothing", &[("accumulates_into_nothing", "ld.global")]),
    ("one_cell_for_all_blocks", &[("one_cell_for_all_blocks", "st.global")]),
    ("reads_the_next_block", &[("reads_the_next_block", "st.global")]),
    ("wrong_lane", &[("wrong_lane", "shfl.sync.bfly.b32")]),
    ("lanes_that_left", &[("lanes_that_left", "shfl.sync.bfly.b32")]),
    ("panics", &[("panics", "div.u32")]),
];

/// The same for kernels with cooperative launches. The grid barrier polls its state with
/// `ld.acquire`.
const COOPERATIVE: [(&str, &[(&str, &str)]); 13] = [
    ("missing_grid_barrier", &[("missing_grid_barrier", "st.global")]),
    ("race_in_a_later_epoch", &[("race_in_a_later_epoch", "st.global")]),
    ("barrier_of_the_block", &[("barrier_of_the_block", "st.global")]),
    ("block_that_returns", &[("block_that_returns", "ld.acquire.gpu.global")]),
    ("one_round_more", &[("one_round_more", "ld.acquire.gpu.global")]),
    (
        "two_grid_barriers",
        &[("first_grid_barrier", "ld.acquire.gpu.global"), ("two_grid_barriers", "ld.acquire.gpu.global")],
    ),
    ("two_states", &[("two_states", "ld.acquire.gpu.global")]),
    ("threads_that_return", &[("threads_that_return", "bar.sync")]),
    ("block_or_grid", &[("waits_for_the_block", "bar.sync"), ("block_or_grid", "bar.sync")]),
    ("warp_or_grid", &[("warp_or_grid", "vote.sync.ballot")]),
    ("waits", &[("waits", "atom.relaxed.gpu.global.add.u32")]),
    ("writes_the_state", &[("writes_the_state", "ld.acquire.gpu.global")]),
    ("panics_after_the_barrier", &[("panics_after_the_barrier", "div.u32")]),
];

/// The kernel's PTX, from its name to the end of its body.
fn entry<'a>(ptx: &'a str, kernel: &str) -> &'a str {
    let start = ptx.find(&format!(".visible .entry {kernel}(")).unwrap_or_else(|| panic!("kernel {kernel} is missing"));
    let length = ptx[start..].find("\n}\n").expect("the body must end");
    &ptx[start..start + length]
}

/// The instructions that `.loc` attributes to `line`.
fn instructions_of(entry: &str, line: u32) -> Vec<&str> {
    let mut is_at_line = false;
    let mut found = Vec::new();
    for text in entry.lines().map(str::trim) {
        match text.strip_prefix(".loc") {
            Some(operands) => is_at_line = operands.split_whitespace().nth(1) == Some(&line.to_string()),
            None if is_at_line => found.push(text),
            None => {}
        }
    }
    found
}

#[test]
fn ptx_has_each_bug_at_the_line_of_its_mark() {
    for ptx in PTX {
        assert_eq!(ptx.text().matches(".visible .entry ").count(), BUGS.len() + COOPERATIVE.len());
        for file in ["seeded_bugs/src/lib.rs", "seeded_bugs/src/cooperative.rs"] {
            assert!(
                ptx.text().lines().any(|line| line.starts_with(".file\t") && line.contains(&format!("\"{file}\"")))
            );
        }
        let lines: [fn(&str) -> Option<u32>; 2] = [marked_line, cooperative::marked_line];
        let bugs = BUGS.iter().map(|bug| (bug, lines[0])).chain(COOPERATIVE.iter().map(|bug| (bug, lines[1])));
        for ((kernel, marks), line_of) in bugs {
            for (mark, instruction) in *marks {
                let line = line_of(mark).expect("the source must have the mark");
                let instructions = instructions_of(entry(ptx.text(), kernel), line);
                let is_there = instructions.iter().any(|text| text.starts_with(instruction));
                assert!(is_there, "{kernel}: no {instruction} at line {line}, only {instructions:?}");
            }
        }
    }
}
