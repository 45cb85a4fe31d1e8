//! The console that Windows opens for a program started by a double click.

use windows_sys::Win32::System::Console::{FreeConsole, GetConsoleProcessList};

/// Whether only this process uses its console. If started from a command line, the shell uses it
/// too.
pub(super) fn is_own() -> bool {
    let mut processes = [0; 2];
    // SAFETY: the pointer and length describe `processes`, and the function writes at most that
    // many numbers.
    #[allow(unsafe_code)]
    let count = unsafe { GetConsoleProcessList(processes.as_mut_ptr(), processes.len() as u32) };
    count == 1
}

/// Closes this process's console. Later output is lost.
pub(super) fn close() {
    // SAFETY: the function has no argument; without a console it fails and changes nothing.
    #[allow(unsafe_code)]
    unsafe {
        FreeConsole();
    }
}
