use crate::description::describe;

/// Which driver works without a GPU, and how to get it.
const SOFTWARE_DRIVER: &str = match cfg!(target_os = "linux") {
    true => ", or a software one (on Debian and Ubuntu: apt-get install mesa-vulkan-drivers)",
    false => "",
};

/// Errors of the adapter or the device, and of a network that does not fit the adapter.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ShaderError {
    /// No adapter can run compute shaders.
    #[error("no adapter that runs compute shaders ({reason}): install a graphics driver{SOFTWARE_DRIVER}")]
    NoAdapter {
        /// The back ends searched, or the unsuitable adapters found.
        reason: String,
    },
    /// `WGPU_BACKEND` does not name a back end.
    #[error(
        "the environment variable WGPU_BACKEND has {name:?}, which is not a backend: choose among vulkan, metal, dx12 and gl, \
         separated by commas, or unset it"
    )]
    UnknownBackend {
        /// The name.
        name: String,
    },
    /// No adapter matches the requested name.
    #[error("no adapter matches {wanted:?}; available: {}", found.iter().map(describe).collect::<Vec<_>>().join("; "))]
    NoSuchAdapter {
        /// The requested name.
        wanted: String,
        /// The adapters found.
        found: Vec<wgpu::AdapterInfo>,
    },
    /// The adapter could not be opened.
    #[error("the adapter {adapter} cannot be opened: {reason}")]
    Open {
        /// Its description.
        adapter: String,
        /// The driver's message.
        reason: String,
    },
    /// Device lost: reset, unplugged, or its driver failed.
    #[error("device lost: {reason}; run the program again, or choose another adapter with --adapter")]
    Lost {
        /// The driver's message.
        reason: String,
    },
    /// The device is out of memory.
    #[error("the device is out of memory ({reason}): use smaller batches, or another adapter with --adapter")]
    OutOfMemory {
        /// The driver's message.
        reason: String,
    },
    /// The network does not fit the adapter.
    #[error(
        "{what} needs {bytes} bytes, and this adapter binds at most {limit}: use a smaller layer or another adapter"
    )]
    TooLarge {
        /// Name of the buffer.
        what: String,
        /// Its size in bytes.
        bytes: u64,
        /// The maximum size in bytes.
        limit: u64,
    },
    /// The driver rejected a command. This is a bug in the driver or in this crate.
    #[error("the adapter rejected a command: {reason}")]
    Rejected {
        /// The driver's message.
        reason: String,
    },
}
