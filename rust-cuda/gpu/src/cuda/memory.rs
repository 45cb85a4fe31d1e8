//! The GPU's global memory, and page-locked host memory.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut, Range};
use std::rc::Rc;

use cuda_std::{BufferMut, BufferRef, Element};
use cust::error::{CudaError, CudaResult};
use cust::memory::{CopyDestination, DeviceBuffer, DeviceCopy, LockedBuffer, mem_get_info};
use cust::sys;

use super::context::Cuda;
use super::status::succeed;
use crate::storage::Storage;
use crate::{Error, Unwritten};

/// The alignment of each allocation (CUDA C++ Programming Guide, "Device Memory Accesses").
const ALLOCATION_ALIGNMENT: u64 = 256;

/// An element that implements cust's `DeviceCopy`.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
struct Plain<T>(T);

// SAFETY: an element is a scalar or a vector of scalars: it has no pointers to the host, and any bit pattern is a
// value.
#[allow(unsafe_code)]
unsafe impl<T: Element> DeviceCopy for Plain<T> {}

#[allow(unsafe_code)]
fn plain<T: Element>(values: &[T]) -> &[Plain<T>] {
    // SAFETY: `Plain<T>` is transparent: it has the layout and the values of T.
    unsafe { &*(std::ptr::from_ref(values) as *const [Plain<T>]) }
}

#[allow(unsafe_code)]
fn plain_mut<T: Element>(values: &mut [T]) -> &mut [Plain<T>] {
    // SAFETY: as in `plain`; the exclusive borrow is passed on.
    unsafe { &mut *(std::ptr::from_mut(values) as *mut [Plain<T>]) }
}

/// Elements in the GPU's global memory.
///
/// Dropping it frees the memory, for which the driver (`cuMemFree`) waits until no kernel uses it.
#[derive(Debug)]
pub(crate) struct CudaBuffer<T: Element> {
    elements: ManuallyDrop<DeviceBuffer<Plain<T>>>,
    cuda: Rc<Cuda>,
}

impl<T: Element> Drop for CudaBuffer<T> {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // A failure cannot be reported here, and recurs in the next call.
        let _ = self.cuda.enter();
        // SAFETY: the elements are dropped only here, and not used afterwards.
        unsafe { ManuallyDrop::drop(&mut self.elements) };
    }
}

impl<T: Element> CudaBuffer<T> {
    /// A buffer of `length` uninitialised elements.
    #[allow(unsafe_code)]
    pub(crate) fn uninitialized(cuda: &Rc<Cuda>, length: usize) -> Result<Self, Error> {
        cuda.enter()?;
        // SAFETY: any bit pattern is a value of T.
        let elements = unsafe { DeviceBuffer::uninitialized(length) };
        match elements {
            Ok(elements) => Ok(Self { elements: ManuallyDrop::new(elements), cuda: Rc::clone(cuda) }),
            // cust returns the second if the size in bytes overflows a usize.
            Err(CudaError::OutOfMemory | CudaError::InvalidMemoryAllocation) => {
                let (free, total) = mem_get_info().unwrap_or((0, cuda.properties.total_memory));
                Err(Error::OutOfMemory { elements: length, element_bytes: size_of::<T>(), free, total })
            }
            Err(error) => cuda.check("allocating memory of the GPU", Err(error)),
        }
    }

    /// The address of the first element. An empty buffer has a dangling one. It is not zero, because the kernel makes a reference of it,
    /// and it is aligned like any other, because the kernel may make quads of it.
    fn address(&self) -> u64 {
        if self.elements.is_empty() { ALLOCATION_ALIGNMENT } else { self.elements.as_device_ptr().as_raw() }
    }

    #[allow(unsafe_code)]
    pub(crate) fn fill_with_zero_bytes(&mut self) -> Result<(), Error> {
        let Self { elements, cuda } = &*self;
        if elements.is_empty() {
            return Ok(());
        }
        cuda.enter()?;
        let bytes = elements.len() * size_of::<T>();
        // SAFETY: the allocation at this address has `bytes` bytes, and zeros are a value of T.
        let result = succeed(unsafe { sys::cuMemsetD8_v2(self.address(), 0, bytes) });
        cuda.check("filling memory of the GPU", result)
    }
}

impl<T: Element> Storage<T> for CudaBuffer<T> {
    fn buffer_ref(&self) -> BufferRef<'_, T> {
        BufferRef::Device { memory: self.cuda.memory, address: self.address(), length: self.len() }
    }

    fn buffer_mut(&mut self) -> BufferMut<'_, T> {
        BufferMut::Device { memory: self.cuda.memory, address: self.address(), length: self.len() }
    }

    fn len(&self) -> usize {
        self.elements.len()
    }

    fn copy_from(&mut self, first: usize, values: &[T]) -> Result<(), Error> {
        let Self { elements, cuda } = &*self;
        cuda.enter()?;
        let mut part = elements.index(first..first + values.len());
        let copied: CudaResult<()> = part.copy_from(plain(values));
        cuda.check("copying to the GPU", copied)
    }

    fn unwritten(&self, _: Range<usize>) -> Result<Option<Unwritten>, Error> {
        Ok(None)
    }

    fn copy_to(&self, first: usize, values: &mut [T]) -> Result<(), Error> {
        let Self { elements, cuda } = self;
        cuda.enter()?;
        let part = elements.index(first..first + values.len());
        let copied: CudaResult<()> = part.copy_to(plain_mut(values));
        cuda.check("copying from the GPU", copied)?;
        if !values.is_empty() {
            // The copy has synchronised with all blocking streams, and would have failed if a launch had.
            cuda.queue.borrow_mut().clear();
        }
        Ok(())
    }
}

/// Page-locked host memory.
#[derive(Debug)]
pub(crate) struct CudaPinned<T: Element> {
    elements: ManuallyDrop<LockedBuffer<Plain<T>>>,
    cuda: Rc<Cuda>,
}

impl<T: Element> CudaPinned<T> {
    pub(crate) fn filled(cuda: &Rc<Cuda>, value: T, length: usize) -> Result<Self, Error> {
        cuda.enter()?;
        let elements = cuda.check("allocating page-locked memory", LockedBuffer::new(&Plain(value), length))?;
        Ok(Self { elements: ManuallyDrop::new(elements), cuda: Rc::clone(cuda) })
    }
}

impl<T: Element> Drop for CudaPinned<T> {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // A failure cannot be reported here, and recurs in the next call.
        let _ = self.cuda.enter();
        // SAFETY: the elements are dropped only here, and not used afterwards.
        unsafe { ManuallyDrop::drop(&mut self.elements) };
    }
}

impl<T: Element> Deref for CudaPinned<T> {
    type Target = [T];

    #[allow(unsafe_code)]
    fn deref(&self) -> &[T] {
        // SAFETY: `Plain<T>` is transparent: it has the layout and the values of T.
        unsafe { &*(std::ptr::from_ref(self.elements.as_slice()) as *const [T]) }
    }
}

impl<T: Element> DerefMut for CudaPinned<T> {
    #[allow(unsafe_code)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the exclusive borrow is passed on.
        unsafe { &mut *(std::ptr::from_mut(self.elements.as_mut_slice()) as *mut [T]) }
    }
}
