//! Pointers and structures that cross the boundary to C.
//!
//! Parameters of exported functions use these types instead of C pointers, with the same
//! representation. All reads and writes through them are here, so the rest of the crate is safe
//! code.

#![allow(unsafe_code, reason = "the pointers of C callers")]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::error::{Error, Result};

/// A pointer to the caller's memory for one value, or null.
///
/// Functions that take one are `unsafe`: the caller passes null or a pointer that stays writable
/// until the function returns.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    /// Writes the value.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the pointer is null.
    pub(crate) fn set(self, value: T) -> Result {
        if self.0.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller of the exported function passes a writable pointer, if it is not null.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// Writes the value unless the pointer is null: for results that the caller may omit.
    pub(crate) fn set_if_wanted(self, value: T) {
        let _left_out = self.set(value);
    }

    /// Writes one element of an array.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the pointer is null.
    pub(crate) fn set_nth(self, index: usize, value: T) -> Result {
        if self.0.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: as in `set`; an array has the number of elements that the caller states.
        unsafe { self.0.add(index).write_unaligned(value) };
        Ok(())
    }

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Whether the address is a multiple of `bytes`.
    pub(crate) fn is_aligned(self, bytes: usize) -> bool {
        self.0.addr().is_multiple_of(bytes)
    }

    /// A pointer to one of the library's own values.
    pub(crate) fn to(value: &mut T) -> Self {
        Self(value)
    }

    pub(crate) fn null() -> Self {
        Self(std::ptr::null_mut())
    }

    /// The pointer as an address.
    pub(crate) fn address(self) -> HostAddress {
        HostAddress(self.0 as usize)
    }

    /// The same pointer with another value type, for a `void *` with a type that depends on another
    /// parameter.
    pub(crate) fn cast<U>(self) -> Out<U> {
        Out(self.0.cast())
    }
}

impl<T: Copy> Out<T> {
    /// Reads the value that the caller stored there, for parameters that are both read and written.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the pointer is null.
    pub(crate) fn get(self) -> Result<T> {
        In(self.0.cast_const()).get()
    }
}

impl Out<c_char> {
    /// Writes a C string into an array of `length` characters, truncating it to fit.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the pointer is null or there is no room for the terminating zero.
    pub(crate) fn set_text(self, length: c_int, text: &str) -> Result {
        let room = usize::try_from(length).ok().and_then(|length| length.checked_sub(1)).ok_or(Error::INVALID_VALUE)?;
        let bytes = text.bytes().take(room).chain([0]);
        bytes.enumerate().try_for_each(|(index, byte)| self.set_nth(index, byte as c_char))
    }
}

/// A pointer to the caller's value or array, or null.
///
/// Functions that take one are `unsafe`: the caller passes null or a pointer to as many values as
/// it states.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct In<T>(*const T);

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for In<T> {}

impl<T: Copy> In<T> {
    /// The value.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the pointer is null.
    pub(crate) fn get(self) -> Result<T> {
        self.nth(0)
    }

    /// One element of an array.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the pointer is null.
    pub(crate) fn nth(self, index: usize) -> Result<T> {
        if self.0.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller of the exported function passes a pointer to at least this many
        // values, if it is not null.
        Ok(unsafe { self.0.add(index).read_unaligned() })
    }

    /// The `count` values of an array. The pointer may be null if `count` is 0.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the pointer is null and `count` is not 0.
    pub(crate) fn all(self, count: usize) -> Result<Vec<T>> {
        (0..count).map(|index| self.nth(index)).collect()
    }

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }
}

/// The caller's C string, or null.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Text(*const c_char);

impl Text {
    /// The text.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the pointer is null.
    pub(crate) fn get(self) -> Result<String> {
        if self.0.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller of the exported function passes a C string, if it is not null.
        let text = unsafe { CStr::from_ptr(self.0) };
        Ok(text.to_string_lossy().into_owned())
    }
}

/// An address in the memory of the host process. Only [`crate::host`] reads and writes there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub(crate) struct HostAddress(pub(crate) usize);

impl HostAddress {
    /// The bytes of the C string at this address, without the terminating zero.
    pub(crate) fn c_string(self) -> Result<Vec<u8>> {
        if self.0 == 0 {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: callers of the exported functions that read an image pass text that ends with a
        // zero.
        Ok(unsafe { CStr::from_ptr(self.0 as *const c_char) }.to_bytes().to_vec())
    }

    /// The pointer, for results.
    pub(crate) fn pointer(self) -> *mut c_void {
        self.0 as *mut c_void
    }
}

/// A caller's function that the driver calls with the caller's pointer (`CUhostFn`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostFunction {
    function: unsafe extern "C" fn(*mut c_void),
    data: usize,
}

/// `CUhostFn`, which may be null.
pub(crate) type RawHostFunction = Option<unsafe extern "C" fn(*mut c_void)>;
/// `CUstreamCallback`, which may be null.
pub(crate) type RawStreamCallback = Option<unsafe extern "C" fn(usize, c_int, *mut c_void)>;
/// `CUoccupancyB2DSize`, which may be null.
pub(crate) type RawBlockToShared = Option<unsafe extern "C" fn(c_int) -> usize>;

impl HostFunction {
    /// Pairs the function with `data`, its argument.
    ///
    /// # Errors
    /// `INVALID_VALUE` if it is null.
    pub(crate) fn new(function: RawHostFunction, data: HostAddress) -> Result<Self> {
        let function = function.ok_or(Error::INVALID_VALUE)?;
        Ok(Self { function, data: data.0 })
    }

    /// The function and its pointer in the form of a graph node.
    pub(crate) fn node(self) -> HostNode {
        HostNode { function: Some(self.function), data: HostAddress(self.data) }
    }

    pub(crate) fn call(self) {
        // SAFETY: the caller that queued the function promises that it may be called with this
        // pointer: once or, in a graph, once per launch.
        unsafe { (self.function)(self.data as *mut c_void) };
    }
}

/// Calls a stream's callback with the result of the stream's work.
///
/// # Errors
/// `INVALID_VALUE` if it is null.
pub(crate) fn call_back(callback: RawStreamCallback, stream: usize, data: HostAddress) -> Result {
    let callback = callback.ok_or(Error::INVALID_VALUE)?;
    // SAFETY: the caller that passed the callback promises that it may be called with this stream
    // and pointer.
    unsafe { callback(stream, 0, data.pointer()) };
    Ok(())
}

/// Dynamic shared memory for a block of this size: from the caller's function if there is one, else
/// `otherwise`.
pub(crate) fn shared_of_block(function: RawBlockToShared, threads: u32, otherwise: usize) -> usize {
    // SAFETY: the caller that passed the function promises that it may be called with any block
    // size.
    function.map_or(otherwise, |function| unsafe { function(threads as c_int) })
}

/// `CUuuid`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Uuid {
    pub(crate) bytes: [u8; 16],
}

/// `CUdevprop`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct DeviceProperties {
    pub(crate) block_threads: c_int,
    pub(crate) block: [c_int; 3],
    pub(crate) grid: [c_int; 3],
    pub(crate) shared_bytes: c_int,
    pub(crate) constant_bytes: c_int,
    pub(crate) warp: c_int,
    pub(crate) pitch: c_int,
    pub(crate) registers: c_int,
    pub(crate) clock_rate: c_int,
    pub(crate) texture_alignment: c_int,
}

/// `CUlaunchAttribute`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct LaunchAttribute {
    pub(crate) id: c_int,
    pub(crate) pad: [u8; 4],
    pub(crate) value: [u32; 16],
}

/// `CUlaunchConfig`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct RawLaunchConfig {
    pub(crate) grid: [c_uint; 3],
    pub(crate) block: [c_uint; 3],
    pub(crate) shared_bytes: c_uint,
    pub(crate) stream: usize,
    pub(crate) attributes: *const LaunchAttribute,
    pub(crate) attribute_count: c_uint,
}

impl RawLaunchConfig {
    /// The attributes.
    pub(crate) fn attributes(&self) -> Result<Vec<LaunchAttribute>> {
        In(self.attributes).all(self.attribute_count as usize)
    }
}

/// `CUDA_MEMCPY2D`. Source and destination have the same fields.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Copy2D {
    pub(crate) source: Place2D,
    pub(crate) destination: Place2D,
    pub(crate) width_bytes: usize,
    pub(crate) height: usize,
}

/// A source or destination of [`Copy2D`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Place2D {
    pub(crate) x_bytes: usize,
    pub(crate) y: usize,
    pub(crate) memory: c_int,
    pub(crate) host: usize,
    pub(crate) device: u64,
    pub(crate) array: usize,
    pub(crate) pitch: usize,
}

/// `CUDA_KERNEL_NODE_PARAMS`, version 1.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct KernelShape {
    pub(crate) function: usize,
    pub(crate) grid: [c_uint; 3],
    pub(crate) block: [c_uint; 3],
    pub(crate) shared_bytes: c_uint,
    pub(crate) parameters: usize,
    pub(crate) extra: usize,
}

/// `CUDA_KERNEL_NODE_PARAMS`, version 2.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct KernelNode {
    pub(crate) shape: KernelShape,
    pub(crate) kernel: usize,
    pub(crate) context: usize,
}

/// `CUDA_HOST_NODE_PARAMS`, version 1.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct HostNode {
    pub(crate) function: RawHostFunction,
    pub(crate) data: HostAddress,
}

/// `CUDA_MEMSET_NODE_PARAMS`, version 1.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct FillNode {
    pub(crate) address: u64,
    pub(crate) pitch: usize,
    pub(crate) value: c_uint,
    pub(crate) element_bytes: c_uint,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// `CUDA_MEMCPY3D`. Source and destination have the same fields.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Copy3D {
    pub(crate) source: Place3D,
    pub(crate) destination: Place3D,
    pub(crate) width_bytes: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
}

/// A source or destination of [`Copy3D`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Place3D {
    pub(crate) x_bytes: usize,
    pub(crate) y: usize,
    pub(crate) z: usize,
    pub(crate) level: usize,
    pub(crate) memory: c_int,
    pub(crate) host: usize,
    pub(crate) device: u64,
    pub(crate) array: usize,
    pub(crate) reserved: usize,
    pub(crate) pitch: usize,
    pub(crate) height: usize,
}

/// `CUDA_ARRAY_DESCRIPTOR`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct ArrayDescriptor {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) format: c_int,
    pub(crate) channels: c_uint,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Array3DDescriptor {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
    pub(crate) format: c_int,
    pub(crate) channels: c_uint,
    pub(crate) flags: c_uint,
}

/// `CUDA_RESOURCE_DESC`: the kind of memory and its union, as words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct ResourceDescriptor {
    pub(crate) kind: c_int,
    pub(crate) words: [u64; 16],
    pub(crate) flags: c_uint,
}

/// `CUDA_TEXTURE_DESC`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct TextureDescriptor {
    pub(crate) address_modes: [c_int; 3],
    pub(crate) filter: c_int,
    pub(crate) flags: c_uint,
    pub(crate) max_anisotropy: c_uint,
    pub(crate) mipmap_filter: c_int,
    pub(crate) mipmap_level: [f32; 3],
    pub(crate) border: [f32; 4],
    pub(crate) reserved: [c_int; 12],
}

/// `CUDA_RESOURCE_VIEW_DESC`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct ViewDescriptor {
    pub(crate) format: c_int,
    pub(crate) size: [usize; 3],
    pub(crate) mipmap_levels: [c_uint; 2],
    pub(crate) layers: [c_uint; 2],
    pub(crate) reserved: [c_uint; 16],
}

/// `CUmemLocation`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct MemoryLocation {
    pub(crate) kind: c_int,
    pub(crate) id: c_int,
}

/// `CUmemAccessDesc`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct PoolAccess {
    pub(crate) location: MemoryLocation,
    pub(crate) flags: c_int,
}

/// `CUmemcpyAttributes`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct CopyAttributes {
    pub(crate) source_order: c_int,
    pub(crate) source: MemoryLocation,
    pub(crate) destination: MemoryLocation,
    pub(crate) flags: c_uint,
}

/// `CUmemPoolProps`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct PoolProperties {
    pub(crate) allocation_type: c_int,
    pub(crate) handle_types: c_int,
    pub(crate) location: MemoryLocation,
    pub(crate) security_attributes: usize,
    pub(crate) max_bytes: usize,
    pub(crate) usage: u16,
    pub(crate) reserved: [u8; 54],
}

/// `CUDA_MEM_ALLOC_NODE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct AllocateNode {
    pub(crate) pool: PoolProperties,
    pub(crate) access: usize,
    pub(crate) access_count: usize,
    pub(crate) bytes: usize,
    pub(crate) address: u64,
}

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct InstantiateParameters {
    pub(crate) flags: u64,
    pub(crate) upload_stream: usize,
    pub(crate) error_node: usize,
    pub(crate) result: c_int,
}

/// `CUgraphExecUpdateResultInfo`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct UpdateResult {
    pub(crate) result: c_int,
    pub(crate) node: usize,
    pub(crate) from_node: usize,
}

/// `dim3`, which the runtime's functions take by value.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Size3(pub(crate) [c_uint; 3]);

/// `cudaChannelFormatDesc`, by value.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct ChannelFormat {
    pub(crate) bits: [c_int; 4],
    pub(crate) kind: c_int,
}

/// `cudaExtent`, by value.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Extent3 {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
}

/// `cudaPitchedPtr`, by value.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct PitchedPointer {
    pub(crate) pointer: u64,
    pub(crate) pitch: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// `cudaResourceDesc` of CUDA 12: the kind of memory and its union, as words. CUDA 13 adds fields
/// at the end.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct RuntimeResource {
    pub(crate) kind: c_int,
    pub(crate) pad: c_int,
    pub(crate) words: [u64; 7],
}

/// `cudaTextureDesc`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct RuntimeTexture {
    pub(crate) address_modes: [c_int; 3],
    pub(crate) filter: c_int,
    pub(crate) read_mode: c_int,
    pub(crate) is_srgb: c_int,
    pub(crate) border: [f32; 4],
    pub(crate) is_normalized: c_int,
    pub(crate) max_anisotropy: c_uint,
    pub(crate) mipmap_filter: c_int,
    pub(crate) mipmap_level: [f32; 3],
    pub(crate) no_trilinear: c_int,
    pub(crate) is_seamless: c_int,
}

/// `cudaResourceViewDesc` of CUDA 12. CUDA 13 adds fields at the end.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct RuntimeView {
    pub(crate) format: c_int,
    pub(crate) size: [usize; 3],
    pub(crate) mipmap_levels: [c_uint; 2],
    pub(crate) layers: [c_uint; 2],
}

/// `cudaLaunchConfig_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct RuntimeLaunchConfig {
    pub(crate) grid: Size3,
    pub(crate) block: Size3,
    pub(crate) shared_bytes: usize,
    pub(crate) stream: usize,
    pub(crate) attributes: *const LaunchAttribute,
    pub(crate) attribute_count: c_uint,
}

/// `cudaFuncAttributes`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct FunctionAttributes {
    pub(crate) shared_bytes: usize,
    pub(crate) constant_bytes: usize,
    pub(crate) local_bytes: usize,
    pub(crate) max_threads: c_int,
    pub(crate) others: [c_int; 14],
    pub(crate) reserved: [c_int; 14],
}

/// `cudaPointerAttributes` of CUDA 12. CUDA 13 adds fields at the end.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct PointerAttributes {
    pub(crate) kind: c_int,
    pub(crate) device: c_int,
    pub(crate) on_device: u64,
    pub(crate) on_host: u64,
}

/// `cudaMemcpy3DParms`. Source and destination have the same fields.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct RuntimeCopy3D {
    pub(crate) source: RuntimePlace,
    pub(crate) destination: RuntimePlace,
    pub(crate) extent: [usize; 3],
    pub(crate) kind: c_int,
}

/// A source or destination of [`RuntimeCopy3D`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct RuntimePlace {
    pub(crate) array: usize,
    pub(crate) position: [usize; 3],
    pub(crate) pointer: u64,
    pub(crate) pitch: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// Sizes of the structures in bytes by their names in driver_types.h, for comparison with that
/// header.
pub const RUNTIME_SIZES: &[(&str, usize)] = &[
    ("struct cudaChannelFormatDesc", size_of::<ChannelFormat>()),
    ("struct cudaExtent", size_of::<Extent3>()),
    ("struct cudaPitchedPtr", size_of::<PitchedPointer>()),
    ("cudaLaunchConfig_t", size_of::<RuntimeLaunchConfig>()),
    ("cudaLaunchAttribute", size_of::<LaunchAttribute>()),
    ("struct cudaTextureDesc", size_of::<RuntimeTexture>()),
    ("struct cudaFuncAttributes", size_of::<FunctionAttributes>()),
    ("struct cudaMemcpy3DParms", size_of::<RuntimeCopy3D>()),
    ("struct cudaKernelNodeParams", size_of::<KernelShape>()),
    ("struct cudaMemsetParams", size_of::<FillNode>()),
    ("struct cudaHostNodeParams", size_of::<HostNode>()),
    ("struct cudaMemAllocNodeParams", size_of::<AllocateNode>()),
    ("struct cudaMemPoolProps", size_of::<PoolProperties>()),
    ("struct cudaMemLocation", size_of::<MemoryLocation>()),
    ("cudaGraphInstantiateParams", size_of::<InstantiateParameters>()),
    ("cudaGraphExecUpdateResultInfo", size_of::<UpdateResult>()),
];

/// Sizes of the structures in bytes by their names in cuda.h, for comparison with that header.
pub const SIZES: &[(&str, usize)] = &[
    ("CUuuid", size_of::<Uuid>()),
    ("CUdevprop", size_of::<DeviceProperties>()),
    ("CUlaunchAttribute", size_of::<LaunchAttribute>()),
    ("CUlaunchConfig", size_of::<RawLaunchConfig>()),
    ("CUDA_MEMCPY2D", size_of::<Copy2D>()),
    ("CUDA_KERNEL_NODE_PARAMS_v1", size_of::<KernelShape>()),
    ("CUDA_KERNEL_NODE_PARAMS_v2", size_of::<KernelNode>()),
    ("CUDA_HOST_NODE_PARAMS_v1", size_of::<HostNode>()),
    ("CUDA_MEMSET_NODE_PARAMS_v1", size_of::<FillNode>()),
    ("CUDA_MEMCPY3D", size_of::<Copy3D>()),
    ("CUDA_ARRAY_DESCRIPTOR", size_of::<ArrayDescriptor>()),
    ("CUDA_ARRAY3D_DESCRIPTOR", size_of::<Array3DDescriptor>()),
    ("CUDA_RESOURCE_DESC", size_of::<ResourceDescriptor>()),
    ("CUDA_TEXTURE_DESC", size_of::<TextureDescriptor>()),
    ("CUDA_RESOURCE_VIEW_DESC", size_of::<ViewDescriptor>()),
    ("CUmemLocation", size_of::<MemoryLocation>()),
    ("CUmemAccessDesc", size_of::<PoolAccess>()),
    ("CUmemcpyAttributes", size_of::<CopyAttributes>()),
    ("CUmemPoolProps", size_of::<PoolProperties>()),
    ("CUDA_MEM_ALLOC_NODE_PARAMS", size_of::<AllocateNode>()),
    ("CUDA_GRAPH_INSTANTIATE_PARAMS", size_of::<InstantiateParameters>()),
    ("CUgraphExecUpdateResultInfo", size_of::<UpdateResult>()),
];
