//! Launches and occupancy.

use std::ffi::{c_int, c_uint};

use super::export;
use crate::abi::{HostAddress, In, Out, RawBlockToShared, RawHostFunction, RawLaunchConfig, RawStreamCallback};
use crate::driver::launch::{launch, launch_with};
use crate::driver::{function, stream};
use crate::handles::Handle;
use crate::shape::{Attributes, Shape};

export! {
    fn cuLaunchKernel[cuLaunchKernel_ptsz](
        function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
        block_z: c_uint, shared_bytes: c_uint, stream: Handle, parameters: HostAddress, extra: HostAddress,
    ) => {
        let (grid, block, attributes) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z], Attributes::default());
        launch(function, Shape { grid, block, shared_bytes, attributes }, stream, parameters, extra)
    };
    fn cuLaunchCooperativeKernel[cuLaunchCooperativeKernel_ptsz](
        function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
        block_z: c_uint, shared_bytes: c_uint, stream: Handle, parameters: HostAddress,
    ) => {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let attributes = Attributes { cooperative: true, ..Attributes::default() };
        launch(function, Shape { grid, block, shared_bytes, attributes }, stream, parameters, HostAddress(0))
    };
    fn cuLaunchKernelEx[cuLaunchKernelEx_ptsz](
        config: In<RawLaunchConfig>, function: Handle, parameters: HostAddress, extra: HostAddress,
    ) => launch_with(config.get()?, function, parameters, extra);
    fn cuLaunchHostFunc[cuLaunchHostFunc_ptsz](stream: Handle, function: RawHostFunction, data: HostAddress) =>
        stream::call_host(stream, function, data);
    fn cuLaunchHostFunc_v2[cuLaunchHostFunc_v2_ptsz](
        stream: Handle, function: RawHostFunction, data: HostAddress, _mode: c_uint,
    ) => stream::call_host(stream, function, data);
    fn cuStreamAddCallback[cuStreamAddCallback_ptsz](
        stream: Handle, callback: RawStreamCallback, data: HostAddress, _flags: c_uint,
    ) => stream::add_callback(stream, callback, data);

    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: Out<c_int>, function: Handle, threads: c_int, shared_bytes: usize,
    ) => function::max_active_blocks(blocks, function, threads, shared_bytes);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: Out<c_int>, function: Handle, threads: c_int, shared_bytes: usize, _flags: c_uint,
    ) => function::max_active_blocks(blocks, function, threads, shared_bytes);
    fn cuOccupancyMaxPotentialBlockSize(
        blocks: Out<c_int>, threads: Out<c_int>, function: Handle, to_shared: RawBlockToShared, shared_bytes: usize,
        limit: c_int,
    ) => function::max_potential_block((blocks, threads), function, to_shared, shared_bytes, limit);
    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        blocks: Out<c_int>, threads: Out<c_int>, function: Handle, to_shared: RawBlockToShared, shared_bytes: usize,
        limit: c_int, _flags: c_uint,
    ) => function::max_potential_block((blocks, threads), function, to_shared, shared_bytes, limit);
    fn cuOccupancyAvailableDynamicSMemPerBlock(
        bytes: Out<usize>, function: Handle, blocks: c_int, threads: c_int,
    ) => function::available_shared(bytes, function, blocks, threads);
    fn cuOccupancyMaxActiveClusters(clusters: Out<c_int>, function: Handle, config: In<RawLaunchConfig>) =>
        function::max_active_clusters(clusters, function, config.get()?);
    fn cuOccupancyMaxPotentialClusterSize(size: Out<c_int>, function: Handle, config: In<RawLaunchConfig>) =>
        function::max_cluster(size, function, config.get()?);
}
