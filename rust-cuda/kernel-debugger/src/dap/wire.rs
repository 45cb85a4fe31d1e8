//! The protocol's framing: a header with the length, then JSON.

use std::io::{self, BufRead, Read, Write};

use serde::Serialize;
use thiserror::Error;

/// Maximum size of a message in bytes. Clients send a few kilobytes.
const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// Maximum size of a header in bytes.
const MAX_HEADER_BYTES: u64 = 8 << 10;

/// The reason why no further message can be read.
#[derive(Debug, Error)]
pub(crate) enum WireError {
    #[error("the client's messages cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("the client sends a header without `Content-Length: N`")]
    NoLength,
    #[error("the client sends a header of more than {MAX_HEADER_BYTES} bytes")]
    LongHeader,
    #[error("the client sends a message of {0} bytes; the limit is {MAX_MESSAGE_BYTES}")]
    TooLong(usize),
    #[error("the client sends a message that is not JSON: {0}")]
    Json(serde_json::Error),
}

/// The next message. `None` at the end of the input.
pub(crate) fn read(input: &mut impl BufRead) -> Result<Option<serde_json::Value>, WireError> {
    let mut header = input.by_ref().take(MAX_HEADER_BYTES);
    let mut length = None;
    let mut is_first = true;
    loop {
        let mut line = Vec::new();
        header.read_until(b'\n', &mut line)?;
        if line.is_empty() && is_first {
            return Ok(None);
        }
        if !line.ends_with(b"\n") {
            return Err(if header.limit() == 0 { WireError::LongHeader } else { WireError::NoLength });
        }
        is_first = false;
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse::<usize>().ok();
        }
    }
    let length = length.ok_or(WireError::NoLength)?;
    if length > MAX_MESSAGE_BYTES {
        return Err(WireError::TooLong(length));
    }
    let mut content = vec![0; length];
    input.read_exact(&mut content)?;
    serde_json::from_slice(&content).map(Some).map_err(WireError::Json)
}

/// Writes a message. The protocol omits fields without a value and does not allow `null` for them.
/// The exception is `dataId`, where `null` says that no data breakpoint is possible.
pub(crate) fn write(output: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut message = serde_json::to_value(message)?;
    remove_nulls(&mut message);
    let content = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{content}", content.len())?;
    output.flush()
}

fn remove_nulls(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(fields) => {
            fields.retain(|name, field| !field.is_null() || name == "dataId");
            fields.values_mut().for_each(remove_nulls);
        }
        serde_json::Value::Array(elements) => elements.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_are_read_as_written() {
        let mut bytes = Vec::new();
        write(&mut bytes, &json!({"seq": 1, "text": null})).unwrap();
        write(&mut bytes, &json!("ü")).unwrap();
        let mut input = &bytes[..];
        assert_eq!(read(&mut input).unwrap(), Some(json!({"seq": 1})));
        assert_eq!(read(&mut input).unwrap(), Some(json!("ü")));
        assert_eq!(read(&mut input).unwrap(), None);
        let mut other = &b"content-type: x\ncontent-length:2\n\n{}"[..];
        assert_eq!(read(&mut other).unwrap(), Some(json!({})));
    }

    #[test]
    fn broken_messages_are_refused() {
        let refusal = |bytes: &[u8]| read(&mut &bytes[..]).unwrap_err().to_string();
        assert!(refusal(b"\r\n{}").contains("without `Content-Length"));
        assert!(refusal(b"Content-Length: -1\r\n\r\n{}").contains("without `Content-Length"));
        assert!(refusal(b"Content-Length: 99999999999\r\n\r\n{}").contains("99999999999 bytes; the limit is 16777216"));
        assert!(refusal(b"Content-Length: 5\r\n\r\n{}").contains("cannot be read"));
        assert!(refusal(b"Content-Length: 2\r\n\r\n{]").contains("not JSON"));
        assert!(refusal(&[b'x'; 10_000]).contains("header of more than 8192 bytes"));
        assert!(refusal(b"Content-").contains("without `Content-Length"));
    }
}
