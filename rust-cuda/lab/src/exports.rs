//! The functions that the page calls: it writes a request to the place that `request` returns, calls `run`, and reads
//! the answer, of the length that `run` returns, at `answer`.

#![allow(unsafe_code, reason = "exported names alone; nothing here reads or writes by a pointer")]

use std::cell::RefCell;

thread_local! {
    /// The request, then its answer. The module has one thread.
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The address of `bytes` bytes for a request.
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
