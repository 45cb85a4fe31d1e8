//! How an editor and a terminal both show a stop: the path of a warp, the text of a register.

use ptx_interpreter::{StoppedWarp, WarpPath, uninitialised_register};

use crate::Stopped;

impl Stopped<'_> {
    /// The path of a warp that is shown: that of the stop, otherwise the first that can continue.
    pub(crate) fn path(&self, warp: &StoppedWarp<'_>) -> Option<WarpPath> {
        let step = self.stop.step;
        let stops = |path: &WarpPath| warp.number() == step.warp && path.lanes & step.path != 0;
        let can_run = |path: &WarpPath| path.waits.is_none();
        warp.paths().find(stops).or_else(|| warp.paths().find(can_run)).or_else(|| warp.paths().next())
    }
}

/// A register's bits: as an integer, and of 32 bits as a float too, since PTX's registers have no types. `–` if it has
/// never been written.
pub(crate) fn show(value: u64, bits: usize) -> String {
    match bits {
        // A narrower register may well hold the pattern.
        32.. if value == uninitialised_register(bits) => "–".to_owned(),
        1 => (value != 0).to_string(),
        32 => format!("{} (f32 {:?})", value as u32, f32::from_bits(value as u32)),
        64 => format!("{value} (f64 {:?})", f64::from_bits(value)),
        _ => value.to_string(),
    }
}
