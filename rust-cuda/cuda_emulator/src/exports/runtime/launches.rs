//! Kernels: launches, attributes, occupancy, libraries.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::abi::{
    FunctionAttributes, HostAddress, In, Out, RawHostFunction, RawStreamCallback, RuntimeLaunchConfig, Size3, Text,
};
use crate::driver::{function, library, stream};
use crate::exports::export;
use crate::handles::Handle;
use crate::jit::JitOptions;
use crate::runtime::launches::{self, Configuration, function_of, launch, launch_configured};
use crate::runtime::{binaries, bind};
use crate::shape::Attributes;

export! {
    through super::bound;
    fn cudaLaunchKernel[cudaLaunchKernel_ptsz, __cudaLaunchKernel, __cudaLaunchKernel_ptsz](
        kernel: HostAddress, grid: Size3, block: Size3, arguments: HostAddress, shared_bytes: usize, stream: Handle,
    ) => launch(kernel, Configuration { grid, block, shared_bytes, stream }, arguments, Attributes::default());
    fn cudaLaunchCooperativeKernel[cudaLaunchCooperativeKernel_ptsz](
        kernel: HostAddress, grid: Size3, block: Size3, arguments: HostAddress, shared_bytes: usize, stream: Handle,
    ) => {
        let attributes = Attributes { cooperative: true, ..Attributes::default() };
        launch(kernel, Configuration { grid, block, shared_bytes, stream }, arguments, attributes)
    };
    fn cudaLaunchKernelExC[cudaLaunchKernelExC_ptsz](
        config: In<RuntimeLaunchConfig>, kernel: HostAddress, arguments: HostAddress,
    ) => launch_configured(config.get()?, kernel, arguments);
    fn cudaLaunchHostFunc[cudaLaunchHostFunc_ptsz](stream: Handle, function: RawHostFunction, data: HostAddress) =>
        stream::call_host(stream, function, data);
    fn cudaLaunchHostFunc_v2[cudaLaunchHostFunc_v2_ptsz](
        stream: Handle, function: RawHostFunction, data: HostAddress, _mode: c_uint,
    ) => stream::call_host(stream, function, data);
    fn cudaStreamAddCallback[cudaStreamAddCallback_ptsz](
        stream: Handle, callback: RawStreamCallback, data: HostAddress, _flags: c_uint,
    ) => stream::add_callback(stream, callback, data);

    fn cudaFuncGetAttributes(attributes: Out<FunctionAttributes>, kernel: HostAddress) =>
        launches::attributes(attributes, kernel);
    fn cudaFuncSetAttribute(kernel: HostAddress, attribute: c_int, value: c_int) =>
        function::set_attribute(function_of(kernel)?, attribute, value);
    fn cudaFuncSetCacheConfig(kernel: HostAddress, config: c_int) => launches::set_cache(kernel, config);
    fn cudaFuncSetSharedMemConfig(kernel: HostAddress, config: c_int) => launches::set_cache(kernel, config);
    fn cudaFuncGetName(name: Out<*const c_char>, kernel: HostAddress) => function::name(name, function_of(kernel)?);
    fn cudaFuncGetParamInfo(kernel: HostAddress, index: usize, offset: Out<usize>, bytes: Out<usize>) =>
        function::parameter(function_of(kernel)?, index, offset, bytes);
    fn cudaFuncGetParamCount(kernel: HostAddress, count: Out<usize>) =>
        function::parameter_count(function_of(kernel)?, count);
    fn cudaGetFuncBySymbol(function: Out<Handle>, kernel: HostAddress) => function.set(function_of(kernel)?);
    fn cudaGetKernel[__cudaGetKernel](kernel: Out<Handle>, address: HostAddress) => {
        // This loads the library, which is loaded when one of its kernels is first requested.
        binaries::function(address, bind()?)?;
        kernel.set(binaries::kernel(address)?)
    };

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: Out<c_int>, kernel: HostAddress, threads: c_int, shared_bytes: usize,
    ) => function::max_active_blocks(blocks, function_of(kernel)?, threads, shared_bytes);
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: Out<c_int>, kernel: HostAddress, threads: c_int, shared_bytes: usize, _flags: c_uint,
    ) => function::max_active_blocks(blocks, function_of(kernel)?, threads, shared_bytes);
    fn cudaOccupancyAvailableDynamicSMemPerBlock(
        bytes: Out<usize>, kernel: HostAddress, blocks: c_int, threads: c_int,
    ) => function::available_shared(bytes, function_of(kernel)?, blocks, threads);
    fn cudaOccupancyMaxActiveClusters(clusters: Out<c_int>, kernel: HostAddress, config: In<RuntimeLaunchConfig>) =>
        function::max_active_clusters(clusters, function_of(kernel)?, launches::of_driver(config.get()?)?);
    fn cudaOccupancyMaxPotentialClusterSize(size: Out<c_int>, kernel: HostAddress, config: In<RuntimeLaunchConfig>) =>
        function::max_cluster(size, function_of(kernel)?, launches::of_driver(config.get()?)?);

    fn cudaLibraryLoadData(
        library: Out<Handle>, code: HostAddress, options: In<c_int>, values: In<usize>, count: c_uint,
        _library_options: In<c_int>, _library_values: In<usize>, _library_count: c_uint,
    ) => library::load_data(library, code, &JitOptions::new(count, options, values)?);
    fn cudaLibraryLoadFromFile(
        library: Out<Handle>, path: Text, options: In<c_int>, values: In<usize>, count: c_uint,
        _library_options: In<c_int>, _library_values: In<usize>, _library_count: c_uint,
    ) => library::load_file(library, path, &JitOptions::new(count, options, values)?);
    fn cudaLibraryUnload(library: Handle) => library::unload(library);
    fn cudaLibraryGetKernel(kernel: Out<Handle>, library: Handle, name: Text) => library::kernel(kernel, library, name);
    fn cudaLibraryGetKernelCount(count: Out<c_uint>, library: Handle) => library::kernel_count(count, library);
    fn cudaLibraryEnumerateKernels(kernels: Out<Handle>, room: c_uint, library: Handle) =>
        library::kernels(kernels, room, library);
    fn cudaLibraryGetGlobal(address: Out<u64>, bytes: Out<usize>, library: Handle, name: Text) =>
        library::global(address, bytes, library, name);
    fn cudaLibraryGetManaged(_address: Out<u64>, _bytes: Out<usize>, library: Handle, _name: Text) =>
        library::has_none(library);
    fn cudaLibraryGetUnifiedFunction(_pointer: Out<*mut c_void>, library: Handle, _name: Text) =>
        library::has_none(library);
    fn cudaKernelSetAttributeForDevice(kernel: Handle, attribute: c_int, value: c_int, ordinal: c_int) =>
        library::set_attribute(attribute, value, kernel, ordinal);
}
