//! The texture and surface objects of a device, stored by handle.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Image, ImageError, ObjectKind, Texture};

/// The objects that kernels refer to by handle.
#[derive(Clone, Debug, Default)]
pub(crate) struct ImageObjects {
    textures: BTreeMap<u64, Arc<Texture>>,
    surfaces: BTreeMap<u64, Arc<Image>>,
}

impl ImageObjects {
    /// Adds a texture object, replacing any object with its handle.
    pub(crate) fn add_texture(&mut self, handle: u64, texture: Texture) {
        self.remove(handle);
        self.textures.insert(handle, Arc::new(texture));
    }

    /// Adds a surface object, replacing any object with its handle.
    pub(crate) fn add_surface(&mut self, handle: u64, image: Image) {
        self.remove(handle);
        self.surfaces.insert(handle, Arc::new(image));
    }

    /// Removes an object. Returns whether there was one.
    pub(crate) fn remove(&mut self, handle: u64) -> bool {
        self.textures.remove(&handle).is_some() | self.surfaces.remove(&handle).is_some()
    }

    /// Whether there is an object with this handle.
    pub(crate) fn contains(&self, handle: u64) -> bool {
        self.textures.contains_key(&handle) || self.surfaces.contains_key(&handle)
    }

    /// A texture object.
    ///
    /// # Errors
    /// `NoObject`
    pub(crate) fn texture(&self, handle: u64) -> Result<&Arc<Texture>, ImageError> {
        self.textures.get(&handle).ok_or_else(|| self.no_object(ObjectKind::Texture, handle))
    }

    /// The image of a surface object.
    ///
    /// # Errors
    /// `NoObject`
    pub(crate) fn surface(&self, handle: u64) -> Result<&Arc<Image>, ImageError> {
        self.surfaces.get(&handle).ok_or_else(|| self.no_object(ObjectKind::Surface, handle))
    }

    fn no_object(&self, kind: ObjectKind, handle: u64) -> ImageError {
        ImageError::NoObject { kind, handle, is_other: self.contains(handle) }
    }
}
