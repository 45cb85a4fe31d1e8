//! The kernels on the GPU.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CString, c_void};

use cust::sys::{self, CUjit_option};

use super::succeed;
use crate::ptx::parameter_count;
use crate::{DriverError, OpenError, PtxVariant};

/// Bytes for each of the two logs of the driver's compiler.
const LOG_BYTES: usize = 16 * 1024;

/// What `cuda.h` calls a symbol that is not found.
const NOT_FOUND: u32 = sys::CUresult::CUDA_ERROR_NOT_FOUND as u32;

/// Kernels that the driver has compiled for the GPU.
#[derive(Debug)]
pub(super) struct Module {
    module: sys::CUmodule,
    text: &'static str,
    functions: RefCell<HashMap<&'static str, Function>>,
}

/// A kernel of a module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function {
    pub(super) handle: sys::CUfunction,
    /// The number of its parameters.
    pub(super) parameters: usize,
}

impl Module {
    /// Has the driver compile `variant` for the GPU called `device`, whose context is current.
    #[allow(unsafe_code)]
    pub(super) fn load(variant: &'static PtxVariant, device: &str) -> Result<Self, OpenError> {
        let refused = |error, log| {
            let variant = variant.compute_capability;
            OpenError::Ptx { device: device.to_owned(), variant, error, log }
        };
        let image = CString::new(variant.text).map_err(|zero| {
            let text = format!("the text has a zero byte at {}", zero.nul_position());
            refused(DriverError { code: sys::CUresult::CUDA_ERROR_INVALID_PTX as u32, text }, String::new())
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
        // SAFETY: the image is a C string; each option has its value, a buffer or that buffer's size; all of it
        // outlives the call.
        let result = unsafe {
            sys::cuModuleLoadDataEx(
                &raw mut module,
                image.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        succeed(result).map_err(|error| refused(error, log([&errors, &information])))?;
        Ok(Self { module, text: variant.text, functions: RefCell::default() })
    }

    /// The kernel called `name`, or nothing if the module has none; looked up once.
    pub(super) fn function(&self, name: &'static str) -> Result<Option<Function>, DriverError> {
        let known = self.functions.borrow().get(name).copied();
        if known.is_some() {
            return Ok(known);
        }
        let Some(parameters) = parameter_count(self.text, name) else { return Ok(None) };
        match self.look_up(name) {
            Ok(handle) => {
                let function = Function { handle, parameters };
                self.functions.borrow_mut().insert(name, function);
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
        // SAFETY: the module is loaded, and the name a C string.
        succeed(unsafe { sys::cuModuleGetFunction(&raw mut function, self.module, name.as_ptr()) })?;
        Ok(function)
    }
}

impl Drop for Module {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: `load` made the module. Its functions go with it, and whoever owns it has waited for its kernels.
        let _ = unsafe { sys::cuModuleUnload(self.module) };
    }
}

/// What is in the logs, each up to its first zero byte.
fn log(logs: [&[u8]; 2]) -> String {
    let text = |log: &[u8]| {
        let length = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
        String::from_utf8_lossy(&log[..length]).trim().to_owned()
    };
    logs.map(text).into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}
