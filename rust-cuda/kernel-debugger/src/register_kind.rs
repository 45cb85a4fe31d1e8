//! Infers how to interpret each register of a kernel.

use std::collections::HashMap;

use kernel_launch::debug_information::{DebugInformation, RegisterKind};
use ptx_interpreter::Code;

/// The kinds of a kernel's registers. A register takes the kind of the Rust variable that it holds,
/// otherwise the kind that instructions use it as.
#[derive(Clone, Debug, Default)]
pub(crate) struct RegisterKinds {
    by_variable: HashMap<String, Vec<(u32, u32, RegisterKind)>>,
    by_instructions: HashMap<String, RegisterKind>,
}

impl RegisterKinds {
    /// The kinds of the registers of a kernel.
    pub(crate) fn new(code: Code<'_>, information: &DebugInformation) -> Self {
        let mut used: HashMap<String, Vec<Use>> = HashMap::new();
        for pc in 0..code.instructions() {
            let text = code.place(pc).text;
            for register in text.split(|c| !is_of_name(c)).filter(|word| word.starts_with('%')) {
                if let Some(found) = use_of(&text, register) {
                    used.entry(register.to_owned()).or_default().push(found);
                }
            }
        }
        let by_instructions =
            used.into_iter().filter_map(|(name, uses)| Some((name, Use::kind_of_all(&uses)?))).collect();
        Self { by_variable: information.registers(), by_instructions }
    }

    /// The kind of a register before the instruction at a line of the PTX. `None` if unknown.
    pub(crate) fn kind_at(&self, register: &str, line: u32) -> Option<RegisterKind> {
        let variables = self.by_variable.get(register).map(Vec::as_slice).unwrap_or_default();
        let here = variables.iter().find(|(from, to, _)| (*from..*to).contains(&line));
        let found = here.or(variables.first()).map(|(.., kind)| *kind);
        found.or_else(|| self.by_instructions.get(register).copied())
    }
}

/// How an instruction uses a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Signed,
    Unsigned,
    Float,
    /// An integer, signed or unsigned.
    Integer,
}

impl Use {
    /// A float if any instruction uses it as one. Otherwise unsigned if some instruction depends on
    /// the sign and none uses it as signed.
    fn kind_of_all(uses: &[Self]) -> Option<RegisterKind> {
        let has = |kind| uses.contains(&kind);
        if has(Self::Float) {
            return Some(RegisterKind::Float);
        }
        let is_unsigned = has(Self::Unsigned) && !has(Self::Signed);
        (!uses.is_empty()).then_some(if is_unsigned { RegisterKind::Unsigned } else { RegisterKind::Signed })
    }
}

/// How an instruction uses a register, if that tells more than the number of bits.
fn use_of(text: &str, register: &str) -> Option<Use> {
    let (name, operands) = text.split_once([' ', '\t'])?;
    // The instruction's type does not describe an address in brackets.
    let is_in_brackets = |at: usize| operands[..at].matches('[').count() > operands[..at].matches(']').count();
    let (at, _) = operands.match_indices(register).find(|(at, found)| {
        let after = operands[at + found.len()..].chars().next();
        let before = operands[..*at].chars().next_back();
        !after.is_some_and(is_of_name) && !before.is_some_and(is_of_name) && !is_in_brackets(*at)
    })?;
    let parts: Vec<&str> = name.split('.').collect();
    let opcode = parts[0];
    let is_destination = !operands[..at].contains(',');
    let is_type = |part: &&&str| {
        let (kind, bits) = part.split_at_checked(1).unwrap_or_default();
        matches!(kind, "s" | "u" | "f" | "b") && bits.bytes().all(|byte| byte.is_ascii_digit()) && !bits.is_empty()
    };
    let types: Vec<&&str> = parts.iter().filter(is_type).collect();
    let t = if matches!(opcode, "cvt" | "set") && is_destination { types.first() } else { types.last() }?;
    let depends_on_sign = matches!(
        opcode,
        "setp" | "set" | "cvt" | "div" | "rem" | "shr" | "min" | "max" | "neg" | "abs" | "mad" | "mul"
    ) && !name.contains(".lo.");
    let computes = matches!(opcode, "add" | "sub" | "mul" | "mad" | "and" | "or" | "xor" | "shl" | "shr" | "cvta");
    match &t[..1] {
        "f" => Some(Use::Float),
        "s" if depends_on_sign => Some(Use::Signed),
        "u" if depends_on_sign => Some(Use::Unsigned),
        _ if computes => Some(Use::Integer),
        _ => None,
    }
}

fn is_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '%' | '_' | '$')
}

/// Sign-extends an integer of `width` bits, from 1 to 64.
pub(crate) fn sign_extended(bits: u64, width: u32) -> i64 {
    let unused = 64 - width;
    (bits << unused).cast_signed() >> unused
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_register_has_the_type_that_instructions_take_it_for() {
        use Use::{Float, Integer, Signed, Unsigned};
        for (text, register, kind) in [
            ("fma.rn.f32 %r15, %r1, %r2, %r3", "%r15", Some(Float)),
            ("setp.lt.s32 %p1, %r13, 0", "%r13", Some(Signed)),
            ("setp.gt.u32 %p1, %r13, 63", "%r13", Some(Unsigned)),
            ("setp.gt.u32 %p1, %r13, 63", "%r1", None),
            ("cvt.rn.f32.s32 %r2, %r3", "%r2", Some(Float)),
            ("cvt.rn.f32.s32 %r2, %r3", "%r3", Some(Signed)),
            ("cvt.u64.u32 %rd2, %r3", "%r3", Some(Unsigned)),
            ("add.s32 %r1, %r2, %r3", "%r2", Some(Integer)),
            ("mad.lo.s32 %r1, %r2, %r3, %r4", "%r2", Some(Integer)),
            ("ld.global.f32 %r1, [%rd5]", "%r1", Some(Float)),
            ("ld.global.f32 %r1, [%rd5]", "%rd5", None),
            ("ld.global.b32 %r1, [%rd5]", "%r1", None),
            ("shr.u32 %r1, %r2, 5", "%r2", Some(Unsigned)),
        ] {
            assert_eq!(use_of(text, register), kind, "{register} of {text}");
        }
        let of = Use::kind_of_all;
        assert_eq!(
            [of(&[]), of(&[Unsigned]), of(&[Unsigned, Signed]), of(&[Signed, Float]), of(&[Integer])],
            [
                None,
                Some(RegisterKind::Unsigned),
                Some(RegisterKind::Signed),
                Some(RegisterKind::Float),
                Some(RegisterKind::Signed)
            ]
        );
        assert_eq!((sign_extended(0xfffd, 16), sign_extended(7, 64)), (-3, 7));
    }
}
