//! Texture and surface objects, and tensor maps.

use std::ffi::{c_int, c_uint};

use super::export;
use crate::abi::{In, Out, ResourceDescriptor, TextureDescriptor, ViewDescriptor};
use crate::driver::tensor_map::RawTensorMap;
use crate::driver::{image_object, tensor_map};
use crate::handles::Handle;

export! {
    fn cuTexObjectCreate(
        texture: Out<Handle>, resource: In<ResourceDescriptor>, sampler: In<TextureDescriptor>, view: In<ViewDescriptor>,
    ) => {
        let view = if view.is_null() { None } else { Some(view.get()?) };
        image_object::create_texture(texture, resource.get()?, sampler.get()?, view)
    };
    fn cuTexObjectDestroy(texture: Handle) => image_object::destroy_texture(texture);
    fn cuTexObjectGetResourceDesc(resource: Out<ResourceDescriptor>, texture: Handle) =>
        resource.set(image_object::texture_resource(texture)?);
    fn cuTexObjectGetTextureDesc(sampler: Out<TextureDescriptor>, texture: Handle) =>
        sampler.set(image_object::texture_sampler(texture)?);
    fn cuTexObjectGetResourceViewDesc(view: Out<ViewDescriptor>, texture: Handle) =>
        view.set(image_object::texture_view(texture)?);
    fn cuSurfObjectCreate(surface: Out<Handle>, resource: In<ResourceDescriptor>) =>
        image_object::create_surface(surface, resource.get()?);
    fn cuSurfObjectDestroy(surface: Handle) => image_object::destroy_surface(surface);
    fn cuSurfObjectGetResourceDesc(resource: Out<ResourceDescriptor>, surface: Handle) =>
        resource.set(image_object::surface_resource(surface)?);
    fn cuTensorMapEncodeTiled(
        map: Out<RawTensorMap>, element: c_int, rank: c_uint, address: usize, sizes: In<u64>, strides: In<u64>,
        box_sizes: In<u32>, element_strides: In<u32>, interleave: c_int, swizzle: c_int, promotion: c_int, fill: c_int,
    ) => tensor_map::encode(
        map, (element, rank, address), (sizes, strides), (box_sizes, element_strides), [interleave, swizzle, promotion, fill],
    );
    fn cuTensorMapReplaceAddress(map: Out<RawTensorMap>, address: usize) => tensor_map::replace_address(map, address);
}
