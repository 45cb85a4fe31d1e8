//! The links of a page.

use anyhow::{Context, Result};

/// The attributes that refer to other files.
const ATTRIBUTES: [&str; 2] = [" href=\"", " src=\""];

/// Replaces each link in the HTML by the result of `resolve`.
///
/// # Errors
/// If `resolve` fails, or a link has no end.
pub(super) fn in_html(html: &str, mut resolve: impl FnMut(&str) -> Result<String>) -> Result<String> {
    let mut result = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(start) = ATTRIBUTES.iter().filter_map(|name| rest.find(name).map(|at| at + name.len())).min() {
        let (before, from_link) = rest.split_at(start);
        let (link, after) = from_link.split_once('"').context("a link has no end")?;
        result.push_str(before);
        result.push_str(&resolve(link)?);
        result.push('"');
        rest = after;
    }
    result.push_str(rest);
    Ok(result)
}

/// The links of a page, in order.
#[cfg(test)]
pub(super) fn of_html(html: &str) -> Vec<String> {
    let mut links = Vec::new();
    let collect = |link: &str| {
        links.push(link.to_owned());
        Ok(String::new())
    };
    in_html(html, collect).unwrap_or_else(|error| panic!("{error}"));
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_and_replaced() {
        let html = r#"<a href="a.md">x</a> <img alt="" src="b.png"> <b class="c">href="no"</b>"#;
        assert_eq!(of_html(html), ["a.md", "b.png"]);
        let replaced = in_html(html, |link| Ok(format!("/{link}"))).unwrap();
        assert_eq!(replaced, r#"<a href="/a.md">x</a> <img alt="" src="/b.png"> <b class="c">href="no"</b>"#);
        assert!(in_html("<a href=\"x", |link| Ok(link.to_owned())).is_err());
    }
}
