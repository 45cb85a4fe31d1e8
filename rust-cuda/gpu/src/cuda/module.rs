//! A module: kernels compiled for the GPU by the driver's JIT compiler.

use std::cell::Cell;
use std::ffi::{CString, c_void};

use cuda_std::LaunchConfig;
use cust::sys::{self, CUfunction_attribute, CUjit_option};

use super::status::{driver_error, succeed};
use crate::DriverError;
use crate::ptx::Entry;

/// Size in bytes of each of the two logs of the driver's JIT compiler.
const LOG_BYTES: usize = 16 * 1024;

/// The driver's result when a symbol is not found.
const NOT_FOUND: u32 = sys::CUresult::CUDA_ERROR_NOT_FOUND as u32;

/// A module loaded on the GPU.
#[derive(Debug)]
pub(super) struct Module(sys::CUmodule);

/// The driver's error for a module that it cannot compile, with the log of its JIT compiler.
#[derive(Debug)]
pub(super) struct LoadError {
    pub(super) error: DriverError,
    pub(super) log: String,
}

/// A kernel of a loaded module.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) handle: sys::CUfunction,
    /// The properties of its PTX entry.
    pub(super) entry: Entry,
    /// Static shared memory in bytes.
    pub(super) static_shared_bytes: u32,
    /// Maximum dynamic shared memory of its launches in bytes, as configured in the driver.
    pub(super) allowed_shared_bytes: Cell<u32>,
    /// Whether its launches may have clusters of more than 8 blocks, as configured in the driver.
    pub(super) allows_large_clusters: Cell<bool>,
}

impl Function {
    /// Raises the dynamic shared memory limit of the kernel's launches to `bytes`.
    #[allow(unsafe_code)]
    pub(super) fn allow_shared(&self, bytes: u32) -> Result<(), DriverError> {
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function belongs to a loaded module, since functions never outlive the device
        // that owns it.
        succeed(unsafe { sys::cuFuncSetAttribute(self.handle, attribute, bytes as i32) })?;
        self.allowed_shared_bytes.set(bytes);
        Ok(())
    }
}

/// Maximum number of blocks in a cluster that every GPU with clusters supports.
const PORTABLE_CLUSTER: u32 = 8;

/// The driver's results if it, or the GPU, does not support a cluster size: the function is missing
/// (before CUDA 11.8), `CUDA_ERROR_NOT_SUPPORTED`, `CUDA_ERROR_INVALID_CLUSTER_SIZE`.
const NO_SUCH_CLUSTERS: [u32; 3] = [NOT_FOUND, 801, 912];

impl Function {
    /// Permits clusters with more blocks than every GPU supports, if the kernel uses such clusters.
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

    /// The number of clusters of this shape that can be resident at once; 0 if the driver or the
    /// GPU does not support this cluster size.
    pub(super) fn max_clusters(&self, config: LaunchConfig) -> Result<u32, DriverError> {
        match self.allow_clusters().and_then(|()| self.active_clusters(config)) {
            Err(error) if NO_SUCH_CLUSTERS.contains(&error.code) => Ok(0),
            count => count,
        }
    }

    #[allow(unsafe_code)]
    fn active_clusters(&self, config: LaunchConfig) -> Result<u32, DriverError> {
        let [grid, block] = [config.grid, config.block].map(|size| [size.x, size.y, size.z]);
        // SAFETY: the function belongs to a loaded module, as above, and `Cuda::enter` has made its context current.
        let count = unsafe { cuda_driver::max_active_clusters(self.handle, grid, block, config.dynamic_shared_bytes) };
        count.map_err(driver_error)
    }
}

impl Module {
    /// Loads a module on the GPU of the current context. The driver compiles its text.
    #[allow(unsafe_code)]
    pub(super) fn load(text: &str) -> Result<Self, LoadError> {
        let image = CString::new(text).map_err(|zero| {
            let text = format!("the text has a zero byte at {}", zero.nul_position());
            let error = DriverError { code: sys::CUresult::CUDA_ERROR_INVALID_PTX as u32, text };
            LoadError { error, log: String::new() }
        })?;
        let (mut errors, mut information) = (vec![0_u8; LOG_BYTES], vec![0_u8; LOG_BYTES]);
        let size: *mut c_void = std::ptr::without_provenance_mut(LOG_BYTES);
        let yes: *mut c_void = std::ptr::without_provenance_mut(1);
        let mut options = [
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
            CUjit_option::CU_JIT_INFO_LOG_BUFFER,
            CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
            // Line information from `.loc`, with which compute-sanitizer and ncu name a kernel's
            // source. It does not change the code.
            CUjit_option::CU_JIT_GENERATE_LINE_INFO,
        ];
        let mut values = [errors.as_mut_ptr().cast(), size, information.as_mut_ptr().cast(), size, yes];
        let mut module = std::ptr::null_mut();
        // SAFETY: the image is a C string; each option has its value: a buffer, that buffer's size,
        // or 1 for yes; all of them outlive the call.
        let result = unsafe {
            sys::cuModuleLoadDataEx(
                &raw mut module,
                image.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        succeed(result).map_err(|error| LoadError { error, log: log([&errors, &information]) })?;
        Ok(Self(module))
    }

    /// The kernel called `name`, with the PTX entry `entry`; None if the module does not contain
    /// it.
    pub(super) fn function(&self, name: &str, entry: Entry) -> Result<Option<Function>, DriverError> {
        let handle = match self.look_up(name) {
            Ok(handle) => handle,
            Err(error) if error.code == NOT_FOUND => return Ok(None),
            Err(error) => return Err(error),
        };
        let static_shared_bytes = static_shared_bytes(handle)?;
        // The default limit, which applies to the sum of static and dynamic shared memory.
        let allowed = LaunchConfig::MAX_STATIC_SHARED_BYTES.saturating_sub(static_shared_bytes);
        let (allowed_shared_bytes, allows_large_clusters) = (Cell::new(allowed), Cell::new(false));
        Ok(Some(Function { handle, entry, static_shared_bytes, allowed_shared_bytes, allows_large_clusters }))
    }

    #[allow(unsafe_code)]
    fn look_up(&self, name: &str) -> Result<sys::CUfunction, DriverError> {
        let name = CString::new(name).expect("the name of a Rust function has no zero byte");
        let mut function = std::ptr::null_mut();
        // SAFETY: the module is loaded, `function` is a valid out-pointer, and the name is a C string.
        succeed(unsafe { sys::cuModuleGetFunction(&raw mut function, self.0, name.as_ptr()) })?;
        Ok(function)
    }
}

impl Module {
    /// Writes an 8-byte variable in the module's global memory. Does nothing if the module has no
    /// such variable.
    #[allow(unsafe_code)]
    pub(super) fn set_variable(&self, name: &str, value: u64) -> Result<(), DriverError> {
        let name = CString::new(name).expect("the name of a variable has no zero byte");
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: the module is loaded, both are valid out-pointers, and the name is a C string.
        let found = unsafe { sys::cuModuleGetGlobal_v2(&raw mut address, &raw mut bytes, self.0, name.as_ptr()) };
        match succeed(found) {
            Err(error) if error.code == NOT_FOUND => return Ok(()),
            found => found?,
        }
        if bytes != size_of::<u64>() {
            return Ok(());
        }
        // SAFETY: the variable has 8 bytes, and no kernel of the module has run.
        succeed(unsafe { sys::cuMemcpyHtoD_v2(address, (&raw const value).cast(), bytes) })
    }
}

impl Drop for Module {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: `load` loaded the module. Its functions are dropped with it, and none of its
        // kernels is running: `Cuda`'s drop waits for them before its fields are dropped.
        let _ = unsafe { sys::cuModuleUnload(self.0) };
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
