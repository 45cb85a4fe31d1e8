//! The page around a recording.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::document::Document;

/// The page.
const TEMPLATE: &str = include_str!("views/page.html");
/// The parts of the page. `base` is shared with the kernel lab, another page. `record` makes that
/// page's part that replays a run.
const PARTS: [(&str, &[&str]); 2] = [
    ("{{style}}", &[include_str!("views/base.css"), include_str!("views/views.css")]),
    ("{{script}}", &[include_str!("views/base.js"), include_str!("views/views.js")]),
];

/// The page of a recording.
///
/// Except for the title, all text from outside is in the compressed, base64-encoded recording. The
/// script shows it as text.
pub(super) fn page(document: &Document) -> String {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    serde_json::to_writer(&mut encoder, document).expect("a document is written to memory as JSON");
    let compressed = encoder.flush().and_then(|()| encoder.finish()).expect("memory takes all bytes");
    let [x, y, z] = document.grid;
    let [width, height, depth] = document.block;
    let title =
        format!("{}, grid {x} × {y} × {z}, block {width} × {height} × {depth}, {}", document.kernel, document.ptx);
    // The base64 text is inserted last because it cannot contain a placeholder.
    template().replace("{{title}}", &escape(&title)).replace("{{recording}}", &STANDARD.encode(compressed))
}

/// The page with its style and its script.
fn template() -> String {
    PARTS.iter().fold(TEMPLATE.to_owned(), |page, (placeholder, parts)| page.replace(placeholder, &parts.concat()))
}

/// Text as the content of an HTML element or of a quoted attribute.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '{' => escaped.push_str("&#123;"),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        assert_eq!(escape(r#"<a b="c">&'{"#), "&lt;a b=&quot;c&quot;&gt;&amp;&#39;&#123;");
    }

    #[test]
    fn the_template_has_each_placeholder_once_and_loads_nothing() {
        for (placeholder, _) in PARTS {
            assert_eq!(TEMPLATE.matches(placeholder).count(), 1, "{placeholder}");
        }
        let template = template();
        for placeholder in ["{{title}}", "{{recording}}"] {
            assert_eq!(template.matches(placeholder).count(), 1, "{placeholder}");
        }
        for forbidden in ["http:", "https:", "src=", "@import", "url(", "innerHTML", "eval("] {
            assert!(!template.contains(forbidden), "{forbidden}");
        }
    }
}
