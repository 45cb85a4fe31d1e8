//! Memory: allocations, copies, fills, pointer attributes and pools.

use std::ffi::{c_int, c_uchar, c_uint, c_ushort};

use super::export;
use crate::abi::{CopyAttributes, HostAddress, In, MemoryLocation, Out, PoolAccess, PoolProperties};
use crate::driver::graph_memory;
use crate::driver::memory::Address::{Any, Device, Host};
use crate::driver::memory::{self, Batch, copy, fill, fill_2d, shared};
use crate::handles::Handle;

export! {
    fn cuMemAlloc_v2(address: Out<u64>, bytes: usize) => memory::allocate(address, bytes);
    fn cuMemAllocPitch_v2(address: Out<u64>, pitch: Out<usize>, width: usize, height: usize, element: c_uint) =>
        memory::allocate_pitched(address, pitch, width, height, element);
    fn cuMemFree_v2(address: u64) => memory::free(address);
    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) => memory::info(free, total);
    fn cuMemGetAddressRange_v2(base: Out<u64>, bytes: Out<usize>, address: u64) =>
        memory::address_range(base, bytes, address);
    fn cuPointerGetAttribute(data: Out<u64>, attribute: c_int, address: u64) =>
        memory::pointer_attribute(data, attribute, address);
    fn cuPointerGetAttributes(count: c_uint, attributes: In<c_int>, data: In<Out<u64>>, address: u64) =>
        memory::pointer_attributes(count, attributes, data, address);
    fn cuPointerSetAttribute(value: In<c_uint>, attribute: c_int, address: u64) => {
        value.get()?;
        memory::set_pointer_attribute(attribute, address)
    };

    fn cuMemAllocHost_v2(pointer: Out<usize>, bytes: usize) => shared::allocate_host(pointer, bytes, 0);
    fn cuMemHostAlloc(pointer: Out<usize>, bytes: usize, flags: c_uint) => shared::allocate_host(pointer, bytes, flags);
    fn cuMemFreeHost(pointer: HostAddress) => shared::free_host(pointer);
    fn cuMemHostRegister_v2[cuMemHostRegister](pointer: HostAddress, bytes: usize, flags: c_uint) =>
        shared::register(pointer, bytes, flags);
    fn cuMemHostUnregister(pointer: HostAddress) => shared::unregister(pointer);
    fn cuMemHostGetDevicePointer_v2(address: Out<u64>, pointer: HostAddress, flags: c_uint) =>
        shared::device_pointer(address, pointer, flags);
    fn cuMemHostGetFlags(flags: Out<c_uint>, pointer: HostAddress) => shared::flags(flags, pointer);
    fn cuMemAllocManaged(pointer: Out<u64>, bytes: usize, flags: c_uint) =>
        shared::allocate_managed(pointer, bytes, flags);
    fn cuMemPrefetchAsync[cuMemPrefetchAsync_ptsz](address: u64, bytes: usize, _device: c_int, _stream: Handle) =>
        memory::hint(address, bytes);
    fn cuMemPrefetchAsync_v2[cuMemPrefetchAsync_v2_ptsz](
        address: u64, bytes: usize, _location: MemoryLocation, _flags: c_uint, _stream: Handle,
    ) => memory::hint(address, bytes);
    fn cuMemAdvise(address: u64, bytes: usize, _advice: c_int, _device: c_int) => memory::hint(address, bytes);
    fn cuMemAdvise_v2(address: u64, bytes: usize, _advice: c_int, _location: MemoryLocation) =>
        memory::hint(address, bytes);
    fn cuMemRangeGetAttribute(value: Out<c_int>, bytes: usize, attribute: c_int, address: u64, count: usize) =>
        shared::range_attribute(value, bytes, attribute, address, count);

    fn cuMemAllocAsync[cuMemAllocAsync_ptsz](address: Out<u64>, bytes: usize, stream: Handle) =>
        graph_memory::allocate_in_stream(address, bytes, None, stream, || {
            memory::in_stream(stream, || memory::allocate(address, bytes))
        });
    fn cuMemFreeAsync[cuMemFreeAsync_ptsz](address: u64, stream: Handle) =>
        graph_memory::free_in_stream(address, stream, || memory::free_async(address, stream));
    fn cuMemAllocFromPoolAsync[cuMemAllocFromPoolAsync_ptsz](
        address: Out<u64>, bytes: usize, pool: Handle, stream: Handle,
    ) => graph_memory::allocate_in_stream(address, bytes, Some(pool), stream, || {
        memory::in_stream(stream, || memory::allocate_from(address, bytes, pool))
    });
    fn cuMemPoolCreate(pool: Out<Handle>, properties: In<PoolProperties>) => memory::create_pool(pool, properties);
    fn cuMemPoolDestroy(pool: Handle) => memory::destroy_pool(pool);
    fn cuMemPoolTrimTo(pool: Handle, _bytes: usize) => memory::pool_exists(pool);
    fn cuMemPoolGetAttribute(pool: Handle, attribute: c_int, value: Out<u64>) =>
        memory::pool_attribute(pool, attribute, value);
    fn cuMemPoolSetAttribute(pool: Handle, attribute: c_int, _value: In<u64>) =>
        memory::set_pool_attribute(pool, attribute);
    fn cuMemGetDefaultMemPool[cuMemGetMemPool](pool: Out<Handle>, location: In<MemoryLocation>, kind: c_int) =>
        memory::pool_of(pool, location, kind);
    fn cuMemPoolSetAccess(pool: Handle, access: In<PoolAccess>, count: usize) =>
        memory::set_pool_access(pool, access, count);
    fn cuMemPoolGetAccess(flags: Out<c_int>, pool: Handle, location: In<MemoryLocation>) =>
        memory::pool_access(flags, pool, location);

    fn cuMemcpy[cuMemcpy_ptds](to: u64, from: u64, bytes: usize) => copy(Any(to), Any(from), bytes, None);
    fn cuMemcpyAsync[cuMemcpyAsync_ptsz](to: u64, from: u64, bytes: usize, stream: Handle) =>
        copy(Any(to), Any(from), bytes, Some(stream));
    fn cuMemcpyHtoD_v2[cuMemcpyHtoD_v2_ptds](to: u64, from: HostAddress, bytes: usize) =>
        copy(Device(to), Host(from), bytes, None);
    fn cuMemcpyHtoDAsync_v2[cuMemcpyHtoDAsync_v2_ptsz](to: u64, from: HostAddress, bytes: usize, stream: Handle) =>
        copy(Device(to), Host(from), bytes, Some(stream));
    fn cuMemcpyDtoH_v2[cuMemcpyDtoH_v2_ptds](to: HostAddress, from: u64, bytes: usize) =>
        copy(Host(to), Device(from), bytes, None);
    fn cuMemcpyDtoHAsync_v2[cuMemcpyDtoHAsync_v2_ptsz](to: HostAddress, from: u64, bytes: usize, stream: Handle) =>
        copy(Host(to), Device(from), bytes, Some(stream));
    fn cuMemcpyDtoD_v2[cuMemcpyDtoD_v2_ptds](to: u64, from: u64, bytes: usize) =>
        copy(Device(to), Device(from), bytes, None);
    fn cuMemcpyDtoDAsync_v2[cuMemcpyDtoDAsync_v2_ptsz](to: u64, from: u64, bytes: usize, stream: Handle) =>
        copy(Device(to), Device(from), bytes, Some(stream));
    fn cuMemcpyPeer[cuMemcpyPeer_ptds](to: u64, to_context: Handle, from: u64, from_context: Handle, bytes: usize) =>
        memory::copy_peer(to, to_context, from, from_context, bytes, None);
    fn cuMemcpyPeerAsync[cuMemcpyPeerAsync_ptsz](
        to: u64, to_context: Handle, from: u64, from_context: Handle, bytes: usize, stream: Handle,
    ) => memory::copy_peer(to, to_context, from, from_context, bytes, Some(stream));
    fn cuMemcpyBatchAsync(
        to: In<u64>, from: In<u64>, bytes: In<usize>, count: usize, attributes: In<CopyAttributes>, starts: In<usize>,
        attribute_count: usize, fail_index: Out<usize>, stream: Handle,
    ) => memory::copy_batch(
        Batch { to, from, bytes, count, attributes, starts, attribute_count }, stream, Some(fail_index),
    );
    fn cuMemcpyBatchAsync_ptsz(
        to: In<u64>, from: In<u64>, bytes: In<usize>, count: usize, attributes: In<CopyAttributes>, starts: In<usize>,
        attribute_count: usize, fail_index: Out<usize>, stream: Handle,
    ) => memory::copy_batch_of_thread(
        Batch { to, from, bytes, count, attributes, starts, attribute_count }, stream, Some(fail_index),
    );
    fn cuMemcpyBatchAsync_v2(
        to: In<u64>, from: In<u64>, bytes: In<usize>, count: usize, attributes: In<CopyAttributes>, starts: In<usize>,
        attribute_count: usize, stream: Handle,
    ) => memory::copy_batch(
        Batch { to, from, bytes, count, attributes, starts, attribute_count }, stream, None,
    );
    fn cuMemcpyBatchAsync_v2_ptsz(
        to: In<u64>, from: In<u64>, bytes: In<usize>, count: usize, attributes: In<CopyAttributes>, starts: In<usize>,
        attribute_count: usize, stream: Handle,
    ) => memory::copy_batch_of_thread(
        Batch { to, from, bytes, count, attributes, starts, attribute_count }, stream, None,
    );
    fn cuMemcpyWithAttributesAsync[cuMemcpyWithAttributesAsync_ptsz](
        to: u64, from: u64, bytes: usize, attributes: In<CopyAttributes>, stream: Handle,
    ) => memory::copy_with(to, from, bytes, attributes, stream);

    fn cuMemsetD8_v2[cuMemsetD8_v2_ptds](to: u64, value: c_uchar, count: usize) =>
        fill(to, value.into(), 1, count, None);
    fn cuMemsetD16_v2[cuMemsetD16_v2_ptds](to: u64, value: c_ushort, count: usize) =>
        fill(to, value.into(), 2, count, None);
    fn cuMemsetD32_v2[cuMemsetD32_v2_ptds](to: u64, value: c_uint, count: usize) => fill(to, value, 4, count, None);
    fn cuMemsetD8Async[cuMemsetD8Async_ptsz](to: u64, value: c_uchar, count: usize, stream: Handle) =>
        fill(to, value.into(), 1, count, Some(stream));
    fn cuMemsetD16Async[cuMemsetD16Async_ptsz](to: u64, value: c_ushort, count: usize, stream: Handle) =>
        fill(to, value.into(), 2, count, Some(stream));
    fn cuMemsetD32Async[cuMemsetD32Async_ptsz](to: u64, value: c_uint, count: usize, stream: Handle) =>
        fill(to, value, 4, count, Some(stream));
    fn cuMemsetD2D8_v2[cuMemsetD2D8_v2_ptds](to: u64, pitch: usize, value: c_uchar, width: usize, height: usize) =>
        fill_2d((to, pitch), value.into(), 1, (width, height), None);
    fn cuMemsetD2D16_v2[cuMemsetD2D16_v2_ptds](to: u64, pitch: usize, value: c_ushort, width: usize, height: usize) =>
        fill_2d((to, pitch), value.into(), 2, (width, height), None);
    fn cuMemsetD2D32_v2[cuMemsetD2D32_v2_ptds](to: u64, pitch: usize, value: c_uint, width: usize, height: usize) =>
        fill_2d((to, pitch), value, 4, (width, height), None);
    fn cuMemsetD2D8Async[cuMemsetD2D8Async_ptsz](
        to: u64, pitch: usize, value: c_uchar, width: usize, height: usize, stream: Handle,
    ) => fill_2d((to, pitch), value.into(), 1, (width, height), Some(stream));
    fn cuMemsetD2D16Async[cuMemsetD2D16Async_ptsz](
        to: u64, pitch: usize, value: c_ushort, width: usize, height: usize, stream: Handle,
    ) => fill_2d((to, pitch), value.into(), 2, (width, height), Some(stream));
    fn cuMemsetD2D32Async[cuMemsetD2D32Async_ptsz](
        to: u64, pitch: usize, value: c_uint, width: usize, height: usize, stream: Handle,
    ) => fill_2d((to, pitch), value, 4, (width, height), Some(stream));
}
