//! The processor time of a thread, which another thread reads: it stands still while the system runs something else.

#![allow(unsafe_code, reason = "the clocks of threads")]

#[cfg(target_os = "linux")]
use std::mem::MaybeUninit;
use std::time::Duration;

/// No other system's clocks are read.
#[cfg(not(target_os = "linux"))]
#[derive(Clone, Copy, Debug)]
pub(super) enum ThreadClock {}

#[cfg(not(target_os = "linux"))]
impl ThreadClock {
    pub(super) fn of_this_thread() -> Option<Self> {
        None
    }

    pub(super) fn read(self) -> Option<Duration> {
        match self {}
    }
}

/// The clock of a thread.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug)]
pub(super) struct ThreadClock(libc::clockid_t);

#[cfg(target_os = "linux")]
impl ThreadClock {
    /// The calling thread's clock; `None` if the system does not tell it.
    pub(super) fn of_this_thread() -> Option<Self> {
        let mut clock = MaybeUninit::uninit();
        // SAFETY: the calling thread has not ended, and `clock` has room for an identifier.
        let error = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), clock.as_mut_ptr()) };
        // SAFETY: without an error the function has written it.
        (error == 0).then(|| Self(unsafe { clock.assume_init() }))
    }

    /// The processor time of its thread; `None` if the thread has ended.
    pub(super) fn read(self) -> Option<Duration> {
        let mut time = MaybeUninit::<libc::timespec>::uninit();
        // SAFETY: `time` has room for a time. An identifier of a thread that has ended is an error.
        let result = unsafe { libc::clock_gettime(self.0, time.as_mut_ptr()) };
        if result != 0 {
            return None;
        }
        // SAFETY: without an error the function has written it.
        let time = unsafe { time.assume_init() };
        Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_the_time_of_its_own_thread_counts() {
        const COMPUTED: Duration = Duration::from_millis(20);
        let here = ThreadClock::of_this_thread().unwrap();
        let compute = |clock: ThreadClock| {
            let start = clock.read().unwrap();
            while clock.read().unwrap() - start < COMPUTED {}
            clock
        };
        let before = here.read().unwrap();
        compute(here);
        assert!(here.read().unwrap() >= before + COMPUTED);
        let (send, receive) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            send.send(compute(ThreadClock::of_this_thread().unwrap())).unwrap();
            // Until this test has read the clock.
            ended.recv().unwrap();
        });
        let clock = receive.recv().unwrap();
        assert!(clock.read().unwrap() >= COMPUTED);
        end.send(()).unwrap();
        other.join().unwrap();
    }
}
