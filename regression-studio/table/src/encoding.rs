//! The encoding of a file's text.

use std::fmt;
use std::str::FromStr;

use encoding_rs::UTF_8;
use serde::{Deserialize, Serialize};

/// An encoding of the WHATWG Encoding Standard. A settings file may use any of the standard's
/// labels, such as `windows-1250`, `latin2` or `sjis`, ignoring case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Encoding(pub(crate) &'static encoding_rs::Encoding);

/// No encoding has this label.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown encoding {0:?}: expected, for example, UTF-8, windows-1252 (Western Europe), windows-1250 (Central Europe), \
     windows-1251 (Cyrillic), Shift_JIS, GBK or EUC-KR"
)]
pub struct UnknownEncoding(pub String);

impl Encoding {
    /// Its name in the standard, such as `windows-1250`.
    pub fn name(self) -> &'static str {
        self.0.name()
    }
}

impl Default for Encoding {
    fn default() -> Self {
        Self(UTF_8)
    }
}

impl FromStr for Encoding {
    type Err = UnknownEncoding;

    fn from_str(label: &str) -> Result<Self, UnknownEncoding> {
        encoding_rs::Encoding::for_label_no_replacement(label.as_bytes())
            .map(Self)
            .ok_or_else(|| UnknownEncoding(crate::shortened(label).into_owned()))
    }
}

impl TryFrom<String> for Encoding {
    type Error = UnknownEncoding;

    fn try_from(label: String) -> Result<Self, UnknownEncoding> {
        label.parse()
    }
}

impl From<Encoding> for String {
    fn from(encoding: Encoding) -> Self {
        encoding.name().to_owned()
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_those_of_the_standard_and_others_are_rejected_with_examples() {
        for (label, name) in [
            ("utf-8", "UTF-8"),
            ("UTF8", "UTF-8"),
            ("cp1250", "windows-1250"),
            ("latin1", "windows-1252"),
            ("latin2", "ISO-8859-2"),
            ("sjis", "Shift_JIS"),
            ("KOI8-R", "KOI8-R"),
            ("utf-16le", "UTF-16LE"),
        ] {
            let encoding: Encoding = label.parse().unwrap();
            assert_eq!((encoding.name(), String::from(encoding)), (name, name.to_owned()), "{label}");
        }
        for label in ["", "windows1250x", "replacement", "iso-2022-kr"] {
            let message = label.parse::<Encoding>().unwrap_err().to_string();
            assert!(
                message.starts_with(&format!("unknown encoding {label:?}: expected, for example, UTF-8")),
                "{message}"
            );
        }
    }
}
