//! Launches in separate streams, between two points of the device's stream.

use cust::event::{Event, EventFlags};
use cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};

use super::context::Cuda;
use super::launch::CudaLaunch;
use crate::Error;

impl Cuda {
    /// Queues launches in at most one stream per multiprocessor. No launch may write memory that another one uses.
    /// They begin after the work already in the device's stream, and later work in that stream begins after them.
    ///
    /// Cooperative launches need room on all multiprocessors. If one launch is cooperative or synchronizes, all of
    /// them stay in the device's stream, one after another.
    pub(crate) fn launch_at_once(&self, launches: &mut [CudaLaunch]) -> Result<(), Error> {
        self.enter()?;
        let is_alone = |launch: &CudaLaunch| launch.launch.config.cooperative || self.speaks(launch);
        if self.blocking || launches.len() < 2 || launches.iter().any(is_alone) {
            return launches.iter_mut().try_for_each(|launch| self.queue(launch));
        }
        let count = launches.len().min(self.properties.multiprocessors.max(1) as usize);
        let mut streams = self.streams.borrow_mut();
        while streams.len() < count {
            let stream = Stream::new(StreamFlags::DEFAULT, None);
            streams.push(self.check("making a stream", stream)?);
        }
        let streams = &streams[..count];
        let queued = self.queue_in(streams, launches);
        if queued.is_err() {
            // Memory may be freed or reused as soon as the device's stream ends, and that stream may not wait for
            // these streams now. If waiting fails, the launches failed, or the next call returns the error.
            for stream in streams {
                let _ = stream.synchronize();
            }
        }
        queued
    }

    /// Distributes the launches among the streams, round-robin, between two points of the device's stream.
    fn queue_in(&self, streams: &[Stream], launches: &mut [CudaLaunch]) -> Result<(), Error> {
        streams.iter().try_for_each(|stream| self.order(&self.stream, stream))?;
        for (launch, stream) in launches.iter_mut().zip(streams.iter().cycle()) {
            self.submit(stream.as_inner(), launch)?;
            self.queue.borrow_mut().push(launch.launch);
        }
        streams.iter().try_for_each(|stream| self.order(stream, &self.stream))
    }

    /// Makes work added to `later` from now on begin after the work already in `earlier`. The host does not wait.
    fn order(&self, earlier: &Stream, later: &Stream) -> Result<(), Error> {
        let event = self.check("making an event", Event::new(EventFlags::DISABLE_TIMING))?;
        self.check("recording an event", event.record(earlier))?;
        // This destroys the event. The driver keeps the work to wait for.
        self.check("ordering two streams", later.wait_event(event, StreamWaitEventFlags::DEFAULT))
    }
}
