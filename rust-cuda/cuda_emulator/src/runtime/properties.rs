//! `cudaDeviceProp`. Its fields differ between CUDA 12 and 13.

use std::ffi::c_int;

use crate::abi::HostAddress;
use crate::architecture::Architecture;
use crate::driver::device;
use crate::error::Result;
use crate::host;

/// A version of the structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The first part of CUDA 12's structure, used by a function with an older name.
    Eleven,
    /// CUDA 12.
    Twelve,
    /// CUDA 13.
    Thirteen,
}

use Layout::{Eleven, Thirteen, Twelve};

/// The content of a field, which determines its size.
#[derive(Clone, Copy, Debug)]
enum Content {
    /// The device's name.
    Name,
    /// Its UUID.
    Uuid,
    /// Its 8-byte identifier on Windows: none.
    Luid,
    /// Size of its memory in bytes.
    Memory,
    /// Driver attributes (`CUdevice_attribute`), each as an `int`; 0 means none.
    Ints(&'static [c_int]),
    /// An attribute as a `size_t`.
    Size(c_int),
}

use Content::{Ints, Luid, Memory, Name, Size, Uuid};

/// The fields in order. A field with a layout exists only in that layout.
const FIELDS: &[(&str, Content, Option<Layout>)] = &[
    ("name", Name, None),
    ("uuid", Uuid, None),
    ("luid", Luid, None),
    ("luidDeviceNodeMask", Ints(&[0]), None),
    ("totalGlobalMem", Memory, None),
    ("sharedMemPerBlock", Size(8), None),
    ("regsPerBlock", Ints(&[12]), None),
    ("warpSize", Ints(&[10]), None),
    ("memPitch", Size(11), None),
    ("maxThreadsPerBlock", Ints(&[1]), None),
    ("maxThreadsDim", Ints(&[2, 3, 4]), None),
    ("maxGridSize", Ints(&[5, 6, 7]), None),
    ("clockRate", Ints(&[13]), Some(Twelve)),
    ("totalConstMem", Size(9), None),
    ("major", Ints(&[75]), None),
    ("minor", Ints(&[76]), None),
    ("textureAlignment", Size(14), None),
    ("texturePitchAlignment", Size(51), None),
    ("deviceOverlap", Ints(&[15]), Some(Twelve)),
    ("multiProcessorCount", Ints(&[16]), None),
    ("kernelExecTimeoutEnabled", Ints(&[17]), Some(Twelve)),
    ("integrated", Ints(&[18]), None),
    ("canMapHostMemory", Ints(&[19]), None),
    ("computeMode", Ints(&[20]), Some(Twelve)),
    ("maxTexture1D", Ints(&[21]), None),
    ("maxTexture1DMipmap", Ints(&[77]), None),
    ("maxTexture1DLinear", Ints(&[69]), Some(Twelve)),
    ("maxTexture2D", Ints(&[22, 23]), None),
    ("maxTexture2DMipmap", Ints(&[73, 74]), None),
    ("maxTexture2DLinear", Ints(&[70, 71, 72]), None),
    ("maxTexture2DGather", Ints(&[45, 46]), None),
    ("maxTexture3D", Ints(&[24, 25, 26]), None),
    ("maxTexture3DAlt", Ints(&[47, 48, 49]), None),
    ("maxTextureCubemap", Ints(&[52]), None),
    ("maxTexture1DLayered", Ints(&[42, 43]), None),
    ("maxTexture2DLayered", Ints(&[27, 28, 29]), None),
    ("maxTextureCubemapLayered", Ints(&[53, 54]), None),
    ("maxSurface1D", Ints(&[55]), None),
    ("maxSurface2D", Ints(&[56, 57]), None),
    ("maxSurface3D", Ints(&[58, 59, 60]), None),
    ("maxSurface1DLayered", Ints(&[61, 62]), None),
    ("maxSurface2DLayered", Ints(&[63, 64, 65]), None),
    ("maxSurfaceCubemap", Ints(&[66]), None),
    ("maxSurfaceCubemapLayered", Ints(&[67, 68]), None),
    ("surfaceAlignment", Size(30), None),
    ("concurrentKernels", Ints(&[31]), None),
    ("ECCEnabled", Ints(&[32]), None),
    ("pciBusID", Ints(&[33]), None),
    ("pciDeviceID", Ints(&[34]), None),
    ("pciDomainID", Ints(&[50]), None),
    ("tccDriver", Ints(&[35]), None),
    ("asyncEngineCount", Ints(&[40]), None),
    ("unifiedAddressing", Ints(&[41]), None),
    ("memoryClockRate", Ints(&[36]), Some(Twelve)),
    ("memoryBusWidth", Ints(&[37]), None),
    ("l2CacheSize", Ints(&[38]), None),
    ("persistingL2CacheMaxSize", Ints(&[108]), None),
    ("maxThreadsPerMultiProcessor", Ints(&[39]), None),
    ("streamPrioritiesSupported", Ints(&[78]), None),
    ("globalL1CacheSupported", Ints(&[79]), None),
    ("localL1CacheSupported", Ints(&[80]), None),
    ("sharedMemPerMultiprocessor", Size(81), None),
    ("regsPerMultiprocessor", Ints(&[82]), None),
    ("managedMemory", Ints(&[83]), None),
    ("isMultiGpuBoard", Ints(&[84]), None),
    ("multiGpuBoardGroupID", Ints(&[85]), None),
    ("hostNativeAtomicSupported", Ints(&[86]), None),
    ("singleToDoublePrecisionPerfRatio", Ints(&[87]), Some(Twelve)),
    ("pageableMemoryAccess", Ints(&[88]), None),
    ("concurrentManagedAccess", Ints(&[89]), None),
    ("computePreemptionSupported", Ints(&[90]), None),
    ("canUseHostPointerForRegisteredMem", Ints(&[91]), None),
    ("cooperativeLaunch", Ints(&[95]), None),
    ("cooperativeMultiDeviceLaunch", Ints(&[96]), Some(Twelve)),
    ("sharedMemPerBlockOptin", Size(97), None),
    ("pageableMemoryAccessUsesHostPageTables", Ints(&[100]), None),
    ("directManagedMemAccessFromHost", Ints(&[101]), None),
    ("maxBlocksPerMultiProcessor", Ints(&[106]), None),
    ("accessPolicyMaxWindowSize", Ints(&[109]), None),
    ("reservedSharedMemPerBlock", Size(111), None),
    ("hostRegisterSupported", Ints(&[99]), None),
    ("sparseCudaArraySupported", Ints(&[112]), None),
    ("hostRegisterReadOnlySupported", Ints(&[113]), None),
    ("timelineSemaphoreInteropSupported", Ints(&[114]), None),
    ("memoryPoolsSupported", Ints(&[115]), None),
    ("gpuDirectRDMASupported", Ints(&[116]), None),
    ("gpuDirectRDMAFlushWritesOptions", Ints(&[117]), None),
    ("gpuDirectRDMAWritesOrdering", Ints(&[118]), None),
    ("memoryPoolSupportedHandleTypes", Ints(&[119]), None),
    ("deferredMappingCudaArraySupported", Ints(&[121]), None),
    ("ipcEventSupported", Ints(&[125]), None),
    ("clusterLaunch", Ints(&[120]), None),
    ("unifiedFunctionPointers", Ints(&[129]), None),
    ("deviceNumaConfig", Ints(&[130]), Some(Thirteen)),
    ("deviceNumaId", Ints(&[131]), Some(Thirteen)),
    ("mpsEnabled", Ints(&[133]), Some(Thirteen)),
    ("hostNumaId", Ints(&[134]), Some(Thirteen)),
    ("gpuPciDeviceID", Ints(&[139]), Some(Thirteen)),
    ("gpuPciSubsystemID", Ints(&[140]), Some(Thirteen)),
    ("hostNumaMultinodeIpcSupported", Ints(&[143]), Some(Thirteen)),
    ("reserved", Ints(&[0; 56]), Some(Thirteen)),
    ("reserved", Ints(&[0; 63]), Some(Twelve)),
];

/// Size of CUDA 11's structure in bytes.
const SIZE_OF_ELEVEN: usize = 712;

/// Names and offsets of the fields, for comparison with the headers.
pub fn offsets(layout: Layout) -> Vec<(&'static str, usize)> {
    fields(layout).map(|(name, offset, _)| (name, offset)).collect()
}

/// Size of the structure in bytes.
pub fn size(layout: Layout) -> usize {
    if layout == Eleven {
        return SIZE_OF_ELEVEN;
    }
    fields(layout).last().map_or(0, |(_, offset, content)| offset + content.bytes()).next_multiple_of(8)
}

/// The fields of a layout, with their offsets.
fn fields(layout: Layout) -> impl Iterator<Item = (&'static str, usize, Content)> {
    let wanted = if layout == Eleven { Twelve } else { layout };
    let known = FIELDS.iter().filter(move |(_, _, only)| only.is_none_or(|only| only == wanted));
    known.scan(0_usize, |next, (name, content, _)| {
        let offset = next.next_multiple_of(content.alignment());
        *next = offset + content.bytes();
        Some((*name, offset, *content))
    })
}

impl Content {
    fn bytes(self) -> usize {
        match self {
            Name => 256,
            Uuid => 16,
            Luid | Memory | Size(_) => 8,
            Ints(attributes) => 4 * attributes.len(),
        }
    }

    fn alignment(self) -> usize {
        match self {
            Name | Uuid | Luid => 1,
            Ints(_) => 4,
            Memory | Size(_) => 8,
        }
    }

    fn value(self, architecture: Architecture) -> Vec<u8> {
        let attribute = |attribute| architecture.attribute(attribute, architecture.number).unwrap_or(0);
        match self {
            Name => architecture.device_name().into_bytes(),
            Uuid => architecture.uuid().to_vec(),
            Luid => Vec::new(),
            Memory => device::memory_bytes().to_le_bytes().to_vec(),
            Ints(attributes) => attributes.iter().flat_map(|number| attribute(*number).to_le_bytes()).collect(),
            Size(number) => u64::from(attribute(number)).to_le_bytes().to_vec(),
        }
    }
}

/// Writes the properties of a device.
pub(crate) fn write(to: HostAddress, layout: Layout, ordinal: c_int) -> Result {
    let (_, architecture) = device::with_ordinal(ordinal)?;
    let mut bytes = Vec::new();
    for (_, offset, content) in fields(layout) {
        bytes.resize(offset, 0);
        bytes.extend(content.value(architecture));
    }
    bytes.resize(size(layout), 0);
    host::write(to, &bytes)
}
