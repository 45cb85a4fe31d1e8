//! Modules, the linker, libraries, kernels and functions.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::export;
use crate::abi::{HostAddress, In, Out, Text};
use crate::driver::{function, library, link, module};
use crate::handles::Handle;
use crate::jit::JitOptions;

export! {
    fn cuModuleLoad(module: Out<Handle>, path: Text) => module::load(module, path);
    fn cuModuleLoadData(module: Out<Handle>, image: HostAddress) =>
        module::load_data(module, image, &JitOptions::default());
    fn cuModuleLoadDataEx(
        module: Out<Handle>, image: HostAddress, count: c_uint, options: In<c_int>, values: In<usize>,
    ) => module::load_data(module, image, &JitOptions::new(count, options, values)?);
    fn cuModuleLoadFatBinary(module: Out<Handle>, image: HostAddress) =>
        module::load_data(module, image, &JitOptions::default());
    fn cuModuleUnload(module: Handle) => module::unload(module);
    fn cuModuleGetLoadingMode(mode: Out<c_int>) => module::loading_mode(mode);
    fn cuModuleGetFunction(function: Out<Handle>, module: Handle, name: Text) =>
        module::function(function, module, name);
    fn cuModuleGetFunctionCount(count: Out<c_uint>, module: Handle) => module::function_count(count, module);
    fn cuModuleEnumerateFunctions(functions: Out<Handle>, room: c_uint, module: Handle) =>
        module::functions(functions, room, module);
    fn cuModuleGetGlobal_v2(address: Out<u64>, bytes: Out<usize>, module: Handle, name: Text) =>
        module::global(address, bytes, module, name);

    fn cuLinkCreate_v2[cuLinkCreate](count: c_uint, options: In<c_int>, values: In<usize>, link: Out<Handle>) =>
        link::create(JitOptions::new(count, options, values)?, link);
    fn cuLinkAddData_v2[cuLinkAddData](
        link: Handle, kind: c_int, data: HostAddress, bytes: usize, _name: Text,
        _count: c_uint, _options: In<c_int>, _values: In<usize>,
    ) => link::add_data(link, kind, data, bytes);
    fn cuLinkAddFile_v2[cuLinkAddFile](
        link: Handle, kind: c_int, path: Text, _count: c_uint, _options: In<c_int>, _values: In<usize>,
    ) => link::add_file(link, kind, path);
    fn cuLinkComplete(link: Handle, image: Out<*mut c_void>, bytes: Out<usize>) => link::complete(link, image, bytes);
    fn cuLinkDestroy(link: Handle) => link::destroy(link);

    fn cuLibraryLoadData(
        library: Out<Handle>, code: HostAddress, options: In<c_int>, values: In<usize>, count: c_uint,
        _library_options: In<c_int>, _library_values: In<usize>, _library_count: c_uint,
    ) => library::load_data(library, code, &JitOptions::new(count, options, values)?);
    fn cuLibraryLoadFromFile(
        library: Out<Handle>, path: Text, options: In<c_int>, values: In<usize>, count: c_uint,
        _library_options: In<c_int>, _library_values: In<usize>, _library_count: c_uint,
    ) => library::load_file(library, path, &JitOptions::new(count, options, values)?);
    fn cuLibraryUnload(library: Handle) => library::unload(library);
    fn cuLibraryGetKernel(kernel: Out<Handle>, library: Handle, name: Text) => library::kernel(kernel, library, name);
    fn cuLibraryGetKernelCount(count: Out<c_uint>, library: Handle) => library::kernel_count(count, library);
    fn cuLibraryEnumerateKernels(kernels: Out<Handle>, room: c_uint, library: Handle) =>
        library::kernels(kernels, room, library);
    fn cuLibraryGetModule(module: Out<Handle>, library: Handle) => library::module(module, library);
    fn cuLibraryGetGlobal(address: Out<u64>, bytes: Out<usize>, library: Handle, name: Text) =>
        library::global(address, bytes, library, name);
    fn cuLibraryGetManaged(_address: Out<u64>, _bytes: Out<usize>, library: Handle, _name: Text) =>
        library::has_none(library);
    fn cuLibraryGetUnifiedFunction(_pointer: Out<*mut c_void>, library: Handle, _name: Text) =>
        library::has_none(library);

    fn cuKernelGetFunction(function: Out<Handle>, kernel: Handle) => library::function(function, kernel);
    fn cuKernelGetLibrary(library: Out<Handle>, kernel: Handle) => library::library_of(library, kernel);
    fn cuKernelGetName(name: Out<*const c_char>, kernel: Handle) => library::kernel_name(name, kernel);
    fn cuKernelGetAttribute(value: Out<c_int>, attribute: c_int, kernel: Handle, device: c_int) =>
        library::attribute(value, attribute, kernel, device);
    fn cuKernelSetAttribute(attribute: c_int, value: c_int, kernel: Handle, device: c_int) =>
        library::set_attribute(attribute, value, kernel, device);
    fn cuKernelSetCacheConfig(kernel: Handle, _config: c_int, _device: c_int) => function::prefer(kernel);
    fn cuKernelGetParamInfo(kernel: Handle, index: usize, offset: Out<usize>, bytes: Out<usize>) =>
        function::parameter(kernel, index, offset, bytes);
    fn cuKernelGetParamCount(kernel: Handle, count: Out<usize>) => function::parameter_count(kernel, count);

    fn cuFuncGetAttribute(value: Out<c_int>, attribute: c_int, function: Handle) =>
        function::attribute(value, attribute, function);
    fn cuFuncSetAttribute(function: Handle, attribute: c_int, value: c_int) =>
        function::set_attribute(function, attribute, value);
    fn cuFuncSetCacheConfig(function: Handle, _config: c_int) => function::prefer(function);
    fn cuFuncSetSharedMemConfig(function: Handle, _config: c_int) => function::prefer(function);
    fn cuFuncGetModule(module: Out<Handle>, function: Handle) => function::module(module, function);
    fn cuFuncGetName(name: Out<*const c_char>, function: Handle) => function::name(name, function);
    fn cuFuncGetParamInfo(function: Handle, index: usize, offset: Out<usize>, bytes: Out<usize>) =>
        function::parameter(function, index, offset, bytes);
    fn cuFuncGetParamCount(function: Handle, count: Out<usize>) => function::parameter_count(function, count);
    fn cuFuncIsLoaded(state: Out<c_int>, function: Handle) => function::loading_state(state, function);
    fn cuFuncLoad(function: Handle) => function::prefer(function);
}
