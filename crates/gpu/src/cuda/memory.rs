//! Memory of the GPU, and memory of the host that it reaches.

use std::mem::ManuallyDrop;
use std::rc::Rc;

use cuda_std::{Element, MemoryId};
use cust::error::{CudaError, CudaResult};
use cust::memory::{CopyDestination, DeviceBuffer, DeviceCopy, LockedBuffer, mem_get_info};
use cust::sys;

use super::{Cuda, succeed};
use crate::{Error, recording};

/// An element as cust wants it.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
struct Plain<T>(T);

// SAFETY: an element is a number or a few of them: its bits are all there is to it, and any bits are a value.
#[allow(unsafe_code)]
unsafe impl<T: Element> DeviceCopy for Plain<T> {}

#[allow(unsafe_code)]
fn plain<T: Element>(values: &[T]) -> &[Plain<T>] {
    // SAFETY: `Plain<T>` has the layout of T and stands for the same values.
    unsafe { &*(std::ptr::from_ref(values) as *const [Plain<T>]) }
}

#[allow(unsafe_code)]
fn plain_mut<T: Element>(values: &mut [T]) -> &mut [Plain<T>] {
    // SAFETY: as in `plain`; the borrow is as exclusive as before.
    unsafe { &mut *(std::ptr::from_mut(values) as *mut [Plain<T>]) }
}

/// Elements in the GPU's memory.
///
/// Freeing it waits for the kernels that may use it: that is how the driver frees memory.
#[derive(Debug)]
pub(crate) struct CudaBuffer<T: Element> {
    // Before the GPU, whose context it belongs to.
    elements: ManuallyDrop<DeviceBuffer<Plain<T>>>,
    cuda: Rc<Cuda>,
}

impl<T: Element> CudaBuffer<T> {
    /// A buffer that holds anything.
    #[allow(unsafe_code)]
    pub(crate) fn uninitialized(cuda: &Rc<Cuda>, length: usize) -> Result<Self, Error> {
        // SAFETY: whatever the memory holds, it is a value of T.
        let elements = unsafe { DeviceBuffer::uninitialized(length) };
        match elements {
            Ok(elements) => Ok(Self { elements: ManuallyDrop::new(elements), cuda: Rc::clone(cuda) }),
            // The second is how cust says that the size is more than a usize holds.
            Err(CudaError::OutOfMemory | CudaError::InvalidMemoryAllocation) => {
                let (free, total) = mem_get_info().unwrap_or((0, cuda.properties.total_memory));
                Err(Error::OutOfMemory { elements: length, element_bytes: size_of::<T>(), free, total })
            }
            Err(error) => cuda.check("allocating memory of the GPU", Err(error)),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.elements.len()
    }

    pub(crate) fn memory(&self) -> MemoryId {
        self.cuda.memory
    }

    /// The address of the first element; of an empty buffer any but zero, because the kernel makes a reference of it.
    pub(crate) fn address(&self) -> u64 {
        if self.elements.is_empty() { align_of::<T>() as u64 } else { self.elements.as_device_ptr().as_raw() }
    }

    /// Writes the elements from `first` on; there are as many as `values`.
    pub(crate) fn copy_from(&mut self, first: usize, values: &[T]) -> Result<(), Error> {
        let mut part = self.elements.index(first..first + values.len());
        let copied: CudaResult<()> = part.copy_from(plain(values));
        self.cuda.check("copying to the GPU", copied)
    }

    /// Reads the elements from `first` on; there are as many as `values`.
    pub(crate) fn copy_to(&self, first: usize, values: &mut [T]) -> Result<(), Error> {
        let part = self.elements.index(first..first + values.len());
        let copied: CudaResult<()> = part.copy_to(plain_mut(values));
        self.cuda.check("copying from the GPU", copied)?;
        if !values.is_empty() {
            // The copy has waited for every stream, and would have failed if a launch had.
            self.cuda.queue.borrow_mut().all_done();
        }
        Ok(())
    }

    #[allow(unsafe_code)]
    pub(crate) fn fill_with_zero_bytes(&mut self) -> Result<(), Error> {
        if self.elements.is_empty() {
            return Ok(());
        }
        let bytes = self.elements.len() * size_of::<T>();
        // SAFETY: the memory at this address has so many bytes, and zeros are a value of T.
        let result = succeed(unsafe { sys::cuMemsetD8_v2(self.address(), 0, bytes) });
        self.cuda.check("filling memory of the GPU", result)
    }
}

impl<T: Element> Drop for CudaBuffer<T> {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: the elements are taken once, here, and not used afterwards.
        let elements = unsafe { ManuallyDrop::take(&mut self.elements) };
        recording::drop_after_recording(elements);
    }
}

/// Page-locked memory of the host.
#[derive(Debug)]
pub(crate) struct CudaPinned<T: Element> {
    // Before the GPU, whose context it belongs to.
    elements: LockedBuffer<Plain<T>>,
    _cuda: Rc<Cuda>,
}

impl<T: Element> CudaPinned<T> {
    pub(crate) fn filled(cuda: &Rc<Cuda>, value: T, length: usize) -> Result<Self, Error> {
        let elements = cuda.check("allocating page-locked memory", LockedBuffer::new(&Plain(value), length))?;
        Ok(Self { elements, _cuda: Rc::clone(cuda) })
    }

    #[allow(unsafe_code)]
    pub(crate) fn as_slice(&self) -> &[T] {
        // SAFETY: `Plain<T>` has the layout of T and stands for the same values.
        unsafe { &*(std::ptr::from_ref(self.elements.as_slice()) as *const [T]) }
    }

    #[allow(unsafe_code)]
    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as in `as_slice`; the borrow is as exclusive as before.
        unsafe { &mut *(std::ptr::from_mut(self.elements.as_mut_slice()) as *mut [T]) }
    }
}
