//! Functions that need no context: registration of the program's kernels, the threads' devices and
//! errors, and versions.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::abi::{ChannelFormat, HostAddress, In, Out, Size3, Text, Uuid};
use crate::driver::device;
use crate::error::Error;
use crate::exports::export;
use crate::exports::lookup::look_up;
use crate::handles::Handle;
use crate::journal;
use crate::runtime::launches::Configuration;
use crate::runtime::{self, binaries, error, launches, version};

/// Defines exported functions that return something other than a result.
macro_rules! exported {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty $body:block)*) => {
        $(
            // SAFETY: this is the function of that name in NVIDIA's library. Its callers pass
            // pointers that are null or valid.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) -> $result $body
        )*
    };
}

exported! {
    fn __cudaRegisterFatBinary(image: HostAddress) -> Handle {
        binaries::register(image)
    }
    fn __cudaRegisterFatBinaryEnd(_binary: Handle) -> () {}
    fn __cudaUnregisterFatBinary(binary: Handle) -> () {
        super::super::returned("__cudaUnregisterFatBinary", || binaries::unregister(binary));
    }
    fn __cudaRegisterFunction(
        binary: Handle, kernel: HostAddress, _device: HostAddress, name: Text, _threads: c_int, _thread: HostAddress,
        _block: HostAddress, _block_size: HostAddress, _grid_size: HostAddress, _warp: HostAddress,
    ) -> () {
        super::super::returned("__cudaRegisterFunction", || binaries::register_kernel(binary, kernel, name));
    }
    fn __cudaRegisterVar(
        binary: Handle, variable: HostAddress, _device: HostAddress, name: Text, _is_extern: c_int, _bytes: usize,
        _is_constant: c_int, _is_global: c_int,
    ) -> () {
        super::super::returned("__cudaRegisterVar", || binaries::register_variable(binary, variable, name));
    }
    fn __cudaRegisterManagedVar(
        binary: Handle, pointer: HostAddress, _device: HostAddress, name: Text, _is_extern: c_int, _bytes: usize,
        _is_constant: c_int, _is_global: c_int,
    ) -> () {
        super::super::returned("__cudaRegisterManagedVar", || binaries::register_managed(binary, pointer, name));
    }
    fn __cudaRegisterHostVar(_binary: Handle, _device: HostAddress, _host: HostAddress, _bytes: usize) -> () {}
    fn __cudaRegisterUnifiedTable(_table: HostAddress) -> c_uint {
        0
    }
    fn __cudaInitModule(binary: Handle) -> c_char {
        let result = super::returned("__cudaInitModule", || binaries::initialise(binary, runtime::bind()?));
        c_char::from(result == 0)
    }
    fn __cudaPushCallConfiguration(grid: Size3, block: Size3, shared_bytes: usize, stream: Handle) -> c_uint {
        launches::push(Configuration { grid, block, shared_bytes, stream });
        0
    }
    fn cudaGetLastError() -> c_int {
        error::take_last()
    }
    fn cudaPeekAtLastError() -> c_int {
        error::last()
    }
    fn cudaGetErrorName(code: c_int) -> *const c_char {
        error::name(code).as_ptr()
    }
    fn cudaGetErrorString(code: c_int) -> *const c_char {
        error::text(code).as_ptr()
    }
    fn cudaCreateChannelDesc(x: c_int, y: c_int, z: c_int, w: c_int, kind: c_int) -> ChannelFormat {
        ChannelFormat { bits: [x, y, z, w], kind }
    }
}

export! {
    through super::returned;
    fn __cudaPopCallConfiguration(
        grid: Out<Size3>, block: Out<Size3>, shared_bytes: Out<usize>, stream: Out<Handle>,
    ) => {
        let kept = launches::pop()?;
        grid.set(kept.grid)?;
        block.set(kept.block)?;
        shared_bytes.set(kept.shared_bytes)?;
        stream.set(kept.stream)
    };
    fn cudaDriverGetVersion(version: Out<c_int>) => version.set(crate::driver::version()?);
    fn cudaRuntimeGetVersion(version: Out<c_int>) => version.set(version::number()?);
    fn cudaGetDeviceCount(count: Out<c_int>) => {
        runtime::initialise()?;
        device::count(count)
    };
    fn cudaGetDevice(ordinal: Out<c_int>) => ordinal.set(runtime::current_device()? as c_int);
    fn cudaSetDevice(ordinal: c_int) => runtime::set_device(ordinal);
    fn cudaInitDevice(ordinal: c_int, flags: c_uint, has_flags: c_uint) =>
        runtime::devices::prepare(ordinal, flags, has_flags);
    fn cudaSetValidDevices(_ordinals: In<c_int>, _count: c_int) => runtime::initialise();
    fn cudaDeviceReset() => runtime::reset_device();
    fn cudaGetExportTable(table: Out<*const c_void>, _id: In<Uuid>) => {
        table.set_if_wanted(std::ptr::null());
        journal::unsupported("cudaGetExportTable, whose tables are not documented,");
        Err(Error::NOT_FOUND)
    };
    fn cudaGetDriverEntryPoint[cudaGetDriverEntryPoint_ptsz](
        name: Text, function: Out<*const c_void>, flags: u64, status: Out<c_int>,
    ) => entry_point(name, function, version::number()?, flags, status);
    fn cudaGetDriverEntryPointByVersion[cudaGetDriverEntryPointByVersion_ptsz](
        name: Text, function: Out<*const c_void>, version: c_uint, flags: u64, status: Out<c_int>,
    ) => entry_point(name, function, version as c_int, flags, status);
}

/// Looks up a driver function. A function that is not found is null; this is not an error if the
/// caller asks for the status.
fn entry_point(
    name: Text,
    function: Out<*const c_void>,
    version: c_int,
    flags: u64,
    status: Out<c_int>,
) -> crate::error::Result {
    match look_up(name, function, version, flags, Some(status)) {
        Err(Error::NOT_FOUND) if !status.is_null() => Ok(()),
        result => result,
    }
}
