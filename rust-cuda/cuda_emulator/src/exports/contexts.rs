//! Initialization, errors, devices and contexts.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::export;
use crate::abi::{DeviceProperties, In, Out, Text, Uuid};
use crate::driver::{context, device, memory};
use crate::error::{self, Error};
use crate::handles::Handle;
use crate::{driver, journal};

export! {
    fn cuInit(flags: c_uint) => driver::initialise(flags);
    fn cuDriverGetVersion(version: Out<c_int>) => version.set(driver::version()?);
    fn cuGetErrorName(code: c_int, name: Out<*const c_char>) => {
        let found = error::name(code);
        name.set(found.map_or(std::ptr::null(), std::ffi::CStr::as_ptr))?;
        found.map(drop).ok_or(Error::INVALID_VALUE)
    };
    fn cuGetErrorString(code: c_int, text: Out<*const c_char>) => {
        let found = error::text(code);
        text.set(found.map_or(std::ptr::null(), std::ffi::CStr::as_ptr))?;
        found.map(drop).ok_or(Error::INVALID_VALUE)
    };
    fn cuGetExportTable(table: Out<*const c_void>, id: In<Uuid>) => {
        let id: String = id.get()?.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        table.set_if_wanted(std::ptr::null());
        journal::unsupported(&format!("cuGetExportTable, whose tables are not documented (here {id}),"));
        Err(Error::NOT_FOUND)
    };

    fn cuDeviceGetCount(count: Out<c_int>) => device::count(count);
    fn cuDeviceGet(device: Out<c_int>, ordinal: c_int) => device::get(device, ordinal);
    fn cuDeviceGetName(name: Out<c_char>, length: c_int, device: c_int) => device::name(name, length, device);
    fn cuDeviceGetUuid[cuDeviceGetUuid_v2](uuid: Out<Uuid>, device: c_int) => device::uuid(uuid, device);
    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: c_int) => device::total_memory(bytes, device);
    fn cuDeviceGetAttribute(value: Out<c_int>, attribute: c_int, device: c_int) =>
        device::attribute(value, attribute, device);
    fn cuDeviceGetProperties(properties: Out<DeviceProperties>, device: c_int) =>
        device::properties(properties, device);
    fn cuDeviceGetExecAffinitySupport(support: Out<c_int>, affinity: c_int, device: c_int) =>
        device::affinity_support(support, affinity, device);
    fn cuDeviceComputeCapability(major: Out<c_int>, minor: Out<c_int>, device: c_int) =>
        device::compute_capability(major, minor, device);
    fn cuDeviceGetPCIBusId(id: Out<c_char>, length: c_int, device: c_int) => device::bus_id(id, length, device);
    fn cuDeviceGetByPCIBusId(device: Out<c_int>, id: Text) => device::by_bus_id(device, id);
    fn cuDeviceCanAccessPeer(can: Out<c_int>, device: c_int, peer: c_int) => device::can_access_peer(can, device, peer);
    fn cuDeviceGetP2PAttribute(value: Out<c_int>, attribute: c_int, device: c_int, peer: c_int) =>
        device::peer_attribute(value, attribute, device, peer);
    fn cuDeviceGetDefaultMemPool[cuDeviceGetMemPool](pool: Out<Handle>, device: c_int) =>
        memory::default_pool(pool, device);

    fn cuDevicePrimaryCtxRetain(context: Out<Handle>, device: c_int) => context::retain_primary(context, device);
    fn cuDevicePrimaryCtxRelease_v2[cuDevicePrimaryCtxRelease](device: c_int) => context::release_primary(device);
    fn cuDevicePrimaryCtxReset_v2[cuDevicePrimaryCtxReset](device: c_int) => context::reset_primary(device);
    fn cuDevicePrimaryCtxSetFlags_v2[cuDevicePrimaryCtxSetFlags](device: c_int, flags: c_uint) =>
        context::set_primary_flags(device, flags);
    fn cuDevicePrimaryCtxGetState(device: c_int, flags: Out<c_uint>, active: Out<c_int>) =>
        context::primary_state(device, flags, active);

    fn cuCtxCreate_v2[cuCtxCreate](context: Out<Handle>, flags: c_uint, device: c_int) =>
        context::create(context, flags, device);
    fn cuCtxCreate_v3(context: Out<Handle>, affinity: In<u8>, count: c_int, flags: c_uint, device: c_int) =>
        context::create_plain(context, (count != 0 || !affinity.is_null()).then_some("an affinity"), flags, device);
    fn cuCtxCreate_v4(context: Out<Handle>, parameters: In<[usize; 3]>, flags: c_uint, device: c_int) => {
        let is_plain = parameters.is_null() || parameters.get()? == [0; 3];
        context::create_plain(context, (!is_plain).then_some("parameters"), flags, device)
    };
    fn cuCtxDestroy_v2[cuCtxDestroy](context: Handle) => context::destroy(context);
    fn cuCtxPushCurrent_v2[cuCtxPushCurrent](context: Handle) => context::push(context);
    fn cuCtxPopCurrent_v2[cuCtxPopCurrent](context: Out<Handle>) => context::pop(context);
    fn cuCtxSetCurrent(context: Handle) => context::set_current(context);
    fn cuCtxGetCurrent(context: Out<Handle>) => context::get_current(context);
    fn cuCtxGetDevice(device: Out<c_int>) => context::device(device, 0);
    fn cuCtxGetDevice_v2(device: Out<c_int>, context: Handle) => context::device(device, context);
    fn cuCtxGetFlags(flags: Out<c_uint>) => context::flags(flags);
    fn cuCtxSetFlags(flags: c_uint) => context::set_flags(flags);
    fn cuCtxGetId(context: Handle, id: Out<u64>) => context::id(context, id);
    fn cuCtxGetApiVersion(context: Handle, version: Out<c_uint>) => context::api_version(context, version);
    fn cuCtxSynchronize() => context::synchronise(0);
    fn cuCtxSynchronize_v2(context: Handle) => context::synchronise(context);
    fn cuCtxGetLimit(value: Out<usize>, limit: c_int) => context::limit(value, limit);
    fn cuCtxSetLimit(limit: c_int, value: usize) => context::set_limit(limit, value);
    fn cuCtxGetCacheConfig(config: Out<c_int>) => context::cache_config(config);
    fn cuCtxSetCacheConfig(config: c_int) => context::set_cache_config(config);
    fn cuCtxGetSharedMemConfig(config: Out<c_int>) => context::shared_config(config);
    fn cuCtxSetSharedMemConfig(config: c_int) => context::set_shared_config(config);
    fn cuCtxGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) =>
        context::priority_range(least, greatest);
    fn cuCtxEnablePeerAccess(peer: Handle, flags: c_uint) => context::enable_peer(peer, flags);
    fn cuCtxDisablePeerAccess(peer: Handle) => context::disable_peer(peer);
    fn cuCtxResetPersistingL2Cache() => driver::in_context(|_, _, _| Ok(()));

    fn cuProfilerStart() => driver::in_context(|_, _, _| Ok(()));
    fn cuProfilerStop() => driver::in_context(|_, _, _| Ok(()));
}
