//! Shows the values of variables: converts the registers of a warp to text.

use ptx_interpreter::semantics::{LANES, Lanes};

use super::{DebugInformation, Kind, Operation, Piece, Type, Variable, Word};
use crate::element_type::ElementType;

/// Nesting depth beyond which a value's parts are not shown.
pub(super) const MAX_DEPTH: usize = 8;

/// Maximum number of array elements to show.
const MAX_ELEMENTS: usize = 64;

/// The bytes of a value in one lane; None for bytes that the compiler has removed.
pub type Bytes = Vec<Option<u8>>;

/// Describes what is at a generic address.
pub type Show<'s> = dyn Fn(u64) -> Option<String> + 's;

/// Text for a value that is not in any register.
const REMOVED: &str = "optimized out";

impl DebugInformation {
    /// The bytes of a variable in each lane on a PTX line. `register` returns a register's bits in
    /// each lane.
    pub fn bytes(&self, variable: &Variable, line: u32, register: impl Fn(&str) -> Option<Lanes>) -> [Bytes; LANES] {
        let length = self.type_of(variable.r#type).bytes;
        let mut lanes: [Bytes; LANES] = std::array::from_fn(|_| Vec::new());
        for piece in variable.pieces_at(line).unwrap_or_default() {
            let bytes = piece.bytes.unwrap_or(length).min(length);
            let value = piece.value(&register);
            for (lane, all) in lanes.iter_mut().enumerate() {
                let word = value.map(|value| value[lane].to_le_bytes());
                all.extend((0..bytes).map(|byte| word.and_then(|word| word.get(byte).copied())));
            }
        }
        for all in &mut lanes {
            all.resize(length, None);
        }
        lanes
    }

    /// A value as text. `address` describes what is at a generic address.
    ///
    /// # Panics
    /// If there is no such type.
    pub fn show(&self, r#type: usize, bytes: &[Option<u8>], address: &Show<'_>) -> String {
        self.show_within(r#type, bytes, address, 0)
    }

    fn show_within(&self, index: usize, bytes: &[Option<u8>], address: &Show<'_>, depth: usize) -> String {
        let of = self.type_of(index);
        if depth == MAX_DEPTH {
            return "…".to_owned();
        }
        if bytes.iter().all(Option::is_none) {
            return REMOVED.to_owned();
        }
        let parts = self.parts(index);
        let part = |(_, offset, part): &(String, usize, usize)| {
            let bytes = slice(bytes, *offset, self.type_of(*part).bytes);
            self.show_within(*part, bytes, address, depth + 1)
        };
        match &of.kind {
            // A structure that wraps a single value.
            Kind::Struct(members) if members.len() == 1 => part(&parts[0]),
            Kind::Struct(_) => {
                let members = parts.iter().map(|member| format!("{}: {}", member.0, part(member)));
                format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
            }
            Kind::Array(_, count) => {
                let mut elements: Vec<String> = parts.iter().map(part).collect();
                if *count > elements.len() {
                    elements.push("…".to_owned());
                }
                format!("[{}]", elements.join(", "))
            }
            _ => match bytes.iter().copied().collect::<Option<Vec<u8>>>() {
                Some(bytes) => of.show(&bytes, address),
                None => REMOVED.to_owned(),
            },
        }
    }

    /// The name, offset and type of each part of a structure or an array; empty for other types.
    ///
    /// # Panics
    /// If there is no such type.
    pub fn parts(&self, index: usize) -> Vec<(String, usize, usize)> {
        match &self.type_of(index).kind {
            Kind::Struct(members) => {
                members.iter().map(|(offset, part, name)| (field_name(name), *offset, *part)).collect()
            }
            Kind::Array(element, count) => {
                let bytes = self.type_of(*element).bytes;
                let part = |number: usize| (format!("[{number}]"), number.saturating_mul(bytes), *element);
                (0..*count.min(&MAX_ELEMENTS)).map(part).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// In debug information, the fields of a tuple are named `__0`, `__1`, ….
fn field_name(name: &str) -> String {
    let number = name.strip_prefix("__").filter(|number| number.parse::<u8>().is_ok());
    number.unwrap_or(name).to_owned()
}

/// The bytes of a part, as far as they exist.
pub fn slice(bytes: &[Option<u8>], offset: usize, length: usize) -> &[Option<u8>] {
    let start = offset.min(bytes.len());
    &bytes[start..offset.saturating_add(length).min(bytes.len())]
}

impl Type {
    /// The buffer element type with the same values; None for types that buffers do not have.
    pub fn element(&self) -> Option<ElementType> {
        match (&self.kind, self.bytes) {
            (Kind::Float, 4) => Some(ElementType::F32),
            (Kind::Float, 8) => Some(ElementType::F64),
            (Kind::Signed, 1) => Some(ElementType::I8),
            (Kind::Signed, 2) => Some(ElementType::I16),
            (Kind::Signed, 4) => Some(ElementType::I32),
            (Kind::Signed, 8) => Some(ElementType::I64),
            (Kind::Unsigned, 1) => Some(ElementType::U8),
            (Kind::Unsigned, 2) => Some(ElementType::U16),
            (Kind::Unsigned, 4) => Some(ElementType::U32),
            (Kind::Unsigned, 8) => Some(ElementType::U64),
            _ => None,
        }
    }

    fn show(&self, bytes: &[u8], address: &Show<'_>) -> String {
        if let Some(element) = self.element().filter(|element| element.bytes() <= bytes.len()) {
            return element.show(bytes);
        }
        let mut word = [0; 8];
        let known = bytes.len().min(8);
        word[..known].copy_from_slice(&bytes[..known]);
        let value = u64::from_le_bytes(word);
        match self.kind {
            Kind::Bool => (value != 0).to_string(),
            Kind::Unsigned => value.to_string(),
            Kind::Signed => {
                let unused = 64 - 8 * known as u32;
                (value.cast_signed().wrapping_shl(unused).wrapping_shr(unused)).to_string()
            }
            Kind::Pointer => address(value).unwrap_or_else(|| format!("{value:#x}")),
            _ => bytes.iter().rev().map(|byte| format!("{byte:02x}")).fold("0x".to_owned(), |text, byte| text + &byte),
        }
    }
}

impl Piece {
    /// The value in each lane; None if the compiler has removed it.
    fn value(&self, register: &impl Fn(&str) -> Option<Lanes>) -> Option<Lanes> {
        let mut stack: Vec<Lanes> = Vec::new();
        for word in &self.words {
            let value = match word {
                Word::Register(name) => register(name)?,
                Word::Constant(value) => [*value; LANES],
                Word::Operation(operation) => {
                    let right = stack.pop()?;
                    let left = if operation.is_unary() { right } else { stack.pop()? };
                    std::array::from_fn(|lane| operation.apply(left[lane], right[lane]))
                }
            };
            stack.push(value);
        }
        stack.pop().filter(|_| stack.is_empty())
    }
}

impl Operation {
    fn is_unary(self) -> bool {
        matches!(self, Self::Neg | Self::Not)
    }

    fn apply(self, left: u64, right: u64) -> u64 {
        let bits = u32::try_from(right).unwrap_or(64);
        match self {
            Self::And => left & right,
            Self::Minus => left.wrapping_sub(right),
            Self::Mul => left.wrapping_mul(right),
            Self::Neg => right.wrapping_neg(),
            Self::Not => !right,
            Self::Or => left | right,
            Self::Plus => left.wrapping_add(right),
            Self::Shl => left.checked_shl(bits).unwrap_or(0),
            Self::Shr => left.checked_shr(bits).unwrap_or(0),
            Self::Shra => left.cast_signed().wrapping_shr(bits.min(63)).cast_unsigned(),
            Self::Xor => left ^ right,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn information(types: Vec<(usize, Kind)>) -> DebugInformation {
        let types = types.into_iter().map(|(bytes, kind)| Type { bytes, name: String::new(), kind }).collect();
        DebugInformation { types, ..Default::default() }
    }

    fn known(bytes: &[u8]) -> Bytes {
        bytes.iter().copied().map(Some).collect()
    }

    fn shown(information: &DebugInformation, index: usize, bytes: &[Option<u8>]) -> String {
        information.show(index, bytes, &|address| (address == 4096).then(|| "x[0]".to_owned()))
    }

    #[test]
    fn values_are_shown_by_their_types() {
        let member = |offset, part, name: &str| (offset, part, name.to_owned());
        let information = information(vec![
            (4, Kind::Float),
            (2, Kind::Signed),
            (1, Kind::Bool),
            (8, Kind::Pointer),
            (12, Kind::Struct(vec![member(0, 0, "value"), member(8, 1, "__1")])),
            (4, Kind::Struct(vec![member(0, 0, "__0")])),
            (8, Kind::Array(0, 2)),
            (16, Kind::Other),
            (8, Kind::Struct(vec![member(0, 8, "itself"), member(0, 8, "twice")])),
        ]);
        let half = 0.5_f32.to_le_bytes();
        assert_eq!(shown(&information, 0, &known(&half)), "0.5");
        assert_eq!(shown(&information, 1, &known(&[0xfe, 0xff])), "-2");
        assert_eq!(shown(&information, 2, &known(&[1])), "true");
        assert_eq!(shown(&information, 3, &known(&4096_u64.to_le_bytes())), "x[0]");
        assert_eq!(shown(&information, 3, &known(&17_u64.to_le_bytes())), "0x11");
        let mut pair = known(&[&half[..], &[0; 4], &7_u16.to_le_bytes(), &[0; 2]].concat());
        assert_eq!(shown(&information, 4, &pair), "{value: 0.5, 1: 7}");
        pair[1] = None;
        assert_eq!(shown(&information, 4, &pair), "{value: optimized out, 1: 7}");
        assert_eq!(shown(&information, 5, &known(&half)), "0.5");
        assert_eq!(shown(&information, 6, &[known(&half), vec![None; 4]].concat()), "[0.5, optimized out]");
        assert_eq!(shown(&information, 7, &known(&[1; 16])), format!("0x{}", "01".repeat(16)));
        assert_eq!(shown(&information, 0, &[None; 4]), REMOVED);
        // A type that contains itself does not cause endless recursion. No compiler produces such a
        // type.
        assert!(shown(&information, 8, &known(&[0; 8])).contains('…'));
    }

    #[test]
    fn expressions_are_computed_in_each_lane() {
        let piece = |words: Vec<Word>| Piece { bytes: None, words };
        let register = |name: &str| (name == "%r1").then(|| std::array::from_fn(|lane| lane as u64));
        let (lanes, seven) = (Word::Register("%r1".to_owned()), Word::Constant(7));
        let value = |words: &[Word]| piece(words.to_vec()).value(&register);
        assert_eq!(value(std::slice::from_ref(&lanes)).unwrap()[31], 31);
        let minus = [lanes.clone(), seven.clone(), Word::Operation(Operation::Minus)];
        assert_eq!(value(&minus).unwrap()[3], (-4_i64).cast_unsigned());
        assert_eq!(value(&[lanes.clone(), Word::Operation(Operation::Neg)]).unwrap()[1], u64::MAX);
        for wrong in
            [vec![], vec![Word::Register("%r2".to_owned())], vec![lanes.clone(), seven], vec![minus[2].clone()]]
        {
            assert_eq!(value(&wrong), None, "{wrong:?}");
        }
        assert_eq!(Operation::Shra.apply((-8_i64).cast_unsigned(), 70), u64::MAX);
        assert_eq!((Operation::Shl.apply(1, 64), Operation::Shr.apply(u64::MAX, 63)), (0, 1));
    }
}
