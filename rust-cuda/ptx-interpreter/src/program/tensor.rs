//! The reductions of tensor copies.

use super::atomic;
use super::instruction::{TensorReduction, Update};
use crate::memory::TensorElement;
use crate::syntax::ScalarType;

impl TensorReduction {
    pub(crate) const ALL: [Self; 8] =
        [Self::Add, Self::Min, Self::Max, Self::Inc, Self::Dec, Self::And, Self::Or, Self::Xor];

    /// The name in PTX.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Min => "min",
            Self::Max => "max",
            Self::Inc => "inc",
            Self::Dec => "dec",
            Self::And => "and",
            Self::Or => "or",
            Self::Xor => "xor",
        }
    }

    /// The function that computes the new element from the old one and the copied one. `None` if
    /// the type does not support the operation.
    pub(crate) fn update(self, element: TensorElement) -> Option<Update> {
        use TensorElement::{Bf16, F16, F32, F32Ftz, F64, S32, S64, Tf32, Tf32Ftz, U8, U16, U32, U64};
        let is_bitwise = matches!(self, Self::And | Self::Or | Self::Xor);
        let scalar_type = match element {
            U32 | S32 if is_bitwise => ScalarType::B32,
            U64 | S64 if is_bitwise => ScalarType::B64,
            U32 => ScalarType::U32,
            S32 => ScalarType::S32,
            S64 if self == Self::Add => ScalarType::U64,
            U64 => ScalarType::U64,
            S64 => ScalarType::S64,
            F32 | F32Ftz | Tf32 | Tf32Ftz => ScalarType::F32,
            F64 => ScalarType::F64,
            U8 | U16 | F16 | Bf16 => return None,
        };
        atomic::update(self.name(), scalar_type).ok().map(|(_, update, _)| update)
    }
}
