//! Differences between the devices. This is the only file that lists them.

use std::cell::RefCell;
use std::rc::Rc;

use cuda_std::simulator::{self, SimulatorBuffer};
use cuda_std::{Dim3, Element, LaunchConfig};

use crate::cuda::{Cuda, CudaBuffer, CudaLaunch, CudaPinned};
use crate::erased::AnyLaunch;
use crate::interpreter::{Interpreter, InterpreterBuffer, InterpreterLaunch};
use crate::recording::Recording;
use crate::storage::{HostStorage, Storage};
use crate::{Error, LaunchReport, OpenError, PtxVariant, SimulatorOptions};

/// The implementation of a [`Device`](crate::Device).
#[derive(Clone, Debug)]
pub(crate) enum Backend {
    Cuda(Rc<Cuda>),
    Simulator {
        options: SimulatorOptions,
        /// Why `Auto` fell back to the simulator; None if the simulator was chosen.
        reason: Option<Rc<OpenError>>,
        reports: SimulatorReports,
    },
    Interpreter(Rc<Interpreter>),
}

/// The kernel and counts of each launch; None until [`Backend::take_simulator_reports`] is first
/// called.
type SimulatorReports = Rc<RefCell<Option<Vec<(&'static str, LaunchReport)>>>>;

impl Backend {
    pub(crate) fn simulator(options: SimulatorOptions, reason: Option<OpenError>) -> Self {
        Self::Simulator { options, reason: reason.map(Rc::new), reports: Rc::default() }
    }

    /// The simulator's reports since the last call. The first call starts collecting them.
    pub(crate) fn take_simulator_reports(&self) -> Vec<(&'static str, LaunchReport)> {
        match self {
            Self::Simulator { reports, .. } => reports.replace(Some(Vec::new())).unwrap_or_default(),
            Self::Cuda(_) | Self::Interpreter(_) => Vec::new(),
        }
    }

    pub(crate) fn cuda(&self) -> Option<&Cuda> {
        match self {
            Self::Cuda(cuda) => Some(cuda),
            Self::Simulator { .. } | Self::Interpreter(_) => None,
        }
    }

    pub(crate) fn interpreter(&self) -> Option<&Interpreter> {
        match self {
            Self::Interpreter(interpreter) => Some(interpreter),
            Self::Cuda(_) | Self::Simulator { .. } => None,
        }
    }

    pub(crate) fn is_simulator(&self) -> bool {
        matches!(self, Self::Simulator { .. })
    }

    /// Why `Auto` fell back to the simulator.
    pub(crate) fn why_not_cuda(&self) -> Option<&OpenError> {
        match self {
            Self::Simulator { reason, .. } => reason.as_deref(),
            Self::Cuda(_) | Self::Interpreter(_) => None,
        }
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Cuda(cuda) => &cuda.properties.name,
            Self::Simulator { .. } => "simulator",
            Self::Interpreter(interpreter) => &interpreter.name,
        }
    }

    pub(crate) fn compute_capability(&self) -> Option<(u32, u32)> {
        match self {
            Self::Cuda(cuda) => Some(cuda.properties.compute_capability),
            Self::Interpreter(interpreter) => Some(interpreter.ptx.compute_capability()),
            Self::Simulator { .. } => None,
        }
    }

    pub(crate) fn ptx(&self) -> Option<PtxVariant> {
        match self {
            Self::Cuda(cuda) => Some(cuda.ptx),
            Self::Interpreter(interpreter) => Some(interpreter.ptx),
            Self::Simulator { .. } => None,
        }
    }

    pub(crate) fn max_shared_bytes(&self) -> u32 {
        match self {
            Self::Cuda(cuda) => cuda.properties.max_shared_bytes,
            Self::Simulator { options, .. } => options.max_shared_bytes,
            Self::Interpreter(_) => ptx_interpreter::Machine::MAX_SHARED_BYTES as u32,
        }
    }

    pub(crate) fn max_cooperative_blocks(
        &self,
        kernel: &'static str,
        block: Dim3,
        dynamic_shared: u32,
    ) -> Result<u32, Error> {
        match self {
            Self::Cuda(cuda) => cuda.max_cooperative_blocks(kernel, block, dynamic_shared),
            Self::Simulator { .. } | Self::Interpreter(_) => {
                let config = LaunchConfig::new(1, block).with_dynamic_shared(dynamic_shared);
                config.check().map_err(|error| Error::Limit { kernel, error })?;
                Ok(simulator::max_cooperative_blocks(block.count()))
            }
        }
    }

    pub(crate) fn max_clusters(&self, kernel: &'static str, config: LaunchConfig) -> Result<u32, Error> {
        if let Self::Cuda(cuda) = self {
            return cuda.max_clusters(kernel, config);
        }
        if let Self::Interpreter(interpreter) = self
            && interpreter.cluster_of(kernel) != Some(config.cluster.into())
        {
            return Ok(0);
        }
        config.check().map_err(|error| Error::Limit { kernel, error })?;
        if config.dynamic_shared_bytes > self.max_shared_bytes() {
            return Ok(0);
        }
        Ok(simulator::max_cooperative_blocks(config.block.count()) / u32::from(config.cluster))
    }

    /// Memory for `length` uninitialized elements.
    pub(crate) fn uninitialized<T: Element>(&self, length: usize) -> Result<Box<dyn Storage<T>>, Error> {
        Ok(match self {
            Self::Cuda(cuda) => Box::new(CudaBuffer::uninitialized(cuda, length)?),
            Self::Simulator { .. } => Box::new(SimulatorBuffer::uninitialized(length)),
            Self::Interpreter(interpreter) => Box::new(InterpreterBuffer::uninitialized(interpreter, length)?),
        })
    }

    /// Memory for `length` zeros.
    pub(crate) fn zeroed<T: Element + Default>(&self, length: usize) -> Result<Box<dyn Storage<T>>, Error> {
        Ok(match self {
            Self::Cuda(cuda) => {
                let mut buffer = CudaBuffer::uninitialized(cuda, length)?;
                buffer.fill_with_zero_bytes()?;
                Box::new(buffer)
            }
            Self::Simulator { .. } => Box::new(SimulatorBuffer::filled(T::default(), length)),
            Self::Interpreter(interpreter) => {
                let mut buffer = InterpreterBuffer::uninitialized(interpreter, length)?;
                buffer.fill_with_zero_bytes()?;
                Box::new(buffer)
            }
        })
    }

    /// Host memory for `length` zeros, page-locked for a GPU.
    pub(crate) fn pinned<T: Element + Default>(&self, length: usize) -> Result<Box<dyn HostStorage<T>>, Error> {
        Ok(match self {
            Self::Cuda(cuda) => Box::new(CudaPinned::filled(cuda, T::default(), length)?),
            Self::Simulator { .. } | Self::Interpreter(_) => Box::new(vec![T::default(); length]),
        })
    }

    /// Launches a kernel; see [`Device::launch`](crate::Device::launch).
    pub(crate) fn launch(&self, launch: &mut dyn AnyLaunch) -> Result<Option<LaunchReport>, Error> {
        match self {
            Self::Cuda(cuda) => cuda.launch(launch).map(|()| None),
            Self::Simulator { options, reports, .. } => {
                let kernel = launch.kernel();
                reported(reports, kernel, launch.simulate(options.clone())).map(Some)
            }
            Self::Interpreter(interpreter) => interpreter.launch(launch).map(|()| None),
        }
    }
}

/// Returns the simulator's result of a launch, and keeps its report if reports are being collected.
fn reported(
    reports: &SimulatorReports,
    kernel: &'static str,
    result: Result<LaunchReport, simulator::LaunchError>,
) -> Result<LaunchReport, Error> {
    let report = result.map_err(|error| Error::simulated(kernel, error))?;
    if let Some(reports) = &mut *reports.borrow_mut() {
        reports.push((kernel, report));
    }
    Ok(report)
}

/// Launches that may run at the same time. A GPU gets them together; the other devices run each as it comes.
#[derive(Debug)]
pub(crate) enum Simultaneous<'a> {
    Cuda(&'a Cuda, Vec<CudaLaunch>),
    Other(&'a Backend),
}

impl<'a> Simultaneous<'a> {
    pub(crate) fn new(backend: &'a Backend) -> Self {
        backend.cuda().map_or(Self::Other(backend), |cuda| Self::Cuda(cuda, Vec::new()))
    }

    /// Checks a launch and appends it, or runs it.
    pub(crate) fn push(&mut self, launch: &mut dyn AnyLaunch) -> Result<(), Error> {
        match self {
            Self::Cuda(cuda, launches) => launches.push(cuda.prepare(launch)?),
            Self::Other(backend) => drop(backend.launch(launch)?),
        }
        Ok(())
    }

    /// Queues the launches that have not run.
    pub(crate) fn queue(self) -> Result<(), Error> {
        match self {
            Self::Cuda(cuda, mut launches) => cuda.launch_at_once(&mut launches),
            Self::Other(_) => Ok(()),
        }
    }
}

/// Launches that a device has checked and repeats with the same arguments.
#[derive(Debug)]
pub(crate) enum Recorded<'a> {
    Cuda(&'a Cuda, Vec<CudaLaunch>),
    Simulator(&'a SimulatorOptions, &'a SimulatorReports, Vec<simulator::RecordedLaunch>),
    Interpreter(&'a Interpreter, Vec<InterpreterLaunch>),
}

impl<'a> Recorded<'a> {
    /// An empty list of a device's launches. They live no longer than the recording.
    pub(crate) fn new(backend: &'a Backend, _: &'a Recording) -> Self {
        match backend {
            Backend::Cuda(cuda) => Self::Cuda(cuda, Vec::new()),
            Backend::Simulator { options, reports, .. } => Self::Simulator(options, reports, Vec::new()),
            Backend::Interpreter(interpreter) => Self::Interpreter(interpreter, Vec::new()),
        }
    }

    /// Checks a launch and appends it.
    #[allow(unsafe_code)]
    pub(crate) fn push(&mut self, launch: &mut dyn AnyLaunch) -> Result<(), Error> {
        let kernel = launch.kernel();
        match self {
            Self::Cuda(cuda, launches) => launches.push(cuda.prepare(launch)?),
            Self::Simulator(options, _, launches) => {
                // SAFETY: a `Recording` outlives the launch. Until it ends, no buffer of this
                // thread is freed, all operations on buffers that access elements are rejected, and
                // buffers are not `Send`.
                let recorded = unsafe { launch.record(options.clone()) };
                launches.push(recorded.map_err(|error| Error::simulated(kernel, error))?);
            }
            Self::Interpreter(interpreter, launches) => launches.push(interpreter.prepare(launch)?),
        }
        Ok(())
    }

    /// Runs the launches in order, `times` times.
    pub(crate) fn replay(self, times: usize) -> Result<(), Error> {
        match self {
            Self::Cuda(cuda, mut launches) => cuda.replay(times, &mut launches),
            Self::Simulator(_, reports, launches) => (0..times).try_for_each(|_| {
                launches.iter().try_for_each(|launch| reported(reports, launch.kernel(), launch.run()).map(drop))
            }),
            Self::Interpreter(interpreter, launches) => {
                (0..times).try_for_each(|_| launches.iter().try_for_each(|launch| interpreter.run(launch)))
            }
        }
    }
}
