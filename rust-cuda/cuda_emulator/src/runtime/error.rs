//! The runtime's results, with the names and values from driver_types.h. Most are the driver's.

use std::cell::Cell;
use std::ffi::{CStr, c_int};

use crate::error::Error;

thread_local! {
    /// The last error that a function returned in this thread.
    static LAST: Cell<c_int> = const { Cell::new(0) };
}

/// Stores an error for `cudaGetLastError`, which does not report pending work. Returns the code.
pub(crate) fn keep(code: c_int) -> c_int {
    if code != 0 && code != Error::NOT_READY.code() {
        // An ending thread no longer asks for its error.
        let _has_ended = LAST.try_with(|last| last.set(code));
    }
    code
}

/// The last error of this thread, or 0.
pub(crate) fn last() -> c_int {
    LAST.try_with(Cell::get).unwrap_or(0)
}

/// Like [`last`], and clears it.
pub(crate) fn take_last() -> c_int {
    LAST.try_with(|last| last.replace(0)).unwrap_or(0)
}

/// Errors that only the runtime has.
impl Error {
    pub(crate) const INVALID_CONFIGURATION: Self = Self::of_runtime(9);
    pub(crate) const INVALID_PITCH: Self = Self::of_runtime(12);
    pub(crate) const INVALID_SYMBOL: Self = Self::of_runtime(13);
    pub(crate) const INVALID_CHANNELS: Self = Self::of_runtime(20);
    pub(crate) const INVALID_COPY_KIND: Self = Self::of_runtime(21);
    pub(crate) const MISSING_CONFIGURATION: Self = Self::of_runtime(52);
    pub(crate) const INVALID_DEVICE_FUNCTION: Self = Self::of_runtime(98);
}

/// Defines the names and descriptions of all results.
macro_rules! results {
    ($($result:ident = $value:literal, $name:literal, $text:literal;)*) => {
        /// The name of a result in driver_types.h.
        pub(crate) fn name(code: c_int) -> &'static CStr {
            match code {
                $($value => $name,)*
                _ => c"unrecognized error code",
            }
        }

        /// The description of a result, as CUDA programs print it.
        pub(crate) fn text(code: c_int) -> &'static CStr {
            match code {
                $($value => $text,)*
                _ => c"unrecognized error code",
            }
        }

        /// The names and values of all results, for comparison with driver_types.h.
        pub const RUNTIME_RESULTS: &[(&str, i32)] = &[$((stringify!($result), $value)),*];
    };
}

results! {
    cudaSuccess = 0, c"cudaSuccess", c"no error";
    cudaErrorInvalidValue = 1, c"cudaErrorInvalidValue", c"invalid argument";
    cudaErrorMemoryAllocation = 2, c"cudaErrorMemoryAllocation", c"out of memory";
    cudaErrorInitializationError = 3, c"cudaErrorInitializationError", c"initialization error";
    cudaErrorCudartUnloading = 4, c"cudaErrorCudartUnloading", c"cudart unloading";
    cudaErrorProfilerDisabled = 5, c"cudaErrorProfilerDisabled", c"profiler disabled";
    cudaErrorProfilerNotInitialized = 6, c"cudaErrorProfilerNotInitialized", c"profiler not initialized";
    cudaErrorProfilerAlreadyStarted = 7, c"cudaErrorProfilerAlreadyStarted", c"profiler already started";
    cudaErrorProfilerAlreadyStopped = 8, c"cudaErrorProfilerAlreadyStopped", c"profiler already stopped";
    cudaErrorInvalidConfiguration = 9, c"cudaErrorInvalidConfiguration", c"invalid configuration argument";
    cudaErrorVersionTranslation = 10, c"cudaErrorVersionTranslation", c"version translation";
    cudaErrorInvalidPitchValue = 12, c"cudaErrorInvalidPitchValue", c"invalid pitch argument";
    cudaErrorInvalidSymbol = 13, c"cudaErrorInvalidSymbol", c"invalid device symbol";
    cudaErrorInvalidHostPointer = 16, c"cudaErrorInvalidHostPointer", c"invalid host pointer";
    cudaErrorInvalidDevicePointer = 17, c"cudaErrorInvalidDevicePointer", c"invalid device pointer";
    cudaErrorInvalidTexture = 18, c"cudaErrorInvalidTexture", c"invalid texture";
    cudaErrorInvalidTextureBinding = 19, c"cudaErrorInvalidTextureBinding", c"invalid texture binding";
    cudaErrorInvalidChannelDescriptor = 20, c"cudaErrorInvalidChannelDescriptor", c"invalid channel descriptor";
    cudaErrorInvalidMemcpyDirection = 21, c"cudaErrorInvalidMemcpyDirection", c"invalid copy direction for memcpy";
    cudaErrorAddressOfConstant = 22, c"cudaErrorAddressOfConstant", c"address of constant";
    cudaErrorTextureFetchFailed = 23, c"cudaErrorTextureFetchFailed", c"texture fetch failed";
    cudaErrorTextureNotBound = 24, c"cudaErrorTextureNotBound", c"texture not bound";
    cudaErrorSynchronizationError = 25, c"cudaErrorSynchronizationError", c"synchronization error";
    cudaErrorInvalidFilterSetting = 26, c"cudaErrorInvalidFilterSetting", c"invalid filter setting";
    cudaErrorInvalidNormSetting = 27, c"cudaErrorInvalidNormSetting", c"invalid norm setting";
    cudaErrorMixedDeviceExecution = 28, c"cudaErrorMixedDeviceExecution", c"mixed device execution";
    cudaErrorNotYetImplemented = 31, c"cudaErrorNotYetImplemented", c"not yet implemented";
    cudaErrorMemoryValueTooLarge = 32, c"cudaErrorMemoryValueTooLarge", c"memory value too large";
    cudaErrorStubLibrary = 34, c"cudaErrorStubLibrary", c"stub library";
    cudaErrorInsufficientDriver = 35, c"cudaErrorInsufficientDriver", c"insufficient driver";
    cudaErrorCallRequiresNewerDriver = 36, c"cudaErrorCallRequiresNewerDriver", c"call requires newer driver";
    cudaErrorInvalidSurface = 37, c"cudaErrorInvalidSurface", c"invalid surface";
    cudaErrorDuplicateVariableName = 43, c"cudaErrorDuplicateVariableName", c"duplicate variable name";
    cudaErrorDuplicateTextureName = 44, c"cudaErrorDuplicateTextureName", c"duplicate texture name";
    cudaErrorDuplicateSurfaceName = 45, c"cudaErrorDuplicateSurfaceName", c"duplicate surface name";
    cudaErrorDevicesUnavailable = 46, c"cudaErrorDevicesUnavailable", c"devices unavailable";
    cudaErrorIncompatibleDriverContext = 49, c"cudaErrorIncompatibleDriverContext", c"incompatible driver context";
    cudaErrorMissingConfiguration = 52, c"cudaErrorMissingConfiguration", c"__global__ function call is not configured";
    cudaErrorPriorLaunchFailure = 53, c"cudaErrorPriorLaunchFailure", c"prior launch failure";
    cudaErrorLaunchMaxDepthExceeded = 65, c"cudaErrorLaunchMaxDepthExceeded", c"launch max depth exceeded";
    cudaErrorLaunchFileScopedTex = 66, c"cudaErrorLaunchFileScopedTex", c"launch file scoped tex";
    cudaErrorLaunchFileScopedSurf = 67, c"cudaErrorLaunchFileScopedSurf", c"launch file scoped surf";
    cudaErrorSyncDepthExceeded = 68, c"cudaErrorSyncDepthExceeded", c"sync depth exceeded";
    cudaErrorLaunchPendingCountExceeded = 69, c"cudaErrorLaunchPendingCountExceeded", c"launch pending count exceeded";
    cudaErrorInvalidDeviceFunction = 98, c"cudaErrorInvalidDeviceFunction", c"invalid device function";
    cudaErrorNoDevice = 100, c"cudaErrorNoDevice", c"no CUDA-capable device is detected";
    cudaErrorInvalidDevice = 101, c"cudaErrorInvalidDevice", c"invalid device ordinal";
    cudaErrorDeviceNotLicensed = 102, c"cudaErrorDeviceNotLicensed", c"device not licensed";
    cudaErrorSoftwareValidityNotEstablished = 103, c"cudaErrorSoftwareValidityNotEstablished", c"software validity not established";
    cudaErrorStartupFailure = 127, c"cudaErrorStartupFailure", c"startup failure";
    cudaErrorInvalidKernelImage = 200, c"cudaErrorInvalidKernelImage", c"device kernel image is invalid";
    cudaErrorDeviceUninitialized = 201, c"cudaErrorDeviceUninitialized", c"invalid device context";
    cudaErrorMapBufferObjectFailed = 205, c"cudaErrorMapBufferObjectFailed", c"map buffer object failed";
    cudaErrorUnmapBufferObjectFailed = 206, c"cudaErrorUnmapBufferObjectFailed", c"unmap buffer object failed";
    cudaErrorArrayIsMapped = 207, c"cudaErrorArrayIsMapped", c"array is mapped";
    cudaErrorAlreadyMapped = 208, c"cudaErrorAlreadyMapped", c"already mapped";
    cudaErrorNoKernelImageForDevice = 209, c"cudaErrorNoKernelImageForDevice", c"no kernel image is available for execution on the device";
    cudaErrorAlreadyAcquired = 210, c"cudaErrorAlreadyAcquired", c"already acquired";
    cudaErrorNotMapped = 211, c"cudaErrorNotMapped", c"not mapped";
    cudaErrorNotMappedAsArray = 212, c"cudaErrorNotMappedAsArray", c"not mapped as array";
    cudaErrorNotMappedAsPointer = 213, c"cudaErrorNotMappedAsPointer", c"not mapped as pointer";
    cudaErrorECCUncorrectable = 214, c"cudaErrorECCUncorrectable", c"eccuncorrectable";
    cudaErrorUnsupportedLimit = 215, c"cudaErrorUnsupportedLimit", c"unsupported limit";
    cudaErrorDeviceAlreadyInUse = 216, c"cudaErrorDeviceAlreadyInUse", c"device already in use";
    cudaErrorPeerAccessUnsupported = 217, c"cudaErrorPeerAccessUnsupported", c"peer access is not supported between these two devices";
    cudaErrorInvalidPtx = 218, c"cudaErrorInvalidPtx", c"a PTX JIT compilation failed";
    cudaErrorInvalidGraphicsContext = 219, c"cudaErrorInvalidGraphicsContext", c"invalid graphics context";
    cudaErrorNvlinkUncorrectable = 220, c"cudaErrorNvlinkUncorrectable", c"nvlink uncorrectable";
    cudaErrorJitCompilerNotFound = 221, c"cudaErrorJitCompilerNotFound", c"jit compiler not found";
    cudaErrorUnsupportedPtxVersion = 222, c"cudaErrorUnsupportedPtxVersion", c"unsupported ptx version";
    cudaErrorJitCompilationDisabled = 223, c"cudaErrorJitCompilationDisabled", c"jit compilation disabled";
    cudaErrorUnsupportedExecAffinity = 224, c"cudaErrorUnsupportedExecAffinity", c"unsupported exec affinity";
    cudaErrorUnsupportedDevSideSync = 225, c"cudaErrorUnsupportedDevSideSync", c"unsupported dev side sync";
    cudaErrorContained = 226, c"cudaErrorContained", c"contained";
    cudaErrorInsufficientLoaderVersion = 227, c"cudaErrorInsufficientLoaderVersion", c"insufficient loader version";
    cudaErrorInvalidSource = 300, c"cudaErrorInvalidSource", c"invalid source";
    cudaErrorFileNotFound = 301, c"cudaErrorFileNotFound", c"file not found";
    cudaErrorSharedObjectSymbolNotFound = 302, c"cudaErrorSharedObjectSymbolNotFound", c"shared object symbol not found";
    cudaErrorSharedObjectInitFailed = 303, c"cudaErrorSharedObjectInitFailed", c"shared object init failed";
    cudaErrorOperatingSystem = 304, c"cudaErrorOperatingSystem", c"operating system";
    cudaErrorInvalidResourceHandle = 400, c"cudaErrorInvalidResourceHandle", c"invalid resource handle";
    cudaErrorIllegalState = 401, c"cudaErrorIllegalState", c"illegal state";
    cudaErrorLossyQuery = 402, c"cudaErrorLossyQuery", c"lossy query";
    cudaErrorSymbolNotFound = 500, c"cudaErrorSymbolNotFound", c"named symbol not found";
    cudaErrorNotReady = 600, c"cudaErrorNotReady", c"device not ready";
    cudaErrorIllegalAddress = 700, c"cudaErrorIllegalAddress", c"an illegal memory access was encountered";
    cudaErrorLaunchOutOfResources = 701, c"cudaErrorLaunchOutOfResources", c"too many resources requested for launch";
    cudaErrorLaunchTimeout = 702, c"cudaErrorLaunchTimeout", c"the launch timed out and was terminated";
    cudaErrorLaunchIncompatibleTexturing = 703, c"cudaErrorLaunchIncompatibleTexturing", c"launch incompatible texturing";
    cudaErrorPeerAccessAlreadyEnabled = 704, c"cudaErrorPeerAccessAlreadyEnabled", c"peer access is already enabled";
    cudaErrorPeerAccessNotEnabled = 705, c"cudaErrorPeerAccessNotEnabled", c"peer access has not been enabled";
    cudaErrorSetOnActiveProcess = 708, c"cudaErrorSetOnActiveProcess", c"set on active process";
    cudaErrorContextIsDestroyed = 709, c"cudaErrorContextIsDestroyed", c"context is destroyed";
    cudaErrorAssert = 710, c"cudaErrorAssert", c"device-side assert triggered";
    cudaErrorTooManyPeers = 711, c"cudaErrorTooManyPeers", c"too many peers";
    cudaErrorHostMemoryAlreadyRegistered = 712, c"cudaErrorHostMemoryAlreadyRegistered", c"part or all of the requested memory range is already mapped";
    cudaErrorHostMemoryNotRegistered = 713, c"cudaErrorHostMemoryNotRegistered", c"pointer does not correspond to a registered memory region";
    cudaErrorHardwareStackError = 714, c"cudaErrorHardwareStackError", c"hardware stack error";
    cudaErrorIllegalInstruction = 715, c"cudaErrorIllegalInstruction", c"an illegal instruction was encountered";
    cudaErrorMisalignedAddress = 716, c"cudaErrorMisalignedAddress", c"misaligned address";
    cudaErrorInvalidAddressSpace = 717, c"cudaErrorInvalidAddressSpace", c"operation not supported on global/shared address space";
    cudaErrorInvalidPc = 718, c"cudaErrorInvalidPc", c"invalid program counter";
    cudaErrorLaunchFailure = 719, c"cudaErrorLaunchFailure", c"unspecified launch failure";
    cudaErrorCooperativeLaunchTooLarge = 720, c"cudaErrorCooperativeLaunchTooLarge", c"too many blocks in cooperative launch";
    cudaErrorTensorMemoryLeak = 721, c"cudaErrorTensorMemoryLeak", c"tensor memory leak";
    cudaErrorNotPermitted = 800, c"cudaErrorNotPermitted", c"not permitted";
    cudaErrorNotSupported = 801, c"cudaErrorNotSupported", c"operation not supported";
    cudaErrorSystemNotReady = 802, c"cudaErrorSystemNotReady", c"system not ready";
    cudaErrorSystemDriverMismatch = 803, c"cudaErrorSystemDriverMismatch", c"system driver mismatch";
    cudaErrorCompatNotSupportedOnDevice = 804, c"cudaErrorCompatNotSupportedOnDevice", c"compat not supported on device";
    cudaErrorMpsConnectionFailed = 805, c"cudaErrorMpsConnectionFailed", c"mps connection failed";
    cudaErrorMpsRpcFailure = 806, c"cudaErrorMpsRpcFailure", c"mps rpc failure";
    cudaErrorMpsServerNotReady = 807, c"cudaErrorMpsServerNotReady", c"mps server not ready";
    cudaErrorMpsMaxClientsReached = 808, c"cudaErrorMpsMaxClientsReached", c"mps max clients reached";
    cudaErrorMpsMaxConnectionsReached = 809, c"cudaErrorMpsMaxConnectionsReached", c"mps max connections reached";
    cudaErrorMpsClientTerminated = 810, c"cudaErrorMpsClientTerminated", c"mps client terminated";
    cudaErrorCdpNotSupported = 811, c"cudaErrorCdpNotSupported", c"cdp not supported";
    cudaErrorCdpVersionMismatch = 812, c"cudaErrorCdpVersionMismatch", c"cdp version mismatch";
    cudaErrorStreamCaptureUnsupported = 900, c"cudaErrorStreamCaptureUnsupported", c"operation not permitted when stream is capturing";
    cudaErrorStreamCaptureInvalidated = 901, c"cudaErrorStreamCaptureInvalidated", c"stream capture invalidated";
    cudaErrorStreamCaptureMerge = 902, c"cudaErrorStreamCaptureMerge", c"stream capture merge";
    cudaErrorStreamCaptureUnmatched = 903, c"cudaErrorStreamCaptureUnmatched", c"stream capture unmatched";
    cudaErrorStreamCaptureUnjoined = 904, c"cudaErrorStreamCaptureUnjoined", c"stream capture unjoined";
    cudaErrorStreamCaptureIsolation = 905, c"cudaErrorStreamCaptureIsolation", c"stream capture isolation";
    cudaErrorStreamCaptureImplicit = 906, c"cudaErrorStreamCaptureImplicit", c"stream capture implicit";
    cudaErrorCapturedEvent = 907, c"cudaErrorCapturedEvent", c"captured event";
    cudaErrorStreamCaptureWrongThread = 908, c"cudaErrorStreamCaptureWrongThread", c"stream capture wrong thread";
    cudaErrorTimeout = 909, c"cudaErrorTimeout", c"timeout";
    cudaErrorGraphExecUpdateFailure = 910, c"cudaErrorGraphExecUpdateFailure", c"the graph update was not performed because it included changes which violated constraints specific to instantiated graph update";
    cudaErrorExternalDevice = 911, c"cudaErrorExternalDevice", c"external device";
    cudaErrorInvalidClusterSize = 912, c"cudaErrorInvalidClusterSize", c"cluster misconfiguration";
    cudaErrorFunctionNotLoaded = 913, c"cudaErrorFunctionNotLoaded", c"function not loaded";
    cudaErrorInvalidResourceType = 914, c"cudaErrorInvalidResourceType", c"invalid resource type";
    cudaErrorInvalidResourceConfiguration = 915, c"cudaErrorInvalidResourceConfiguration", c"invalid resource configuration";
    cudaErrorStreamDetached = 917, c"cudaErrorStreamDetached", c"stream detached";
    cudaErrorGraphRecaptureFailure = 918, c"cudaErrorGraphRecaptureFailure", c"graph recapture failure";
    cudaErrorFabricNotReady = 919, c"cudaErrorFabricNotReady", c"fabric not ready";
    cudaErrorUnknown = 999, c"cudaErrorUnknown", c"unknown error";
}
