//! Atomic operations, scopes, fences, volatile accesses, flags, messages, tickets and reductions by the last block.

use super::Label::{Note, SameValue};
use super::Shows::{Descending, PlainVolatile, Searched};
use super::{Case, Int, case, check, out, race, right, x, zeros};

/// The shapes of most kernels: two or three blocks of one thread, and blocks of two warps.
const TWO: (u32, u32) = (2, 1);
const THREE: (u32, u32) = (3, 1);
const WARPS: (u32, u32) = (2, 64);

fn counters() -> Vec<Case> {
    vec![
        race("counter_of_plain_additions", WARPS, [zeros(1)]),
        race("counter_of_volatile_additions", WARPS, [zeros(1)]),
        right("counter_of_atomic_additions", WARPS, [zeros(1)]),
        race("volatile_stores_of_different_values", WARPS, [zeros(1)]),
        case(SameValue, "volatile_stores_of_one_value", WARPS, [zeros(1)]),
        right("volatile_stores_to_own_cells", WARPS, [zeros(128)]),
        race("atomic_addition_and_plain_read", WARPS, [zeros(1), out(128)]),
        right("atomic_addition_and_read_after_a_barrier", WARPS, [zeros(2), out(128)]),
        race("atomic_addition_of_all_and_read_after_a_barrier", WARPS, [zeros(1), out(128)]),
        right("atomic_maximum", WARPS, [x(128), zeros(1)]),
        race("maximum_after_a_plain_look", WARPS, [x(128), zeros(1)]),
        race("maximum_after_a_volatile_look", WARPS, [x(128), zeros(1)]).shows(PlainVolatile),
        right("maximum_by_compare_and_swap", WARPS, [x(128), zeros(1)]),
        race("maximum_by_compare_and_swap_from_a_plain_read", WARPS, [x(128), zeros(1)]),
        right("slots_by_an_atomic_counter", WARPS, [x(128), zeros(1), out(128)]),
        race("slots_used_twice", WARPS, [x(128), zeros(1), out(128)]),
        race("slots_by_a_plain_counter", WARPS, [x(128), zeros(1), out(129)]),
        right("slots_by_an_atomic_counter_of_the_block", WARPS, [x(128), out(128)]),
        race("counter_reset_by_a_plain_store", WARPS, [zeros(1)]),
        right("counter_reset_by_an_exchange", WARPS, [zeros(1)]),
        right("atomic_additions_of_two_cells", WARPS, [zeros(4)]),
        race("atomic_additions_of_different_sizes", WARPS, [zeros(2)]),
        race("atomic_addition_to_half_of_what_is_read", WARPS, [zeros(2), out(128)]),
        right("read_only_load_of_what_no_thread_writes", WARPS, [x(128), out(128)]),
        race("read_only_load_of_what_another_thread_writes", (1, 64), [zeros(65)]),
        race("read_only_load_after_a_barrier", (1, 64), [zeros(64), out(64)]),
    ]
}

fn scopes() -> Vec<Case> {
    let message = [zeros(1), zeros(1), out(1)];
    vec![
        right("additions_of_scope_block_in_own_cells", WARPS, [zeros(2)]),
        race("additions_of_scope_block_of_two_blocks", WARPS, [zeros(1)]),
        race("additions_of_scope_block_and_device", WARPS, [zeros(1)]),
        right("additions_of_scope_system", WARPS, [zeros(1)]),
        race("message_fenced_for_the_block", TWO, message.clone()),
        race("message_received_for_the_block", TWO, message.clone()),
        right("message_within_a_block", (1, 64), message.clone()),
        race("message_within_a_block_without_a_fence", (1, 64), message.clone()),
        right("message_fenced_for_the_system", TWO, message.clone()),
        race("flag_released_for_the_block", TWO, message.clone()),
        race("flag_acquired_for_the_block", TWO, message.clone()),
        right("flag_of_scope_block_within_a_block", (1, 64), message),
    ]
}

fn messages() -> Vec<Case> {
    let message = [zeros(1), zeros(1), out(1)];
    let hops = [zeros(1), zeros(2), out(1)];
    let of_block = [zeros(64), zeros(64), out(64)];
    vec![
        right("message_with_fences", TWO, message.clone()),
        race("message_without_the_writers_fence", TWO, message.clone()),
        race("message_without_the_readers_fence", TWO, message.clone()),
        race("message_with_the_fence_before_the_box", TWO, message.clone()),
        race("message_with_the_fence_before_the_wait", TWO, message.clone()),
        right("message_released_and_acquired", TWO, message.clone()),
        race("message_by_relaxed_accesses", TWO, message.clone()),
        right("message_by_relaxed_accesses_with_fences", TWO, message.clone()),
        race("message_released_and_not_acquired", TWO, message.clone()),
        race("message_acquired_and_not_released", TWO, message.clone()),
        race("message_released_before_it_is_complete", TWO, [zeros(2), zeros(1), out(1)]),
        race("message_read_before_the_wait", TWO, message.clone()),
        race("message_by_a_plain_flag", TWO, message.clone()),
        right("message_over_two_hops", THREE, hops.clone()),
        race("message_over_a_relaxed_hop", THREE, hops),
        right("message_over_two_atomic_hops", THREE, message.clone()),
        race("message_overwritten", THREE, message.clone()),
        right("message_of_a_block", WARPS, of_block.clone()),
        race("message_of_a_block_without_the_writers_barrier", WARPS, of_block.clone()),
        race("message_of_a_block_without_the_readers_barrier", WARPS, of_block.clone()),
        right("messages_of_each_thread", WARPS, of_block.clone()),
        race("messages_of_the_other_thread", WARPS, of_block),
        race("message_of_the_warp_that_has_not_been_waited_for", WARPS, [zeros(2), zeros(2), out(1)]),
        race("volatile_box_and_flag", TWO, message.clone()).shows(PlainVolatile),
        race("plain_box_and_volatile_flag", TWO, message.clone()),
        right("plain_box_and_volatile_flag_with_fences", TWO, message.clone()),
        race("volatile_box_read_plainly", TWO, message),
        right("volatile_look_at_an_atomic_counter", (1, 64), [zeros(1), out(1)]),
        race("volatile_look_at_a_plain_store", (1, 64), [zeros(1), out(1)]),
        race("volatile_flag_that_two_answer", THREE, [zeros(1), out(1)]).cooperative(),
        right("volatile_flag_by_turns", TWO, [zeros(1), zeros(1)]),
    ]
}

fn handshakes() -> Vec<Case> {
    let ring = [zeros(2), zeros(1), zeros(1), out(1), Int(3)];
    vec![
        right("handshake", TWO, [zeros(1), zeros(2), out(1), Int(3)]).cooperative(),
        race("handshake_without_the_answer", TWO, [zeros(1), zeros(1), out(1)]).cooperative(),
        race("handshake_with_an_early_answer", TWO, [zeros(1), zeros(2), out(1)]).cooperative(),
        race("handshake_with_a_relaxed_answer", TWO, [zeros(1), zeros(2), out(1)]).cooperative(),
        right("ball_between_two_blocks", TWO, [zeros(1), zeros(1), Int(5)]).cooperative(),
        race("ball_that_is_not_acquired", TWO, [zeros(1), zeros(1), Int(5)]).cooperative(),
        race("ball_that_is_passed_too_early", TWO, [zeros(1), zeros(1), Int(5)]).cooperative(),
        right("ring_of_slots", TWO, ring.clone()).cooperative(),
        race("ring_with_a_slot_too_few", TWO, ring).cooperative().shows(Searched),
        race("look_of_block_0_at_block_1", TWO, [zeros(1), zeros(1), out(1)]).shows(Descending),
        race("look_of_block_1_at_block_0", TWO, [zeros(1), zeros(1), out(1)]),
        right("look_with_fences", TWO, [zeros(1), zeros(1), out(1)]),
        race("flags_raised_after_the_look", TWO, [zeros(2), out(1)]).shows(Searched),
        right("flags_raised_before_the_look", TWO, [zeros(2), out(1)]),
        race("early_birds", (1, 4), [zeros(1), out(1)]),
        race("early_birds_of_the_second_warp", (1, 64), [zeros(1), out(1)]).shows(Descending),
        right("one_early_bird", WARPS, [zeros(1), out(1)]),
    ]
}

fn readers_and_tickets() -> Vec<Case> {
    let readers = |n: i32| [zeros(1), out(64), zeros(1), Int(n)];
    let add_up = [x(4), out(4), zeros(1), out(1)];
    let of_all = [x(192), out(192), zeros(1), out(64)];
    vec![
        right("all_readers_release", WARPS, readers(64)),
        race("one_reader_of_four_does_not_release", WARPS, readers(4)),
        race("one_reader_of_a_warp_does_not_release", WARPS, readers(32)),
        race("one_reader_of_two_warps_does_not_release", WARPS, readers(64)),
        race("readers_of_one_block_and_a_writer_of_another", WARPS, [zeros(1), out(64)]),
        right("last_block_adds_up", (4, 32), add_up.clone()),
        race("last_block_without_fences", (4, 32), add_up.clone()),
        case(Note, "last_block_without_its_fence", (4, 32), add_up.clone()),
        right("last_block_of_all_threads", (3, 64), of_all.clone()),
        right("last_block_with_a_fence_of_each_thread", (3, 64), of_all.clone()),
        race("last_block_without_the_barrier_before_the_ticket", (3, 64), of_all.clone()),
        race("last_block_without_the_barrier_after_the_ticket", (3, 64), of_all),
        race("last_block_but_one_adds_up", (4, 32), [x(4), zeros(4), zeros(1), out(1)]),
        race("block_0_adds_up_without_a_ticket", (4, 32), [x(4), zeros(4), out(1)]),
        right("work_by_tickets", WARPS, [zeros(1), out(300), Int(300)]),
        race("work_by_plain_tickets", WARPS, [zeros(1), out(300), Int(300)]),
    ]
}

#[test]
fn each_kernel_on_order_has_its_label() {
    let all = [counters(), scopes(), messages(), handshakes(), readers_and_tickets()].into_iter().flatten();
    check("order.cu", include_str!("order.cu"), &all.collect::<Vec<_>>());
}
