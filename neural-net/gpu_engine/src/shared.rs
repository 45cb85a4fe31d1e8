//! A device on which engines of several threads train together.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use gpu::Device;
use ndarray::Array2;
use perceptron::engine::{DeviceError, Engine, EngineError, Evaluation, Parameters};
use perceptron::{Hyperparameters, Samples};

use crate::at_once::{Group, Rest, train_groups};
use crate::{EngineDevice, GpuEngine, GpuEngineError, GpuOptions, device_error};

#[cfg(test)]
mod tests;

/// Maximum time without a message for which a round waits for more members. Later members miss the round.
const GATHERING: Duration = Duration::from_millis(2);

/// Work for the device's thread.
type Call = Box<dyn FnOnce(&mut Worker) + Send>;

/// A device that its own thread opens and owns, together with all engines on it. Clones are handles to the
/// same device. The thread ends when the last handle and the last engine are dropped.
///
/// Engines that train at the same time, each in its caller's thread, train in rounds: the device trains a
/// group of steps for each engine. Networks that fit one block train concurrently, larger ones one after
/// another. Engines on the same samples share one copy of them.
#[derive(Clone, Debug)]
pub struct SharedDevice {
    handle: Arc<Handle>,
}

#[derive(Debug)]
struct Handle {
    /// `None` only while it is dropped.
    calls: Option<Sender<Call>>,
    thread: Option<JoinHandle<()>>,
    properties: Properties,
    members: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
struct Properties {
    is_gpu: bool,
    multiprocessors: Option<u32>,
    total_memory: Option<usize>,
}

impl Properties {
    fn of(device: &Device) -> Self {
        Self { is_gpu: device.is_gpu(), multiprocessors: device.multiprocessors(), total_memory: device.total_memory() }
    }
}

impl SharedDevice {
    /// Starts a thread that opens the device.
    ///
    /// # Errors
    /// The error of `open`.
    ///
    /// # Panics
    /// If `open` panics, or the thread cannot be started.
    pub fn open<E: Send + 'static>(open: impl FnOnce() -> Result<Device, E> + Send + 'static) -> Result<Self, E> {
        let (calls, received) = mpsc::channel();
        let (sender, opened) = mpsc::sync_channel(1);
        // The receiver waits for what is sent.
        let work = move || match open() {
            Ok(device) => {
                let _ = sender.send(Ok(Properties::of(&device)));
                Worker::new(device).work(&received);
            }
            Err(error) => {
                let _ = sender.send(Err(error));
            }
        };
        let thread = Builder::new().name("gpu".to_owned()).spawn(work).expect("a thread can be started");
        match opened.recv() {
            Ok(properties) => {
                let (calls, members) = (Some(calls), AtomicU64::new(0));
                Ok(Self { handle: Arc::new(Handle { calls, thread: Some(thread), properties: properties?, members }) })
            }
            Err(_) => resume_unwind(thread.join().expect_err("it has panicked, for it has not answered")),
        }
    }

    /// The number of the GPU's streaming multiprocessors. Each one trains a network of one block. `None` on other devices.
    pub fn multiprocessors(&self) -> Option<u32> {
        self.handle.properties.multiprocessors
    }

    /// The GPU's memory in bytes. `None` on other devices.
    pub fn total_memory(&self) -> Option<usize> {
        self.handle.properties.total_memory
    }
}

impl EngineDevice for SharedDevice {
    type Engine = MemberEngine;

    fn is_gpu(&self) -> bool {
        self.handle.properties.is_gpu
    }

    fn engine(
        &self,
        samples: &Samples,
        parameters: &Parameters,
        hyperparameters: &Hyperparameters,
        options: &GpuOptions,
    ) -> Result<MemberEngine, GpuEngineError> {
        let member = self.handle.members.fetch_add(1, Ordering::Relaxed);
        let (samples, parameters, options) = (samples.clone(), parameters.clone(), *options);
        let hyperparameters = hyperparameters.clone();
        let name =
            self.handle.ask(move |worker| worker.add(member, &samples, &parameters, &hyperparameters, &options))?;
        Ok(MemberEngine { handle: Arc::clone(&self.handle), member, name })
    }
}

impl Handle {
    /// Sends a call whose answer does not matter. A thread that has ended gets none.
    fn tell(&self, call: impl FnOnce(&mut Worker) + Send + 'static) {
        if let Some(calls) = &self.calls {
            let _ = calls.send(Box::new(call));
        }
    }

    /// The answer to a question. If that panics, the panic goes on here, and the device's thread works for the other members.
    fn ask<R: Send + 'static>(&self, question: impl FnOnce(&mut Worker) -> R + Send + 'static) -> R {
        let (answer, answered) = mpsc::sync_channel(1);
        self.tell(move |worker| {
            // The receiver waits for it.
            let _ = answer.send(catch_unwind(AssertUnwindSafe(|| question(worker))));
        });
        received(&answered).unwrap_or_else(|panic| resume_unwind(panic))
    }
}

/// What the device's thread answers.
fn received<R>(answered: &Receiver<R>) -> R {
    answered.recv().expect("the device's thread ends after its members, unless it panics")
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.calls = None;
        if let Some(thread) = self.thread.take() {
            // Its panic has been passed on to the members that waited for it.
            let _ = thread.join();
        }
    }
}

/// A member that waits for its next group of steps.
struct Waiting {
    order: Arc<[u32]>,
    first: usize,
    begins: bool,
    answer: SyncSender<Result<Group, DeviceError>>,
}

/// The state of the device's thread.
struct Worker {
    device: Device,
    engines: BTreeMap<u64, GpuEngine>,
    waiting: BTreeMap<u64, Waiting>,
    /// The members that a round waits for: the members of the last round, and all that have called since
    /// then. A paused member, for example, delays only one round.
    awaited: BTreeSet<u64>,
}

impl Worker {
    fn new(device: Device) -> Self {
        Self { device, engines: BTreeMap::new(), waiting: BTreeMap::new(), awaited: BTreeSet::new() }
    }

    /// Works until the last handle is dropped.
    fn work(mut self, calls: &Receiver<Call>) {
        loop {
            let call = match self.waiting.is_empty() {
                true => calls.recv().ok(),
                false => calls.recv_timeout(GATHERING).ok(),
            };
            match call {
                Some(call) => self.receive(call),
                None if self.waiting.is_empty() => return,
                None => self.train(),
            }
        }
    }

    /// Carries out a call, and trains if all awaited members wait then.
    fn receive(&mut self, call: Call) {
        call(self);
        if !self.waiting.is_empty() && self.waiting.len() == self.awaited.len() {
            self.train();
        }
    }

    /// Makes a member's engine; returns its device's name.
    fn add(
        &mut self,
        member: u64,
        samples: &Samples,
        parameters: &Parameters,
        hyperparameters: &Hyperparameters,
        options: &GpuOptions,
    ) -> Result<String, GpuEngineError> {
        let others = self.engines.values();
        let engine = GpuEngine::beside(others, &self.device, samples, parameters, hyperparameters, options)?;
        let name = engine.device();
        self.engines.insert(member, engine);
        self.awaited.insert(member);
        Ok(name)
    }

    /// A member's engine. The next round waits for it.
    fn engine(&mut self, member: u64) -> &mut GpuEngine {
        self.awaited.insert(member);
        self.engines.get_mut(&member).expect("a member has an engine until its end")
    }

    fn remove(&mut self, member: u64) {
        self.engines.remove(&member);
        self.awaited.remove(&member);
    }

    fn wait(&mut self, member: u64, waiting: Waiting) {
        self.awaited.insert(member);
        self.waiting.insert(member, waiting);
    }

    /// A round: trains a group of steps of each member that waits.
    fn train(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        self.awaited = waiting.keys().copied().collect();
        let rests = self.engines.iter_mut().filter_map(|(member, engine)| {
            let Waiting { order, first, begins, .. } = waiting.get(member)?;
            Some(Rest { engine, order, first: *first, begins: *begins })
        });
        let mut rests: Vec<Rest<'_>> = rests.collect();
        let groups = train_groups(&mut rests).map_err(|error| Arc::new(device_error(error)));
        let mut groups = groups.map(Vec::into_iter);
        for Waiting { answer, .. } in waiting.into_values() {
            let group = match &mut groups {
                Ok(groups) => Ok(groups.next().expect("each member has a group")),
                Err(error) => Err(DeviceError::new(Arc::clone(error), error.is_out_of_memory())),
            };
            // The receiver waits for it.
            let _ = answer.send(group);
        }
    }
}

/// An engine on a [`SharedDevice`]. Its steps have the bits of a [`GpuEngine`]'s.
///
/// [`Engine::train`] waits for a round of the device for each group of steps. An error of the device in a round is an error of all members
/// that train in it.
#[derive(Debug)]
pub struct MemberEngine {
    handle: Arc<Handle>,
    member: u64,
    name: String,
}

impl MemberEngine {
    /// The answer of the engine to a question.
    fn ask<R: Send + 'static>(&self, question: impl FnOnce(&mut GpuEngine) -> R + Send + 'static) -> R {
        let member = self.member;
        self.handle.ask(move |worker| question(worker.engine(member)))
    }

    /// Waits for the next group of steps. `begins` if it is the first one of a call of [`Engine::train`].
    fn train_group(&self, order: &Arc<[u32]>, first: usize, begins: bool) -> Result<Group, DeviceError> {
        let (answer, answered) = mpsc::sync_channel(1);
        let (member, order) = (self.member, Arc::clone(order));
        self.handle.tell(move |worker| worker.wait(member, Waiting { order, first, begins, answer }));
        received(&answered)
    }
}

impl Drop for MemberEngine {
    fn drop(&mut self) {
        let member = self.member;
        self.handle.tell(move |worker| worker.remove(member));
    }
}

impl Engine for MemberEngine {
    fn device(&self) -> String {
        self.name.clone()
    }

    fn start_epoch(&mut self, learning_rate: f64, steps_before: usize) {
        let member = self.member;
        self.handle.tell(move |worker| worker.engine(member).start_epoch(learning_rate, steps_before));
    }

    fn train(
        &mut self,
        order: &[u32],
        first_step: usize,
        observe: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
    ) -> Result<(), EngineError> {
        let (order, mut first): (Arc<[u32]>, usize) = (order.into(), first_step);
        loop {
            let Group { losses, steps } = self.train_group(&order, first, first == first_step)?;
            let end = first + losses.len();
            let flow = GpuEngine::report(first, losses, observe)?;
            if flow.is_break() || end >= steps {
                return Ok(());
            }
            first = end;
        }
    }

    fn evaluate(&mut self, samples: &Samples) -> Result<Evaluation, DeviceError> {
        let samples = samples.clone();
        self.ask(move |engine| engine.evaluate(&samples))
    }

    fn evaluate_training_samples(&mut self) -> Result<Evaluation, DeviceError> {
        self.ask(Engine::evaluate_training_samples)
    }

    fn predict(&mut self, samples: &Samples) -> Result<Array2<f32>, DeviceError> {
        let samples = samples.clone();
        self.ask(move |engine| engine.predict(&samples))
    }

    fn parameters(&self) -> Result<Parameters, DeviceError> {
        self.ask(|engine| engine.parameters())
    }
}
