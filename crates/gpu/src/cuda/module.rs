//! Modules: kernels that the driver's JIT compiler has compiled for the GPU.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::rc::Rc;

use cuda_std::LaunchConfig;
use cust::sys::{self, CUfunction_attribute, CUjit_option};

use super::succeed;
use crate::ptx::Entry;
use crate::{DriverError, OpenError, PtxVariant};

/// Size in bytes of each of the two logs of the driver's JIT compiler.
const LOG_BYTES: usize = 16 * 1024;

/// The driver's result for a symbol that is not found.
const NOT_FOUND: u32 = sys::CUresult::CUDA_ERROR_NOT_FOUND as u32;

/// A module loaded on the GPU, with the PTX text that it was compiled from.
#[derive(Debug)]
pub(super) struct Module {
    module: sys::CUmodule,
    text: &'static str,
    functions: RefCell<HashMap<&'static str, Rc<Function>>>,
}

/// A kernel of a loaded module.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) handle: sys::CUfunction,
    /// The properties of its entry in the PTX.
    pub(super) entry: Entry,
    /// Static shared memory in bytes.
    pub(super) static_shared_bytes: u32,
    /// Max. dynamic shared memory of its launches in bytes, as set with the driver.
    pub(super) allowed_shared_bytes: Cell<u32>,
    /// Whether its launches may have clusters of more than 8 blocks, as set with the driver.
    pub(super) allows_large_clusters: Cell<bool>,
}

impl Function {
    /// Raises the limit of dynamic shared memory of the kernel's launches to `bytes`.
    #[allow(unsafe_code)]
    pub(super) fn allow_shared(&self, bytes: u32) -> Result<(), DriverError> {
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function belongs to a loaded module: functions stay within the device that owns the module.
        succeed(unsafe { sys::cuFuncSetAttribute(self.handle, attribute, bytes as i32) })?;
        self.allowed_shared_bytes.set(bytes);
        Ok(())
    }
}

/// Maximum blocks of a cluster that every GPU with clusters supports.
const PORTABLE_CLUSTER: u32 = 8;

impl Function {
    /// Permits the launches' clusters of more blocks than every GPU supports, if the kernel has them.
    #[allow(unsafe_code)]
    pub(super) fn allow_clusters(&self) -> Result<(), DriverError> {
        if self.entry.cluster <= PORTABLE_CLUSTER || self.allows_large_clusters.get() {
            return Ok(());
        }
        // SAFETY: the function belongs to a loaded module, as above.
        succeed(unsafe { cuda_driver::allow_large_clusters(self.handle) })?;
        self.allows_large_clusters.set(true);
        Ok(())
    }

    /// The number of clusters of this shape that can be resident at once; 0 if the driver or the GPU has no clusters of
    /// this size.
    #[allow(unsafe_code)]
    pub(super) fn max_clusters(&self, config: LaunchConfig) -> u32 {
        if self.allow_clusters().is_err() {
            return 0;
        }
        let [grid, block] = [config.grid, config.block].map(|size| [size.x, size.y, size.z]);
        // SAFETY: as above; the device's context is current in its thread.
        let count = unsafe { cuda_driver::max_active_clusters(self.handle, grid, block, config.dynamic_shared_bytes) };
        count.unwrap_or(0)
    }
}

impl Module {
    /// Loads `variant` on the GPU called `device`, whose context is current. The driver compiles it.
    #[allow(unsafe_code)]
    pub(super) fn load(variant: &'static PtxVariant, device: &str) -> Result<Self, OpenError> {
        let rejected = |error, log| {
            let variant = variant.compute_capability();
            OpenError::Ptx { device: device.to_owned(), variant, error, log }
        };
        let image = CString::new(variant.text()).map_err(|zero| {
            let text = format!("the text has a zero byte at {}", zero.nul_position());
            rejected(DriverError { code: sys::CUresult::CUDA_ERROR_INVALID_PTX as u32, text }, String::new())
        })?;
        let (mut errors, mut information) = (vec![0_u8; LOG_BYTES], vec![0_u8; LOG_BYTES]);
        let size: *mut c_void = std::ptr::without_provenance_mut(LOG_BYTES);
        let mut options = [
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
            CUjit_option::CU_JIT_INFO_LOG_BUFFER,
            CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
        ];
        let mut values = [errors.as_mut_ptr().cast(), size, information.as_mut_ptr().cast(), size];
        let mut module = std::ptr::null_mut();
        // SAFETY: the image is a C string; each option has its value, a buffer or that buffer's size; all of them
        // outlive the call.
        let result = unsafe {
            sys::cuModuleLoadDataEx(
                &raw mut module,
                image.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        succeed(result).map_err(|error| rejected(error, log([&errors, &information])))?;
        Ok(Self { module, text: variant.text(), functions: RefCell::default() })
    }

    /// The kernel called `name`, or None if the module has none. Found kernels are cached.
    pub(super) fn function(&self, name: &'static str) -> Result<Option<Rc<Function>>, DriverError> {
        let known = self.functions.borrow().get(name).map(Rc::clone);
        if known.is_some() {
            return Ok(known);
        }
        let Some(entry) = Entry::find(self.text, name) else { return Ok(None) };
        match self.look_up(name) {
            Ok(handle) => {
                let static_shared_bytes = static_shared_bytes(handle)?;
                // The default limit, which holds for static and dynamic shared memory together.
                let allowed = LaunchConfig::MAX_STATIC_SHARED_BYTES.saturating_sub(static_shared_bytes);
                let allowed_shared_bytes = Cell::new(allowed);
                let allows_large_clusters = Cell::new(false);
                let function =
                    Function { handle, entry, static_shared_bytes, allowed_shared_bytes, allows_large_clusters };
                let function = Rc::new(function);
                self.functions.borrow_mut().insert(name, Rc::clone(&function));
                Ok(Some(function))
            }
            Err(error) if error.code == NOT_FOUND => Ok(None),
            Err(error) => Err(error),
        }
    }

    #[allow(unsafe_code)]
    fn look_up(&self, name: &str) -> Result<sys::CUfunction, DriverError> {
        let name = CString::new(name).expect("the name of a Rust function has no zero byte");
        let mut function = std::ptr::null_mut();
        // SAFETY: the module is loaded, `function` is a valid out-pointer, and the name is a C string.
        succeed(unsafe { sys::cuModuleGetFunction(&raw mut function, self.module, name.as_ptr()) })?;
        Ok(function)
    }
}

impl Drop for Module {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: `load` loaded the module. Its functions are dropped with it, and none of its kernels runs: `Cuda`'s
        // drop has waited for them before its fields are dropped.
        let _ = unsafe { sys::cuModuleUnload(self.module) };
    }
}

#[allow(unsafe_code)]
fn static_shared_bytes(function: sys::CUfunction) -> Result<u32, DriverError> {
    let mut bytes = 0;
    let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
    // SAFETY: `bytes` is a valid out-pointer, and the function belongs to a loaded module.
    succeed(unsafe { sys::cuFuncGetAttribute(&raw mut bytes, attribute, function) })?;
    Ok(bytes.unsigned_abs())
}

/// The text of the logs, each up to its first zero byte.
fn log(logs: [&[u8]; 2]) -> String {
    let text = |log: &[u8]| {
        let length = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
        String::from_utf8_lossy(&log[..length]).trim().to_owned()
    };
    logs.map(text).into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}
