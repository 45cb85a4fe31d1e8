//! Copies with attributes, alone and in batches.

use std::ffi::c_int;

use super::copy::{Address, copy};
use crate::abi::{CopyAttributes, In, Out};
use crate::driver::pending::{self, Until};
use crate::driver::state;
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::journal;

/// What `fail_index` says of an error that is of no copy in particular (`SIZE_MAX`).
const NO_COPY: usize = usize::MAX;

/// `CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL`
const DURING_CALL: c_int = 2;

/// The default stream of the context, by its two names.
const DEFAULT: Handle = 0;
const LEGACY: Handle = 1;

/// A batch of copies, as its caller passes it. Each of the attributes is that of the copies from one on.
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

/// Copies in the order of the batch, up to one that fails, whose index is then in `fail_index`. Each order of accesses to the sources that
/// attributes permit is kept: in the order of the stream, or before the call returns.
///
/// # Errors
/// `INVALID_VALUE` for a wrong attribute or address, or if there are no copies; `STREAM_CAPTURE_UNSUPPORTED` in a captured stream.
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

/// As [`copy_batch`] of a program that has been compiled for its threads' own default streams, to which a null stream belongs.
pub(crate) fn copy_batch_of_thread(batch: Batch, stream: Handle, fail_index: Option<Out<usize>>) -> Result {
    const PER_THREAD: Handle = 2;
    copy_batch(batch, if stream == DEFAULT { PER_THREAD } else { stream }, fail_index)
}

/// Copies with attributes, as [`copy_batch`] does.
pub(crate) fn copy_with(to: u64, from: u64, bytes: usize, attributes: In<CopyAttributes>, stream: Handle) -> Result {
    let attributes = attributes.get()?;
    check(attributes)?;
    copy(Address::Any(to), Address::Any(from), bytes, Some(stream))?;
    end_before_return(&[attributes], stream)
}

impl Batch {
    /// The stream and the attributes.
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
    /// The index of the copy that has failed, and its error.
    fn copy(&self, stream: Handle) -> std::result::Result<(), (usize, Error)> {
        let arrays = || Ok((self.to.all(self.count)?, self.from.all(self.count)?, self.bytes.all(self.count)?));
        let (to, from, bytes) = arrays().map_err(|error| (NO_COPY, error))?;
        for (index, ((to, from), bytes)) in to.into_iter().zip(from).zip(bytes).enumerate() {
            copy(Address::Any(to), Address::Any(from), bytes, Some(stream)).map_err(|error| (index, error))?;
        }
        Ok(())
    }
}

/// Waits for copies if the attributes of one say that its source is accessed before the call returns
/// (`CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL`).
fn end_before_return(attributes: &[CopyAttributes], stream: Handle) -> Result {
    let is_during_call = attributes.iter().any(|attributes| attributes.source_order == DURING_CALL);
    let queue = state()?.queue_of(stream)?;
    if is_during_call { pending::wait(Until::Stream(queue)) } else { Ok(()) }
}

/// # Errors
/// `INVALID_VALUE` if the order of accesses or a flag is unknown. Locations are hints.
fn check(attributes: CopyAttributes) -> Result {
    let is_known = (1..=3).contains(&attributes.source_order) && attributes.flags <= 1;
    is_known.then_some(()).ok_or(Error::INVALID_VALUE)
}
