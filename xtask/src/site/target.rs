//! The targets of a document's links, in the repository and in the site.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::workspace_root;

/// A larger text is a file to download instead of a page.
const MAX_SOURCE_BYTES: u64 = 300_000;

/// A file of the site, given by its source's path below the workspace's root, with forward slashes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Markdown.
    Document(String),
    /// Other text.
    Source(String),
    /// A folder without a README.md.
    Folder(String),
    /// A file that is copied unchanged: a page, a picture or data.
    File(String),
}

impl Target {
    /// The source's path.
    pub(super) fn path(&self) -> &str {
        let (Self::Document(path) | Self::Source(path) | Self::Folder(path) | Self::File(path)) = self;
        path
    }

    /// The file's path in the site.
    pub(super) fn output(&self) -> String {
        match self {
            Self::Document(path) => format!("{}.html", path.trim_end_matches(".md")),
            Self::Source(path) => format!("{path}.html"),
            Self::Folder(path) => format!("{path}/index.html"),
            Self::File(path) => path.clone(),
        }
    }

    /// The source at a path below the workspace's root.
    fn at(path: &str) -> Result<Self> {
        let file = workspace_root().join(path);
        let metadata = fs::metadata(&file).with_context(|| format!("no file is {path}"))?;
        if metadata.is_dir() {
            let readme = format!("{path}/README.md");
            let is_document = workspace_root().join(&readme).exists();
            return Ok(if is_document { Self::Document(readme) } else { Self::Folder(path.to_owned()) });
        }
        let extension = Path::new(path).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        Ok(match extension {
            "md" => Self::Document(path.to_owned()),
            "html" | "png" | "svg" | "webp" | "zip" => Self::File(path.to_owned()),
            _ if metadata.len() > MAX_SOURCE_BYTES => Self::File(path.to_owned()),
            _ => match String::from_utf8(fs::read(&file)?) {
                Ok(_) => Self::Source(path.to_owned()),
                Err(_) => Self::File(path.to_owned()),
            },
        })
    }
}

/// The link as it appears in the site, for a document at `from`. Its target is added to `found`.
///
/// # Errors
/// If it does not lead to a file in the repository.
pub(super) fn resolve(from: &str, link: &str, found: &mut Vec<Target>) -> Result<String> {
    if link.contains("://") || link.starts_with('#') || link.starts_with("mailto:") {
        return Ok(link.to_owned());
    }
    let (path, fragment) = link.split_once('#').map_or((link, None), |(path, fragment)| (path, Some(fragment)));
    let target = Target::at(&joined(from, path)?).with_context(|| format!("the link {link}"))?;
    let mut shown = relative(from, &target.output());
    if let Some(fragment) = fragment {
        shown = format!("{shown}#{fragment}");
    }
    found.push(target);
    Ok(shown)
}

/// Converts a path relative to a file's folder to a path from the root.
pub(super) fn joined(from: &str, path: &str) -> Result<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match part {
            ".." if parts.is_empty() => bail!("the link {path} leaves the repository"),
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}

/// Converts a path in the site to a link from the page of `from`.
fn relative(from: &str, to: &str) -> String {
    let from: Vec<&str> = from.split('/').collect();
    let to: Vec<&str> = to.split('/').collect();
    let folders = (&from[..from.len() - 1], &to[..to.len() - 1]);
    let shared = folders.0.iter().zip(folders.1).take_while(|(a, b)| a == b).count();
    format!("{}{}", "../".repeat(folders.0.len() - shared), to[shared..].join("/"))
}

/// The sorted names of a folder's files and folders. Folder names end with a slash.
///
/// # Errors
/// If it cannot be read.
pub(super) fn names(folder: &str) -> Result<Vec<String>> {
    let path = workspace_root().join(folder);
    let entries = fs::read_dir(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read {}", path.display()))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') && name != "target" {
            names.push(if entry.file_type()?.is_dir() { format!("{name}/") } else { name });
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_a_document_become_links_of_its_page() {
        let mut found = Vec::new();
        let mut shown = |from, link| resolve(from, link, &mut found).unwrap();
        assert_eq!(shown("docs/learn/README.md", "01-index.md#see"), "01-index.html#see");
        assert_eq!(shown("docs/learn/README.md", "../gpu-kernels.md"), "../gpu-kernels.html");
        assert_eq!(shown("docs/ptx.md", "../rust-cuda/README.md"), "../rust-cuda/README.html");
        assert_eq!(shown("docs/ptx.md", "../rust-cuda"), "../rust-cuda/README.html");
        assert_eq!(shown("README.md", "docs/lab/index.html"), "docs/lab/index.html");
        assert_eq!(shown("README.md", "learn/src/lib.rs"), "learn/src/lib.rs.html");
        assert_eq!(shown("README.md", "learn/src"), "learn/src/index.html");
        assert_eq!(shown("README.md", "https://rustup.rs"), "https://rustup.rs");
        assert_eq!(shown("README.md", "#start"), "#start");
        assert_eq!(found.len(), 7);
        assert_eq!(found[4], Target::File("docs/lab/index.html".to_owned()));
    }

    #[test]
    fn a_link_to_nothing_is_an_error_that_names_it() {
        for link in ["nothing.md", "../outside.md", "docs/nothing.png"] {
            let error = format!("{:#}", resolve("README.md", link, &mut Vec::new()).unwrap_err());
            assert!(error.contains(link.trim_start_matches("../")), "{error}");
        }
    }
}
