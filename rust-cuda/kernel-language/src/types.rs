//! The types of the language.

use std::fmt;
use std::rc::Rc;

/// An integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Integer {
    I8,
    I16,
    I32,
    I64,
    Isize,
    U8,
    U16,
    U32,
    U64,
    Usize,
}

impl Integer {
    const ALL: [(Self, &str, u32, bool); 10] = [
        (Self::I8, "i8", 8, true),
        (Self::I16, "i16", 16, true),
        (Self::I32, "i32", 32, true),
        (Self::I64, "i64", 64, true),
        (Self::Isize, "isize", 64, true),
        (Self::U8, "u8", 8, false),
        (Self::U16, "u16", 16, false),
        (Self::U32, "u32", 32, false),
        (Self::U64, "u64", 64, false),
        (Self::Usize, "usize", 64, false),
    ];

    fn row(self) -> (Self, &'static str, u32, bool) {
        Self::ALL[self as usize]
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    pub(crate) fn name(self) -> &'static str {
        self.row().1
    }

    pub(crate) fn bits(self) -> u32 {
        self.row().2
    }

    pub(crate) fn is_signed(self) -> bool {
        self.row().3
    }

    /// The unsigned type of the same size.
    pub(crate) fn unsigned(self) -> Self {
        Self::ALL[self as usize % 5 + 5].0
    }

    pub(crate) fn minimum(self) -> i128 {
        if self.is_signed() { -(1 << (self.bits() - 1)) } else { 0 }
    }

    pub(crate) fn maximum(self) -> i128 {
        (1 << (self.bits() - u32::from(self.is_signed()))) - 1
    }

    pub(crate) fn contains(self, value: i128) -> bool {
        (self.minimum()..=self.maximum()).contains(&value)
    }

    /// The value of this type with the lowest bits of `value`.
    pub(crate) fn wrapped(self, value: i128) -> i128 {
        let unused = 128 - self.bits();
        let shifted = value << unused;
        if self.is_signed() { shifted >> unused } else { (shifted.cast_unsigned() >> unused).cast_signed() }
    }
}

/// A float type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Float {
    F32,
    F64,
}

impl Float {
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::F32, Self::F64].into_iter().find(|of| of.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        if self == Self::F32 { "f32" } else { "f64" }
    }

    pub(crate) fn bits(self) -> u32 {
        if self == Self::F32 { 32 } else { 64 }
    }
}

/// A type. Array lengths are types too, so both are inferred in the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Never,
    Bool,
    Integer(Integer),
    Float(Float),
    /// A length, or a generic constant.
    Length(u64),
    /// A tuple; `()` if it is empty.
    Tuple(Rc<[Type]>),
    /// A struct: the number of its declaration, and its field types.
    Struct(usize, Rc<[Type]>),
    /// Whether there is a value, and its type.
    Option(Rc<[Type; 2]>),
    /// Element type and length.
    Array(Rc<[Type; 2]>),
    Global(Rc<Type>),
    GlobalMut(Rc<Type>),
    /// `SharedArray`: element type and length.
    Shared(Rc<[Type; 2]>),
    /// `SharedArray2d`: element type, rows and columns.
    Shared2d(Rc<[Type; 3]>),
    /// `DynamicShared`.
    Dynamic(Rc<Type>),
    /// An element for atomic operations, and whether it is in shared memory.
    Atomic(Rc<Type>, bool),
    /// The 2 or 3 indices of a thread or block.
    Indices(usize),
    /// `&T`, or `&mut T` if the flag is set.
    Reference(Rc<Type>, bool),
    /// A closure, by its number.
    Closure(usize),
    /// A type that is not inferred yet, by its number.
    Unknown(usize),
}

impl Type {
    pub(crate) const U32: Self = Self::Integer(Integer::U32);
    pub(crate) const USIZE: Self = Self::Integer(Integer::Usize);
    pub(crate) const F32: Self = Self::Float(Float::F32);

    pub(crate) fn unit() -> Self {
        Self::Tuple(Rc::new([]))
    }

    pub(crate) fn option(of: Self) -> Self {
        Self::Option(Rc::new([Self::Bool, of]))
    }

    pub(crate) fn is_unit(&self) -> bool {
        matches!(self, Self::Tuple(parts) if parts.is_empty())
    }

    /// The types that it consists of, with which unification continues.
    pub(crate) fn parts(&self) -> &[Self] {
        match self {
            Self::Tuple(parts) | Self::Struct(_, parts) => parts,
            Self::Array(parts) | Self::Shared(parts) | Self::Option(parts) => &parts[..],
            Self::Shared2d(parts) => &parts[..],
            Self::Global(part) | Self::GlobalMut(part) | Self::Dynamic(part) => std::slice::from_ref(part),
            Self::Atomic(part, _) | Self::Reference(part, _) => std::slice::from_ref(part),
            _ => &[],
        }
    }

    /// The same type with other parts.
    pub(crate) fn with_parts(&self, mut part: impl FnMut(&Self) -> Self) -> Self {
        match self {
            Self::Tuple(parts) => Self::Tuple(parts.iter().map(part).collect()),
            Self::Struct(of, parts) => Self::Struct(*of, parts.iter().map(part).collect()),
            Self::Option(parts) => Self::option(part(&parts[1])),
            Self::Array(parts) => Self::Array(Rc::new([part(&parts[0]), part(&parts[1])])),
            Self::Shared(parts) => Self::Shared(Rc::new([part(&parts[0]), part(&parts[1])])),
            Self::Shared2d(parts) => Self::Shared2d(Rc::new([part(&parts[0]), part(&parts[1]), part(&parts[2])])),
            Self::Global(of) => Self::Global(Rc::new(part(of))),
            Self::GlobalMut(of) => Self::GlobalMut(Rc::new(part(of))),
            Self::Dynamic(of) => Self::Dynamic(Rc::new(part(of))),
            Self::Atomic(of, is_shared) => Self::Atomic(Rc::new(part(of)), *is_shared),
            Self::Reference(of, is_mutable) => Self::Reference(Rc::new(part(of)), *is_mutable),
            _ => self.clone(),
        }
    }

    /// Size in bytes of a number in memory.
    pub(crate) fn bytes(&self) -> Option<u64> {
        match self {
            Self::Integer(of) => Some(u64::from(of.bits()) / 8),
            Self::Float(of) => Some(u64::from(of.bits()) / 8),
            _ => None,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("!"),
            Self::Bool => f.write_str("bool"),
            Self::Integer(of) => f.write_str(of.name()),
            Self::Float(of) => f.write_str(of.name()),
            Self::Length(length) => write!(f, "{length}"),
            Self::Tuple(parts) => {
                f.write_str("(")?;
                for (index, part) in parts.iter().enumerate() {
                    write!(f, "{}{part}", if index > 0 { ", " } else { "" })?;
                }
                f.write_str(if parts.len() == 1 { ",)" } else { ")" })
            }
            Self::Struct(..) => f.write_str("a struct"),
            Self::Option(of) => write!(f, "Option<{}>", of[1]),
            Self::Array(of) => write!(f, "[{}; {}]", of[0], of[1]),
            Self::Global(of) => write!(f, "Global<{of}>"),
            Self::GlobalMut(of) => write!(f, "GlobalMut<{of}>"),
            Self::Shared(of) => write!(f, "SharedArray<{}, {}>", of[0], of[1]),
            Self::Shared2d(of) => write!(f, "SharedArray2d<{}, {}, {}>", of[0], of[1], of[2]),
            Self::Dynamic(of) => write!(f, "DynamicShared<{of}>"),
            Self::Atomic(of, _) => write!(f, "Atomic<{of}>"),
            Self::Indices(count) => write!(f, "UVec{count}"),
            Self::Reference(of, is_mutable) => write!(f, "&{}{of}", if *is_mutable { "mut " } else { "" }),
            Self::Closure(_) => f.write_str("a closure"),
            Self::Unknown(_) => f.write_str("_"),
        }
    }
}
