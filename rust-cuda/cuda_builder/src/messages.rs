//! Messages from kernels: `cuda_std` declares their texts as statics, which this turns into
//! comments.

use cuda_launch::message::{BUFFER, MessageKind, declaration};

/// Prefix of a static's declaration.
const STATIC: &str = ".visible .global .align 1 .b8 __cuda_std_message_";

/// The text with messages as comments, and with the variable for the address of the message buffer
/// if it is used. `name_of_file` names a source file.
pub(crate) fn with_messages(text: &str, name_of_file: &dyn Fn(&str) -> String) -> String {
    if !text.contains(BUFFER) {
        return text.to_owned();
    }
    let mut result = String::with_capacity(text.len());
    let mut is_declared = false;
    for line in text.split_inclusive('\n') {
        match comment(line, name_of_file) {
            Some(comment) => {
                result.push_str(&comment);
                result.push('\n');
            }
            None => result.push_str(line),
        }
        if !is_declared && line.starts_with(".address_size") {
            result.push_str(&format!("\n.visible .global .align 8 .u64 {BUFFER};\n"));
            is_declared = true;
        }
    }
    result
}

/// The comment that replaces the declaration of a message's static. The static contains the kind, a
/// zero, 4 bytes of the line, the file, a zero, and the text.
fn comment(line: &str, name_of_file: &dyn Fn(&str) -> String) -> Option<String> {
    let (number, rest) = line.strip_prefix(STATIC)?.split_once('[')?;
    let number = u64::from_str_radix(number, 16).ok()?;
    let (_, values) = rest.split_once('{')?;
    let values = values.split(['}', ',']).map(str::trim).filter(|value| !value.is_empty() && *value != ";");
    let bytes: Vec<u8> = values.map(|value| value.parse().ok()).collect::<Option<_>>()?;
    let part = |bytes: &[u8]| bytes.iter().position(|&byte| byte == 0);
    let (purpose, rest) = bytes.split_at(part(&bytes)?);
    let (line_of_file, rest) = rest[1..].split_first_chunk::<4>()?;
    let (file, text) = rest.split_at(part(rest)?);
    let kind = match purpose {
        b"says" => MessageKind::Print,
        b"panics" => MessageKind::Panic,
        _ => return None,
    };
    let [file, text] = [file, &text[1..]].map(String::from_utf8_lossy);
    Some(declaration(number, kind, &name_of_file(&file), u32::from_le_bytes(*line_of_file), &text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statics_become_comments() {
        let text = "says\0\u{7}\0\0\0src/lib.rs\0i = {0}";
        let bytes = text.bytes().map(|byte| byte.to_string()).collect::<Vec<_>>().join(", ");
        let text = format!(
            ".version 7.0\n.address_size 64\n{STATIC}000000000000002a[{}] = {{{bytes}}};\n\tld.global.u64 %rd1, [{BUFFER}];\n",
            text.len()
        );
        let expected = format!(
            ".version 7.0\n.address_size 64\n\n.visible .global .align 8 .u64 {BUFFER};\n\
             // message 000000000000002a says a/src/lib.rs:7: i = {{0}}\n\tld.global.u64 %rd1, [{BUFFER}];\n"
        );
        assert_eq!(with_messages(&text, &|file| format!("a/{file}")), expected);
        assert_eq!(with_messages(".version 7.0\n", &|file| file.to_owned()), ".version 7.0\n");
    }
}
