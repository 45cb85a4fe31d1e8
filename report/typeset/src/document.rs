//! The program's input and output: a document as JSON, and the finished report as JSON. Files
//! inside them are in base64.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// The template of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Template {
    /// hw1.pdf.
    Homework1,
    /// hw2.pdf.
    Assignment2,
    /// hw3.pdf.
    Assignment3,
    /// A blank form of one of them.
    Form,
}

/// A template's input, and the files that it includes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The template.
    pub template: Template,
    /// The template's input.
    pub value: Value,
    /// The charts by name, as SVG.
    pub charts: BTreeMap<String, String>,
    /// The pictures by name, as PNG files.
    pub pictures: BTreeMap<String, File>,
}

/// A file's content. In JSON, it is base64 text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File(pub Vec<u8>);

impl<'de> Deserialize<'de> for File {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        BASE64_STANDARD.decode(text).map(File).map_err(serde::de::Error::custom)
    }
}

impl Serialize for File {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64_STANDARD.encode(&self.0))
    }
}

/// A report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The PDF file.
    pub pdf: File,
    /// Its number of pages.
    pub pages: usize,
    /// The HTML page, if requested.
    pub html: Option<String>,
}
