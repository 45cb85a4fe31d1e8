//! A stop as the user sees it.

use ptx_interpreter::semantics::LANES;
use ptx_interpreter::{StoppedWarp, WarpPath};

use super::listing::Listing;
use super::palette::Palette;
use super::state::State;
use crate::Stopped;

/// A stop with the user's choices.
#[derive(Clone, Copy)]
pub(super) struct Scene<'s> {
    pub(super) stopped: &'s Stopped<'s>,
    pub(super) state: &'s State,
    pub(super) listing: Listing<'s>,
    pub(super) palette: Palette,
}

impl<'s> Scene<'s> {
    /// The selected warp.
    pub(super) fn warp(&self) -> Option<StoppedWarp<'s>> {
        self.state.selected(self.stopped)
    }

    /// The shown path of the selected warp. `None` if it has ended.
    pub(super) fn path(&self) -> Option<WarpPath> {
        self.stopped.path(&self.warp()?)
    }

    /// The line of the listing that the selected warp executes next.
    pub(super) fn current_line(&self) -> Option<usize> {
        self.listing.line(self.stopped, self.path()?.pc)
    }

    /// The selected lane in words, with its thread.
    pub(super) fn lane(&self) -> String {
        let (warp, lane) = (self.state.warp, self.state.lane);
        let thread = u64::from(warp) * LANES as u64 + lane as u64;
        let size = self.stopped.block.config().block;
        if thread < size.count() {
            format!("warp {warp}, lane {lane}, thread {}", size.index_of(thread))
        } else {
            format!("warp {warp}, lane {lane}, no thread")
        }
    }
}
