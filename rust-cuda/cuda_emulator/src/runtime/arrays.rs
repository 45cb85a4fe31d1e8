//! Arrays, textures and surfaces. The runtime describes their formats by the bits of their
//! channels.

use std::ffi::{c_int, c_uint};

use crate::abi::{
    Array3DDescriptor, ChannelFormat, Extent3, In, Out, ResourceDescriptor, RuntimeResource, RuntimeTexture,
    RuntimeView, TextureDescriptor, ViewDescriptor,
};
use crate::driver::memory::{Address, Copy, Side, copy_rows};
use crate::driver::{array, image_object, state};
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::journal;

use super::copies;

/// `cudaChannelFormatKindSigned`, `cudaChannelFormatKindUnsigned`, `cudaChannelFormatKindFloat`
const SIGNED: c_int = 0;
const UNSIGNED: c_int = 1;
const FLOAT: c_int = 2;

/// The driver's formats (`CUarray_format`) by kind and bits of a channel.
const FORMATS: [(c_int, c_int, c_int); 8] = [
    (UNSIGNED, 8, 0x01),
    (UNSIGNED, 16, 0x02),
    (UNSIGNED, 32, 0x03),
    (SIGNED, 8, 0x08),
    (SIGNED, 16, 0x09),
    (SIGNED, 32, 0x0a),
    (FLOAT, 16, 0x10),
    (FLOAT, 32, 0x20),
];

/// Linear and pitched memory resources (`cudaResourceTypeLinear`, `cudaResourceTypePitch2D`).
const LINEAR: c_int = 2;
const PITCHED: c_int = 3;

/// Texture flags (`CU_TRSF_…`).
const AS_INTEGERS: c_uint = 1;
const NORMALIZED_COORDINATES: c_uint = 2;
const SRGB: c_uint = 0x10;
const NO_TRILINEAR_OPTIMISATION: c_uint = 0x20;
const SEAMLESS: c_uint = 0x40;

/// Converts to the driver's format and number of channels.
///
/// # Errors
/// `INVALID_CHANNELS` unless all channels have the same size and the driver has such a format.
fn of_driver(ChannelFormat { bits, kind }: ChannelFormat) -> Result<(c_int, c_uint)> {
    let count = bits.iter().take_while(|size| **size != 0).count();
    let is_even = bits[..count].iter().all(|size| *size == bits[0]) && bits[count..].iter().all(|size| *size == 0);
    let found = FORMATS.iter().find(|(known, size, _)| (*known, *size) == (kind, bits[0]));
    let (_, _, format) = found.filter(|_| is_even && count != 0).ok_or(Error::INVALID_CHANNELS)?;
    Ok((*format, count as c_uint))
}

/// The channels of a driver format.
fn channels(format: c_int, count: c_uint) -> ChannelFormat {
    let found = FORMATS.iter().find(|(.., known)| *known == format);
    let (kind, size, _) = *found.expect("an array has one of the formats");
    let mut bits = [0; 4];
    bits[..count as usize].fill(size);
    ChannelFormat { bits, kind }
}

/// Allocates an array. Unused dimensions are 0.
pub(crate) fn allocate(to: Out<Handle>, format: In<ChannelFormat>, extent: Extent3, flags: c_uint) -> Result {
    let (format, channels) = of_driver(format.get()?)?;
    let Extent3 { width, height, depth } = extent;
    array::create_3d(to, Array3DDescriptor { width, height, depth, format, channels, flags })
}

/// Channels, size and flags of an array.
pub(crate) fn info(format: Out<ChannelFormat>, extent: Out<Extent3>, flags: Out<c_uint>, array: Handle) -> Result {
    let found = array::descriptor_3d(array)?;
    let Array3DDescriptor { width, height, depth, .. } = found;
    format.set_if_wanted(channels(found.format, found.channels));
    extent.set_if_wanted(Extent3 { width, height, depth });
    flags.set_if_wanted(found.flags);
    Ok(())
}

/// Size in bytes of an array's element and of its row.
pub(crate) fn row(array: Handle) -> Result<(usize, usize)> {
    let state = state()?;
    let (image, _) = state.arrays.get(array)?.image();
    let element = image.format().bytes();
    Ok((element, element * image.size()[0] as usize))
}

/// Converts a resource to the driver's form.
///
/// # Errors
/// `INVALID_CHANNELS`
fn resource(found: RuntimeResource) -> Result<ResourceDescriptor> {
    let RuntimeResource { kind, words: [pointer, ..], .. } = found;
    let mut words = [0; 16];
    words[0] = pointer;
    if matches!(kind, LINEAR | PITCHED) {
        let [_, low, high, kind, sizes @ ..] = found.words;
        let halves = |word: u64| [word as c_int, (word >> 32) as c_int];
        let ([x, y], [z, w]) = (halves(low), halves(high));
        let (format, channels) = of_driver(ChannelFormat { bits: [x, y, z, w], kind: kind as c_int })?;
        words[1] = u64::from(format as c_uint) | u64::from(channels) << 32;
        words[2..5].copy_from_slice(&sizes);
    }
    Ok(ResourceDescriptor { kind, words, flags: 0 })
}

/// Converts a resource to the runtime's form.
pub(crate) fn of_runtime(found: ResourceDescriptor) -> RuntimeResource {
    let ResourceDescriptor { kind, words: [pointer, format, sizes @ ..], .. } = found;
    let mut words = [0; 7];
    words[0] = pointer;
    if matches!(kind, LINEAR | PITCHED) {
        let ChannelFormat { bits, kind } = channels(format as c_int, (format >> 32) as c_uint);
        let [x, y, z, w] = bits.map(|bits| bits as u64);
        words[1..4].copy_from_slice(&[x | y << 32, z | w << 32, kind as u64]);
        words[4..].copy_from_slice(&sizes[..3]);
    }
    RuntimeResource { kind, pad: 0, words }
}

/// `cudaCreateTextureObject`
pub(crate) fn create_texture(
    texture: Out<Handle>,
    of: In<RuntimeResource>,
    sampler: In<RuntimeTexture>,
    view: In<RuntimeView>,
) -> Result {
    let RuntimeTexture { address_modes, filter, read_mode, is_srgb, border, is_normalized, .. } = sampler.get()?;
    let RuntimeTexture { max_anisotropy, mipmap_filter, mipmap_level, no_trilinear, is_seamless, .. } =
        sampler.get()?;
    let flags = [
        (AS_INTEGERS, read_mode == 0),
        (NORMALIZED_COORDINATES, is_normalized != 0),
        (SRGB, is_srgb != 0),
        (NO_TRILINEAR_OPTIMISATION, no_trilinear != 0),
        (SEAMLESS, is_seamless != 0),
    ];
    let flags = flags.into_iter().filter(|(_, is_set)| *is_set).fold(0, |flags, (flag, _)| flags | flag);
    let sampler = TextureDescriptor {
        address_modes,
        filter,
        flags,
        max_anisotropy,
        mipmap_filter,
        mipmap_level,
        border,
        reserved: [0; 12],
    };
    let resource = resource(of.get()?)?;
    let view = if view.is_null() { None } else { Some(view.get()?) };
    let view = view.map(|RuntimeView { format, size, mipmap_levels, layers }| ViewDescriptor {
        format,
        size,
        mipmap_levels,
        layers,
        reserved: [0; 16],
    });
    image_object::create_texture(texture, resource, sampler, view)
}

/// The texture's parameters in the runtime's form.
pub(crate) fn texture_of(to: Out<RuntimeTexture>, texture: Handle) -> Result {
    let TextureDescriptor { address_modes, filter, flags, max_anisotropy, mipmap_filter, mipmap_level, border, .. } =
        image_object::texture_sampler(texture)?;
    let has = |flag: c_uint| c_int::from(flags & flag != 0);
    to.set(RuntimeTexture {
        address_modes,
        filter,
        read_mode: 1 - has(AS_INTEGERS),
        is_srgb: has(SRGB),
        border,
        is_normalized: has(NORMALIZED_COORDINATES),
        max_anisotropy,
        mipmap_filter,
        mipmap_level,
        no_trilinear: has(NO_TRILINEAR_OPTIMISATION),
        is_seamless: has(SEAMLESS),
    })
}

/// `cudaCreateSurfaceObject`
pub(crate) fn create_surface(surface: Out<Handle>, of: In<RuntimeResource>) -> Result {
    image_object::create_surface(surface, resource(of.get()?)?)
}

/// The part of an array used by a copy, starting at a byte of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) array: Handle,
    pub(crate) x_bytes: usize,
    pub(crate) y: usize,
}

impl Part {
    fn side(self) -> Side {
        Side { address: Address::Array(self.array, [self.x_bytes, self.y, 0]), pitch: 0, plane: 0 }
    }
}

/// Copies rows between an array and pitched memory. The array is the destination if `is_to_array`.
pub(crate) fn copy_2d(
    part: Part,
    (address, pitch): (u64, usize),
    (width, height): (usize, usize),
    (kind, is_to_array): (c_int, bool),
    stream: Option<Handle>,
) -> Result {
    let (to, from) = copies::addresses(address, address, kind)?;
    let address = if is_to_array { from } else { to };
    if height > 1 && width > pitch {
        return Err(Error::INVALID_PITCH);
    }
    let memory = Side { address, pitch, plane: pitch.saturating_mul(height) };
    let (to, from) = if is_to_array { (part.side(), memory) } else { (memory, part.side()) };
    copy_rows(Copy { to, from, width, height, depth: 1 }, stream)
}

/// Copies rows between arrays.
pub(crate) fn copy_between(to: Part, from: Part, (width, height): (usize, usize)) -> Result {
    copy_rows(Copy { to: to.side(), from: from.side(), width, height, depth: 1 }, None)
}

/// Copies bytes between an array and memory, like [`copy_2d`]: whole rows, or a part of one row.
///
/// # Errors
/// `NOT_SUPPORTED` for any other range.
pub(crate) fn copy_bytes(
    part: Part,
    address: u64,
    bytes: usize,
    kind: (c_int, bool),
    stream: Option<Handle>,
) -> Result {
    let (_, row) = row(part.array)?;
    let shape = match (part.x_bytes, bytes % row) {
        (0, 0) => (row, bytes / row),
        (start, _) if start.saturating_add(bytes) <= row => (bytes, 1),
        _ => {
            journal::unsupported("a copy of bytes that begin or end within a row of an array");
            return Err(Error::NOT_SUPPORTED);
        }
    };
    copy_2d(part, (address, shape.0), shape, kind, stream)
}
