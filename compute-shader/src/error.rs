use crate::adapter::describe;

/// Why a shader could not run.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ShaderError {
    /// No adapter can run compute shaders.
    #[error(
        "no adapter that runs compute shaders ({reason}): install a graphics driver, or a software one (on Debian and \
         Ubuntu: apt-get install mesa-vulkan-drivers)"
    )]
    NoAdapter {
        /// What was looked for, or what was found instead.
        reason: String,
    },
    /// No adapter has the wanted name.
    #[error("no adapter is called {wanted:?}; there are: {}", found.iter().map(describe).collect::<Vec<_>>().join("; "))]
    NoSuchAdapter {
        /// The name.
        wanted: String,
        /// The adapters that there are.
        found: Vec<wgpu::AdapterInfo>,
    },
    /// The adapter refused to open.
    #[error("the adapter {adapter} cannot be opened: {reason}")]
    Open {
        /// Its name.
        adapter: String,
        /// Why.
        reason: String,
    },
    /// The device is gone: reset, unplugged, or its driver failed.
    #[error("the adapter was lost: {reason}; start again, or choose another by --adapter")]
    Lost {
        /// What the driver says.
        reason: String,
    },
    /// The device has no memory left.
    #[error("the adapter is out of memory: choose smaller batches, or another by --adapter ({reason})")]
    OutOfMemory {
        /// What the driver says.
        reason: String,
    },
    /// The network does not fit the adapter.
    #[error(
        "{what} takes {bytes} bytes, and this adapter binds at most {limit}: choose a smaller layer or another adapter"
    )]
    TooLarge {
        /// What does not fit.
        what: String,
        /// What it takes.
        bytes: u64,
        /// What there may be.
        limit: u64,
    },
    /// The driver refused a command: a defect of the driver or of this crate.
    #[error("the adapter refused a command: {reason}")]
    Refused {
        /// What the driver says.
        reason: String,
    },
}
