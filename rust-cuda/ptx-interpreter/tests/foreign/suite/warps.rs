//! Warp-level operations, asynchronous copies and clusters.

use super::Label::{NoBlock, OutOfBounds, WarpOperation};
use super::Shows::PlainVolatile;
use super::{Case, Int, case, check, out, race, right, x, zeros};

/// One block of one warp, and one of two warps.
const WARP: (u32, u32) = (1, 32);
const WARPS: (u32, u32) = (1, 64);
/// Blocks in clusters of two.
const CLUSTER: (u32, u32) = (2, 32);
const CLUSTERS: (u32, u32) = (4, 32);

fn lanes() -> Vec<Case> {
    vec![
        right("sum_by_shuffles", WARPS, [x(64), out(2)]),
        race("sum_by_shuffles_of_one_cell", WARPS, [x(64), out(1)]),
        case(WarpOperation, "shuffle_behind_a_guard", WARP, [x(32), out(32), Int(20)]),
        right("shuffle_of_the_lanes_with_a_value", WARP, [x(32), out(32), Int(20)]),
        right("reversal_in_a_warp", WARPS, [x(64), out(64)]),
        race("reversal_in_step", WARPS, [x(64), out(64)]),
        race("reversal_of_two_warps_with_a_warp_barrier", WARPS, [x(64), out(64)]),
        race("fence_in_place_of_a_warp_barrier", WARP, [x(32), out(32)]),
        race("shuffle_in_place_of_a_warp_barrier", WARP, [x(32), out(32)]),
        right("warp_barriers_in_a_loop", WARPS, [x(64), out(2)]),
        race("one_warp_barrier_in_a_loop", WARPS, [x(64), out(2)]),
        race("volatile_reduction_in_step", WARPS, [x(64), out(1)]).shows(PlainVolatile),
        right("warp_barrier_of_half_a_warp", WARP, [x(32), out(32)]),
        right("warp_barrier_of_each_half_in_its_branch", WARP, [x(32), out(32)]),
        race("warp_barrier_of_the_wrong_half", WARP, [x(32), out(32)]),
        right("shuffle_in_tiles_of_a_warp", WARPS, [x(64), out(8)]),
        case(WarpOperation, "shuffle_across_tiles_of_a_warp", WARPS, [x(64), out(64)]),
        right("warp_barrier_after_some_lanes_have_exited", WARP, [x(32), out(32)]),
        case(WarpOperation, "shuffle_of_lanes_that_are_no_members", WARP, [x(32), out(32)]),
        case(WarpOperation, "warp_barrier_that_some_lanes_skip", WARP, [x(32), out(32)]),
        race("lanes_of_two_branches", WARP, [x(32), out(32)]),
        right("lanes_after_two_branches", WARP, [x(32), out(32)]),
        right("one_addition_a_warp", (2, 64), [x(128), zeros(1)]),
        race("one_plain_addition_a_warp", (2, 64), [x(128), zeros(1)]),
        right("slots_of_a_warp", (2, 64), [x(128), zeros(1), out(128)]),
        race("slots_of_a_warp_off_by_one", (2, 64), [x(128), zeros(1), out(129)]),
        right("sums_of_warps_by_shared_memory", WARPS, [x(64), out(1)]),
        race("sums_of_warps_with_a_warp_barrier", WARPS, [x(64), out(1)]),
    ]
}

fn copies() -> Vec<Case> {
    vec![
        right("copy_of_own_cell", WARPS, [x(64), out(64)]),
        race("copy_without_a_wait", WARPS, [x(64), out(64)]),
        race("copy_over_a_value_without_a_wait", WARPS, [x(64), out(64)]),
        right("copy_of_another_thread", WARPS, [x(64), out(64)]),
        race("copy_of_another_thread_without_a_barrier", WARPS, [x(64), out(64)]),
        race("copy_with_the_barrier_before_the_wait", WARPS, [x(64), out(64)]),
        right("copies_of_two_stages", WARPS, [x(192), out(64), Int(192)]),
        race("copies_of_two_stages_with_one_barrier", WARPS, [x(192), out(64), Int(192)]),
        race("copies_of_two_stages_waited_for_too_late", WARPS, [x(128), out(64)]),
        race("copy_into_a_tile_that_is_read", WARPS, [x(128), out(64)]),
        race("copy_begun_before_the_readers_barrier", WARPS, [x(128), out(64)]),
        race("copy_whose_source_is_overwritten", WARPS, [x(64), out(64)]),
        race("copy_whose_source_another_block_writes", (2, 64), [x(64), out(64)]),
    ]
}

fn clusters() -> Vec<Case> {
    let message = [zeros(2), zeros(2), out(2)];
    let cases = vec![
        right("cluster_writes_the_next_block", CLUSTERS, [out(128)]),
        race("cluster_writes_without_the_second_barrier", CLUSTER, [out(64)]),
        race("cluster_writes_with_a_barrier_of_the_block", CLUSTER, [out(64)]),
        case(NoBlock, "cluster_writes_before_the_first_barrier", CLUSTER, [out(64)]),
        right("cluster_reads_the_next_block", CLUSTERS, [out(128)]),
        case(NoBlock, "cluster_reads_a_block_that_has_ended", CLUSTER, [out(64)]),
        case(NoBlock, "cluster_reads_a_block_that_there_is_not", CLUSTER, [out(64)]),
        case(OutOfBounds, "cluster_writes_beyond_the_next_block", CLUSTER, [out(64)]),
        right("cluster_barrier_that_one_block_skips", CLUSTER, [out(64)]),
        race("cluster_overwrites_what_is_read", CLUSTER, [out(64)]),
        right("cluster_overwrites_after_a_barrier", CLUSTER, [out(64)]),
        right("cluster_works_between_arrival_and_wait", CLUSTERS, [out(128)]),
        race("cluster_writes_between_arrival_and_wait", CLUSTER, [out(64)]),
        right("cluster_additions_of_one_cluster", CLUSTERS, [zeros(2)]),
        race("cluster_additions_of_two_clusters", CLUSTERS, [zeros(1)]),
        right("cluster_message", (4, 1), message.clone()),
        race("cluster_message_fenced_for_the_block", (4, 1), message.clone()),
        race("cluster_message_to_another_cluster", (4, 1), message),
        right("cluster_barrier_orders_global_memory", CLUSTERS, [zeros(128), out(128)]),
        race("cluster_barrier_and_the_other_cluster", CLUSTERS, [zeros(128), out(128)]),
    ];
    cases.into_iter().map(|case| case.clusters_of(2)).collect()
}

#[test]
fn each_kernel_on_warps_has_its_label() {
    let all = [lanes(), copies(), clusters()].into_iter().flatten();
    check("warps.cu", include_str!("warps.cu"), &all.collect::<Vec<_>>());
}
