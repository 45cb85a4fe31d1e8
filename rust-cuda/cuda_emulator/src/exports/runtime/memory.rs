//! Memory: allocations, copies, fills, variables, pools.

use std::ffi::{c_int, c_uint};

use crate::abi::{
    CopyAttributes, Extent3, HostAddress, In, MemoryLocation, Out, PitchedPointer, PointerAttributes, PoolAccess,
    PoolProperties, RuntimeCopy3D,
};
use crate::driver::memory::{self, Batch, shared};
use crate::driver::{graph_memory, state};
use crate::error::Error;
use crate::exports::export;
use crate::handles::Handle;
use crate::journal;
use crate::runtime::copies::{copy, copy_2d, in_symbol, set_2d};
use crate::runtime::{binaries, bind, copies, devices, graphs, version};

export! {
    through super::bound;
    fn cudaMalloc(address: Out<u64>, bytes: usize) => match bytes {
        0 => address.set(0),
        _ => memory::allocate(address, bytes),
    };
    fn cudaFree(address: u64) => memory::free(address);
    fn cudaMallocPitch(address: Out<u64>, pitch: Out<usize>, width: usize, height: usize) => {
        if width == 0 || height == 0 {
            pitch.set(0)?;
            return address.set(0);
        }
        memory::allocate_pitched(address, pitch, width, height, copies::ELEMENT)
    };
    fn cudaMalloc3D(to: Out<PitchedPointer>, extent: Extent3) => copies::allocate_box(to, extent);
    fn cudaMallocHost(pointer: Out<usize>, bytes: usize) => match bytes {
        0 => pointer.set(0),
        _ => shared::allocate_host(pointer, bytes, 0),
    };
    fn cudaHostAlloc(pointer: Out<usize>, bytes: usize, flags: c_uint) => match bytes {
        0 => pointer.set(0),
        _ => shared::allocate_host(pointer, bytes, flags),
    };
    fn cudaFreeHost(pointer: HostAddress) => match pointer.0 {
        0 => Ok(()),
        _ => shared::free_host(pointer),
    };
    fn cudaHostRegister(pointer: HostAddress, bytes: usize, flags: c_uint) => shared::register(pointer, bytes, flags);
    fn cudaHostUnregister(pointer: HostAddress) => shared::unregister(pointer);
    fn cudaHostGetDevicePointer(address: Out<u64>, pointer: HostAddress, flags: c_uint) =>
        shared::device_pointer(address, pointer, flags);
    fn cudaHostGetFlags(flags: Out<c_uint>, pointer: HostAddress) => shared::flags(flags, pointer);
    fn cudaMallocManaged(pointer: Out<u64>, bytes: usize, flags: c_uint) =>
        shared::allocate_managed(pointer, bytes, flags);
    // The following parameters differ between CUDA 12 and 13, and have no effect.
    fn cudaMemPrefetchAsync[cudaMemPrefetchAsync_ptsz, cudaMemPrefetchAsync_v2, cudaMemPrefetchAsync_v2_ptsz](
        address: u64, bytes: usize,
    ) => memory::hint(address, bytes);
    fn cudaMemAdvise[cudaMemAdvise_v2](address: u64, bytes: usize, _advice: c_int) => memory::hint(address, bytes);
    fn cudaMemRangeGetAttribute(value: Out<c_int>, bytes: usize, attribute: c_int, address: u64, count: usize) =>
        shared::range_attribute(value, bytes, attribute, address, count);
    fn cudaMemGetInfo(free: Out<usize>, total: Out<usize>) => memory::info(free, total);
    fn cudaPointerGetAttributes(attributes: Out<PointerAttributes>, address: u64) =>
        devices::pointer_attributes(attributes, address);

    fn cudaMallocAsync[cudaMallocAsync_ptsz](address: Out<u64>, bytes: usize, stream: Handle) =>
        graph_memory::allocate_in_stream(address, bytes, None, stream, || {
            memory::in_stream(stream, || memory::allocate(address, bytes))
        });
    fn cudaFreeAsync[cudaFreeAsync_ptsz](address: u64, stream: Handle) =>
        graph_memory::free_in_stream(address, stream, || memory::free_async(address, stream));
    fn cudaMallocFromPoolAsync[cudaMallocFromPoolAsync_ptsz](
        address: Out<u64>, bytes: usize, pool: Handle, stream: Handle,
    ) => graph_memory::allocate_in_stream(address, bytes, Some(pool), stream, || {
        memory::in_stream(stream, || memory::allocate_from(address, bytes, pool))
    });
    fn cudaMemPoolCreate(pool: Out<Handle>, properties: In<PoolProperties>) => memory::create_pool(pool, properties);
    fn cudaMemPoolDestroy(pool: Handle) => memory::destroy_pool(pool);
    fn cudaMemPoolTrimTo(pool: Handle, _bytes: usize) => memory::pool_exists(pool);
    fn cudaMemPoolGetAttribute(pool: Handle, attribute: c_int, value: Out<u64>) =>
        memory::pool_attribute(pool, attribute, value);
    fn cudaMemPoolSetAttribute(pool: Handle, attribute: c_int, _value: In<u64>) =>
        memory::set_pool_attribute(pool, attribute);
    fn cudaMemGetDefaultMemPool[cudaMemGetMemPool](pool: Out<Handle>, location: In<MemoryLocation>, kind: c_int) =>
        memory::pool_of(pool, location, kind);
    fn cudaMemPoolSetAccess(pool: Handle, access: In<PoolAccess>, count: usize) =>
        memory::set_pool_access(pool, access, count);
    fn cudaMemPoolGetAccess(flags: Out<c_int>, pool: Handle, location: In<MemoryLocation>) =>
        memory::pool_access(flags, pool, location);

    fn cudaMemcpy[cudaMemcpy_ptds](to: u64, from: u64, bytes: usize, kind: c_int) => copy(to, from, bytes, kind, None);
    fn cudaMemcpyAsync[cudaMemcpyAsync_ptsz](to: u64, from: u64, bytes: usize, kind: c_int, stream: Handle) =>
        copy(to, from, bytes, kind, Some(stream));
    fn cudaMemcpyPeer(to: u64, _to_device: c_int, from: u64, _from_device: c_int, bytes: usize) =>
        copy(to, from, bytes, copies::DEVICE_TO_DEVICE, None);
    fn cudaMemcpyPeerAsync(
        to: u64, _to_device: c_int, from: u64, _from_device: c_int, bytes: usize, stream: Handle,
    ) => copy(to, from, bytes, copies::DEVICE_TO_DEVICE, Some(stream));
    fn cudaMemcpy2D[cudaMemcpy2D_ptds](
        to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize, kind: c_int,
    ) => copy_2d((to, to_pitch), (from, from_pitch), (width, height), kind, None);
    fn cudaMemcpy2DAsync[cudaMemcpy2DAsync_ptsz](
        to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize, kind: c_int,
        stream: Handle,
    ) => copy_2d((to, to_pitch), (from, from_pitch), (width, height), kind, Some(stream));
    fn cudaMemcpy3D[cudaMemcpy3D_ptds](parameters: In<RuntimeCopy3D>) =>
        memory::copy_3d(graphs::copy_of_box(parameters.get()?)?, None);
    fn cudaMemcpy3DAsync[cudaMemcpy3DAsync_ptsz](parameters: In<RuntimeCopy3D>, stream: Handle) =>
        memory::copy_3d(graphs::copy_of_box(parameters.get()?)?, Some(stream));
    fn cudaMemcpyBatchAsync[cudaMemcpyBatchAsync_ptsz](
        to: In<u64>, from: In<u64>, bytes: In<usize>, count: usize, attributes: In<CopyAttributes>, starts: In<usize>,
        attribute_count: usize, stream: Handle,
    ) => {
        if version::is_twelve() {
            journal::unsupported("cudaMemcpyBatchAsync of CUDA 12");
            return Err(Error::NOT_SUPPORTED);
        }
        memory::copy_batch(Batch { to, from, bytes, count, attributes, starts, attribute_count }, stream, None)
    };
    fn cudaMemcpyWithAttributesAsync[cudaMemcpyWithAttributesAsync_ptsz](
        to: u64, from: u64, bytes: usize, attributes: In<CopyAttributes>, stream: Handle,
    ) => memory::copy_with(to, from, bytes, attributes, stream);

    fn cudaMemset[cudaMemset_ptds](address: u64, value: c_int, bytes: usize) =>
        set_2d((address, bytes), value, (bytes, 1), None);
    fn cudaMemsetAsync[cudaMemsetAsync_ptsz](address: u64, value: c_int, bytes: usize, stream: Handle) =>
        set_2d((address, bytes), value, (bytes, 1), Some(stream));
    fn cudaMemset2D[cudaMemset2D_ptds](address: u64, pitch: usize, value: c_int, width: usize, height: usize) =>
        set_2d((address, pitch), value, (width, height), None);
    fn cudaMemset2DAsync[cudaMemset2DAsync_ptsz](
        address: u64, pitch: usize, value: c_int, width: usize, height: usize, stream: Handle,
    ) => set_2d((address, pitch), value, (width, height), Some(stream));
    fn cudaMemset3D[cudaMemset3D_ptds](to: PitchedPointer, value: c_int, extent: Extent3) =>
        copies::set_box(to, value, extent, None);
    fn cudaMemset3DAsync[cudaMemset3DAsync_ptsz](to: PitchedPointer, value: c_int, extent: Extent3, stream: Handle) =>
        copies::set_box(to, value, extent, Some(stream));

    fn cudaGetSymbolAddress(address: Out<u64>, symbol: HostAddress) =>
        address.set(binaries::variable(symbol, bind()?)?.0);
    fn cudaGetSymbolSize(bytes: Out<usize>, symbol: HostAddress) => bytes.set(binaries::variable(symbol, bind()?)?.1);
    fn cudaMemcpyToSymbol[cudaMemcpyToSymbol_ptds](
        symbol: HostAddress, from: u64, bytes: usize, offset: usize, kind: c_int,
    ) => copy(in_symbol(symbol, offset, bytes)?, from, bytes, kind, None);
    fn cudaMemcpyToSymbolAsync[cudaMemcpyToSymbolAsync_ptsz](
        symbol: HostAddress, from: u64, bytes: usize, offset: usize, kind: c_int, stream: Handle,
    ) => copy(in_symbol(symbol, offset, bytes)?, from, bytes, kind, Some(stream));
    fn cudaMemcpyFromSymbol[cudaMemcpyFromSymbol_ptds](
        to: u64, symbol: HostAddress, bytes: usize, offset: usize, kind: c_int,
    ) => copy(to, in_symbol(symbol, offset, bytes)?, bytes, kind, None);
    fn cudaMemcpyFromSymbolAsync[cudaMemcpyFromSymbolAsync_ptsz](
        to: u64, symbol: HostAddress, bytes: usize, offset: usize, kind: c_int, stream: Handle,
    ) => copy(to, in_symbol(symbol, offset, bytes)?, bytes, kind, Some(stream));
    fn cudaStreamAttachMemAsync[cudaStreamAttachMemAsync_ptsz](
        _stream: Handle, address: u64, bytes: usize, _flags: c_uint,
    ) => match state()?.shared.contains(address, bytes.max(1)) {
        true => Ok(()),
        false => Err(Error::INVALID_VALUE),
    };
}
