//! Options for the driver's compiler. The emulator does not have one: it uses only the logs and the
//! maximum number of registers.

use std::ffi::{c_int, c_uint};

use crate::abi::{HostAddress, In};
use crate::error::Result;
use crate::{host, journal};

/// `CU_JIT_MAX_REGISTERS`
const MAX_REGISTERS: c_int = 0;
/// `CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES`, `CU_JIT_ERROR_LOG_BUFFER`, `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
const INFO_LOG: c_int = 3;
const INFO_LOG_BYTES: c_int = 4;
const ERROR_LOG: c_int = 5;
const ERROR_LOG_BYTES: c_int = 6;

/// The log buffer for errors and the other options that have an effect.
#[derive(Debug, Default)]
pub(crate) struct JitOptions {
    log: Option<(HostAddress, usize)>,
    /// Maximum number of registers per thread.
    pub(crate) max_registers: Option<u32>,
}

impl JitOptions {
    /// Reads the options from a call's arrays. Their logs are empty until there is something to
    /// report.
    pub(crate) fn new(count: c_uint, options: In<c_int>, values: In<usize>) -> Result<Self> {
        let options = options.all(count as usize)?;
        let values = values.all(count as usize)?;
        let value = |wanted| options.iter().position(|option| *option == wanted).map(|index| values[index]);
        let log = |log, bytes| {
            let found = value(log).zip(value(bytes));
            found.filter(|(address, bytes)| *address != 0 && *bytes > 0)
        };
        if let Some((address, _)) = log(INFO_LOG, INFO_LOG_BYTES) {
            host::write(HostAddress(address), &[0])?;
        }
        let log = log(ERROR_LOG, ERROR_LOG_BYTES).map(|(address, bytes)| (HostAddress(address), bytes));
        if let Some((address, _)) = log {
            host::write(address, &[0])?;
        }
        // This option's values have 32 bits.
        Ok(Self { log, max_registers: value(MAX_REGISTERS).map(|registers| registers as u32) })
    }

    /// Writes a text to the error log, truncated to fit; to stderr if there is no log.
    pub(crate) fn report(&self, text: &str) {
        let Some((address, bytes)) = self.log else { return journal::note(text) };
        let text: Vec<u8> = text.bytes().take(bytes - 1).chain([0]).collect();
        if host::write(address, &text).is_err() {
            journal::note(&String::from_utf8_lossy(&text));
        }
    }
}
