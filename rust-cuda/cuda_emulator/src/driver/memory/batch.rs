//! Copies with attributes, single and batched.

use std::ffi::c_int;

use super::copy::{Address, copy};
use crate::abi::{CopyAttributes, In, Out};
use crate::driver::pending::{self, Until};
use crate::driver::state;
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::journal;

/// Value of `fail_index` for an error that concerns no particular copy (`SIZE_MAX`).
const NO_COPY: usize = usize::MAX;

/// `CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL`
const DURING_CALL: c_int = 2;

/// The two names of the context's default stream.
const DEFAULT: Handle = 0;
const LEGACY: Handle = 1;

/// A batch of copies as the caller passes it. Each attribute applies to the copies from its start
/// index on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch {
    pub(crate) to: In<u64>,
    pub(crate) from: In<u64>,
    pub(crate) bytes: In<usize>,
    pub(crate) count: usize,
    pub(crate) attributes: In<CopyAttributes>,
    pub(crate) starts: In<usize>,
    pub(crate) attribute_count: usize,
}

/// Copies in batch order until one fails, and writes that copy's index to `fail_index`. All source
/// access orders that attributes permit are supported: in stream order, or before the call returns.
///
/// # Errors
/// `INVALID_VALUE` for an invalid attribute or address, or if there are no copies;
/// `STREAM_CAPTURE_UNSUPPORTED` in a captured stream.
pub(crate) fn copy_batch(batch: Batch, stream: Handle, fail_index: Option<Out<usize>>) -> Result {
    let copied = batch.check(stream).and_then(|()| batch.attributes.all(batch.attribute_count));
    let copied = copied.map_err(|error| (NO_COPY, error)).and_then(|attributes| {
        batch.copy(stream)?;
        end_before_return(&attributes, stream).map_err(|error| (NO_COPY, error))
    });
    copied.map_err(|(index, error)| {
        if let Some(fail_index) = fail_index {
            fail_index.set_if_wanted(index);
        }
        if index != NO_COPY {
            journal::note(&format!("copy {index} of a batch of {}: {}", batch.count, error.name()));
        }
        error
    })
}

/// Like [`copy_batch`], for programs compiled with per-thread default streams: a null stream means
/// the thread's.
pub(crate) fn copy_batch_of_thread(batch: Batch, stream: Handle, fail_index: Option<Out<usize>>) -> Result {
    const PER_THREAD: Handle = 2;
    copy_batch(batch, if stream == DEFAULT { PER_THREAD } else { stream }, fail_index)
}

/// A single copy with attributes, like [`copy_batch`].
pub(crate) fn copy_with(to: u64, from: u64, bytes: usize, attributes: In<CopyAttributes>, stream: Handle) -> Result {
    let attributes = attributes.get()?;
    check(attributes)?;
    copy(Address::Any(to), Address::Any(from), bytes, Some(stream))?;
    end_before_return(&[attributes], stream)
}

impl Batch {
    /// Checks the stream and the attributes.
    fn check(&self, stream: Handle) -> Result {
        let state = state()?;
        let context = state.context_of(stream)?;
        state.usable(context)?;
        if state.capture_of(stream).is_some() {
            return Err(Error::STREAM_CAPTURE_UNSUPPORTED);
        }
        if matches!(stream, DEFAULT | LEGACY) || self.count == 0 || self.attribute_count > self.count {
            return Err(Error::INVALID_VALUE);
        }
        self.attributes.all(self.attribute_count)?.into_iter().try_for_each(check)?;
        let starts = self.starts.all(self.attribute_count)?;
        let is_valid = starts.first() == Some(&0) && starts.is_sorted_by(|one, next| one < next);
        (is_valid && starts.last() < Some(&self.count)).then_some(()).ok_or(Error::INVALID_VALUE)
    }

    /// # Errors
    /// The index of the copy that failed, and its error.
    fn copy(&self, stream: Handle) -> std::result::Result<(), (usize, Error)> {
        let arrays = || Ok((self.to.all(self.count)?, self.from.all(self.count)?, self.bytes.all(self.count)?));
        let (to, from, bytes) = arrays().map_err(|error| (NO_COPY, error))?;
        for (index, ((to, from), bytes)) in to.into_iter().zip(from).zip(bytes).enumerate() {
            copy(Address::Any(to), Address::Any(from), bytes, Some(stream)).map_err(|error| (index, error))?;
        }
        Ok(())
    }
}

/// Waits for the copies if an attribute says that the source is accessed during the call
/// (`CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL`).
fn end_before_return(attributes: &[CopyAttributes], stream: Handle) -> Result {
    let is_during_call = attributes.iter().any(|attributes| attributes.source_order == DURING_CALL);
    let queue = state()?.queue_of(stream)?;
    if is_during_call { pending::wait(Until::Stream(queue)) } else { Ok(()) }
}

/// # Errors
/// `INVALID_VALUE` if the access order or a flag is unknown. Locations are hints and not checked.
fn check(attributes: CopyAttributes) -> Result {
    let is_known = (1..=3).contains(&attributes.source_order) && attributes.flags <= 1;
    is_known.then_some(()).ok_or(Error::INVALID_VALUE)
}
