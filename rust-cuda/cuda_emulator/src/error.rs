//! The driver's results, with the names and values from cuda.h.

use std::ffi::CStr;

/// An error that a driver function returns, with its value from cuda.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} ({})", self.name(), self.code())]
pub struct Error(i32);

/// The result of a driver function before its conversion to an integer.
pub(crate) type Result<T = ()> = std::result::Result<T, Error>;

impl Error {
    /// The value in cuda.h.
    pub fn code(self) -> i32 {
        self.0
    }

    /// An error that only the runtime library has.
    pub(crate) const fn of_runtime(code: i32) -> Self {
        Self(code)
    }

    /// The name in cuda.h.
    pub fn name(self) -> &'static str {
        name(self.0).and_then(|name| name.to_str().ok()).unwrap_or("CUDA_ERROR_UNKNOWN")
    }
}

/// Defines a constant for each error that the emulator returns, and the names and descriptions of
/// all errors.
macro_rules! results {
    ($($result:ident = $value:literal, $name:literal, $text:literal;)*) => {
        /// The name of a result in cuda.h; None for an unknown value.
        pub(crate) fn name(code: i32) -> Option<&'static CStr> {
            match code {
                $($value => Some($name),)*
                _ => None,
            }
        }

        /// The description of a result.
        pub(crate) fn text(code: i32) -> Option<&'static CStr> {
            match code {
                $($value => Some($text),)*
                _ => None,
            }
        }

        /// The names and values of all results, for comparison with cuda.h.
        pub const RESULTS: &[(&str, i32)] = &[$((stringify!($result), $value)),*];
    };
}

impl Error {
    pub(crate) const INVALID_VALUE: Self = Self(1);
    pub(crate) const OUT_OF_MEMORY: Self = Self(2);
    pub(crate) const NOT_INITIALIZED: Self = Self(3);
    pub(crate) const NO_DEVICE: Self = Self(100);
    pub(crate) const INVALID_DEVICE: Self = Self(101);
    pub(crate) const INVALID_IMAGE: Self = Self(200);
    pub(crate) const INVALID_CONTEXT: Self = Self(201);
    pub(crate) const NO_BINARY_FOR_GPU: Self = Self(209);
    pub(crate) const PEER_ACCESS_UNSUPPORTED: Self = Self(217);
    pub(crate) const PEER_ACCESS_ALREADY_ENABLED: Self = Self(704);
    pub(crate) const PEER_ACCESS_NOT_ENABLED: Self = Self(705);
    pub(crate) const INVALID_PTX: Self = Self(218);
    pub(crate) const FILE_NOT_FOUND: Self = Self(301);
    pub(crate) const INVALID_HANDLE: Self = Self(400);
    pub(crate) const NOT_FOUND: Self = Self(500);
    pub(crate) const NOT_READY: Self = Self(600);
    pub(crate) const ILLEGAL_ADDRESS: Self = Self(700);
    pub(crate) const LAUNCH_OUT_OF_RESOURCES: Self = Self(701);
    pub(crate) const LAUNCH_TIMEOUT: Self = Self(702);
    pub(crate) const ASSERT: Self = Self(710);
    pub(crate) const MISALIGNED_ADDRESS: Self = Self(716);
    pub(crate) const INVALID_ADDRESS_SPACE: Self = Self(717);
    pub(crate) const INVALID_PC: Self = Self(718);
    pub(crate) const HARDWARE_STACK_ERROR: Self = Self(714);
    pub(crate) const LAUNCH_FAILED: Self = Self(719);
    pub(crate) const COOPERATIVE_LAUNCH_TOO_LARGE: Self = Self(720);
    pub(crate) const NOT_PERMITTED: Self = Self(800);
    pub(crate) const NOT_SUPPORTED: Self = Self(801);
    pub(crate) const INVALID_CLUSTER_SIZE: Self = Self(912);
    pub(crate) const HOST_MEMORY_ALREADY_REGISTERED: Self = Self(712);
    pub(crate) const HOST_MEMORY_NOT_REGISTERED: Self = Self(713);
    pub(crate) const UNSUPPORTED_LIMIT: Self = Self(215);
    pub(crate) const UNKNOWN: Self = Self(999);
    pub(crate) const STREAM_CAPTURE_UNSUPPORTED: Self = Self(900);
    pub(crate) const STREAM_CAPTURE_UNMATCHED: Self = Self(903);
    pub(crate) const STREAM_CAPTURE_UNJOINED: Self = Self(904);
    pub(crate) const STREAM_CAPTURE_IMPLICIT: Self = Self(906);
    pub(crate) const ILLEGAL_STATE: Self = Self(401);
    pub(crate) const STREAM_CAPTURE_INVALIDATED: Self = Self(901);
    pub(crate) const GRAPH_EXEC_UPDATE_FAILURE: Self = Self(910);
}

results! {
    CUDA_SUCCESS = 0, c"CUDA_SUCCESS", c"no error";
    CUDA_ERROR_INVALID_VALUE = 1, c"CUDA_ERROR_INVALID_VALUE", c"invalid argument";
    CUDA_ERROR_OUT_OF_MEMORY = 2, c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory";
    CUDA_ERROR_NOT_INITIALIZED = 3, c"CUDA_ERROR_NOT_INITIALIZED", c"the driver is not initialised: call cuInit first";
    CUDA_ERROR_DEINITIALIZED = 4, c"CUDA_ERROR_DEINITIALIZED", c"deinitialized";
    CUDA_ERROR_PROFILER_DISABLED = 5, c"CUDA_ERROR_PROFILER_DISABLED", c"profiler disabled";
    CUDA_ERROR_PROFILER_NOT_INITIALIZED = 6, c"CUDA_ERROR_PROFILER_NOT_INITIALIZED", c"profiler not initialized";
    CUDA_ERROR_PROFILER_ALREADY_STARTED = 7, c"CUDA_ERROR_PROFILER_ALREADY_STARTED", c"profiler already started";
    CUDA_ERROR_PROFILER_ALREADY_STOPPED = 8, c"CUDA_ERROR_PROFILER_ALREADY_STOPPED", c"profiler already stopped";
    CUDA_ERROR_STUB_LIBRARY = 34, c"CUDA_ERROR_STUB_LIBRARY", c"stub library";
    CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER = 36, c"CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", c"call requires newer driver";
    CUDA_ERROR_DEVICE_UNAVAILABLE = 46, c"CUDA_ERROR_DEVICE_UNAVAILABLE", c"device unavailable";
    CUDA_ERROR_MULTICAST_RESOURCE_FULL = 47, c"CUDA_ERROR_MULTICAST_RESOURCE_FULL", c"multicast resource full";
    CUDA_ERROR_NO_DEVICE = 100, c"CUDA_ERROR_NO_DEVICE", c"there is no device";
    CUDA_ERROR_INVALID_DEVICE = 101, c"CUDA_ERROR_INVALID_DEVICE", c"there is no device of this number";
    CUDA_ERROR_DEVICE_NOT_LICENSED = 102, c"CUDA_ERROR_DEVICE_NOT_LICENSED", c"device not licensed";
    CUDA_ERROR_INVALID_IMAGE = 200, c"CUDA_ERROR_INVALID_IMAGE", c"the module is neither PTX nor a binary";
    CUDA_ERROR_INVALID_CONTEXT = 201, c"CUDA_ERROR_INVALID_CONTEXT", c"no context is current, or it is not valid";
    CUDA_ERROR_CONTEXT_ALREADY_CURRENT = 202, c"CUDA_ERROR_CONTEXT_ALREADY_CURRENT", c"context already current";
    CUDA_ERROR_MAP_FAILED = 205, c"CUDA_ERROR_MAP_FAILED", c"map failed";
    CUDA_ERROR_UNMAP_FAILED = 206, c"CUDA_ERROR_UNMAP_FAILED", c"unmap failed";
    CUDA_ERROR_ARRAY_IS_MAPPED = 207, c"CUDA_ERROR_ARRAY_IS_MAPPED", c"array is mapped";
    CUDA_ERROR_ALREADY_MAPPED = 208, c"CUDA_ERROR_ALREADY_MAPPED", c"already mapped";
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209, c"CUDA_ERROR_NO_BINARY_FOR_GPU", c"the module has no PTX, which the emulator needs";
    CUDA_ERROR_ALREADY_ACQUIRED = 210, c"CUDA_ERROR_ALREADY_ACQUIRED", c"already acquired";
    CUDA_ERROR_NOT_MAPPED = 211, c"CUDA_ERROR_NOT_MAPPED", c"not mapped";
    CUDA_ERROR_NOT_MAPPED_AS_ARRAY = 212, c"CUDA_ERROR_NOT_MAPPED_AS_ARRAY", c"not mapped as array";
    CUDA_ERROR_NOT_MAPPED_AS_POINTER = 213, c"CUDA_ERROR_NOT_MAPPED_AS_POINTER", c"not mapped as pointer";
    CUDA_ERROR_ECC_UNCORRECTABLE = 214, c"CUDA_ERROR_ECC_UNCORRECTABLE", c"ecc uncorrectable";
    CUDA_ERROR_UNSUPPORTED_LIMIT = 215, c"CUDA_ERROR_UNSUPPORTED_LIMIT", c"the limit is not supported";
    CUDA_ERROR_CONTEXT_ALREADY_IN_USE = 216, c"CUDA_ERROR_CONTEXT_ALREADY_IN_USE", c"context already in use";
    CUDA_ERROR_PEER_ACCESS_UNSUPPORTED = 217, c"CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", c"peer access unsupported";
    CUDA_ERROR_INVALID_PTX = 218, c"CUDA_ERROR_INVALID_PTX", c"the PTX is not valid";
    CUDA_ERROR_INVALID_GRAPHICS_CONTEXT = 219, c"CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", c"invalid graphics context";
    CUDA_ERROR_NVLINK_UNCORRECTABLE = 220, c"CUDA_ERROR_NVLINK_UNCORRECTABLE", c"nvlink uncorrectable";
    CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221, c"CUDA_ERROR_JIT_COMPILER_NOT_FOUND", c"jit compiler not found";
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222, c"CUDA_ERROR_UNSUPPORTED_PTX_VERSION", c"unsupported ptx version";
    CUDA_ERROR_JIT_COMPILATION_DISABLED = 223, c"CUDA_ERROR_JIT_COMPILATION_DISABLED", c"jit compilation disabled";
    CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY = 224, c"CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY", c"unsupported exec affinity";
    CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC = 225, c"CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC", c"unsupported devside sync";
    CUDA_ERROR_CONTAINED = 226, c"CUDA_ERROR_CONTAINED", c"contained";
    CUDA_ERROR_INSUFFICIENT_LOADER_VERSION = 227, c"CUDA_ERROR_INSUFFICIENT_LOADER_VERSION", c"insufficient loader version";
    CUDA_ERROR_INVALID_SOURCE = 300, c"CUDA_ERROR_INVALID_SOURCE", c"the source is not valid";
    CUDA_ERROR_FILE_NOT_FOUND = 301, c"CUDA_ERROR_FILE_NOT_FOUND", c"the file is not found";
    CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND = 302, c"CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", c"shared object symbol not found";
    CUDA_ERROR_SHARED_OBJECT_INIT_FAILED = 303, c"CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", c"shared object init failed";
    CUDA_ERROR_OPERATING_SYSTEM = 304, c"CUDA_ERROR_OPERATING_SYSTEM", c"operating system";
    CUDA_ERROR_INVALID_HANDLE = 400, c"CUDA_ERROR_INVALID_HANDLE", c"the handle is not valid";
    CUDA_ERROR_ILLEGAL_STATE = 401, c"CUDA_ERROR_ILLEGAL_STATE", c"illegal state";
    CUDA_ERROR_LOSSY_QUERY = 402, c"CUDA_ERROR_LOSSY_QUERY", c"lossy query";
    CUDA_ERROR_NOT_FOUND = 500, c"CUDA_ERROR_NOT_FOUND", c"the name is not found";
    CUDA_ERROR_NOT_READY = 600, c"CUDA_ERROR_NOT_READY", c"not ended yet";
    CUDA_ERROR_ILLEGAL_ADDRESS = 700, c"CUDA_ERROR_ILLEGAL_ADDRESS", c"a kernel has accessed memory that is not its own";
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701, c"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", c"a launch needs more resources than there are";
    CUDA_ERROR_LAUNCH_TIMEOUT = 702, c"CUDA_ERROR_LAUNCH_TIMEOUT", c"a kernel does not end";
    CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING = 703, c"CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING", c"launch incompatible texturing";
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704, c"CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", c"peer access already enabled";
    CUDA_ERROR_PEER_ACCESS_NOT_ENABLED = 705, c"CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", c"peer access not enabled";
    CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE = 708, c"CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", c"the primary context is active";
    CUDA_ERROR_CONTEXT_IS_DESTROYED = 709, c"CUDA_ERROR_CONTEXT_IS_DESTROYED", c"the context has been destroyed";
    CUDA_ERROR_ASSERT = 710, c"CUDA_ERROR_ASSERT", c"an assertion of a kernel has failed";
    CUDA_ERROR_TOO_MANY_PEERS = 711, c"CUDA_ERROR_TOO_MANY_PEERS", c"too many peers";
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712, c"CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", c"the host memory is registered already";
    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713, c"CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", c"the host memory is not registered";
    CUDA_ERROR_HARDWARE_STACK_ERROR = 714, c"CUDA_ERROR_HARDWARE_STACK_ERROR", c"a thread has exceeded its stack";
    CUDA_ERROR_ILLEGAL_INSTRUCTION = 715, c"CUDA_ERROR_ILLEGAL_INSTRUCTION", c"illegal instruction";
    CUDA_ERROR_MISALIGNED_ADDRESS = 716, c"CUDA_ERROR_MISALIGNED_ADDRESS", c"a kernel has accessed a misaligned address";
    CUDA_ERROR_INVALID_ADDRESS_SPACE = 717, c"CUDA_ERROR_INVALID_ADDRESS_SPACE", c"a kernel has used an address in the wrong state space";
    CUDA_ERROR_INVALID_PC = 718, c"CUDA_ERROR_INVALID_PC", c"a kernel has called an address that is no function";
    CUDA_ERROR_LAUNCH_FAILED = 719, c"CUDA_ERROR_LAUNCH_FAILED", c"a launch has failed";
    CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720, c"CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", c"a cooperative launch has more blocks than can be resident at once";
    CUDA_ERROR_TENSOR_MEMORY_LEAK = 721, c"CUDA_ERROR_TENSOR_MEMORY_LEAK", c"tensor memory leak";
    CUDA_ERROR_NOT_PERMITTED = 800, c"CUDA_ERROR_NOT_PERMITTED", c"not permitted";
    CUDA_ERROR_NOT_SUPPORTED = 801, c"CUDA_ERROR_NOT_SUPPORTED", c"the emulator does not support this";
    CUDA_ERROR_SYSTEM_NOT_READY = 802, c"CUDA_ERROR_SYSTEM_NOT_READY", c"system not ready";
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803, c"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", c"system driver mismatch";
    CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804, c"CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", c"compat not supported on device";
    CUDA_ERROR_MPS_CONNECTION_FAILED = 805, c"CUDA_ERROR_MPS_CONNECTION_FAILED", c"mps connection failed";
    CUDA_ERROR_MPS_RPC_FAILURE = 806, c"CUDA_ERROR_MPS_RPC_FAILURE", c"mps rpc failure";
    CUDA_ERROR_MPS_SERVER_NOT_READY = 807, c"CUDA_ERROR_MPS_SERVER_NOT_READY", c"mps server not ready";
    CUDA_ERROR_MPS_MAX_CLIENTS_REACHED = 808, c"CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", c"mps max clients reached";
    CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED = 809, c"CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED", c"mps max connections reached";
    CUDA_ERROR_MPS_CLIENT_TERMINATED = 810, c"CUDA_ERROR_MPS_CLIENT_TERMINATED", c"mps client terminated";
    CUDA_ERROR_CDP_NOT_SUPPORTED = 811, c"CUDA_ERROR_CDP_NOT_SUPPORTED", c"cdp not supported";
    CUDA_ERROR_CDP_VERSION_MISMATCH = 812, c"CUDA_ERROR_CDP_VERSION_MISMATCH", c"cdp version mismatch";
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900, c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", c"the operation is not permitted while its stream is captured";
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901, c"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", c"stream capture invalidated";
    CUDA_ERROR_STREAM_CAPTURE_MERGE = 902, c"CUDA_ERROR_STREAM_CAPTURE_MERGE", c"stream capture merge";
    CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903, c"CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", c"the capture did not begin in this stream";
    CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904, c"CUDA_ERROR_STREAM_CAPTURE_UNJOINED", c"the capture has branches that have not joined its stream";
    CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905, c"CUDA_ERROR_STREAM_CAPTURE_ISOLATION", c"stream capture isolation";
    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906, c"CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", c"stream capture implicit";
    CUDA_ERROR_CAPTURED_EVENT = 907, c"CUDA_ERROR_CAPTURED_EVENT", c"captured event";
    CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908, c"CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", c"stream capture wrong thread";
    CUDA_ERROR_TIMEOUT = 909, c"CUDA_ERROR_TIMEOUT", c"timeout";
    CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910, c"CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", c"graph exec update failure";
    CUDA_ERROR_EXTERNAL_DEVICE = 911, c"CUDA_ERROR_EXTERNAL_DEVICE", c"external device";
    CUDA_ERROR_INVALID_CLUSTER_SIZE = 912, c"CUDA_ERROR_INVALID_CLUSTER_SIZE", c"the cluster size is not valid";
    CUDA_ERROR_FUNCTION_NOT_LOADED = 913, c"CUDA_ERROR_FUNCTION_NOT_LOADED", c"function not loaded";
    CUDA_ERROR_INVALID_RESOURCE_TYPE = 914, c"CUDA_ERROR_INVALID_RESOURCE_TYPE", c"invalid resource type";
    CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION = 915, c"CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION", c"invalid resource configuration";
    CUDA_ERROR_KEY_ROTATION = 916, c"CUDA_ERROR_KEY_ROTATION", c"key rotation";
    CUDA_ERROR_STREAM_DETACHED = 917, c"CUDA_ERROR_STREAM_DETACHED", c"stream detached";
    CUDA_ERROR_GRAPH_RECAPTURE_FAILURE = 918, c"CUDA_ERROR_GRAPH_RECAPTURE_FAILURE", c"graph recapture failure";
    CUDA_ERROR_FABRIC_NOT_READY = 919, c"CUDA_ERROR_FABRIC_NOT_READY", c"fabric not ready";
    CUDA_ERROR_UNKNOWN = 999, c"CUDA_ERROR_UNKNOWN", c"unknown error";
}
