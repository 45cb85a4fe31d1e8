//! The console that Windows opens for a program that was started by a double click.

use windows_sys::Win32::System::Console::{FreeConsole, GetConsoleProcessList};

/// Whether no other process has this one's console: from a command line, the shell has it too.
pub(super) fn is_own() -> bool {
    let mut processes = [0; 2];
    // SAFETY: the function writes at most as many numbers as the array has.
    #[allow(unsafe_code)]
    let count = unsafe { GetConsoleProcessList(processes.as_mut_ptr(), processes.len() as u32) };
    count == 1
}

/// Closes this process's console. What it prints from then on is lost.
pub(super) fn close() {
    // SAFETY: the function has no argument; without a console it fails and changes nothing.
    #[allow(unsafe_code)]
    unsafe {
        FreeConsole();
    }
}
