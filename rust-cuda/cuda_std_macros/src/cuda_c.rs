//! Names of CUDA C, as a person who knows it writes them, and what they are in Rust.

/// The Rust for a variable or function of CUDA C. Only names that no function in Rust has by its conventions.
pub(crate) fn in_rust(name: &str) -> Option<&'static str> {
    let ours = match name {
        "threadIdx" => "`thread::thread_idx_x()`, or `_y`, `_z`",
        "blockIdx" => "`thread::block_idx_x()`, or `_y`, `_z`",
        "blockDim" => "`thread::block_dim_x()`, or `_y`, `_z`",
        "gridDim" => "`thread::grid_dim_x()`, or `_y`, `_z`",
        "warpSize" => "a warp has 32 lanes",
        "__syncthreads" => "`thread::sync_threads()`",
        "__syncthreads_count" => "`thread::sync_threads_count(predicate)`",
        "__syncthreads_and" => "`thread::sync_threads_and(predicate)`",
        "__syncthreads_or" => "`thread::sync_threads_or(predicate)`",
        "__syncwarp" => "`warp::sync_warp()`",
        "__threadfence" => "`thread::device_fence()`",
        "__threadfence_block" => "`thread::block_fence()`",
        "__threadfence_system" => "`thread::system_fence()`",
        "atomicAdd" => "`x.atomic(i).fetch_add(value)`",
        "atomicSub" => "`x.atomic(i).fetch_sub(value)`",
        "atomicMax" => "`x.atomic(i).fetch_max(value)`",
        "atomicMin" => "`x.atomic(i).fetch_min(value)`",
        "atomicAnd" => "`x.atomic(i).fetch_and(value)`",
        "atomicOr" => "`x.atomic(i).fetch_or(value)`",
        "atomicXor" => "`x.atomic(i).fetch_xor(value)`",
        "atomicExch" => "`x.atomic(i).swap(value)`",
        "atomicCAS" => "`x.atomic(i).compare_exchange(current, new)`",
        "__shfl_sync" => "`warp::shuffle_idx(value, lane)`",
        "__shfl_xor_sync" => "`warp::shuffle_xor(value, mask)`",
        "__shfl_up_sync" => "`warp::shuffle_up(value, delta)`",
        "__shfl_down_sync" => "`warp::shuffle_down(value, delta)`",
        "__match_any_sync" => "`warp::match_any(value)`",
        "__match_all_sync" => "`warp::match_all(value)`",
        "__ballot_sync" => "`warp::ballot(predicate)`",
        "__any_sync" => "`warp::any(predicate)`",
        "__all_sync" => "`warp::all(predicate)`",
        "__ldg" => "`x[i]`: memory of a `&[T]` is read through the read-only cache",
        "__popc" => "`x.count_ones()`",
        "__clz" => "`x.leading_zeros()`",
        "__brev" => "`x.reverse_bits()`",
        _ => return None,
    };
    Some(ours)
}
