//! Converts Markdown, sources and folders to HTML.

use std::collections::HashMap;

use anyhow::Result;
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// A document as HTML.
pub(super) struct Document {
    /// The text of its first heading.
    pub(super) title: String,
    pub(super) body: String,
}

/// Converts Markdown. `resolve` turns the document's links into the page's.
///
/// # Errors
/// If `resolve` fails.
pub(super) fn html(text: &str, mut resolve: impl FnMut(&str) -> Result<String>) -> Result<Document> {
    let mut events: Vec<Event<'_>> =
        Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH).collect();
    for event in &mut events {
        if let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event {
            *dest_url = resolve(dest_url)?.into();
        }
    }
    let title = with_anchors(&mut events);
    let mut body = String::with_capacity(2 * text.len());
    html::push_html(&mut body, events.into_iter().flat_map(fitted_to_narrow_screens));
    Ok(Document { title, body })
}

/// Gives each heading an anchor like the forges do: its text in lower case, without punctuation,
/// with hyphens for spaces, and with a number if the name has occurred before. Returns the first
/// heading's text.
fn with_anchors(events: &mut [Event<'_>]) -> String {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut first = None;
    for start in 0..events.len() {
        if !matches!(events[start], Event::Start(Tag::Heading { .. })) {
            continue;
        }
        let heading = events[start..].iter().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
        let text: String = heading.map(text_of).collect();
        let slug = slug(&text);
        let count = seen.entry(slug.clone()).or_default();
        let anchor = if *count == 0 { slug } else { format!("{slug}-{count}") };
        *count += 1;
        if let Event::Start(Tag::Heading { id, .. }) = &mut events[start] {
            *id = Some(anchor.into());
        }
        first.get_or_insert(text);
    }
    first.unwrap_or_default()
}

fn text_of<'a>(event: &'a Event<'_>) -> &'a str {
    match event {
        Event::Text(text) | Event::Code(text) => text,
        _ => "",
    }
}

fn slug(text: &str) -> String {
    let kept = text.to_lowercase();
    let kept = kept.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

/// Puts a table inside an element that scrolls, and keeps an option (`--name`) on one line.
fn fitted_to_narrow_screens(event: Event<'_>) -> Vec<Event<'_>> {
    let html = |text: &'static str| Event::Html(CowStr::Borrowed(text));
    match event {
        Event::Start(Tag::Table(_)) => vec![html("<div class=\"wide\">\n"), event],
        Event::End(TagEnd::Table) => vec![event, html("</div>\n")],
        Event::Code(text) if text.starts_with("--") => {
            vec![Event::InlineHtml(format!("<code class=\"option\">{}</code>", escaped(&text)).into())]
        }
        event => vec![event],
    }
}

/// A source file as text, with an anchor for each line.
pub(super) fn source(path: &str, text: &str) -> String {
    let mut body = format!("<h1>{}</h1>\n<pre class=\"source\"><code>", escaped(path));
    for (number, line) in text.lines().enumerate() {
        body.push_str(&format!("<span id=\"L{}\">{}</span>\n", number + 1, escaped(line)));
    }
    body.push_str("</code></pre>\n");
    body
}

/// The names in a folder.
pub(super) fn listing(path: &str, names: &[String]) -> String {
    let names: String = names.iter().map(|name| format!("<li><code>{}</code></li>\n", escaped(name))).collect();
    format!("<h1>{}</h1>\n<ul>\n{names}</ul>\n", escaped(path))
}

/// Escapes text for HTML.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_a_title_anchors_and_links() {
        let text = "# A `b` & c\n\n## What, *really*?\n\n## What, really?\n\n[x](y.md) ![z](z.png) `--c <D>`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
        let Document { title, body } = html(text, |link| Ok(format!("to/{link}"))).unwrap();
        assert_eq!(title, "A b & c");
        for part in [
            "<h1 id=\"a-b--c\">",
            "<h2 id=\"what-really\">",
            "<h2 id=\"what-really-1\">",
            "<a href=\"to/y.md\">x</a>",
            "src=\"to/z.png\"",
            "<code class=\"option\">--c &lt;D&gt;</code>",
            "<div class=\"wide\">\n<table>",
        ] {
            assert!(body.contains(part), "{part}: {body}");
        }
    }

    #[test]
    fn sources_and_names_are_escaped() {
        assert!(source("a.rs", "x\nif a < b && c {\n").contains("<span id=\"L2\">if a &lt; b &amp;&amp; c {</span>"));
        assert!(listing("<", &["\"".to_owned()]).contains("<h1>&lt;</h1>\n<ul>\n<li><code>&quot;</code>"));
    }
}
