//! How an editor and a terminal both show a stop: the path of a warp, the text of a register.

use ptx_interpreter::{StoppedWarp, WarpPath};

use crate::Stopped;

impl Stopped<'_> {
    /// The path of a warp that is shown: that of the stop, otherwise the first that can go on.
    pub(crate) fn path(&self, warp: &StoppedWarp<'_>) -> Option<WarpPath> {
        let step = self.stop.step;
        let is_of_step = |path: &WarpPath| match step.lanes {
            // The guard of the instruction excludes all lanes.
            0 => path.pc == step.pc,
            lanes => path.lanes & lanes != 0,
        };
        let stops = |path: &WarpPath| warp.number() == step.warp && is_of_step(path);
        let can_run = |path: &WarpPath| path.waits.is_none();
        warp.paths().find(stops).or_else(|| warp.paths().find(can_run)).or_else(|| warp.paths().next())
    }
}

/// A register's bits: as an integer, and of 32 bits as a float too, since PTX's registers have no types.
pub(crate) fn show(value: u64, bits: usize) -> String {
    match bits {
        1 => (value != 0).to_string(),
        32 => format!("{} (f32 {:?})", value as u32, f32::from_bits(value as u32)),
        64 => format!("{value} (f64 {:?})", f64::from_bits(value)),
        _ => value.to_string(),
    }
}
