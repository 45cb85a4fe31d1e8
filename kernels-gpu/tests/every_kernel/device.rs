//! Three devices for the same launch: the simulator runs a kernel's source, the interpreter and a GPU its PTX.

use cuda_std::simulator::{self, SimulatorBuffer, SimulatorMemory};
use cuda_std::{BufferMut, BufferRef, Element, F32x4, Kernel, LaunchConfig, Memory, MemoryId, RawParameters};
use gpu::DeviceMemory;
use ptx_interpreter::{Machine, Options};

/// A buffer of a device.
pub(crate) type Buffer<D, T> = <<D as Device>::Memory as Memory>::Buffer<T>;

/// A device that runs kernels on its own buffers.
pub(crate) trait Device {
    /// Memory of its buffers.
    type Memory: Memory;

    /// A buffer with these values.
    fn upload<T: Plain>(&mut self, values: &[T]) -> Buffer<Self, T>;

    /// A buffer of uninitialised memory: reading it before a write is a fault.
    fn uninitialized<T: Plain>(&mut self, length: usize) -> Buffer<Self, T>;

    /// Runs a kernel.
    fn launch<K: Kernel>(
        &mut self,
        kernel: &K,
        config: LaunchConfig,
        arguments: K::Arguments<'_, Self::Memory>,
    ) -> Result<(), String>;

    /// A buffer's bytes, with every NaN made canonical: payloads differ between the host and a GPU.
    fn download<T: Plain>(&self, buffer: &Buffer<Self, T>) -> Result<Vec<u8>, String>;
}

/// An element with a conversion to and from bytes.
pub(crate) trait Plain: Element {
    /// Appends the element's bytes, little-endian as in a GPU's memory.
    fn append(self, bytes: &mut Vec<u8>);
    fn from_bytes(bytes: &[u8]) -> Self;
    /// The element, with any NaN replaced by the canonical one.
    fn canonical(self) -> Self;
}

macro_rules! plain {
    ($($type:ident, |$value:ident| $canonical:expr;)*) => {$(
        impl Plain for $type {
            fn append(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn from_bytes(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("the length is the element's size"))
            }

            fn canonical(self) -> Self {
                let $value = self;
                $canonical
            }
        }
    )*};
}

plain! {
    u8, |value| value;
    i32, |value| value;
    u32, |value| value;
    f32, |value| if value.is_nan() { f32::NAN } else { value };
    f64, |value| if value.is_nan() { f64::NAN } else { value };
}

impl Plain for F32x4 {
    fn append(self, bytes: &mut Vec<u8>) {
        self.to_array().into_iter().for_each(|value| value.append(bytes));
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        Self::from(std::array::from_fn(|i| f32::from_bytes(&bytes[4 * i..][..4])))
    }

    fn canonical(self) -> Self {
        Self::from(self.to_array().map(Plain::canonical))
    }
}

/// The bytes of values, with every NaN made canonical.
pub(crate) fn bytes_of<T: Plain>(values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size_of_val(values));
    values.iter().for_each(|value| value.canonical().append(&mut bytes));
    bytes
}

/// Runs a kernel's source.
pub(crate) struct Simulator {
    pub(crate) options: simulator::Options,
}

impl Device for Simulator {
    type Memory = SimulatorMemory;

    fn upload<T: Plain>(&mut self, values: &[T]) -> SimulatorBuffer<T> {
        SimulatorBuffer::from_slice(values)
    }

    fn uninitialized<T: Plain>(&mut self, length: usize) -> SimulatorBuffer<T> {
        SimulatorBuffer::uninitialized(length)
    }

    fn launch<K: Kernel>(
        &mut self,
        kernel: &K,
        config: LaunchConfig,
        arguments: K::Arguments<'_, SimulatorMemory>,
    ) -> Result<(), String> {
        let launched = simulator::launch_with(self.options.clone(), kernel, config, arguments);
        launched.map(|_| ()).map_err(|error| format!("simulator: {error}"))
    }

    fn download<T: Plain>(&self, buffer: &SimulatorBuffer<T>) -> Result<Vec<u8>, String> {
        Ok(bytes_of(buffer.as_slice()))
    }
}

/// Runs a kernel's PTX.
pub(crate) struct Interpreter {
    pub(crate) machine: Machine,
    pub(crate) options: Options,
    memory: MemoryId,
    /// Number of thread executions of each line of the PTX, over all launches.
    pub(crate) executed: std::collections::BTreeMap<u32, u64>,
}

impl Interpreter {
    pub(crate) fn new(ptx: &str, options: Options) -> Result<Self, String> {
        let machine = Machine::new(ptx).map_err(|error| error.to_string())?;
        Ok(Self { machine, options, memory: MemoryId::unique(), executed: Default::default() })
    }
}

/// The interpreter's memory.
pub(crate) enum InterpreterMemory {}

/// A buffer in the interpreter's memory.
pub(crate) struct Allocation {
    memory: MemoryId,
    address: u64,
    length: usize,
}

impl Memory for InterpreterMemory {
    type Buffer<T: Element> = Allocation;

    fn buffer_ref<T: Element>(&Allocation { memory, address, length }: &Allocation) -> BufferRef<'_, T> {
        BufferRef::Device { memory, address, length }
    }

    fn buffer_mut<T: Element>(&mut Allocation { memory, address, length }: &mut Allocation) -> BufferMut<'_, T> {
        BufferMut::Device { memory, address, length }
    }
}

impl Device for Interpreter {
    type Memory = InterpreterMemory;

    fn upload<T: Plain>(&mut self, values: &[T]) -> Allocation {
        let allocation = self.uninitialized::<T>(values.len());
        let mut bytes = Vec::with_capacity(size_of_val(values));
        values.iter().for_each(|value| value.append(&mut bytes));
        self.machine.memory().write(allocation.address, &bytes).expect("the allocation has room");
        allocation
    }

    fn uninitialized<T: Plain>(&mut self, length: usize) -> Allocation {
        let address = self.machine.allocate((length * size_of::<T>()) as u64).expect("memory for a small buffer");
        Allocation { memory: self.memory, address, length }
    }

    fn launch<K: Kernel>(
        &mut self,
        kernel: &K,
        config: LaunchConfig,
        arguments: K::Arguments<'_, InterpreterMemory>,
    ) -> Result<(), String> {
        let raw = RawParameters::of::<K, InterpreterMemory>(kernel, arguments, self.memory);
        let raw = raw.map_err(|error| error.to_string())?;
        let values: Vec<&[u8]> = raw.values().collect();
        let report =
            self.machine.launch(self.options.clone(), K::NAME, config, &values).map_err(|error| error.to_string())?;
        for instruction in &report.instructions {
            *self.executed.entry(instruction.place.line).or_default() += instruction.counts.lanes;
        }
        Ok(())
    }

    fn download<T: Plain>(&self, buffer: &Allocation) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; buffer.length * size_of::<T>()];
        self.machine.memory().read(buffer.address, &mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes_of(&bytes.chunks(size_of::<T>()).map(T::from_bytes).collect::<Vec<_>>()))
    }
}

/// A GPU, which runs a kernel's PTX.
pub(crate) struct Gpu(pub(crate) gpu::Device);

impl Device for Gpu {
    type Memory = DeviceMemory;

    fn upload<T: Plain>(&mut self, values: &[T]) -> gpu::Buffer<T> {
        self.0.buffer_from_slice(values).expect("memory for a small buffer")
    }

    fn uninitialized<T: Plain>(&mut self, length: usize) -> gpu::Buffer<T> {
        self.0.uninitialized(length).expect("memory for a small buffer")
    }

    fn launch<K: Kernel>(
        &mut self,
        kernel: &K,
        config: LaunchConfig,
        arguments: K::Arguments<'_, DeviceMemory>,
    ) -> Result<(), String> {
        let launched = self.0.launch(kernel, config, arguments);
        launched.map(|_| ()).map_err(|error| error.to_string())
    }

    fn download<T: Plain>(&self, buffer: &gpu::Buffer<T>) -> Result<Vec<u8>, String> {
        buffer.to_vec().map(|values| bytes_of(&values)).map_err(|error| error.to_string())
    }
}
