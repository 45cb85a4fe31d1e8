//! Reads and writes of host memory. A caller's invalid pointer is an error instead of a crash.

#![allow(unsafe_code, reason = "the host's memory")]

use crate::abi::HostAddress;
use crate::error::{Error, Result};

/// Reads the bytes at a host address.
///
/// # Errors
/// `INVALID_VALUE` if they cannot all be read. If the system cannot check this, only for null.
pub(crate) fn read(address: HostAddress, into: &mut [u8]) -> Result {
    read_all(&mut [(address, into)])
}

/// Reads the bytes at several host addresses at once.
///
/// # Errors
/// Same as [`read`].
pub(crate) fn read_all(parts: &mut [(HostAddress, &mut [u8])]) -> Result {
    if parts.iter().any(|(address, into)| address.0 == 0 && !into.is_empty()) {
        return Err(Error::INVALID_VALUE);
    }
    match checked::read(parts) {
        Some(result) => result,
        None => {
            for (address, into) in parts {
                // SAFETY: the caller of the exported function passes a pointer to this many
                // readable bytes. `into` does not overlap them, since its caller allocated it.
                unsafe { std::ptr::copy(address.0 as *const u8, into.as_mut_ptr(), into.len()) };
            }
            Ok(())
        }
    }
}

/// Writes bytes to a host address.
///
/// # Errors
/// `INVALID_VALUE` if they cannot all be written. If the system cannot check this, only for null.
pub(crate) fn write(address: HostAddress, from: &[u8]) -> Result {
    if address.0 == 0 && !from.is_empty() {
        return Err(Error::INVALID_VALUE);
    }
    match checked::write(address, from) {
        Some(result) => result,
        None => {
            // SAFETY: the caller of the exported function passes a pointer to this many writable
            // bytes.
            unsafe { std::ptr::copy(from.as_ptr(), address.0 as *mut u8, from.len()) };
            Ok(())
        }
    }
}

/// Accesses through the operating system's kernel, which returns an error instead of raising a
/// signal.
#[cfg(target_os = "linux")]
mod checked {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    use super::HostAddress;
    use crate::error::{Error, Result};

    /// Whether the system does not permit these calls, as in some sandboxes.
    static IS_MISSING: AtomicBool = AtomicBool::new(false);

    /// Maximum number of parts per call (`IOV_MAX` on Linux).
    const MAX_PARTS: usize = 1024;

    /// Returns None if the system does not permit the call.
    pub(super) fn read(parts: &mut [(HostAddress, &mut [u8])]) -> Option<Result> {
        parts.chunks_mut(MAX_PARTS).map(read_some).find(|result| *result != Some(Ok(()))).unwrap_or(Some(Ok(())))
    }

    fn read_some(parts: &mut [(HostAddress, &mut [u8])]) -> Option<Result> {
        let bytes = parts.iter().map(|(_, into)| into.len()).sum();
        let part = |address: usize, bytes| libc::iovec { iov_base: address as *mut libc::c_void, iov_len: bytes };
        let remote: Vec<libc::iovec> = parts.iter().map(|(address, into)| part(address.0, into.len())).collect();
        let local: Vec<libc::iovec> =
            parts.iter_mut().map(|(_, into)| part(into.as_mut_ptr() as usize, into.len())).collect();
        outcome(bytes, || {
            let count = local.len() as libc::c_ulong;
            // SAFETY: the local parts are writable slices; the system checks the others.
            unsafe { libc::process_vm_readv(libc::getpid(), local.as_ptr(), count, remote.as_ptr(), count, 0) }
        })
    }

    /// Returns None if the system does not permit the call.
    pub(super) fn write(address: HostAddress, from: &[u8]) -> Option<Result> {
        let local = libc::iovec { iov_base: from.as_ptr().cast_mut().cast(), iov_len: from.len() };
        let remote = libc::iovec { iov_base: address.0 as *mut libc::c_void, iov_len: from.len() };
        outcome(from.len(), || {
            // SAFETY: the local part is a slice that the call only reads; the system checks the
            // other.
            unsafe { libc::process_vm_writev(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) }
        })
    }

    fn outcome(bytes: usize, call: impl FnOnce() -> isize) -> Option<Result> {
        if bytes == 0 {
            return Some(Ok(()));
        }
        if IS_MISSING.load(Relaxed) {
            return None;
        }
        let done = call();
        if done < 0 && std::io::Error::last_os_error().raw_os_error() != Some(libc::EFAULT) {
            IS_MISSING.store(true, Relaxed);
            return None;
        }
        Some(if usize::try_from(done) == Ok(bytes) { Ok(()) } else { Err(Error::INVALID_VALUE) })
    }
}

#[cfg(not(target_os = "linux"))]
mod checked {
    use super::HostAddress;
    use crate::error::Result;

    pub(super) fn read(_: &mut [(HostAddress, &mut [u8])]) -> Option<Result> {
        None
    }

    pub(super) fn write(_: HostAddress, _: &[u8]) -> Option<Result> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_and_written() {
        let (source, mut destination) = ([1_u8, 2, 3, 4], [0_u8; 4]);
        let address = HostAddress(source.as_ptr() as usize);
        let (mut low, mut high) = ([0; 1], [0; 2]);
        read_all(&mut [(address, &mut low), (HostAddress(address.0 + 2), &mut high)]).unwrap();
        assert_eq!((low, high), ([1], [3, 4]));
        write(HostAddress(destination.as_mut_ptr() as usize), &source).unwrap();
        assert_eq!(destination, source);
    }

    #[test]
    fn a_wrong_address_is_an_error() {
        assert_eq!(read(HostAddress(0), &mut [0; 4]), Err(Error::INVALID_VALUE));
        assert_eq!(write(HostAddress(0), &[0; 4]), Err(Error::INVALID_VALUE));
        if cfg!(target_os = "linux") {
            // The first page is never mapped.
            assert_eq!(read(HostAddress(16), &mut [0; 4]), Err(Error::INVALID_VALUE));
            assert_eq!(write(HostAddress(16), &[0; 4]), Err(Error::INVALID_VALUE));
            // A constant cannot be written.
            static CONSTANT: [u8; 4] = [1; 4];
            assert_eq!(write(HostAddress(CONSTANT.as_ptr() as usize), &[0; 4]), Err(Error::INVALID_VALUE));
        }
        assert_eq!(read(HostAddress(0), &mut []), Ok(()));
    }
}
