//! Converts DWARF expressions for the values of variables to text.

use gimli::{EndianSlice, LittleEndian, Reader};

/// The text of an expression: pieces separated by `|`. If there are several pieces, a piece begins
/// with its size in bytes and `:` unless the previous piece has the same size. A piece is in
/// postfix notation, `%rd4,8,plus`, and empty if the compiler has removed it.
///
/// None if the compiler has removed the value, or the expression has an operation that is not
/// needed for values in registers.
pub(super) fn text_of(bytes: &[u8]) -> Option<String> {
    let mut input = EndianSlice::new(bytes, LittleEndian);
    let (mut pieces, mut words) = (Vec::new(), Vec::<String>::new());
    let mut last_bytes = None;
    while !input.is_empty() {
        let opcode = gimli::DwOp(input.read_u8().ok()?);
        let word = match opcode {
            gimli::DW_OP_piece => {
                let bytes = input.read_uleb128().ok()?;
                let prefix = if last_bytes == Some(bytes) { String::new() } else { format!("{bytes}:") };
                last_bytes = Some(bytes);
                pieces.push(prefix + &words.join(","));
                words.clear();
                continue;
            }
            gimli::DW_OP_regx => register_name(input.read_uleb128().ok()?)?,
            gimli::DW_OP_constu => input.read_uleb128().ok()?.to_string(),
            gimli::DW_OP_consts => input.read_sleb128().ok()?.to_string(),
            gimli::DW_OP_plus_uconst => format!("{},plus", input.read_uleb128().ok()?),
            gimli::DwOp(0x30..=0x4f) => (opcode.0 - gimli::DW_OP_lit0.0).to_string(),
            gimli::DW_OP_and => "and".to_owned(),
            gimli::DW_OP_minus => "minus".to_owned(),
            gimli::DW_OP_mul => "mul".to_owned(),
            gimli::DW_OP_neg => "neg".to_owned(),
            gimli::DW_OP_not => "not".to_owned(),
            gimli::DW_OP_or => "or".to_owned(),
            gimli::DW_OP_plus => "plus".to_owned(),
            gimli::DW_OP_shl => "shl".to_owned(),
            gimli::DW_OP_shr => "shr".to_owned(),
            gimli::DW_OP_shra => "shra".to_owned(),
            gimli::DW_OP_xor => "xor".to_owned(),
            // It says that the value is not in memory. DWARF 2 cannot express this, and no value
            // here is in memory.
            gimli::DW_OP_stack_value => continue,
            _ => return None,
        };
        words.push(word);
    }
    match (pieces.is_empty(), words.is_empty()) {
        (true, true) | (false, false) => None,
        (true, false) => Some(words.join(",")),
        (false, true) => Some(pieces.join("|")),
    }
}

/// The name of a PTX register, which DWARF encodes in the bytes of its number.
fn register_name(number: u64) -> Option<String> {
    let name: Vec<u8> = number.to_be_bytes().into_iter().skip_while(|byte| *byte == 0).collect();
    let name = String::from_utf8(name).ok()?;
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '%';
    (name.starts_with('%') && name.chars().all(is_part)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGX_RD4: [u8; 6] = [0x90, 180, 200, 201, 171, 2];

    #[test]
    fn registers_and_constants_are_read() {
        assert_eq!(text_of(&REGX_RD4), Some("%rd4".to_owned()));
        assert_eq!(text_of(&[0x30]), Some("0".to_owned()));
        assert_eq!(text_of(&[0x10, 0xe5, 0x8e, 0x26]), Some("624485".to_owned()));
        let subtraction = [&REGX_RD4[..], &[0x33, 0x1c, 0x9f]].concat();
        assert_eq!(text_of(&subtraction), Some("%rd4,3,minus".to_owned()));
    }

    #[test]
    fn pieces_may_be_missing() {
        let pieces = [&REGX_RD4[..], &[0x93, 8, 0x93, 4, 0x30, 0x93, 4]].concat();
        assert_eq!(text_of(&pieces), Some("8:%rd4|4:|0".to_owned()));
    }

    #[test]
    fn other_expressions_have_no_text() {
        // Nothing, DW_OP_fbreg, a register number that is not a name, a piece followed by a value,
        // a truncated number.
        for bytes in [&[][..], &[0x91, 0], &[0x90, 5], &[0x30, 0x93, 4, 0x30], &[0x10, 0x80]] {
            assert_eq!(text_of(bytes), None, "{bytes:x?}");
        }
    }
}
