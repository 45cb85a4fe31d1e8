//! Free memory on systems other than Linux.

use sysinfo::{MemoryRefreshKind, RefreshKind, System};

pub(super) fn available_memory() -> Option<u64> {
    let memory = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let bytes = System::new_with_specifics(memory).available_memory();
    (bytes > 0).then_some(bytes)
}
