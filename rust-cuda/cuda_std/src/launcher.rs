//! The traits and types that connect a kernel, its arguments and a device.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use thiserror::Error;

use crate::simulator::{Saved, SimulatorBuffer};
use crate::{ByValue, Element};

/// A kernel that can be launched. `#[kernel]` implements it.
///
/// # Safety
/// A launch passes to a GPU, unchecked, the values that [`push_arguments`](Self::push_arguments) appends. They are: for
/// each buffer of the arguments its own address and length, through [`RawParameters::push_buffer`] and
/// [`push_buffer_mut`](RawParameters::push_buffer_mut), and for each other parameter its value, in the order and of the types of
/// `SIGNATURE`. For an unsafe kernel, whose value only an unsafe function makes, its caller promises what the kernel's contract
/// asks of the launches, and that no value that is passed has padding.
#[allow(unsafe_code)]
pub unsafe trait Kernel: Copy + Send + Sync + 'static {
    /// The name of the entry in the PTX.
    const NAME: &'static str;

    /// The file and line of the kernel in the source.
    const PLACE: (&'static str, u32);

    /// The types of the parameters ([`signature`](crate::signature)).
    const SIGNATURE: &'static [u8];

    /// The arguments of a launch: a tuple with `&buffer` for `&[T]`, `&mut buffer` for `GlobalMut<T>`, and values.
    type Arguments<'a, M: Memory>;

    /// The parameters that each thread of the simulator gets.
    type Parameters<'a>: Sync;

    /// Appends the arguments to `raw` in the driver's form: for a buffer its address and its length.
    ///
    /// # Errors
    /// If a buffer is not in a GPU's memory.
    fn push_arguments<M: Memory>(
        arguments: Self::Arguments<'_, M>,
        raw: &mut RawParameters,
    ) -> Result<(), ArgumentError>;

    /// Converts the arguments to the parameters of a simulated thread.
    ///
    /// # Errors
    /// If a buffer is not in the simulator's memory.
    fn bind_arguments<'a, M: Memory>(arguments: Self::Arguments<'a, M>) -> Result<Self::Parameters<'a>, ArgumentError>;

    /// Calls `visit` with each buffer that the kernel may write.
    fn for_each_mutable(parameters: &Self::Parameters<'_>, visit: &mut dyn FnMut(&dyn Saved));

    /// Runs the kernel's body as one thread of the simulator.
    fn run_thread(parameters: &Self::Parameters<'_>);
}

/// The parameter of a kernel's function on the host, which has no value: a kernel is launched, `device.launch(&kernel, …)`, and not
/// called. What two kernels share is a function without `#[kernel]`.
#[derive(Clone, Copy, Debug)]
pub enum LaunchedNotCalled {}

// SAFETY: as for K.
#[allow(unsafe_code)]
unsafe impl<F, K> Kernel for F
where
    F: Fn(LaunchedNotCalled) -> K + Copy + Send + Sync + 'static,
    K: Kernel,
{
    const NAME: &'static str = K::NAME;
    const PLACE: (&'static str, u32) = K::PLACE;
    const SIGNATURE: &'static [u8] = K::SIGNATURE;
    type Arguments<'a, M: Memory> = K::Arguments<'a, M>;
    type Parameters<'a> = K::Parameters<'a>;

    fn push_arguments<M: Memory>(
        arguments: Self::Arguments<'_, M>,
        raw: &mut RawParameters,
    ) -> Result<(), ArgumentError> {
        K::push_arguments::<M>(arguments, raw)
    }

    fn bind_arguments<'a, M: Memory>(arguments: Self::Arguments<'a, M>) -> Result<Self::Parameters<'a>, ArgumentError> {
        K::bind_arguments::<M>(arguments)
    }

    fn for_each_mutable(parameters: &Self::Parameters<'_>, visit: &mut dyn FnMut(&dyn Saved)) {
        K::for_each_mutable(parameters, visit);
    }

    fn run_thread(parameters: &Self::Parameters<'_>) {
        K::run_thread(parameters);
    }
}

/// A kind of memory, which determines the type of its buffers.
///
/// [`SimulatorMemory`](crate::simulator::SimulatorMemory) is one. A crate with several kinds of devices implements its
/// own, whose buffers know their location.
pub trait Memory: 'static {
    /// A buffer of elements of type T.
    type Buffer<T: Element>: 'static;

    /// The location of `buffer`, for reading.
    fn buffer_ref<T: Element>(buffer: &Self::Buffer<T>) -> BufferRef<'_, T>;

    /// The location of `buffer`, for writing.
    fn buffer_mut<T: Element>(buffer: &mut Self::Buffer<T>) -> BufferMut<'_, T>;
}

/// Identifies the memory of one device among all devices of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryId(u64);

impl MemoryId {
    /// An identifier that differs from all earlier ones.
    pub fn unique() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Relaxed))
    }
}

/// The location of a buffer that a kernel reads.
#[derive(Debug)]
pub enum BufferRef<'a, T: Element> {
    /// In the simulator.
    Simulator(&'a SimulatorBuffer<T>),
    /// On a GPU.
    Device {
        /// The device's memory.
        memory: MemoryId,
        /// The address of the first element in the GPU's memory.
        address: u64,
        /// The number of elements.
        length: usize,
    },
}

/// The location of a buffer that a kernel writes.
#[derive(Debug)]
pub enum BufferMut<'a, T: Element> {
    /// In the simulator.
    Simulator(&'a mut SimulatorBuffer<T>),
    /// On a GPU.
    Device {
        /// The device's memory.
        memory: MemoryId,
        /// The address of the first element in the GPU's memory.
        address: u64,
        /// The number of elements.
        length: usize,
    },
}

/// An argument that the device of the launch cannot access.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ArgumentError {
    /// The launch is on the simulator, the buffer on a GPU.
    #[error("the buffer for parameter `{parameter}` is on a GPU; the launch is on the simulator")]
    NotInSimulator {
        /// The kernel's parameter.
        parameter: &'static str,
    },
    /// The launch is on a GPU, the buffer in the simulator.
    #[error("the buffer for parameter `{parameter}` is in the simulator; the launch is on a GPU")]
    NotOnDevice {
        /// The kernel's parameter.
        parameter: &'static str,
    },
    /// The launch is on the simulator, which cannot check the accesses of an unsafe kernel.
    #[error(
        "the simulator runs no unsafe kernel, whose accesses by pointers it cannot check; the interpreter runs its PTX"
    )]
    UnsafeKernel,
    /// The buffer belongs to another GPU, or to the same GPU opened a second time, whose launches are not ordered with
    /// those of this one.
    #[error("the buffer for parameter `{parameter}` belongs to another device than the launch")]
    OtherDevice {
        /// The kernel's parameter.
        parameter: &'static str,
    },
}

/// A launch's parameters as `cuLaunchKernel` takes them: one pointer to each value.
#[derive(Clone, Debug)]
pub struct RawParameters {
    /// The memory of the device that the launch is on.
    memory: MemoryId,
    /// The bytes of all values. Each begins with a part of its own.
    parts: Vec<Part>,
    /// The first part of each value, and its size in bytes.
    values: Vec<(usize, usize)>,
    /// The names of the kernel's parameters.
    names: Vec<&'static str>,
}

/// Bytes of a value, aligned for every scalar.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
struct Part([u8; Part::BYTES]);

impl Part {
    const BYTES: usize = crate::signature::MAX_ALIGNMENT;
}

impl RawParameters {
    /// The arguments of a launch of `K` on the device whose memory is `memory`.
    ///
    /// # Errors
    /// If a buffer is not in that memory.
    pub fn of<K: Kernel, M: Memory>(
        _: &K,
        arguments: K::Arguments<'_, M>,
        memory: MemoryId,
    ) -> Result<Self, ArgumentError> {
        let mut raw = Self { memory, parts: Vec::new(), values: Vec::new(), names: Vec::new() };
        K::push_arguments::<M>(arguments, &mut raw)?;
        Ok(raw)
    }

    /// Appends a buffer that the kernel reads: its address and its length.
    ///
    /// # Errors
    /// If it is not in the memory of the launch's device.
    pub fn push_buffer<M: Memory, T: Element>(
        &mut self,
        parameter: &'static str,
        buffer: &M::Buffer<T>,
    ) -> Result<(), ArgumentError> {
        match M::buffer_ref(buffer) {
            BufferRef::Device { memory, .. } if memory != self.memory => Err(ArgumentError::OtherDevice { parameter }),
            BufferRef::Device { address, length, .. } => {
                self.push_slice(parameter, address, length);
                Ok(())
            }
            BufferRef::Simulator(_) => Err(ArgumentError::NotOnDevice { parameter }),
        }
    }

    /// Appends a buffer that the kernel writes: its address and its length.
    ///
    /// # Errors
    /// If it is not in the memory of the launch's device.
    pub fn push_buffer_mut<M: Memory, T: Element>(
        &mut self,
        parameter: &'static str,
        buffer: &mut M::Buffer<T>,
    ) -> Result<(), ArgumentError> {
        match M::buffer_mut(buffer) {
            BufferMut::Device { memory, .. } if memory != self.memory => Err(ArgumentError::OtherDevice { parameter }),
            BufferMut::Device { address, length, .. } => {
                self.push_slice(parameter, address, length);
                Ok(())
            }
            BufferMut::Simulator(_) => Err(ArgumentError::NotOnDevice { parameter }),
        }
    }

    /// Appends the address of a buffer that the kernel reads.
    ///
    /// # Errors
    /// If it is not in the memory of the launch's device.
    pub fn push_pointer<M: Memory, T: Element>(
        &mut self,
        parameter: &'static str,
        buffer: &M::Buffer<T>,
    ) -> Result<(), ArgumentError> {
        self.push_buffer::<M, T>(parameter, buffer)?;
        self.values.pop();
        Ok(())
    }

    /// Appends the address of a buffer that the kernel writes.
    ///
    /// # Errors
    /// If it is not in the memory of the launch's device.
    pub fn push_pointer_mut<M: Memory, T: Element>(
        &mut self,
        parameter: &'static str,
        buffer: &mut M::Buffer<T>,
    ) -> Result<(), ArgumentError> {
        self.push_buffer_mut::<M, T>(parameter, buffer)?;
        self.values.pop();
        Ok(())
    }

    /// Appends a value of an unsafe kernel.
    ///
    /// # Safety
    /// Each of its bytes is initialised: it has no padding.
    #[allow(unsafe_code)]
    pub unsafe fn push_copy<V: Copy + Send + Sync + 'static>(&mut self, parameter: &'static str, value: V) {
        self.names.push(parameter);
        // SAFETY: the caller upholds this function's contract.
        unsafe { self.push_bytes(value) };
    }

    /// Appends a value.
    pub fn push_value<V: ByValue>(&mut self, parameter: &'static str, value: V) {
        self.names.push(parameter);
        // SAFETY: a value of this trait has no padding.
        #[allow(unsafe_code)]
        unsafe {
            self.push_bytes(value);
        }
    }

    /// Appends a value.
    ///
    /// # Safety
    /// Each of its bytes is initialised.
    #[allow(unsafe_code)]
    unsafe fn push_bytes<V: Copy>(&mut self, value: V) {
        const { assert!(align_of::<V>() <= align_of::<Part>()) };
        let (first, bytes) = (self.parts.len(), size_of::<V>());
        self.parts.resize(first + bytes.div_ceil(Part::BYTES), Part([0; Part::BYTES]));
        // SAFETY: the new parts have room for the value, and its alignment. The caller promises that it has no padding: all bytes stay
        // initialised.
        unsafe { self.parts.as_mut_ptr().add(first).cast::<V>().write(value) };
        self.values.push((first, bytes));
    }

    /// The bytes of each value in the host's byte order.
    pub fn values(&self) -> impl Iterator<Item = &[u8]> {
        let (pointer, length) = (self.parts.as_ptr().cast::<u8>(), self.parts.len() * Part::BYTES);
        // SAFETY: the parts are initialised bytes without padding.
        #[allow(unsafe_code)]
        let bytes = unsafe { std::slice::from_raw_parts(pointer, length) };
        self.values.iter().map(move |&(first, size)| &bytes[first * Part::BYTES..][..size])
    }

    /// The names of the kernel's parameters, each of which is one value, or for a buffer two.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// Pointers to the values, for the driver; they are valid while `self` is borrowed.
    pub fn pointers(&mut self) -> Vec<*mut c_void> {
        let parts = self.parts.as_mut_ptr();
        self.values.iter().map(|&(first, _)| parts.wrapping_add(first).cast()).collect()
    }

    fn push_slice(&mut self, parameter: &'static str, address: u64, length: usize) {
        self.names.push(parameter);
        // SAFETY: integers have no padding.
        #[allow(unsafe_code)]
        unsafe {
            self.push_bytes(address);
            self.push_bytes(length);
        }
    }
}
