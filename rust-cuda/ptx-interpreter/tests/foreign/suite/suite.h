// Built-ins of the suite's kernels that device.h does not have. They are inline PTX, so that each compiler emits the
// same accesses; a fault in one of them names the calling line.
#pragma once
#include "../device.h"

#define KERNEL extern "C" __global__ void
#define BUILT_IN __attribute__((device, nodebug, always_inline)) inline

BUILT_IN int thread_in_grid() { return blockIdx.x * blockDim.x + threadIdx.x; }

// Atomic operations of a scope.
#define ATOMICS(suffix, scope)                                                                                         \
    BUILT_IN int atomicAdd##suffix(int *p, int v) {                                                                    \
        int old;                                                                                                       \
        asm volatile("atom." scope ".add.s32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v) : "memory");                  \
        return old;                                                                                                    \
    }                                                                                                                  \
    BUILT_IN int atomicExch##suffix(int *p, int v) {                                                                   \
        int old;                                                                                                       \
        asm volatile("atom." scope ".exch.b32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v) : "memory");                 \
        return old;                                                                                                    \
    }                                                                                                                  \
    BUILT_IN int atomicCAS##suffix(int *p, int expected, int v) {                                                      \
        int old;                                                                                                       \
        asm volatile("atom." scope ".cas.b32 %0, [%1], %2, %3;"                                                        \
                     : "=r"(old) : "l"(p), "r"(expected), "r"(v) : "memory");                                          \
        return old;                                                                                                    \
    }
ATOMICS(_block, "cta")
ATOMICS(_cluster, "cluster")
ATOMICS(_system, "sys")
BUILT_IN u64 atomicAdd(u64 *p, u64 v) {
    u64 old;
    asm volatile("atom.add.u64 %0, [%1], %2;" : "=l"(old) : "l"(p), "l"(v) : "memory");
    return old;
}
BUILT_IN int atomicOr(int *p, int v) {
    int old;
    asm volatile("atom.or.b32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v) : "memory");
    return old;
}

// Loads and stores. A plain load is also for a variable in shared memory whose address a kernel does not use otherwise:
// clang 14 takes it for unchanged at a barrier.
#define ACCESSES(name, qualifiers)                                                                                     \
    BUILT_IN int load_##name(const int *p) {                                                                           \
        int v;                                                                                                         \
        asm volatile("ld" qualifiers ".u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");                                  \
        return v;                                                                                                      \
    }
#define STORES(name, qualifiers)                                                                                       \
    BUILT_IN void store_##name(int *p, int v) {                                                                        \
        asm volatile("st" qualifiers ".u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");                                    \
    }
ACCESSES(plain, "")
ACCESSES(read_only, ".global.nc")
ACCESSES(relaxed, ".relaxed.gpu")
ACCESSES(acquire, ".acquire.gpu")
ACCESSES(acquire_block, ".acquire.cta")
STORES(plain, "")
STORES(relaxed, ".relaxed.gpu")
STORES(release, ".release.gpu")
STORES(release_block, ".release.cta")

// Fences.
BUILT_IN void __threadfence_block() { asm volatile("membar.cta;" ::: "memory"); }
BUILT_IN void __threadfence_system() { asm volatile("membar.sys;" ::: "memory"); }
BUILT_IN void fence_acq_rel() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
BUILT_IN void fence_cluster() { asm volatile("fence.acq_rel.cluster;" ::: "memory"); }

// Barriers.
BUILT_IN void __syncwarp(unsigned members) { asm volatile("bar.warp.sync %0;" ::"r"(members) : "memory"); }
BUILT_IN void barrier_sync(int number, int threads) {
    asm volatile("barrier.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}
BUILT_IN void barrier_arrive(int number, int threads) {
    asm volatile("barrier.arrive %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

BUILT_IN int barrier_any(int value) {
    int any;
    asm volatile("{ .reg .pred own, all; setp.ne.s32 own, %1, 0; barrier.red.or.pred all, 0, own;"
                 "  selp.s32 %0, 1, 0, all; }" : "=r"(any) : "r"(value) : "memory");
    return any;
}

// Asynchronous copies of four bytes from global to shared memory.
BUILT_IN unsigned shared_address(const void *p) {
    u64 address;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(p));
    return (unsigned)address;
}
BUILT_IN void copy_async(int *to, const int *from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(to)), "l"(from) : "memory");
}
BUILT_IN void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
BUILT_IN void copy_wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }
BUILT_IN void copy_wait_but_one() { asm volatile("cp.async.wait_group 1;" ::: "memory"); }

// Clusters. An address of the cluster is that of a block's shared memory.
BUILT_IN unsigned cluster_rank() {
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
BUILT_IN void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
BUILT_IN void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
BUILT_IN void cluster_sync() {
    cluster_arrive();
    cluster_wait();
}
BUILT_IN unsigned cluster_address(const void *p, unsigned rank) {
    unsigned address;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared_address(p)), "r"(rank));
    return address;
}
BUILT_IN int cluster_load(unsigned address) {
    int v;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(address) : "memory");
    return v;
}
BUILT_IN void cluster_store(unsigned address, int v) {
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(address), "r"(v) : "memory");
}
