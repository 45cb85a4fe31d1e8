//! No text makes the parser panic, and each error refers to a line of the text.

use crate::support::TEXTS;
use proptest::prelude::*;
use ptx_interpreter::syntax::parse;

/// Checks that a text is parsed, or rejected with a reference to one of its lines.
fn check(text: &str) -> Result<(), TestCaseError> {
    if let Err(error) = parse(text) {
        let line = text.lines().nth(error.line as usize - 1);
        // Control characters are escaped.
        let beginning = error.text.split(r"\u{").next().unwrap_or("").trim_end_matches('…');
        let is_in_line = line.is_some_and(|line| line.trim().starts_with(beginning));
        prop_assert!(is_in_line || text.is_empty() && error.line == 1, "{error} is not in line {line:?}");
        prop_assert!(!error.expected.is_empty() && !error.found.is_empty());
    }
    Ok(())
}

const HEADER: &str = ".version 7.0\n.target sm_75\n.address_size 64\n";

/// The first lines of one of a text's kernels. They are few, so the parser reaches most of the
/// changed bytes.
fn part(text: &str, which: prop::sample::Index) -> String {
    let kernels: Vec<usize> = text.match_indices(".visible .entry").map(|(offset, _)| offset).collect();
    let lines: Vec<&str> = text[kernels[which.index(kernels.len())]..].lines().take(60).collect();
    format!("{HEADER}{}", lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_truncated_text_is_rejected_or_parsed(which in 0..TEXTS.len(), end in any::<prop::sample::Index>()) {
        let text = TEXTS[which].1;
        check(&text[..end.index(text.len())])?;
    }

    #[test]
    fn a_text_with_changed_bytes_is_rejected_or_parsed(
        which in 0..TEXTS.len(),
        kernel in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3), 1..8),
    ) {
        let mut bytes = part(TEXTS[which].1, kernel).into_bytes();
        for (position, byte, kind) in changes {
            // Half of the bytes are punctuation and digits, which affect the parser in more ways.
            let byte = if byte < 128 { b"{}[]();,.:+-%$@!|<>=\"/*0123456789fdxU_\n"[byte as usize % 39] } else { byte };
            let position = position.index(bytes.len());
            match kind {
                0 => bytes[position] = byte,
                1 => bytes.insert(position, byte),
                _ => {
                    bytes.remove(position);
                }
            }
        }
        check(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn any_text_is_rejected_or_parsed(text in any::<String>()) {
        check(&text)?;
        check(&format!("{HEADER}{text}"))?;
        check(&format!("{HEADER}.entry k() {{\n{text}\n}}"))?;
    }

    #[test]
    fn tokens_in_any_order_are_rejected_or_parsed(
        tokens in prop::collection::vec(prop::sample::select(&[
            "{", "}", "[", "]", "(", ")", ",", ";", ":", "+", "-", "!", "|", "@", "=", "<", ">", "%r1", "x", "add", ".reg",
            ".global", ".align", ".b32", ".v2", ".param", ".loc", ".section", ".debug_info", ".pragma", ".file", "1", "0x7",
            "18446744073709551615", "1.5", "0f3F800000", "\"a\"", "//", "/*", "*/", "\n", ".branchtargets", "generic", ".ptr",
            ".entry", ".func", ".extern", ".maxntid", "inlined_at", "function_name",
        ][..]), 0..60),
        inside in any::<bool>(),
    ) {
        let text = tokens.join(" ");
        check(&if inside { format!("{HEADER}.entry k() {{ {text} }}") } else { format!("{HEADER}{text}") })?;
    }
}

#[test]
fn a_short_text_cannot_request_all_memory() {
    for text in [
        ".entry k() { .reg .b32 %r<4294967295>; }".to_owned(),
        format!(".entry k() {{ {} }}", ".reg .b32 %r<1000000>;".repeat(100)),
        ".global .b8 x[1024][1048576] = {{}, {}, {1}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};"
            .to_owned(),
        ".global .b8 x[18446744073709551615];".to_owned(),
        ".global .b8 x[][1099511627776][1099511627776] = {{{1}}};".to_owned(),
    ] {
        assert!(parse(&format!("{HEADER}{text}")).is_err(), "{text}");
    }
}
