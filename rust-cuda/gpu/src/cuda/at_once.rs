//! Launches in streams of their own, between two points of the device's stream.

use cust::event::{Event, EventFlags};
use cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};

use super::context::Cuda;
use super::launch::CudaLaunch;
use crate::Error;

impl Cuda {
    /// Queues launches that use no common memory which one of them writes, each in one of up to as many streams as there are
    /// multiprocessors. They begin after the work that the device's stream has, and its later work begins after them.
    ///
    /// Cooperative launches wait for room on all multiprocessors. They and launches that synchronise stay in the device's stream, one by one.
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
            // Memory may be freed or used again as soon as the device's stream has ended, which may not wait for these streams now. A
            // failure to wait for them is that of the launches, or recurs in the next call.
            for stream in streams {
                let _ = stream.synchronize();
            }
        }
        queued
    }

    /// Queues the launches in the streams, in turn, between two points of the device's stream.
    fn queue_in(&self, streams: &[Stream], launches: &mut [CudaLaunch]) -> Result<(), Error> {
        streams.iter().try_for_each(|stream| self.order(&self.stream, stream))?;
        for (launch, stream) in launches.iter_mut().zip(streams.iter().cycle()) {
            self.submit(stream.as_inner(), launch)?;
            self.queue.borrow_mut().push(launch.launch);
        }
        streams.iter().try_for_each(|stream| self.order(stream, &self.stream))
    }

    /// Lets the work that `later` gets from now on begin after the work that `earlier` has. The host does not wait.
    fn order(&self, earlier: &Stream, later: &Stream) -> Result<(), Error> {
        let event = self.check("making an event", Event::new(EventFlags::DISABLE_TIMING))?;
        self.check("recording an event", event.record(earlier))?;
        // It destroys the event. The driver keeps what is waited for.
        self.check("ordering two streams", later.wait_event(event, StreamWaitEventFlags::DEFAULT))
    }
}
