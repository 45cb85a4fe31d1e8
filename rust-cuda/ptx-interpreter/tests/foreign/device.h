// Device built-ins for the kernels, for clang without CUDA's headers and for NVRTC.
#pragma once

// Macros have no line numbers of their own, so a fault names the calling line.
#ifdef __clang__
#define DEVICE __attribute__((device, nodebug)) inline
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#include <__clang_cuda_builtin_vars.h>

typedef unsigned long long u64;

struct alignas(16) float4 {
    float x, y, z, w;
};

DEVICE void __syncwarp() { __nvvm_bar_warp_sync(~0u); }
DEVICE void __threadfence() { __nvvm_membar_gl(); }
DEVICE int atomicAdd(int *p, int v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }
DEVICE unsigned atomicInc(unsigned *p, unsigned v) { return __nvvm_atom_inc_gen_ui(p, v); }
DEVICE int atomicMax(int *p, int v) { return __nvvm_atom_max_gen_i(p, v); }
DEVICE int atomicCAS(int *p, int old, int v) { return __nvvm_atom_cas_gen_i(p, old, v); }
DEVICE int atomicExch(int *p, int v) { return __nvvm_atom_xchg_gen_i(p, v); }
DEVICE float atomicAdd(float *p, float v) { return __nvvm_atom_add_gen_f(p, v); }
DEVICE int __shfl_xor_sync(unsigned m, int v, int lane) { return __nvvm_shfl_sync_bfly_i32(m, v, lane, 31); }
DEVICE float __shfl_down_sync(unsigned m, float v, int d) { return __nvvm_shfl_sync_down_f32(m, v, d, 31); }
DEVICE int __shfl_up_sync(unsigned m, int v, int d) { return __nvvm_shfl_sync_up_i32(m, v, d, 0); }
DEVICE int __shfl_sync(unsigned m, int v, int lane) { return __nvvm_shfl_sync_idx_i32(m, v, lane, 31); }
DEVICE unsigned __ballot_sync(unsigned m, int p) { return __nvvm_vote_ballot_sync(m, p); }
DEVICE int __any_sync(unsigned m, int p) { return __nvvm_vote_any_sync(m, p); }
DEVICE int __popc(unsigned v) { return __builtin_popcount(v); }
DEVICE int __clz(int v) { return v == 0 ? 32 : __builtin_clz(v); }
DEVICE unsigned __brev(unsigned v) { return __builtin_bitreverse32(v); }
DEVICE float fmaxf(float a, float b) { return __nvvm_fmax_f(a, b); }
DEVICE float sqrtf(float a) { return __nvvm_sqrt_rn_f(a); }
DEVICE float fmaf(float a, float b, float c) { return __nvvm_fma_rn_f(a, b, c); }
#else
#define DEVICE __device__ inline
typedef unsigned long long u64;
#endif

// 2^x, approximated.
DEVICE float power_of_two(float x) {
    float y;
    asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

DEVICE float exponential(float x) { return power_of_two(x * 1.44269504f); }
