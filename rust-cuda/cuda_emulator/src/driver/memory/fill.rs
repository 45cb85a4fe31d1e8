//! Fills device memory with a value.

use std::sync::Arc;

use super::{Place, Timing, Transfer, submit};
use crate::abi::{FillNode, HostAddress, In};
use crate::driver::State;
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::host;
use crate::work::Work;

/// Number of bytes written at once: a multiple of every element size.
const CHUNK: usize = 1 << 16;

/// A fill of rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fill {
    address: u64,
    pitch: usize,
    /// The value. Only the low bytes are used for small elements.
    value: u32,
    /// Size of an element in bytes: 1, 2 or 4.
    element: usize,
    /// Elements per row.
    width: usize,
    /// Number of rows.
    height: usize,
}

/// Fills `count` elements, in a stream if there is one.
pub(crate) fn fill(address: u64, value: u32, element: usize, count: usize, stream: Option<Handle>) -> Result {
    fill_2d((address, 0), value, element, (count, 1), stream)
}

/// Fills rows of `width` elements, in a stream if there is one.
pub(crate) fn fill_2d(
    (address, pitch): (u64, usize),
    value: u32,
    element: usize,
    (width, height): (usize, usize),
    stream: Option<Handle>,
) -> Result {
    submit(Fill::new((address, pitch), value, element, (width, height))?, stream)
}

/// The fill of a graph node.
pub(crate) fn fill_node(parameters: In<FillNode>) -> Result<Fill> {
    let FillNode { address, pitch, value, element_bytes, width, height } = parameters.get()?;
    Fill::new((address, pitch), value, element_bytes as usize, (width, height))
}

impl Fill {
    /// # Errors
    /// `INVALID_VALUE` if the element size is not 1, 2 or 4 bytes, or the address is not aligned to
    /// it.
    fn new(
        (address, pitch): (u64, usize),
        value: u32,
        element: usize,
        (width, height): (usize, usize),
    ) -> Result<Self> {
        if !matches!(element, 1 | 2 | 4) || !address.is_multiple_of(element as u64) {
            return Err(Error::INVALID_VALUE);
        }
        Ok(Self { address, pitch, value, element, width, height })
    }

    fn row_bytes(&self) -> Result<usize> {
        self.width.checked_mul(self.element).ok_or(Error::INVALID_VALUE)
    }

    /// The location of a row.
    fn row(&self, state: &State, row: usize, bytes: usize) -> Result<Place> {
        state.device_place(self.address.wrapping_add(row.wrapping_mul(self.pitch) as u64), bytes)
    }

    /// The parameters of the fill in the form that [`fill_node`] reads.
    pub(crate) fn parameters(&self) -> FillNode {
        let Self { address, pitch, value, element, width, height } = *self;
        FillNode { address, pitch, value, element_bytes: element as u32, width, height }
    }
}

impl Transfer for Fill {
    const NODE_TYPE: i32 = 2;

    /// Only fills of device memory are asynchronous.
    fn timing(&self, state: &State, _: bool) -> Result<Timing> {
        let bytes = self.row_bytes()?;
        if bytes == 0 || self.height == 0 {
            return Ok(Timing::Later);
        }
        self.row(state, self.height - 1, bytes)?;
        match self.row(state, 0, bytes)? {
            Place::Host(_) => Ok(Timing::AtCall),
            Place::Device { .. } => Ok(Timing::Later),
        }
    }

    fn pending(self, _: &State, _: Timing) -> Result<Arc<dyn Work>> {
        Ok(Arc::new(self))
    }

    fn run_in(&self, state: &State) -> Result {
        let bytes = self.row_bytes()?;
        if bytes == 0 || self.height == 0 {
            return Ok(());
        }
        self.row(state, self.height - 1, bytes)?;
        let pattern: Vec<u8> =
            self.value.to_le_bytes()[..self.element].iter().copied().cycle().take(bytes.min(CHUNK)).collect();
        for number in 0..self.height {
            let place = self.row(state, number, bytes)?;
            for start in (0..bytes).step_by(CHUNK) {
                let chunk = &pattern[..CHUNK.min(bytes - start)];
                match &place {
                    Place::Host(HostAddress(address)) => host::write(HostAddress(address + start), chunk)?,
                    Place::Device { region, offset } => region.write(offset + start, chunk),
                }
            }
        }
        Ok(())
    }
}
