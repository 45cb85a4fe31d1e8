//! Devices: properties, limits, peers.

use std::ffi::{c_char, c_int, c_uint};

use crate::abi::{HostAddress, In, Out, Text};
use crate::driver::{self, context, device, graph_memory, memory};
use crate::exports::export;
use crate::handles::Handle;
use crate::runtime::properties::{self, Layout};
use crate::runtime::{devices, version};

export! {
    through super::bound;
    fn cudaGetDeviceProperties(properties: HostAddress, ordinal: c_int) => {
        let layout = if version::is_twelve() { Layout::Eleven } else { Layout::Thirteen };
        properties::write(properties, layout, ordinal)
    };
    fn cudaGetDeviceProperties_v2(properties: HostAddress, ordinal: c_int) =>
        properties::write(properties, Layout::Twelve, ordinal);
    // All devices are emulated, so the first fits as well as any.
    fn cudaChooseDevice(ordinal: Out<c_int>, _properties: HostAddress) => ordinal.set(0);
    fn cudaDeviceGetAttribute(value: Out<c_int>, attribute: c_int, ordinal: c_int) =>
        device::attribute(value, attribute, ordinal);
    fn cudaDeviceGetPCIBusId(id: Out<c_char>, length: c_int, ordinal: c_int) => device::bus_id(id, length, ordinal);
    fn cudaDeviceGetByPCIBusId(ordinal: Out<c_int>, id: Text) => device::by_bus_id(ordinal, id);
    fn cudaDeviceSynchronize() => context::synchronise(0);
    fn cudaDeviceSetLimit(limit: c_int, value: usize) => context::set_limit(limit, value);
    fn cudaDeviceGetLimit(value: Out<usize>, limit: c_int) => context::limit(value, limit);
    fn cudaDeviceGetCacheConfig(config: Out<c_int>) => context::cache_config(config);
    fn cudaDeviceSetCacheConfig(config: c_int) => context::set_cache_config(config);
    fn cudaDeviceGetSharedMemConfig(config: Out<c_int>) => context::shared_config(config);
    fn cudaDeviceSetSharedMemConfig(config: c_int) => context::set_shared_config(config);
    fn cudaDeviceGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) =>
        context::priority_range(least, greatest);
    fn cudaSetDeviceFlags(flags: c_uint) => devices::set_flags(flags);
    fn cudaGetDeviceFlags(flags: Out<c_uint>) => devices::flags(flags);
    fn cudaCtxResetPersistingL2Cache() => driver::in_context(|_, _, _| Ok(()));
    fn cudaDeviceGetDefaultMemPool[cudaDeviceGetMemPool](pool: Out<Handle>, ordinal: c_int) =>
        memory::default_pool(pool, ordinal);
    fn cudaDeviceGetGraphMemAttribute(ordinal: c_int, attribute: c_int, value: Out<u64>) =>
        graph_memory::attribute(ordinal, attribute, value);
    fn cudaDeviceSetGraphMemAttribute(ordinal: c_int, attribute: c_int, value: In<u64>) =>
        graph_memory::set_attribute(ordinal, attribute, value.get()?);
    fn cudaDeviceGraphMemTrim(ordinal: c_int) => graph_memory::trim(ordinal);
    fn cudaDeviceCanAccessPeer(can: Out<c_int>, ordinal: c_int, peer: c_int) =>
        device::can_access_peer(can, ordinal, peer);
    fn cudaDeviceEnablePeerAccess(peer: c_int, flags: c_uint) => devices::enable_peer(peer, flags);
    fn cudaDeviceDisablePeerAccess(peer: c_int) => devices::disable_peer(peer);
    fn cudaDeviceGetP2PAttribute(value: Out<c_int>, attribute: c_int, ordinal: c_int, peer: c_int) =>
        device::peer_attribute(value, attribute, ordinal, peer);
    fn cudaProfilerStart() => driver::in_context(|_, _, _| Ok(()));
    fn cudaProfilerStop() => driver::in_context(|_, _, _| Ok(()));
}
