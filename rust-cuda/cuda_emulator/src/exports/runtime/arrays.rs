//! Arrays, textures and surfaces.

use std::ffi::{c_int, c_uint};

use crate::abi::{ChannelFormat, Extent3, In, Out, RuntimeResource, RuntimeTexture, RuntimeView, ViewDescriptor};
use crate::driver::{array, image_object};
use crate::exports::export;
use crate::handles::Handle;
use crate::runtime::arrays::{self, Part, copy_2d, copy_between, copy_bytes};

export! {
    through super::bound;
    fn cudaMallocArray(to: Out<Handle>, format: In<ChannelFormat>, width: usize, height: usize, flags: c_uint) =>
        arrays::allocate(to, format, Extent3 { width, height, depth: 0 }, flags);
    fn cudaMalloc3DArray(to: Out<Handle>, format: In<ChannelFormat>, extent: Extent3, flags: c_uint) =>
        arrays::allocate(to, format, extent, flags);
    fn cudaFreeArray(array: Handle) => match array {
        0 => Ok(()),
        _ => array::destroy(array),
    };
    fn cudaArrayGetInfo(format: Out<ChannelFormat>, extent: Out<Extent3>, flags: Out<c_uint>, array: Handle) =>
        arrays::info(format, extent, flags, array);
    fn cudaGetChannelDesc(format: Out<ChannelFormat>, array: Handle) => {
        if format.is_null() {
            return Err(crate::error::Error::INVALID_VALUE);
        }
        arrays::info(format, Out::null(), Out::null(), array)
    };

    fn cudaMemcpy2DToArray[cudaMemcpy2DToArray_ptds](
        array: Handle, x_bytes: usize, y: usize, from: u64, pitch: usize, width: usize, height: usize, kind: c_int,
    ) => copy_2d(Part { array, x_bytes, y }, (from, pitch), (width, height), (kind, true), None);
    fn cudaMemcpy2DToArrayAsync[cudaMemcpy2DToArrayAsync_ptsz](
        array: Handle, x_bytes: usize, y: usize, from: u64, pitch: usize, width: usize, height: usize, kind: c_int,
        stream: Handle,
    ) => copy_2d(Part { array, x_bytes, y }, (from, pitch), (width, height), (kind, true), Some(stream));
    fn cudaMemcpy2DFromArray[cudaMemcpy2DFromArray_ptds](
        to: u64, pitch: usize, array: Handle, x_bytes: usize, y: usize, width: usize, height: usize, kind: c_int,
    ) => copy_2d(Part { array, x_bytes, y }, (to, pitch), (width, height), (kind, false), None);
    fn cudaMemcpy2DFromArrayAsync[cudaMemcpy2DFromArrayAsync_ptsz](
        to: u64, pitch: usize, array: Handle, x_bytes: usize, y: usize, width: usize, height: usize, kind: c_int,
        stream: Handle,
    ) => copy_2d(Part { array, x_bytes, y }, (to, pitch), (width, height), (kind, false), Some(stream));
    fn cudaMemcpy2DArrayToArray[cudaMemcpy2DArrayToArray_ptds](
        to: Handle, to_x: usize, to_y: usize, from: Handle, from_x: usize, from_y: usize, width: usize, height: usize,
        _kind: c_int,
    ) => copy_between(
        Part { array: to, x_bytes: to_x, y: to_y }, Part { array: from, x_bytes: from_x, y: from_y }, (width, height),
    );
    fn cudaMemcpyToArray[cudaMemcpyToArray_ptds](
        array: Handle, x_bytes: usize, y: usize, from: u64, bytes: usize, kind: c_int,
    ) => copy_bytes(Part { array, x_bytes, y }, from, bytes, (kind, true), None);
    fn cudaMemcpyToArrayAsync[cudaMemcpyToArrayAsync_ptsz](
        array: Handle, x_bytes: usize, y: usize, from: u64, bytes: usize, kind: c_int, stream: Handle,
    ) => copy_bytes(Part { array, x_bytes, y }, from, bytes, (kind, true), Some(stream));
    fn cudaMemcpyFromArray[cudaMemcpyFromArray_ptds](
        to: u64, array: Handle, x_bytes: usize, y: usize, bytes: usize, kind: c_int,
    ) => copy_bytes(Part { array, x_bytes, y }, to, bytes, (kind, false), None);
    fn cudaMemcpyFromArrayAsync[cudaMemcpyFromArrayAsync_ptsz](
        to: u64, array: Handle, x_bytes: usize, y: usize, bytes: usize, kind: c_int, stream: Handle,
    ) => copy_bytes(Part { array, x_bytes, y }, to, bytes, (kind, false), Some(stream));

    fn cudaCreateTextureObject(
        texture: Out<Handle>, resource: In<RuntimeResource>, sampler: In<RuntimeTexture>, view: In<RuntimeView>,
    ) => arrays::create_texture(texture, resource, sampler, view);
    fn cudaDestroyTextureObject(texture: Handle) => image_object::destroy_texture(texture);
    fn cudaGetTextureObjectResourceDesc(to: Out<RuntimeResource>, texture: Handle) =>
        to.set(arrays::of_runtime(image_object::texture_resource(texture)?));
    fn cudaGetTextureObjectTextureDesc(to: Out<RuntimeTexture>, texture: Handle) =>
        arrays::texture_of(to, texture);
    fn cudaGetTextureObjectResourceViewDesc(to: Out<RuntimeView>, texture: Handle) => {
        let ViewDescriptor { format, size, mipmap_levels, layers, .. } = image_object::texture_view(texture)?;
        to.set(RuntimeView { format, size, mipmap_levels, layers })
    };
    fn cudaCreateSurfaceObject(surface: Out<Handle>, resource: In<RuntimeResource>) =>
        arrays::create_surface(surface, resource);
    fn cudaDestroySurfaceObject(surface: Handle) => image_object::destroy_surface(surface);
    fn cudaGetSurfaceObjectResourceDesc(to: Out<RuntimeResource>, surface: Handle) =>
        to.set(arrays::of_runtime(image_object::surface_resource(surface)?));
}
