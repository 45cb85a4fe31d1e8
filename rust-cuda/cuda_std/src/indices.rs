// Indices in several dimensions, on a GPU and in the simulator; both `thread` modules include this file.

/// An index or a size in two dimensions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UVec2 {
    /// Along x, which varies fastest.
    pub x: u32,
    /// Along y.
    pub y: u32,
}

/// An index or a size in three dimensions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UVec3 {
    /// Along x, which varies fastest.
    pub x: u32,
    /// Along y.
    pub y: u32,
    /// Along z.
    pub z: u32,
}

macro_rules! names_of_cuda_c {
    ($($name:ident: $function:ident;)*) => {$(
        #[doc = concat!("[`", stringify!($function), "`] by CUDA C's name, which cuda-oxide's kernels use.")]
        #[allow(non_snake_case)]
        #[inline(always)]
        pub fn $name() -> u32 {
            $function()
        }
    )*};
}

// Not `pub use … as`: the compiler's messages would then have these names for both.
names_of_cuda_c! {
    threadIdx_x: thread_idx_x;
    threadIdx_y: thread_idx_y;
    threadIdx_z: thread_idx_z;
    blockIdx_x: block_idx_x;
    blockIdx_y: block_idx_y;
    blockIdx_z: block_idx_z;
    blockDim_x: block_dim_x;
    blockDim_y: block_dim_y;
    blockDim_z: block_dim_z;
    gridDim_x: grid_dim_x;
    gridDim_y: grid_dim_y;
    gridDim_z: grid_dim_z;
}

/// The thread's index in its block.
#[inline(always)]
pub fn thread_idx() -> UVec3 {
    UVec3 { x: thread_idx_x(), y: thread_idx_y(), z: thread_idx_z() }
}

/// The block's index in the grid.
#[inline(always)]
pub fn block_idx() -> UVec3 {
    UVec3 { x: block_idx_x(), y: block_idx_y(), z: block_idx_z() }
}

/// Threads of a block.
#[inline(always)]
pub fn block_dim() -> UVec3 {
    UVec3 { x: block_dim_x(), y: block_dim_y(), z: block_dim_z() }
}

/// Blocks of the grid.
#[inline(always)]
pub fn grid_dim() -> UVec3 {
    UVec3 { x: grid_dim_x(), y: grid_dim_y(), z: grid_dim_z() }
}

/// Place of the thread in its grid, along one dimension; 32 bits that wrap around.
#[inline(always)]
fn along(block: u32, threads: u32, thread: u32) -> u32 {
    block.wrapping_mul(threads).wrapping_add(thread)
}

/// The thread's index in the grid, along x and y.
#[inline(always)]
pub fn index_2d() -> UVec2 {
    let (block, threads, thread) = (block_idx(), block_dim(), thread_idx());
    UVec2 { x: along(block.x, threads.x, thread.x), y: along(block.y, threads.y, thread.y) }
}

/// The thread's index in the grid.
#[inline(always)]
pub fn index_3d() -> UVec3 {
    let (block, threads, thread) = (block_idx(), block_dim(), thread_idx());
    UVec3 {
        x: along(block.x, threads.x, thread.x),
        y: along(block.y, threads.y, thread.y),
        z: along(block.z, threads.z, thread.z),
    }
}

/// The thread's number in a grid of any dimensions: block after block, in each thread after thread, x fastest.
#[inline(always)]
pub fn index() -> u32 {
    let (block, blocks, threads, thread) = (block_idx(), grid_dim(), block_dim(), thread_idx());
    let block = along(along(block.z, blocks.y, block.y), blocks.x, block.x);
    let of_block = threads.x * threads.y * threads.z;
    along(block, of_block, along(along(thread.z, threads.y, thread.y), threads.x, thread.x))
}

/// Whether this is the first thread of the grid.
#[inline(always)]
pub fn first() -> bool {
    block_idx() == UVec3::default() && thread_idx() == UVec3::default()
}

/// Threads of a warp, 32.
#[inline(always)]
pub const fn warp_size() -> u32 {
    32
}

/// Orders the thread's accesses before it and those after it, for the threads of the block (`__threadfence_block` in CUDA C):
/// [`atomic::fence`](crate::atomic::fence).
#[inline(always)]
pub fn block_fence() {
    crate::atomic::fence(crate::atomic::Ordering::AcqRel, crate::atomic::Scope::Block);
}

/// Orders the thread's accesses before it and those after it, for the threads of the GPU (`__threadfence` in CUDA C).
#[inline(always)]
pub fn device_fence() {
    crate::atomic::fence(crate::atomic::Ordering::AcqRel, crate::atomic::Scope::Device);
}

/// Orders the thread's accesses before it and those after it, for all threads of the system (`__threadfence_system` in CUDA C).
#[inline(always)]
pub fn system_fence() {
    crate::atomic::fence(crate::atomic::Ordering::AcqRel, crate::atomic::Scope::System);
}
