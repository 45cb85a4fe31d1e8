//! A training run in its own thread.
//!
//! The owner reads snapshots, which never block on the training, and requests to pause, to continue, to train one
//! epoch, or to stop. Results are bit-identical on any number of threads and after any interruption: [`Snapshot::run`]
//! is the complete state to resume from.

mod control;
mod learner;
mod snapshot;
mod trainer;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use neural_net::device::{OpenedDevice, SharedDevice};

use self::control::Shared;
pub(crate) use self::learner::open_device;
pub use self::snapshot::{Snapshot, State};
use crate::saved_run::SavedRun;
use crate::{Settings, Table};

/// Interval between looks at a cancellation.
const CANCEL_INTERVAL: Duration = Duration::from_millis(50);

/// A device that several runs train on at once.
pub type RunDevice = OpenedDevice<SharedDevice>;

/// The parts that the network is measured on after training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measured {
    AllParts,
    /// The measurements of the epochs suffice.
    Validation,
}

/// What a run starts with.
struct Start {
    /// The run that it resumes.
    run: Option<SavedRun>,
    /// Its device; `None` if the settings' is still to be opened.
    device: Option<RunDevice>,
    request: control::Request,
    measured: Measured,
}

impl Start {
    const NEW: Self = Self { run: None, device: None, request: control::Request::Run, measured: Measured::AllParts };
}

/// Handle of a training thread. Dropping it stops the training after the current step and joins the thread.
#[derive(Debug)]
pub struct Session {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Session {
    /// Starts a thread that prepares the samples and trains. Errors are reported in the snapshot.
    pub fn start(table: Arc<Table>, settings: Settings) -> Self {
        Self::start_on(table, settings, None)
    }

    /// [`Session::start`] on a device that has been opened with the settings' choice, and that other runs train on, too. Without one, the run
    /// opens its own.
    pub fn start_on(table: Arc<Table>, settings: Settings, device: Option<RunDevice>) -> Self {
        Self::spawn(table, settings, Start { device, ..Start::NEW })
    }

    /// [`Session::start_on`] without intervals and results: the validation part alone is predicted, and the test part is not looked at.
    pub fn start_without_test(table: Arc<Table>, settings: Settings, device: Option<RunDevice>) -> Self {
        Self::spawn(table, settings, Start { device, measured: Measured::Validation, ..Start::NEW })
    }

    /// [`Session::start`] for one epoch, after which the run is paused.
    pub fn start_epoch(table: Arc<Table>, settings: Settings) -> Self {
        Self::spawn(table, settings, Start { request: control::Request::Epoch, ..Start::NEW })
    }

    /// Resumes a stopped run with the same table; epochs and patience may differ. Errors are reported in the snapshot.
    pub fn resume(table: Arc<Table>, run: SavedRun) -> Self {
        Self::spawn(table, run.settings.clone(), Start { run: Some(run), ..Start::NEW })
    }

    fn spawn(table: Arc<Table>, settings: Settings, start: Start) -> Self {
        let shared = Arc::new(Shared::default());
        // Before the thread starts: a short run could end before a later request.
        shared.request(start.request);
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("training".to_owned()).spawn(move || {
            // A panic must end the session, which would otherwise seem to run forever.
            let work = std::panic::AssertUnwindSafe(|| trainer::run(table, settings, start, &of_thread));
            let state = match std::panic::catch_unwind(work) {
                Ok(Ok(())) => return,
                Ok(Err(state)) => state,
                Err(_) => State::Failed("training failed because of a bug in this program".to_owned()),
            };
            of_thread.publish(Snapshot { state, ..(*of_thread.snapshot()).clone() });
        });
        if let Err(error) = &thread {
            let state = State::Failed(format!("the training thread cannot be started: {error}"));
            shared.publish(Snapshot { state, ..Snapshot::default() });
        }
        Self { shared, thread: thread.ok() }
    }

    /// Pauses after the current step, until [`Session::unpause`] or [`Session::step_epoch`].
    pub fn pause(&self) {
        self.shared.request(control::Request::Pause);
    }

    /// Continues after a pause.
    pub fn unpause(&self) {
        self.shared.request(control::Request::Run);
    }

    /// Trains to the end of the current epoch, then pauses.
    pub fn step_epoch(&self) {
        self.shared.request(control::Request::Epoch);
    }

    /// Ends the training after the current step; results follow.
    pub fn stop(&self) {
        self.shared.request(control::Request::Stop);
    }

    /// The latest snapshot. Never blocks on the training.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.shared.snapshot()
    }

    /// Sets a callback that the training thread calls after each new snapshot.
    pub fn set_wake(&self, wake: Box<dyn Fn() + Send + Sync>) {
        self.shared.set_wake(wake);
    }

    /// Waits for the end of the run and returns the last snapshot.
    pub fn wait(mut self) -> Arc<Snapshot> {
        self.join();
        self.snapshot()
    }

    /// [`Session::wait`], unless `cancel` is set meanwhile, which stops the training. Calls `progress` with snapshots.
    pub fn wait_unless(self, cancel: &AtomicBool, mut progress: impl FnMut(&Snapshot)) -> Option<Arc<Snapshot>> {
        let (sender, published) = mpsc::channel();
        self.set_wake(Box::new(move || {
            // The receiver is gone after the end.
            let _ = sender.send(());
        }));
        loop {
            let snapshot = self.snapshot();
            if snapshot.state.has_ended() {
                return Some(self.wait());
            }
            if cancel.load(Ordering::Relaxed) {
                return None;
            }
            progress(&snapshot);
            // The timeout is for a cancellation, and for snapshots before the callback was set.
            let _ = published.recv_timeout(CANCEL_INTERVAL);
        }
    }

    fn join(&mut self) {
        // The thread catches its own panics.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stop();
        self.join();
    }
}
