//! Handles: numbers that C programs hold as pointers. They are looked up in tables, so an invalid
//! handle is an error.

use std::collections::BTreeMap;

use crate::error::{Error, Result};

/// The caller's handle, which may be any number.
pub(crate) type Handle = usize;

/// The kinds of objects. Their handles differ in the upper bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Context = 1,
    Module,
    Function,
    Stream,
    Event,
    Graph,
    Executable,
    Object,
    Node,
    Link,
    Library,
    Kernel,
    Pool,
    JitLink,
    Binary,
    Array,
    Texture,
    Surface,
}

/// Bit position of the kind in a handle. No program has memory at such addresses.
const KIND_SHIFT: u32 = 48;
/// Distance between handles. Some programs keep flags in the low bits of pointers.
const STEP: usize = 16;

/// The objects of one kind.
#[derive(Debug)]
pub(crate) struct Table<T> {
    kind: Kind,
    objects: BTreeMap<Handle, T>,
    /// Number of handles created so far. They are never reused.
    made: usize,
}

impl<T> Table<T> {
    pub(crate) fn new(kind: Kind) -> Self {
        Self { kind, objects: BTreeMap::new(), made: 0 }
    }

    /// Adds an object and returns its handle.
    pub(crate) fn add(&mut self, object: T) -> Handle {
        self.made += 1;
        let handle = ((self.kind as usize) << KIND_SHIFT) + self.made * STEP;
        self.objects.insert(handle, object);
        handle
    }

    /// # Errors
    /// `INVALID_HANDLE`
    pub(crate) fn get(&self, handle: Handle) -> Result<&T> {
        self.objects.get(&handle).ok_or(Error::INVALID_HANDLE)
    }

    /// # Errors
    /// `INVALID_HANDLE`
    pub(crate) fn get_mut(&mut self, handle: Handle) -> Result<&mut T> {
        self.objects.get_mut(&handle).ok_or(Error::INVALID_HANDLE)
    }

    /// Removes an object.
    ///
    /// # Errors
    /// `INVALID_HANDLE`
    pub(crate) fn remove(&mut self, handle: Handle) -> Result<T> {
        self.objects.remove(&handle).ok_or(Error::INVALID_HANDLE)
    }

    /// Removes the objects that satisfy `is_gone`, and returns them.
    pub(crate) fn remove_where(&mut self, is_gone: impl Fn(&T) -> bool) -> Vec<(Handle, T)> {
        self.objects.extract_if(.., |_, object| is_gone(object)).collect()
    }

    /// The objects in order of creation.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Handle, &T)> {
        self.objects.iter().map(|(handle, object)| (*handle, object))
    }

    /// Like [`iter`](Self::iter), with mutable access.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (Handle, &mut T)> {
        self.objects.iter_mut().map(|(handle, object)| (*handle, object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_of_one_object_of_one_kind() {
        let (mut streams, mut events) = (Table::new(Kind::Stream), Table::new(Kind::Event));
        let (first, event) = (streams.add("first"), events.add("event"));
        assert_ne!(first, event);
        assert_eq!(streams.get(event), Err(Error::INVALID_HANDLE));
        assert_eq!(streams.remove(first), Ok("first"));
        assert_eq!(streams.remove(first), Err(Error::INVALID_HANDLE));
        assert_ne!(streams.add("second"), first);
    }
}
