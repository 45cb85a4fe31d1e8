//! The crate defines every driver function that cust refers to, so programs with cust link.
//!
//! There are two kinds of references. Those in cust's compiled library are read from the file.
//! Those in its generic functions are in the programs that instantiate them: this test's program
//! refers to all of cust, and it links.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use cust::context::legacy::{self, ContextStack};
use cust::context::{Context, CurrentContext};
use cust::device::Device;
use cust::error::CudaResult;
use cust::event::Event;
use cust::external::ExternalMemory;
use cust::function::Function;
use cust::link::Linker;
use cust::memory::array::ArrayObject;
use cust::memory::{self, CopyDestination, DeviceBox, DeviceBuffer, DeviceSlice, LockedBox, LockedBuffer};
use cust::memory::{AsyncCopyDestination, DeviceVariable, MemoryAdvise, UnifiedBox, UnifiedBuffer};
use cust::module::Module;
use cust::stream::Stream;

#[test]
fn references_of_the_compiled_cust_are_defined() {
    let libraries = compiled_cust();
    assert!(!libraries.is_empty(), "cust's compiled library is not in the directory of the test's program");
    for library in libraries {
        let contents = fs::read(&library).unwrap();
        // In an object file's string table each symbol's name ends with a zero byte.
        let names: BTreeSet<&str> = contents.split(|&byte| byte == 0).filter_map(driver_function).collect();
        assert!(!cfg!(target_os = "linux") || names.contains("cuStreamSynchronize"), "{names:?}");
        let undefined: Vec<&&str> = names.iter().filter(|name| !cuda_driver::SYMBOLS.contains(name)).collect();
        assert!(undefined.is_empty(), "{} refers to {undefined:?}", library.display());
    }
}

#[test]
fn a_program_with_all_of_cust_links() {
    type Element = f32;
    let functions = [
        cust::init as *const (),
        cust::CudaApiVersion::get as *const (),
        Device::num_devices as *const (),
        Device::total_memory as *const (),
        Device::name as *const (),
        Device::get_attribute as *const (),
        Context::new as *const (),
        Context::reset as *const (),
        Context::set_flags as *const (),
        Context::get_api_version as *const (),
        Context::drop as *const (),
        CurrentContext::get_cache_config as *const (),
        CurrentContext::get_device as *const (),
        CurrentContext::get_flags as *const (),
        CurrentContext::get_resource_limit as *const (),
        CurrentContext::get_shared_memory_config as *const (),
        CurrentContext::get_stream_priority_range as *const (),
        CurrentContext::set_cache_config as *const (),
        CurrentContext::set_resource_limit as *const (),
        CurrentContext::set_shared_memory_config as *const (),
        CurrentContext::set_current::<Context> as *const (),
        CurrentContext::synchronize as *const (),
        legacy::Context::create_and_push as *const (),
        legacy::Context::drop as *const (),
        ContextStack::pop as *const (),
        ContextStack::push::<legacy::Context> as *const (),
        Module::from_file::<&str> as *const (),
        Module::from_ptx::<&str> as *const (),
        Module::get_global::<Element> as *const (),
        Module::get_function::<&str> as *const (),
        Module::drop as *const (),
        Linker::new as *const (),
        (|linker| linker.add_ptx("")) as fn(&mut Linker) -> CudaResult<()> as *const (),
        Linker::complete as *const (),
        Function::get_attribute as *const (),
        Function::set_cache_config as *const (),
        Function::set_shared_memory_config as *const (),
        Function::suggested_launch_configuration as *const (),
        Function::max_active_blocks_per_multiprocessor as *const (),
        Function::available_dynamic_shared_memory_per_block as *const (),
        Stream::new as *const (),
        Stream::get_flags as *const (),
        Stream::get_priority as *const (),
        Stream::add_callback::<Box<dyn FnOnce() + Send>> as *const (),
        Stream::wait_event as *const (),
        Stream::launch::<u32, u32> as *const (),
        Stream::drop as *const (),
        Event::new as *const (),
        Event::record as *const (),
        Event::query as *const (),
        Event::synchronize as *const (),
        Event::elapsed_time_f32 as *const (),
        Event::drop as *const (),
        ExternalMemory::import as *const (),
        ExternalMemory::mapped_buffer::<Element> as *const (),
        ArrayObject::new_1d as *const (),
        ArrayObject::copy_from::<Element, Vec<Element>> as *const (),
        ArrayObject::copy_to::<Element, Vec<Element>> as *const (),
        ArrayObject::descriptor as *const (),
        memory::mem_get_info as *const (),
        memory::memcpy_htod as *const (),
        memory::cuda_malloc_async::<Element> as *const (),
        memory::cuda_free_async::<Element> as *const (),
        memory::cuda_malloc_unified::<Element> as *const (),
        memory::cuda_free_unified::<Element> as *const (),
        memory::cuda_malloc_locked::<Element> as *const (),
        memory::cuda_free_locked::<Element> as *const (),
        DeviceBox::<Element>::new as *const (),
        DeviceBox::<Element>::new_async as *const (),
        DeviceBox::<Element>::zeroed_async as *const (),
        DeviceVariable::<Element>::new as *const (),
        DeviceBuffer::<Element>::from_slice as *const (),
        DeviceBuffer::<Element>::from_slice_async as *const (),
        DeviceBuffer::<Element>::zeroed as *const (),
        DeviceBuffer::<Element>::zeroed_async as *const (),
        DeviceBuffer::<Element>::drop_async as *const (),
        DeviceSlice::<Element>::as_host_vec as *const (),
        DeviceSlice::<Element>::set_8 as *const (),
        DeviceSlice::<Element>::set_8_async as *const (),
        DeviceSlice::<Element>::set_16 as *const (),
        DeviceSlice::<Element>::set_16_async as *const (),
        DeviceSlice::<Element>::set_32 as *const (),
        DeviceSlice::<Element>::set_32_async as *const (),
        <DeviceSlice<Element> as CopyDestination<[Element]>>::copy_from as *const (),
        <DeviceSlice<Element> as CopyDestination<DeviceSlice<Element>>>::copy_from as *const (),
        <DeviceSlice<Element> as AsyncCopyDestination<DeviceSlice<Element>>>::async_copy_from as *const (),
        <DeviceSlice<Element> as AsyncCopyDestination<[Element]>>::async_copy_to as *const (),
        LockedBox::<Element>::new as *const (),
        LockedBuffer::<Element>::new as *const (),
        LockedBuffer::<Element>::from_slice as *const (),
        UnifiedBox::<Element>::new as *const (),
        UnifiedBuffer::<Element>::new as *const (),
        <UnifiedBuffer<Element> as MemoryAdvise<Element>>::prefetch_to_host as *const (),
        <UnifiedBuffer<Element> as MemoryAdvise<Element>>::advise_read_mostly as *const (),
    ];
    // The compiler must keep the functions, because `black_box` hides their use.
    assert!(std::hint::black_box(functions).iter().all(|function| !function.is_null()));
}

/// The files of cust's compiled library, one for each configuration in which it was compiled.
fn compiled_cust() -> Vec<PathBuf> {
    let program = std::env::current_exe().unwrap();
    let files = fs::read_dir(program.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|extension| extension == "rlib"))
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("libcust-"))
        .collect()
}

/// `bytes` as the name of a driver function, `cu` followed by a capital letter: `cuInit`.
fn driver_function(bytes: &[u8]) -> Option<&str> {
    let name = std::str::from_utf8(bytes).ok()?;
    let rest = name.strip_prefix("cu")?;
    let is_name = rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (is_name && rest.starts_with(|first: char| first.is_ascii_uppercase())).then_some(name)
}
