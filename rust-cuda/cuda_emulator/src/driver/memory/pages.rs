//! Pages of the host's memory that the driver allocates for its caller.

#![allow(unsafe_code, reason = "memory that C programs use by its address")]

use std::alloc::{Layout, alloc_zeroed, dealloc};

use crate::abi::HostAddress;
use crate::error::{Error, Result};

/// Size of a page in bytes, and the alignment of the memory.
const PAGE: usize = 4096;

/// Zeroed memory, freed when it is dropped.
#[derive(Debug)]
pub(super) struct Pages {
    address: usize,
    layout: Layout,
}

impl Pages {
    /// # Errors
    /// `OUT_OF_MEMORY`
    pub(super) fn new(bytes: usize) -> Result<Self> {
        let layout = Layout::from_size_align(bytes.max(1), PAGE).map_err(|_| Error::OUT_OF_MEMORY)?;
        // SAFETY: the layout has at least one byte.
        let pointer = unsafe { alloc_zeroed(layout) };
        if pointer.is_null() {
            return Err(Error::OUT_OF_MEMORY);
        }
        Ok(Self { address: pointer as usize, layout })
    }

    pub(super) fn address(&self) -> HostAddress {
        HostAddress(self.address)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: `new` has allocated it with this layout. The caller of the driver no longer uses it, since it asked to free it.
        unsafe { dealloc(self.address as *mut u8, self.layout) };
    }
}
