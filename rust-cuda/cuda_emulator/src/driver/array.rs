//! CUDA arrays: memory that kernels access through texture and surface objects and the host through
//! copies.
//!
//! An array is an allocation on its device with its rows stored consecutively. Programs do not get
//! its address.

use std::ffi::{c_int, c_uint};

use ptx_interpreter::memory::{Channel, Format, Geometry, Image, InvalidImage};

use crate::abi::{Array3DDescriptor, ArrayDescriptor, In, Out};
use crate::driver::pending::{self, Until};
use crate::driver::{State, in_context};
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::journal;

/// `CUDA_ARRAY3D_LAYERED`, `CUDA_ARRAY3D_SURFACE_LDST`, `CUDA_ARRAY3D_CUBEMAP`, `CUDA_ARRAY3D_TEXTURE_GATHER`,
/// `CUDA_ARRAY3D_COLOR_ATTACHMENT`.
const LAYERED: c_uint = 1;
const SURFACE: c_uint = 2;
const CUBEMAP: c_uint = 4;
const GATHER: c_uint = 8;
const COLOR_ATTACHMENT: c_uint = 0x20;

/// All flags defined in cuda.h.
const ALL_FLAGS: c_uint = 0x1ff;

/// Alignment of rows in bytes, a multiple of every texel's size.
const ROW_ALIGNMENT: usize = 16;

/// An array.
#[derive(Debug)]
pub(crate) struct Array {
    pub(crate) context: Handle,
    ordinal: usize,
    address: u64,
    image: Image,
    descriptor: Array3DDescriptor,
}

impl Array {
    /// The array's image for kernels, and the ordinal of its device.
    pub(crate) fn image(&self) -> (Image, usize) {
        (self.image, self.ordinal)
    }

    /// Whether surface objects can be created from it.
    pub(crate) fn is_for_surfaces(&self) -> bool {
        self.descriptor.flags & SURFACE != 0
    }

    /// Address of a part of the array, and the distances between rows and between planes in bytes.
    /// The part begins at a byte of a row, a row, and a plane or layer.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the part with this many bytes, rows and planes is not within the array.
    pub(crate) fn place(&self, at: [usize; 3], extent: [usize; 3]) -> Result<ArrayPlace> {
        let [width, height, layers] = self.image.size().map(|size| size as usize);
        let size = [width * self.image.format().bytes(), height, layers];
        let is_within = |axis: usize| at[axis].checked_add(extent[axis]).is_some_and(|end| end <= size[axis]);
        if !(0..3).all(is_within) {
            return Err(Error::INVALID_VALUE);
        }
        let pitch = pitch(size[0]);
        let offset = (at[2] * height + at[1]) * pitch + at[0];
        Ok(ArrayPlace { address: self.address + offset as u64, pitch, plane: height * pitch })
    }
}

/// Location of a part of an array in device memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrayPlace {
    pub(crate) address: u64,
    /// Distance between rows in bytes.
    pub(crate) pitch: usize,
    /// Distance between planes in bytes.
    pub(crate) plane: usize,
}

fn pitch(row: usize) -> usize {
    row.next_multiple_of(ROW_ALIGNMENT)
}

/// `cuArrayCreate`
pub(crate) fn create(array: Out<Handle>, descriptor: In<ArrayDescriptor>) -> Result {
    let ArrayDescriptor { width, height, format, channels } = descriptor.get()?;
    create_3d(array, Array3DDescriptor { width, height, depth: 0, format, channels, flags: 0 })
}

/// `cuArray3DCreate`
pub(crate) fn create_3d(array: Out<Handle>, descriptor: Array3DDescriptor) -> Result {
    if array.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    let made = in_context(|state, context, ordinal| {
        let (geometry, size) = shape(descriptor)?;
        let format = format(descriptor.format, descriptor.channels)?;
        let row = pitch(size[0] as usize * format.bytes());
        let bytes = row as u64 * u64::from(size[1]) * u64::from(size[2]);
        let memory = &mut state.memories[ordinal];
        let [width, height, layers] = size;
        let name = format!("the array of {width} × {height} × {layers} texels");
        let address = memory.allocate_named(&name, bytes).map_err(|error| {
            journal::note(&error.to_string());
            Error::OUT_OF_MEMORY
        })?;
        let image = Image::new(address, format, geometry, size, row as u64).map_err(|error: InvalidImage| {
            journal::note(&error.to_string());
            let _was_allocated = memory.free(address);
            Error::INVALID_VALUE
        })?;
        state.contexts.get_mut(context)?.allocations.insert(address);
        Ok(state.arrays.add(Array { context, ordinal, address, image, descriptor }))
    });
    array.set(made?)
}

/// The format of a `CUarray_format`.
///
/// # Errors
/// `NOT_SUPPORTED` for a compressed, planar or color format; `INVALID_VALUE` for any other format,
/// or unless there are 1, 2 or 4 channels.
pub(crate) fn format(format: c_int, channels: c_uint) -> Result<Format> {
    let channel = match format {
        0x01 => Channel::U8,
        0x02 => Channel::U16,
        0x03 => Channel::U32,
        0x08 => Channel::S8,
        0x09 => Channel::S16,
        0x0a => Channel::S32,
        0x10 => Channel::F16,
        0x20 => Channel::F32,
        0x50 | 0x91..=0xcb => {
            journal::unsupported("an array of normalized integers, of planes or with compression");
            return Err(Error::NOT_SUPPORTED);
        }
        _ => return Err(Error::INVALID_VALUE),
    };
    Format::new(channel, channels as usize).ok_or(Error::INVALID_VALUE)
}

/// Dimensions and size of an array in texels (CUDA Driver API, `cuArray3DCreate`).
///
/// # Errors
/// `INVALID_VALUE` if no array has these dimensions or the size exceeds a GPU's limits;
/// `NOT_SUPPORTED` for an unsupported flag.
fn shape(descriptor: Array3DDescriptor) -> Result<(Geometry, [u32; 3])> {
    let Array3DDescriptor { width, height, depth, flags, .. } = descriptor;
    if flags & !ALL_FLAGS != 0 {
        return Err(Error::INVALID_VALUE);
    }
    if flags & !(LAYERED | SURFACE | CUBEMAP | GATHER | COLOR_ATTACHMENT) != 0 {
        journal::unsupported("a sparse array, or one for depth, video or deferred mapping");
        return Err(Error::NOT_SUPPORTED);
    }
    let (is_layered, is_cube) = (flags & LAYERED != 0, flags & CUBEMAP != 0);
    // Maximum sizes (CUDA C++ Programming Guide, Technical Specifications per Compute Capability).
    let (geometry, largest) = match (is_layered, is_cube, height, depth) {
        (false, false, 0, 0) => (Geometry::OneD, [1 << 17, 1, 1]),
        (false, false, _, 0) => (Geometry::TwoD, [1 << 17, 1 << 16, 1]),
        (false, false, ..) => (Geometry::ThreeD, [1 << 14; 3]),
        (true, false, 0, _) => (Geometry::LayeredOneD, [1 << 15, 1, 2048]),
        (true, false, ..) => (Geometry::LayeredTwoD, [1 << 15, 1 << 15, 2048]),
        (false, true, ..) => (Geometry::Cube, [1 << 15, 1 << 15, 6]),
        (true, true, ..) => (Geometry::LayeredCube, [1 << 15, 1 << 15, 2046]),
    };
    let needs = [true, geometry.dimensions() > 1, geometry.dimensions() > 2 || is_layered];
    let mut size = [1; 3];
    for (axis, asked) in [width, height, depth].into_iter().enumerate() {
        if needs[axis] && !(1..=largest[axis]).contains(&asked) {
            return Err(Error::INVALID_VALUE);
        }
        size[axis] = asked.max(1) as u32;
    }
    let is_wrong_cube = is_cube && (width != height || !depth.is_multiple_of(6) || !is_layered && depth != 6);
    let is_wrong_gather = flags & GATHER != 0 && geometry != Geometry::TwoD;
    if is_wrong_cube || is_wrong_gather { Err(Error::INVALID_VALUE) } else { Ok((geometry, size)) }
}

pub(crate) fn destroy(array: Handle) -> Result {
    pending::wait(Until::Everything)?;
    in_context(|state, _, _| {
        let Array { context, ordinal, address, .. } = state.arrays.remove(array)?;
        state.contexts.get_mut(context)?.allocations.remove(&address);
        state.memories[ordinal].free(address).map_err(|_| Error::INVALID_VALUE)
    })
}

pub(crate) fn descriptor(descriptor: Out<ArrayDescriptor>, array: Handle) -> Result {
    in_context(|state, _, _| {
        let Array3DDescriptor { width, height, format, channels, .. } = state.arrays.get(array)?.descriptor;
        descriptor.set(ArrayDescriptor { width, height, format, channels })
    })
}

pub(crate) fn descriptor_3d(array: Handle) -> Result<Array3DDescriptor> {
    in_context(|state, _, _| Ok(state.arrays.get(array)?.descriptor))
}

/// Maximum number of texels in a texture of linear memory.
pub(crate) const MAX_LINEAR_WIDTH: usize = 1 << 28;

/// `cuDeviceGetTexture1DLinearMaxWidth`
pub(crate) fn max_linear_width(texels: Out<usize>, format_: c_int, channels: c_uint) -> Result {
    format(format_, channels)?;
    texels.set(MAX_LINEAR_WIDTH)
}

impl State {
    /// The location of a part of an array.
    ///
    /// # Errors
    /// `INVALID_HANDLE`; `INVALID_VALUE` if the part is not within the array.
    pub(crate) fn array_place(&self, array: Handle, at: [usize; 3], extent: [usize; 3]) -> Result<ArrayPlace> {
        self.arrays.get(array)?.place(at, extent)
    }
}
