//! The GPU's global memory and page-locked host memory.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::NonNull;
use std::rc::Rc;

use cuda_std::{BufferMut, BufferRef, Element};
use cust::memory::mem_get_info;
use cust::sys;

use super::context::Cuda;
use super::pool::{Block, LockedBlock, OUT_OF_MEMORY};
use super::staging::{self, InUse, Staging, Target};
use super::status::succeed;
use crate::bytes::bytes_of;
use crate::storage::Storage;
use crate::{DriverError, Error, Unwritten};

/// The alignment of each allocation (CUDA C++ Programming Guide, "Device Memory Accesses").
const ALLOCATION_ALIGNMENT: u64 = 256;

/// Elements in the GPU's global memory. Dropping it returns the memory to the device's
/// [`Pool`](super::pool::Pool).
#[derive(Debug)]
pub(crate) struct CudaBuffer<T: Element> {
    /// None if there are no elements, and after drop.
    block: Option<Block>,
    length: usize,
    cuda: Rc<Cuda>,
    elements: PhantomData<T>,
}

impl<T: Element> Drop for CudaBuffer<T> {
    fn drop(&mut self) {
        // A failure cannot be reported here, and recurs in the next call.
        let _ = self.cuda.enter();
        if let Some(block) = self.block.take() {
            self.cuda.pool.borrow_mut().keep(block);
        }
    }
}

impl<T: Element> CudaBuffer<T> {
    /// A buffer of `length` uninitialized elements.
    pub(crate) fn uninitialized(cuda: &Rc<Cuda>, length: usize) -> Result<Self, Error> {
        cuda.enter()?;
        let out_of_memory = || {
            let (free, total) = mem_get_info().unwrap_or((0, cuda.properties.total_memory));
            Error::OutOfMemory { elements: length, element_bytes: size_of::<T>(), free, total }
        };
        let block = match length.checked_mul(size_of::<T>()).ok_or_else(out_of_memory)? {
            0 => None,
            bytes => match cuda.pool.borrow_mut().allocate(bytes) {
                Ok(block) => Some(block),
                Err(error) if error.code == OUT_OF_MEMORY => return Err(out_of_memory()),
                Err(error) => return cuda.check("allocating memory of the GPU", Err(error)),
            },
        };
        Ok(Self { block, length, cuda: Rc::clone(cuda), elements: PhantomData })
    }

    /// The address of the first element. An empty buffer has a dangling address. It is not zero,
    /// because the kernel makes a reference from it, and it is aligned like any other, because the
    /// kernel may form quads from it.
    fn address(&self) -> u64 {
        self.block.as_ref().map_or(ALLOCATION_ALIGNMENT, |block| block.address)
    }

    /// The address of element `index`, and the size in bytes of `count` elements from there on.
    ///
    /// # Panics
    /// If they are out of bounds.
    fn part(&self, index: usize, count: usize) -> (u64, usize) {
        assert!(index <= self.length && count <= self.length - index, "the caller has checked the range");
        (self.address() + (index * size_of::<T>()) as u64, count * size_of::<T>())
    }

    #[allow(unsafe_code)]
    pub(crate) fn fill_with_zero_bytes(&mut self) -> Result<(), Error> {
        let (address, bytes) = self.part(0, self.length);
        if bytes == 0 {
            return Ok(());
        }
        self.cuda.enter()?;
        // SAFETY: the allocation at this address has `bytes` bytes, and zeros are a value of T.
        let result = succeed(unsafe { sys::cuMemsetD8_v2(address, 0, bytes) });
        self.cuda.check("filling memory of the GPU", result)
    }

    /// Copies the elements `first..first + values.len()` to `values`. On success all of them are
    /// initialized.
    #[allow(unsafe_code)]
    fn read(&self, first: usize, values: &mut [MaybeUninit<T>]) -> Result<(), Error> {
        let (address, bytes) = self.part(first, values.len());
        if bytes == 0 {
            return Ok(());
        }
        self.cuda.enter()?;
        let host = values.as_mut_ptr().cast::<MaybeUninit<u8>>();
        let staged = self.cuda.stage(host.addr(), bytes, |staging, target| {
            // SAFETY: these are the bytes of `values`, which are borrowed exclusively.
            let to = unsafe { std::slice::from_raw_parts_mut(host, bytes) };
            // SAFETY: `part` ensures that the range has this many bytes, and the context has been
            // entered. Any bytes are a valid T.
            unsafe { staging.download(target, to, address) }
        });
        let copied = staged.unwrap_or_else(|| {
            // SAFETY: both have `bytes` bytes; `part` ensures this for the range. Any bytes are a
            // valid T.
            succeed(unsafe { sys::cuMemcpyDtoH_v2(host.cast(), address, bytes) })
        });
        self.cuda.check("copying from the GPU", copied)?;
        // The copy waited for the launches before it, and would have failed if one of them had.
        self.cuda.queue.borrow_mut().clear();
        Ok(())
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
        self.length
    }

    #[allow(unsafe_code)]
    fn copy_from(&mut self, first: usize, values: &[T]) -> Result<(), Error> {
        let (address, bytes) = self.part(first, values.len());
        if bytes == 0 {
            return Ok(());
        }
        self.cuda.enter()?;
        let staged = self.cuda.stage(values.as_ptr().addr(), bytes, |staging, target| {
            // SAFETY: `part` ensures that the range has this many bytes. The pool keeps its memory
            // until the stream has ended, or the driver frees it, which waits for the stream. The
            // context has been entered.
            unsafe { staging.upload(target, address, bytes_of(values)) }
        });
        let copied = staged.unwrap_or_else(|| {
            // SAFETY: both have `bytes` bytes; `part` ensures this for the range. This buffer is
            // borrowed exclusively.
            succeed(unsafe { sys::cuMemcpyHtoD_v2(address, values.as_ptr().cast(), bytes) })
        });
        self.cuda.check("copying to the GPU", copied)
    }

    fn unwritten(&self, _: Range<usize>) -> Result<Option<Unwritten>, Error> {
        Ok(None)
    }

    #[allow(unsafe_code)]
    fn copy_to(&self, first: usize, values: &mut [T]) -> Result<(), Error> {
        // SAFETY: `read` only writes elements, and an initialized element may be overwritten
        // through `MaybeUninit`.
        self.read(first, unsafe { &mut *(std::ptr::from_mut(values) as *mut [MaybeUninit<T>]) })
    }

    #[allow(unsafe_code)]
    fn to_vec(&self, range: Range<usize>) -> Result<Vec<T>, Error> {
        let mut values = Vec::with_capacity(range.len());
        self.read(range.start, &mut values.spare_capacity_mut()[..range.len()])?;
        // SAFETY: the capacity is at least this, and `read` has initialized the elements.
        unsafe { values.set_len(range.len()) };
        Ok(values)
    }
}

impl Cuda {
    /// Copies through the ring of page-locked chunks, if the `bytes` bytes of host memory at the
    /// address `host` are large enough and not page-locked already. Returns None if the driver
    /// should copy instead, which includes the case that the system cannot lock memory. The context
    /// must be current.
    fn stage(
        &self,
        host: usize,
        bytes: usize,
        copy: impl FnOnce(&mut Staging, Target<'_>) -> Result<(), DriverError>,
    ) -> Option<Result<(), DriverError>> {
        let is_locked = || self.page_locked.borrow().iter().any(|range| range.contains(&host));
        if bytes < staging::MIN_BYTES || is_locked() {
            return None;
        }
        let staging = self.staging.take().or_else(|| Staging::new().ok())?;
        let target = Target { context: &self.context, stream: &self.stream };
        let copied = InUse::new(staging, target).copy(copy);
        Some(copied.map(|staging| *self.staging.borrow_mut() = staging))
    }
}

/// Page-locked host memory. Dropping it returns the memory to the device's pool.
#[derive(Debug)]
pub(crate) struct CudaPinned<T: Element> {
    /// Its `length` elements are initialized. None if there are no elements, and after drop.
    block: Option<LockedBlock>,
    length: usize,
    cuda: Rc<Cuda>,
    elements: PhantomData<T>,
}

impl<T: Element> CudaPinned<T> {
    #[allow(unsafe_code)]
    pub(crate) fn filled(cuda: &Rc<Cuda>, value: T, length: usize) -> Result<Self, Error> {
        cuda.enter()?;
        // A size that exceeds the address space also exceeds what the system can lock.
        let block = match length.saturating_mul(size_of::<T>()) {
            0 => None,
            bytes => {
                let allocated = cuda.locked_pool.borrow_mut().allocate(bytes);
                Some(cuda.check("allocating page-locked memory", allocated)?)
            }
        };
        if let Some(LockedBlock { memory, .. }) = &block {
            let first = memory.cast::<MaybeUninit<T>>();
            // SAFETY: the block is page-aligned, has room for this many elements, and is not used
            // elsewhere.
            unsafe { std::slice::from_raw_parts_mut(first.as_ptr(), length) }.fill(MaybeUninit::new(value));
            let first = first.addr().get();
            cuda.page_locked.borrow_mut().push(first..first + length * size_of::<T>());
        }
        Ok(Self { block, length, cuda: Rc::clone(cuda), elements: PhantomData })
    }

    /// The first element; dangling if there are none.
    fn first(&self) -> NonNull<T> {
        self.block.as_ref().map_or(NonNull::dangling(), |block| block.memory.cast())
    }
}

impl<T: Element> Drop for CudaPinned<T> {
    fn drop(&mut self) {
        // A failure cannot be reported here, and recurs in the next call.
        let _ = self.cuda.enter();
        if let Some(block) = self.block.take() {
            self.cuda.page_locked.borrow_mut().retain(|range| range.start != block.memory.addr().get());
            self.cuda.locked_pool.borrow_mut().keep(block);
        }
    }
}

impl<T: Element> Deref for CudaPinned<T> {
    type Target = [T];

    #[allow(unsafe_code)]
    fn deref(&self) -> &[T] {
        // SAFETY: the block has `length` initialized elements and is page-aligned.
        unsafe { std::slice::from_raw_parts(self.first().as_ptr(), self.length) }
    }
}

impl<T: Element> DerefMut for CudaPinned<T> {
    #[allow(unsafe_code)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the exclusive borrow is passed on.
        unsafe { std::slice::from_raw_parts_mut(self.first().as_ptr(), self.length) }
    }
}
