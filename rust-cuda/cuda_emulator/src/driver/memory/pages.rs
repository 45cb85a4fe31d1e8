//! Pages of host memory that the driver allocates for its caller.

#![allow(unsafe_code, reason = "memory that C programs use by its address")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeSet;

use crate::abi::HostAddress;
use crate::error::{Error, Result};

/// Page size in bytes, and the alignment of the memory.
const PAGE: usize = 4096;

/// Zeroed memory that is freed on drop.
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

/// Pages mapped at device addresses, through which the host accesses device variables. They stay
/// mapped until the process ends.
#[derive(Debug, Default)]
pub(super) struct PagesOfDevices {
    /// The address of each page.
    mapped: BTreeSet<usize>,
}

impl PagesOfDevices {
    /// Makes the bytes at an address accessible to the host.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY` if the host uses the address for something else, or the system does not
    /// permit the mapping.
    pub(super) fn map(&mut self, address: usize, bytes: usize) -> Result {
        let first = address - address % PAGE;
        for page in (first..address + bytes).step_by(PAGE) {
            if !self.mapped.contains(&page) {
                map_page(page)?;
                self.mapped.insert(page);
            }
        }
        Ok(())
    }
}

/// Maps a page of zeros, if nothing is mapped there.
#[cfg(target_os = "linux")]
fn map_page(page: usize) -> Result {
    let (access, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE);
    // SAFETY: with these flags the call never replaces an existing mapping, so no memory in use
    // changes.
    let found = unsafe { libc::mmap(page as *mut libc::c_void, PAGE, access, flags, -1, 0) };
    if found as usize == page {
        return Ok(());
    }
    if found != libc::MAP_FAILED {
        // SAFETY: a system that does not know the flag has mapped the page elsewhere, where nothing
        // uses it.
        unsafe { libc::munmap(found, PAGE) };
    }
    Err(Error::OUT_OF_MEMORY)
}

#[cfg(not(target_os = "linux"))]
fn map_page(_: usize) -> Result {
    Err(Error::NOT_SUPPORTED)
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: `new` allocated it with this layout. The caller of the driver asked to free it,
        // so it no longer uses it.
        unsafe { dealloc(self.address as *mut u8, self.layout) };
    }
}
