//! Memory available to this process.

#[cfg_attr(target_os = "linux", path = "memory/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "memory/elsewhere.rs")]
mod system;

/// Checks that `bytes` of working memory are available.
///
/// # Errors
/// If less is available, or `bytes` is `None` because the size overflowed. The message names `what` and suggests a
/// smaller size.
pub fn require_memory(what: &str, bytes: Option<u64>) -> anyhow::Result<()> {
    const GIB: f64 = (1_u64 << 30) as f64;
    let Some(bytes) = bytes else {
        anyhow::bail!("{what} needs more memory than can be counted: choose a smaller size")
    };
    match available_memory() {
        Some(available) if bytes > available => anyhow::bail!(
            "{what} needs {:.1} GiB of memory and {:.1} GiB are free: choose a smaller size",
            bytes as f64 / GIB,
            available as f64 / GIB,
        ),
        _ => Ok(()),
    }
}

/// Bytes that this process can still allocate. `None` if the operating system does not report it.
///
/// On Linux, this is the minimum of the machine's free memory, the rest of the process's address
/// space (`ulimit -v`) and the rest of its control groups' memory (version 2). Without `/proc`, all
/// of the machine's memory counts as free. Elsewhere, it is the machine's free memory: macOS would
/// promise more than it has.
pub fn available_memory() -> Option<u64> {
    system::available_memory()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_beyond_the_machine_is_rejected() {
        assert!(require_memory("a matrix", Some(1)).is_ok());
        assert!(require_memory("a matrix", None).unwrap_err().to_string().contains("smaller size"));
        if available_memory().is_some() {
            let error = require_memory("a matrix", Some(u64::MAX)).unwrap_err().to_string();
            assert!(error.starts_with("a matrix needs 17179869184.0 GiB"), "{error}");
        }
    }
}
