//! A message for a thread that needs more stack than it has.
//!
//! Below each stack is a guard page, whose access the system reports as a signal. Code that was interrupted there cannot be
//! unwound, so the process ends, as Rust's own programs do on a stack overflow: by one line that names the thread, and abort.

#![allow(unsafe_code, reason = "signal handlers")]

use std::cell::Cell;
use std::fmt::{self, Write as _};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Once, OnceLock};

use corosensei::trap::CoroutineTrapHandler;

use super::current;

thread_local! {
    /// The stack of the coroutine that runs, and the thread's kernel.
    static RUNNING: Cell<Option<Running>> = const { Cell::new(None) };
}

#[derive(Clone, Copy)]
struct Running {
    stack: CoroutineTrapHandler<()>,
    bytes: usize,
    kernel: &'static str,
    place: (&'static str, u32),
}

/// Notes the stack that a coroutine of `kernel`, which is defined at `place`, runs on.
pub(super) fn enter_stack(
    stack: CoroutineTrapHandler<()>,
    bytes: usize,
    kernel: &'static str,
    place: (&'static str, u32),
) {
    RUNNING.set(Some(Running { stack, bytes, kernel, place }));
}

/// Notes that no coroutine runs.
pub(super) fn leave_stack() {
    RUNNING.set(None);
}

/// The signals by which systems report an access to a guard page, each with the action before [`install`].
static PREVIOUS: [(libc::c_int, OnceLock<libc::sigaction>); 2] =
    [(libc::SIGSEGV, OnceLock::new()), (libc::SIGBUS, OnceLock::new())];

/// Installs the signal handler.
pub(super) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        for (signal, previous) in &PREVIOUS {
            let mut before = MaybeUninit::<libc::sigaction>::zeroed();
            // SAFETY: a null pointer asks for the present action; all-zero bytes are a valid action.
            let before = unsafe {
                libc::sigaction(*signal, ptr::null(), before.as_mut_ptr());
                before.assume_init()
            };
            _ = previous.set(before);
            // SAFETY: as above; the handler has the signature that SA_SIGINFO says.
            unsafe {
                let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
                action.sa_sigaction = on_signal as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigemptyset(&raw mut action.sa_mask);
                libc::sigaction(*signal, &raw const action, ptr::null_mut());
            }
        }
    });
}

extern "C" fn on_signal(signal: libc::c_int, information: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the system passes the signal's information, which for these signals has an address.
    let address = unsafe { (*information).si_addr() } as usize;
    if let Some(running) = RUNNING.get().filter(|running| running.stack.stack_ptr_in_bounds(address)) {
        report(&running);
        // SAFETY: `abort` may be called in a signal handler.
        unsafe { libc::abort() };
    }
    // Another one's: the instruction is executed again, with the action before.
    for (number, previous) in &PREVIOUS {
        if let Some(previous) = previous.get().filter(|_| *number == signal) {
            // SAFETY: the action was the system's.
            unsafe { libc::sigaction(signal, previous, ptr::null_mut()) };
        }
    }
}

/// Writes the line. It allocates nothing, since the handler may have interrupted the allocator.
fn report(running: &Running) {
    let mut line = Line { text: [0; 1024], length: 0 };
    let (block, thread) = current::with(|current| (current.block_index.get(), current.thread_index.get()));
    let Running { bytes, kernel, place: (file, number), .. } = running;
    // A longer text is cut off.
    _ = writeln!(
        line,
        "kernel {kernel}, block {block}, thread {thread}, {file}:{number}: stack overflow: local arrays and nested calls need more \
         than {bytes} bytes; a GPU allows 524288 for a thread. Make the arrays smaller, or end the recursion earlier"
    );
    // SAFETY: the bytes are initialised, and `write` may be called in a signal handler.
    unsafe { libc::write(libc::STDERR_FILENO, line.text.as_ptr().cast(), line.length) };
}

struct Line {
    text: [u8; 1024],
    length: usize,
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let rest = &mut self.text[self.length..];
        let count = rest.len().min(text.len());
        rest[..count].copy_from_slice(&text.as_bytes()[..count]);
        self.length += count;
        if count == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}
