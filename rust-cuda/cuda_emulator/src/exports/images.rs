//! Texture and surface objects.

use super::export;
use crate::abi::{In, Out, ResourceDescriptor, TextureDescriptor, ViewDescriptor};
use crate::driver::image_object;
use crate::handles::Handle;

export! {
    fn cuTexObjectCreate(
        texture: Out<Handle>, resource: In<ResourceDescriptor>, sampler: In<TextureDescriptor>, view: In<ViewDescriptor>,
    ) => image_object::create_texture(texture, resource, sampler, view);
    fn cuTexObjectDestroy(texture: Handle) => image_object::destroy_texture(texture);
    fn cuTexObjectGetResourceDesc(resource: Out<ResourceDescriptor>, texture: Handle) =>
        image_object::texture_resource(resource, texture);
    fn cuTexObjectGetTextureDesc(sampler: Out<TextureDescriptor>, texture: Handle) =>
        image_object::texture_sampler(sampler, texture);
    fn cuTexObjectGetResourceViewDesc(view: Out<ViewDescriptor>, texture: Handle) =>
        image_object::texture_view(view, texture);
    fn cuSurfObjectCreate(surface: Out<Handle>, resource: In<ResourceDescriptor>) =>
        image_object::create_surface(surface, resource);
    fn cuSurfObjectDestroy(surface: Handle) => image_object::destroy_surface(surface);
    fn cuSurfObjectGetResourceDesc(resource: Out<ResourceDescriptor>, surface: Handle) =>
        image_object::surface_resource(resource, surface);
}
