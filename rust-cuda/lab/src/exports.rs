//! The functions that the page calls. It writes a request to the address that `request` returns and
//! calls `run`, which returns the answer's length. It then reads the answer at `answer`.

#![allow(unsafe_code, reason = "exported names alone; nothing here reads or writes by a pointer")]

use std::cell::RefCell;

thread_local! {
    /// The request, replaced by its answer. The module has a single thread.
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Allocates `bytes` bytes for a request, and returns their address.
#[unsafe(no_mangle)]
extern "C" fn request(bytes: usize) -> *mut u8 {
    TEXT.with_borrow_mut(|text| {
        text.clear();
        text.resize(bytes, 0);
        text.as_mut_ptr()
    })
}

/// Answers the request, and returns the length of the answer in bytes.
#[unsafe(no_mangle)]
extern "C" fn run() -> usize {
    TEXT.with_borrow_mut(|text| {
        *text = crate::answer(&String::from_utf8_lossy(text)).into_bytes();
        text.len()
    })
}

/// The address of the answer's bytes.
#[unsafe(no_mangle)]
extern "C" fn answer() -> *const u8 {
    TEXT.with_borrow(|text| text.as_ptr())
}
