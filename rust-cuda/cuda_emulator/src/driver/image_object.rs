//! Texture and surface objects: handles through which kernels access arrays or device memory.

use std::ffi::{c_int, c_uint};

use ptx_interpreter::memory::{
    AddressMode, Channel, Filter, Format, Geometry, Image, InvalidImage, ReadMode, Sampler, Texture as KernelTexture,
};

use crate::abi::{Out, ResourceDescriptor, TextureDescriptor, ViewDescriptor};
use crate::driver::array::{self, MAX_LINEAR_WIDTH};
use crate::driver::pending::{self, Until};
use crate::driver::{State, in_context};
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::journal;

/// `CUresourcetype`
const ARRAY: c_int = 0;
const MIPMAPPED_ARRAY: c_int = 1;
const LINEAR: c_int = 2;
const PITCHED: c_int = 3;

/// `CU_TRSF_READ_AS_INTEGER`, `CU_TRSF_NORMALIZED_COORDINATES`, `CU_TRSF_SRGB`, `CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION`,
/// `CU_TRSF_SEAMLESS_CUBEMAP`.
const AS_INTEGER: c_uint = 1;
const NORMALIZED: c_uint = 2;
const SRGB: c_uint = 0x10;
const NO_TRILINEAR_OPTIMIZATION: c_uint = 0x20;
const SEAMLESS: c_uint = 0x40;

/// Alignment of a texture's memory and pitch, in bytes (`CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT` and
/// `…_PITCH_ALIGNMENT`).
const ALIGNMENT: u64 = 512;
const PITCH_ALIGNMENT: u64 = 32;

/// Maximum width and height of a texture in pitched memory.
const MAX_PITCHED: [u64; 2] = [1 << 17, 65_000];

/// A texture object.
#[derive(Debug)]
pub(crate) struct Texture {
    context: Handle,
    ordinal: usize,
    resource: ResourceDescriptor,
    sampler: TextureDescriptor,
    view: Option<ViewDescriptor>,
}

/// A surface object.
#[derive(Debug)]
pub(crate) struct Surface {
    context: Handle,
    ordinal: usize,
    resource: ResourceDescriptor,
}

pub(crate) fn create_texture(
    texture: Out<Handle>,
    resource: ResourceDescriptor,
    descriptor: TextureDescriptor,
    view: Option<ViewDescriptor>,
) -> Result {
    if texture.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    let made = in_context(|state, context, ordinal| {
        let (image, ordinal) = state.image(resource, ordinal)?;
        view.map_or(Ok(()), |view| check_view(view, resource, &image))?;
        let of_kernels = KernelTexture::new(image, read_sampler(descriptor, &image)?).map_err(|error| {
            journal::note(&error.to_string());
            Error::INVALID_VALUE
        })?;
        let made = state.textures.add(Texture { context, ordinal, resource, sampler: descriptor, view });
        state.memories[ordinal].add_texture(made as u64, of_kernels);
        Ok(made)
    });
    texture.set(made?)
}

pub(crate) fn destroy_texture(texture: Handle) -> Result {
    pending::wait(Until::Everything)?;
    in_context(|state, _, _| {
        let destroyed = state.textures.remove(texture)?;
        state.memories[destroyed.ordinal].remove_image_object(texture as u64);
        Ok(())
    })
}

pub(crate) fn texture_resource(texture: Handle) -> Result<ResourceDescriptor> {
    in_context(|state, _, _| Ok(state.textures.get(texture)?.resource))
}

pub(crate) fn texture_sampler(texture: Handle) -> Result<TextureDescriptor> {
    in_context(|state, _, _| Ok(state.textures.get(texture)?.sampler))
}

/// The view that the texture was created with; `INVALID_VALUE` if there was none.
pub(crate) fn texture_view(texture: Handle) -> Result<ViewDescriptor> {
    in_context(|state, _, _| state.textures.get(texture)?.view.ok_or(Error::INVALID_VALUE))
}

pub(crate) fn create_surface(surface: Out<Handle>, resource: ResourceDescriptor) -> Result {
    if surface.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    let made = in_context(|state, context, _| {
        if resource.kind != ARRAY || resource.flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        let array = state.arrays.get(resource.words[0] as Handle)?;
        if !array.is_for_surfaces() {
            journal::note("a surface object needs an array that is created with CUDA_ARRAY3D_SURFACE_LDST");
            return Err(Error::INVALID_VALUE);
        }
        let (image, ordinal) = array.image();
        let made = state.surfaces.add(Surface { context, ordinal, resource });
        state.memories[ordinal].add_surface(made as u64, image);
        Ok(made)
    });
    surface.set(made?)
}

pub(crate) fn destroy_surface(surface: Handle) -> Result {
    pending::wait(Until::Everything)?;
    in_context(|state, _, _| {
        let destroyed = state.surfaces.remove(surface)?;
        state.memories[destroyed.ordinal].remove_image_object(surface as u64);
        Ok(())
    })
}

pub(crate) fn surface_resource(surface: Handle) -> Result<ResourceDescriptor> {
    in_context(|state, _, _| Ok(state.surfaces.get(surface)?.resource))
}

impl State {
    /// The image of a texture's resource and the ordinal of its device. For linear and pitched
    /// memory that is `ordinal`.
    fn image(&mut self, resource: ResourceDescriptor, ordinal: usize) -> Result<(Image, usize)> {
        let ResourceDescriptor { kind, words, flags } = resource;
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        // Format and number of channels share one word.
        let format = || array::format(words[1] as c_int, (words[1] >> 32) as c_uint);
        let image = match kind {
            ARRAY => return Ok(self.arrays.get(words[0] as Handle)?.image()),
            MIPMAPPED_ARRAY => {
                journal::unsupported("a texture of a mipmapped array");
                return Err(Error::NOT_SUPPORTED);
            }
            LINEAR => {
                let [address, _, bytes, ..] = words;
                let format = format()?;
                let width = bytes / format.bytes() as u64;
                if width == 0 || width > MAX_LINEAR_WIDTH as u64 {
                    return Err(Error::INVALID_VALUE);
                }
                self.check_memory(address, width * format.bytes() as u64)?;
                Image::linear(address, format, width as u32)
            }
            PITCHED => {
                let [address, _, width, height, pitch, ..] = words;
                let format = format()?;
                let has_size = (1..=MAX_PITCHED[0]).contains(&width) && (1..=MAX_PITCHED[1]).contains(&height);
                if !has_size || !pitch.is_multiple_of(PITCH_ALIGNMENT) || pitch < width * format.bytes() as u64 {
                    return Err(Error::INVALID_VALUE);
                }
                let bytes =
                    pitch.checked_mul(height - 1).and_then(|rows| rows.checked_add(width * format.bytes() as u64));
                self.check_memory(address, bytes.ok_or(Error::INVALID_VALUE)?)?;
                Image::new(address, format, Geometry::TwoD, [width as u32, height as u32, 1], pitch)
            }
            _ => return Err(Error::INVALID_VALUE),
        };
        let image = image.map_err(|error: InvalidImage| {
            journal::note(&error.to_string());
            Error::INVALID_VALUE
        });
        Ok((image?, ordinal))
    }

    /// Checks that a texture may use the bytes at an address, and makes memory shared between host
    /// and devices accessible to kernels.
    fn check_memory(&mut self, address: u64, bytes: u64) -> Result {
        let bytes = usize::try_from(bytes).map_err(|_| Error::INVALID_VALUE)?;
        self.device_place(address, bytes)?;
        // Allocations on a GPU begin at such multiples.
        let is_start = self.extent_of(address).is_some_and(|(_, extent)| extent.start == address);
        if !address.is_multiple_of(ALIGNMENT) && !is_start {
            journal::note(&format!("a texture of memory at {address:#x}, which is no multiple of {ALIGNMENT}"));
            return Err(Error::INVALID_VALUE);
        }
        self.map_parameters(&[address.to_le_bytes().to_vec()])
    }

    /// Destroys a context's objects.
    pub(crate) fn destroy_image_objects(&mut self, context: Handle) {
        for (handle, texture) in self.textures.remove_where(|texture| texture.context == context) {
            self.memories[texture.ordinal].remove_image_object(handle as u64);
        }
        for (handle, surface) in self.surfaces.remove_where(|surface| surface.context == context) {
            self.memories[surface.ordinal].remove_image_object(handle as u64);
        }
    }
}

/// The sampler for a texture of an image.
///
/// # Errors
/// `INVALID_VALUE`; `NOT_SUPPORTED` for filtering across a cube's edges.
fn read_sampler(descriptor: TextureDescriptor, image: &Image) -> Result<Sampler> {
    let TextureDescriptor { address_modes, filter, flags, border, .. } = descriptor;
    if flags & !(AS_INTEGER | NORMALIZED | SRGB | NO_TRILINEAR_OPTIMIZATION | SEAMLESS) != 0 {
        return Err(Error::INVALID_VALUE);
    }
    let mut modes = [AddressMode::Clamp; 3];
    for (mode, asked) in modes.iter_mut().zip(address_modes) {
        *mode = match asked {
            0 => AddressMode::Wrap,
            1 => AddressMode::Clamp,
            2 => AddressMode::Mirror,
            3 => AddressMode::Border,
            _ => return Err(Error::INVALID_VALUE),
        };
    }
    let filter = match filter {
        0 => Filter::Point,
        1 => Filter::Linear,
        _ => return Err(Error::INVALID_VALUE),
    };
    if flags & SEAMLESS != 0 && filter == Filter::Linear && image.geometry().is_cube() {
        journal::unsupported("a linear filter over the edges of a cubemap");
        return Err(Error::NOT_SUPPORTED);
    }
    let read = if flags & AS_INTEGER != 0 { ReadMode::Element } else { ReadMode::NormalizedFloat };
    let (normalized_coordinates, srgb) = (flags & NORMALIZED != 0, flags & SRGB != 0);
    Ok(Sampler { modes, filter, read, normalized_coordinates, srgb, border })
}

/// Checks that a view shows an array without reinterpreting it.
///
/// # Errors
/// `NOT_SUPPORTED` if it does not; `INVALID_VALUE` if the resource may not have a view.
fn check_view(view: ViewDescriptor, resource: ResourceDescriptor, image: &Image) -> Result {
    if resource.kind != ARRAY {
        return Err(Error::INVALID_VALUE);
    }
    // `CUresourceViewFormat`: each type occurs with three channel counts.
    const CHANNELS: [Channel; 8] =
        [Channel::U8, Channel::S8, Channel::U16, Channel::S16, Channel::U32, Channel::S32, Channel::F16, Channel::F32];
    let format = usize::try_from(view.format)
        .ok()
        .and_then(|format| format.checked_sub(1))
        .and_then(|format| Format::new(*CHANNELS.get(format / 3)?, 1 << (format % 3)));
    let [width, height, layers] = image.size().map(|size| size as usize);
    let is_size = |axis: usize, size: usize| view.size[axis] == size || view.size[axis] <= 1 && size == 1;
    let is_whole = is_size(0, width) && is_size(1, height) && is_size(2, layers);
    let [first, last] = view.layers;
    let has_all_layers = first == 0 && (last == 0 || last as usize + 1 == layers);
    let is_same = view.format == 0 || format == Some(image.format());
    if is_whole && has_all_layers && is_same && view.mipmap_levels == [0; 2] {
        return Ok(());
    }
    journal::unsupported("a view of a part of an array, or in another format");
    Err(Error::NOT_SUPPORTED)
}
