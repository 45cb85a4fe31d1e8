//! Large buffers on large pages.
//!
//! New memory comes page by page, by a fault at the first touch of each: 12,000 of them for MNIST's training images, which
//! takes longer than to copy them. Linux gives pages of 2 MiB where a process asks for them.

/// So many zero bytes, which are on large pages where the system has them and there are enough.
pub(super) fn zeroed(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    advise(&mut bytes);
    bytes
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "a call into a C library")]
fn advise(bytes: &mut [u8]) {
    // Smaller than any architecture's large page; it only saves the call. The kernel takes care of the size.
    const WORTH_IT: usize = 1 << 20;
    // A range has to begin at a page, and 64 KiB is a multiple of every architecture's. The rest stays as it is.
    const ALIGNMENT: usize = 64 << 10;
    if bytes.len() < WORTH_IT {
        return;
    }
    let before = bytes.as_ptr().align_offset(ALIGNMENT).min(bytes.len());
    let inside = &mut bytes[before..];
    let length = inside.len() / ALIGNMENT * ALIGNMENT;
    // SAFETY: the range is within a slice that is borrowed mutably, and the advice changes no byte of it. Where there are no
    // large pages the call fails, and nothing has changed.
    let _ = unsafe { libc::madvise(inside.as_mut_ptr().cast(), length, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn advise(_bytes: &mut [u8]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_zero_and_can_be_written() {
        for length in [0, 1, (1 << 20) - 1, 1 << 20, (5 << 20) + 3] {
            let mut bytes = zeroed(length);
            assert!(bytes.len() == length && bytes.iter().all(|&byte| byte == 0), "{length}");
            bytes.fill(7);
            assert!(bytes.iter().all(|&byte| byte == 7), "{length}");
        }
    }
}
