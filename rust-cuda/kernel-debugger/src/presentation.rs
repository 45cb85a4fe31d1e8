//! Presentation of a stop shared by the editor and the terminal: a warp's path, a register's text.

use kernel_launch::{ElementType, debug_information::RegisterKind};
use ptx_interpreter::memory::{from_generic, space_of};
use ptx_interpreter::{StoppedWarp, WarpPath, uninitialised_register};

use crate::register_kind::sign_extended;
#[cfg(feature = "fronts")]
use crate::{ConditionError, Query, QueryError, Value, condition::in_all_lanes};
use crate::{Register, Stopped};

impl Stopped<'_> {
    /// The path of a warp to show: the stop's path, otherwise the first one that can continue.
    pub(crate) fn path(&self, warp: &StoppedWarp<'_>) -> Option<WarpPath> {
        let step = self.stop.step;
        let stops = |path: &WarpPath| warp.number() == step.warp && path.lanes & step.path != 0;
        let can_run = |path: &WarpPath| path.waits.is_none();
        warp.paths().find(stops).or_else(|| warp.paths().find(can_run)).or_else(|| warp.paths().next())
    }
}

/// The answer to an expression.
#[cfg(feature = "fronts")]
pub(crate) enum Asked {
    /// The value of a name.
    Value(Value),
    /// A computed value, as text in each lane; `?` in a lane without a value.
    Lanes(Vec<String>),
}

#[cfg(feature = "fronts")]
impl Stopped<'_> {
    /// The value of an expression: a name's value, as in `x[0..4]`, or a computed one as in
    /// conditions, such as `lane + 1`.
    ///
    /// # Errors
    /// Says in one line why it has no value.
    pub(crate) fn ask(&self, text: &str, warp: &StoppedWarp<'_>, frame: Option<usize>) -> Result<Asked, String> {
        let query = text.parse::<Query>();
        let value = query.and_then(|query| self.evaluate(&query, warp, frame));
        let error = match value {
            Ok(value) => return Ok(Asked::Value(value)),
            Err(error) => error,
        };
        match (in_all_lanes(text, self, warp), &error) {
            (Ok(values), _) => {
                Ok(Asked::Lanes(values.into_iter().map(|value| value.unwrap_or_else(|| "?".to_owned())).collect()))
            }
            // An error in an operand is more helpful than the message that this is not a plain
            // name.
            (Err(computed), QueryError::Syntax(_)) if !matches!(computed, ConditionError::Syntax(_)) => {
                Err(computed.to_string())
            }
            _ => Err(error.to_string()),
        }
    }

    /// Whether a warp can be stepped.
    ///
    /// # Errors
    /// If it has ended.
    pub(crate) fn check_runs(&self, warp: &StoppedWarp<'_>) -> Result<(), String> {
        match self.path(warp) {
            Some(_) => Ok(()),
            None => {
                let (number, block) = (warp.number(), self.block.index());
                let way_out = "step another warp, continue, or step back";
                Err(format!("warp {number} of block {block} has ended: {way_out}"))
            }
        }
    }
}

impl Stopped<'_> {
    /// A register's value in a lane, in Rust's notation for its kind. A register of unknown kind is
    /// shown both as an integer and as a float. Shows `–` for a register that was never written.
    ///
    /// # Panics
    /// If `lane` is 32 or more.
    pub fn show_register(&self, register: &Register, lane: usize) -> String {
        let (value, bits) = (register.lanes[lane], register.bits);
        if bits >= 32 && value == uninitialised_register(bits) {
            // A narrower register may hold this bit pattern legitimately.
            return "–".to_owned();
        }
        let float = || match bits {
            32 => Some(ElementType::F32.show(&value.to_le_bytes())),
            64 => Some(ElementType::F64.show(&value.to_le_bytes())),
            _ => None,
        };
        match (register.kind, bits) {
            (_, 1) | (Some(RegisterKind::Bool), _) => (value != 0).to_string(),
            (Some(RegisterKind::Float), _) => float().unwrap_or_else(|| format!("{value:#x}")),
            (Some(RegisterKind::Signed), _) => sign_extended(value, bits as u32).to_string(),
            (Some(RegisterKind::Unsigned), _) => value.to_string(),
            (Some(RegisterKind::Pointer), _) => {
                let space = space_of(value);
                let place = self.place_name(space, from_generic(space, value), None);
                place.unwrap_or_else(|| format!("{value:#x}"))
            }
            (None, _) => match float() {
                Some(float) => format!("{value} (f{bits} {float})"),
                None => value.to_string(),
            },
        }
    }
}
