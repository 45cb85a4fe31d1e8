//! Guards, bounds, barriers, tiles, and writes of the same value.

use super::Label::{BarrierDivergence, Note, OutOfBounds, SameValue, Uninitialised};
use super::{Argument, Buffer, Case, Int, Ints, case, check, out, race, right, x, zeros};
use crate::run::Elements::{Bytes, Floats};

fn table(values: impl IntoIterator<Item = i32>) -> Argument {
    Buffer(Ints(values.into_iter().collect()))
}

fn floats(count: usize) -> Argument {
    Buffer(Floats(vec![0.5; count]))
}

fn all() -> Vec<Case> {
    vec![
        right("guarded_copy", (2, 64), [x(100), out(100), Int(100)]),
        case(OutOfBounds, "copy_without_a_guard", (2, 64), [x(100), out(100), Int(100)]),
        right("grid_stride_copy", (2, 32), [x(100), out(100), Int(100)]),
        case(OutOfBounds, "grid_stride_one_too_far", (2, 32), [x(128), out(128), Int(128)]),
        race("grid_stride_by_the_block_only", (2, 32), [x(100), out(100), Int(100)]),
        right("reversed_copy", (2, 64), [x(100), out(100), Int(100)]),
        case(OutOfBounds, "reversed_copy_off_by_one", (2, 64), [x(100), out(100), Int(100)]),
        right("guard_of_both_dimensions", ((2, 2), (8, 8)), [out(120), Int(12), Int(10)]),
        case(OutOfBounds, "guard_of_one_dimension", ((2, 2), (8, 8)), [out(120), Int(12), Int(10)]),
        race("guard_of_the_other_dimension", ((2, 2), (8, 8)), [out(120), Int(12), Int(10)]),
        right("stencil_with_guards", (2, 64), [x(100), out(100), Int(100)]),
        case(OutOfBounds, "stencil_without_the_right_guard", (2, 64), [x(100), out(100), Int(100)]),
        right("wrapping_unsigned_guard", (1, 64), [x(60), out(60), Int(60)]),
        case(OutOfBounds, "signed_guard_of_a_negative_index", (1, 64), [x(60), out(60), Int(60)]),
        right("tile_with_halo", (1, 64), [x(64), out(64)]),
        case(OutOfBounds, "tile_without_room_for_its_halo", (1, 64), [x(64), out(64)]),
        right("tile_of_dynamic_memory", (1, 64), [x(64), out(64)]).dynamic_shared(256),
        case(OutOfBounds, "tile_beyond_dynamic_memory", (1, 64), [x(64), out(64)]).dynamic_shared(128),
        right("vectors_of_four", (1, 32), [floats(99), floats(99), Int(99)]),
        case(OutOfBounds, "vectors_of_four_rounded_up", (1, 32), [floats(99), floats(99), Int(99)]),
        right("scatter_by_a_permutation", (2, 32), [table((0..64).map(|i| i * 5 % 64)), out(64)]),
        race("scatter_by_a_table_with_repeats", (2, 32), [table((0..64).map(|i| i * 6 % 64)), out(64)]),
        right("scatter_by_the_block_size", (4, 8), [out(64), Int(8)]),
        race("scatter_by_too_small_a_stride", (4, 8), [out(64), Int(7)]),
        race("shift_in_place", (1, 64), [x(65)]),
        right("shift_through_a_register", (1, 64), [x(65)]),
        race("shift_of_two_blocks", (2, 64), [x(129)]),
        right("swap_of_pairs", (1, 64), [x(64)]),
        race("swap_by_both_of_a_pair", (1, 64), [x(64)]),
        right("odd_even_sort", (1, 32), [x(64), Int(64)]),
        race("odd_even_sort_without_a_barrier", (1, 32), [x(64), Int(64)]),
        right("bytes_of_one_word", (2, 62), [Buffer(Bytes(vec![0; 124]))]),
        race("bits_of_one_word", (1, 32), [zeros(1)]),
        right("bits_of_one_word_atomically", (2, 32), [zeros(1)]),
        right("neighbour_after_a_barrier", (1, 64), [x(64), out(64)]),
        race("neighbour_without_a_barrier", (1, 64), [x(64), out(64)]),
        race("fence_in_place_of_a_barrier", (1, 64), [x(64), out(64)]),
        right("tree_reduction", (2, 64), [x(128), out(2)]),
        race("tree_reduction_with_one_barrier", (2, 64), [x(128), out(2)]),
        race("tree_reduction_read_too_early", (2, 64), [x(128), out(128)]),
        right("prefix_sums_of_two_buffers", (1, 64), [x(64), out(64)]),
        right("prefix_sums_of_one_buffer", (1, 64), [x(64), out(64)]),
        race("prefix_sums_with_one_barrier", (1, 64), [x(64), out(64)]),
        right("tiles_with_two_barriers", (1, 64), [x(192), out(64), Int(192)]),
        race("tiles_without_the_second_barrier", (1, 64), [x(192), out(64), Int(192)]),
        race("tiles_without_the_first_barrier", (1, 64), [x(192), out(64), Int(192)]),
        right("double_buffer", (1, 64), [x(192), out(64), Int(192)]),
        race("double_buffer_of_one_half", (1, 64), [x(192), out(64), Int(192)]),
        right("double_buffer_filled_ahead", (1, 64), [x(192), out(64), Int(192)]),
        race("double_buffer_with_half_the_barriers", (1, 64), [x(192), out(64), Int(192)]),
        right("histogram_in_shared_memory", (2, 64), [x(128), zeros(16)]),
        race("histogram_zeroed_without_a_barrier", (2, 64), [x(128), zeros(16)]),
        race("histogram_read_without_a_barrier", (2, 64), [x(128), zeros(16)]),
        race("histogram_with_plain_additions", (2, 64), [x(128), zeros(16)]),
        right("broadcast_of_thread_0", (1, 64), [x(4), out(64), Int(4)]),
        race("broadcast_without_the_second_barrier", (1, 64), [x(4), out(64), Int(4)]),
        right("barrier_in_a_branch_of_all", (1, 64), [x(64), out(64), Int(1)]),
        case(Note, "barrier_in_a_branch_of_some", (1, 64), [x(64), out(64)]),
        case(Note, "barrier_behind_a_guard", (1, 64), [x(64), out(64), Int(50)]),
        right("barrier_behind_a_guard_of_whole_warps", (1, 64), [x(64), out(64), Int(32)]),
        case(BarrierDivergence, "barrier_behind_a_branch_of_lanes", (1, 64), [x(64), out(64), Int(50)]),
        right("barrier_before_a_guard", (1, 64), [x(64), out(64), Int(50)]),
        right("barrier_in_a_loop_of_equal_length", (1, 64), [table([4]), out(64)]),
        right("barrier_in_a_loop_of_each_length", (1, 64), [table([3, 5]), out(64)]),
        case(Note, "barrier_in_a_loop_of_each_threads_length", (1, 64), [out(64)]),
        case(Note, "a_barrier_in_each_branch", (1, 64), [x(64), out(64)]),
        case(BarrierDivergence, "a_barrier_in_each_branch_of_lanes", (1, 64), [x(64), out(64)]),
        case(Note, "sum_of_two_warps_by_all_lanes", (1, 64), [x(64), out(1)]),
        case(Uninitialised, "sum_of_32_warps_of_which_two_exist", (1, 64), [x(64), out(1)]),
        right("barrier_of_a_warp_with_few_lanes", (1, 48), [x(48), out(48)]),
        right("barrier_in_a_branch_of_the_block", (2, 64), [x(128), out(128)]),
        right("rounds_until_no_thread_changes_a_cell", (1, 64), [table((0..64).map(|i| i * 7 % 10))]),
        race("rounds_with_a_plain_flag", (1, 64), [table((0..64).map(|i| i * 7 % 10))]),
        race("vector_over_cells_of_another_thread", (1, 4), [floats(4)]),
        race("byte_of_a_word_that_another_thread_writes", (1, 4), [out(1)]),
        race("other_block_after_a_barrier_of_the_block", (2, 64), [zeros(128), out(128)]),
        right("named_barriers_of_two_warps", (1, 64), [x(128), out(32), Int(128)]),
        race("named_barriers_of_one_direction", (1, 64), [x(64), out(32)]),
        race("named_barrier_of_the_wrong_warps", (1, 96), [x(96), out(96)]),
        case(SameValue, "found_by_all", (2, 64), [zeros(1)]),
        case(SameValue, "found_by_some", (2, 64), [x(128), zeros(1)]),
        right("found_by_one", (2, 64), [x(128), zeros(1)]),
        case(SameValue, "found_by_all_and_read_after_a_barrier", (1, 64), [x(64), out(64)]),
        case(SameValue, "first_element_by_all", (2, 64), [x(1), out(1)]),
        race("same_value_but_of_one", (2, 64), [out(1)]),
        race("different_values", (2, 64), [out(1)]),
        case(SameValue, "same_value_and_own_read", (1, 64), [out(64)]),
        race("two_branches_of_different_values", (2, 32), [out(2)]),
        race("last_of_the_same_value_twice", (1, 2), [out(1)]),
        case(SameValue, "value_stored_again_while_all_read", (1, 64), [out(64)]),
        race("other_value_stored_while_all_read", (1, 64), [out(64)]),
        race("value_stored_twice_while_all_read", (1, 64), [out(64)]),
        race("largest_stored_by_those_who_read_it", (1, 64), [x(4), zeros(1)]),
    ]
}

#[test]
fn each_kernel_on_data_has_its_label() {
    check("data.cu", include_str!("data.cu"), &all());
}
