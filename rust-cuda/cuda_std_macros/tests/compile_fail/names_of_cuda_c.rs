//! A kernel with the names of CUDA C.

use cuda_std::{GlobalMut, kernel, shared_array};

#[kernel]
fn as_in_c(x: &[f32], out: GlobalMut<f32>) {
    let i = (blockIdx.x * blockDim.x + threadIdx.x) as usize;
    let stride = gridDim.x * blockDim.x;
    let tile = shared_array![f32; 64];
    tile.set(threadIdx.x as usize, __ldg(x, i));
    __syncthreads();
    let sum = __shfl_down_sync(0xffff_ffff, tile.get(i), 16) + __shfl_xor_sync(!0, 1.0, 1);
    let vote = __ballot_sync(!0, sum > 0.0) + __any_sync(!0, true) + __all_sync(!0, true);
    if threadIdx.x % warpSize == 0 {
        atomicAdd(out, sum);
        atomicMax(out, __popc(vote));
        atomicCAS(out, 0, 1);
        __threadfence();
    }
}

/// Variables of these names are their own.
#[kernel]
fn as_variables(out: GlobalMut<u32>) {
    let blockIdx = [1, 2];
    out.set(0, blockIdx[0]);
}

fn main() {}
