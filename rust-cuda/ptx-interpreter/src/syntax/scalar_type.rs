//! PTX's fundamental types (PTX ISA 5.2).

/// The type of a register, of a variable's elements or of an instruction's operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ScalarType {
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    Tf32,
    F32,
    F64,
    Pred,
}

impl ScalarType {
    /// Every type.
    const ALL: [Self; 21] = [
        Self::B8,
        Self::B16,
        Self::B32,
        Self::B64,
        Self::B128,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::S8,
        Self::S16,
        Self::S32,
        Self::S64,
        Self::F16,
        Self::F16x2,
        Self::Bf16,
        Self::Bf16x2,
        Self::Tf32,
        Self::F32,
        Self::F64,
        Self::Pred,
    ];

    /// The type that PTX writes as `.name`, without the dot.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scalar_type| scalar_type.name() == name)
    }

    /// Its name in PTX, without the dot.
    pub fn name(self) -> &'static str {
        match self {
            Self::B8 => "b8",
            Self::B16 => "b16",
            Self::B32 => "b32",
            Self::B64 => "b64",
            Self::B128 => "b128",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::S8 => "s8",
            Self::S16 => "s16",
            Self::S32 => "s32",
            Self::S64 => "s64",
            Self::F16 => "f16",
            Self::F16x2 => "f16x2",
            Self::Bf16 => "bf16",
            Self::Bf16x2 => "bf16x2",
            Self::Tf32 => "tf32",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Pred => "pred",
        }
    }

    /// Size of a value in memory, in bytes. 1 for a predicate, which cannot be in memory.
    pub fn bytes(self) -> usize {
        match self {
            Self::B8 | Self::U8 | Self::S8 | Self::Pred => 1,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::Bf16 => 2,
            Self::B32 | Self::U32 | Self::S32 | Self::F32 | Self::F16x2 | Self::Bf16x2 | Self::Tf32 => 4,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 => 8,
            Self::B128 => 16,
        }
    }

    /// Whether it is an integer, signed or not, or a type of untyped bits.
    pub fn is_integer(self) -> bool {
        match self {
            Self::B8 | Self::B16 | Self::B32 | Self::B64 | Self::B128 => true,
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => true,
            scalar_type => scalar_type.is_signed(),
        }
    }

    /// Whether it is one of `.s8` to `.s64`.
    pub fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }
}
