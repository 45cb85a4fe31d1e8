//! `cargo xtask site`: makes a folder for any static host, with the kernel lab, the digit
//! recognizer and every document as HTML.
//!
//! Its first page is `site/landing.html`. The site contains everything that this page links,
//! everything that those pages link, and so on: Markdown becomes HTML, sources become text, and
//! pictures and pages stay as they are. No page loads anything from elsewhere.

mod links;
mod markdown;
mod recording;
mod target;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use command_line::say;

use self::markdown::Document;
use self::target::Target;
use crate::workspace_root;

/// A file in every site. A folder that has it may be replaced.
const MARK: &str = ".made-by-xtask-site";
/// Without this file, GitHub Pages omits names that begin with an underscore.
const NO_JEKYLL: &str = ".nojekyll";
/// The title of the first page.
const TITLE: &str = "GPU kernels in Rust, without a GPU";

/// Options of `cargo xtask site`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The folder to make; one that an earlier run made is replaced
    #[arg(default_value = "target/site")]
    folder: PathBuf,
    /// Only draw the recording of a race again, docs/race.svg
    #[arg(long, conflicts_with = "folder")]
    recording: bool,
}

/// Makes the folder.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    if options.recording {
        recording::write()?;
        return Ok(ExitCode::SUCCESS);
    }
    let files = site()?;
    let bytes: usize = files.values().map(Vec::len).sum();
    replace(&options.folder, &files)?;
    let folder = options.folder.display();
    say!(
        "[*] {folder}: {} files, {:.1} MB. Open {folder}/index.html, or copy the folder to a static host.",
        files.len(),
        bytes as f64 / 1e6
    );
    Ok(ExitCode::SUCCESS)
}

/// The site's files, by path with forward slashes.
fn site() -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::from([
        (NO_JEKYLL.to_owned(), Vec::new()),
        (MARK.to_owned(), Vec::new()),
        ("site.css".to_owned(), include_bytes!("site/site.css").to_vec()),
    ]);
    let landing = include_str!("site/landing.html");
    let mut waiting: Vec<Target> = Vec::new();
    let landing = links::in_html(landing, |link| target::resolve("", link, &mut waiting))?;
    files.insert("index.html".to_owned(), page("index", TITLE, landing.trim_end()).into_bytes());
    let mut known = BTreeSet::new();
    while let Some(next) = waiting.pop() {
        if known.insert(next.output()) {
            let content = content(&next, &mut waiting).with_context(|| format!("cannot show {}", next.path()))?;
            files.insert(next.output(), content);
        }
    }
    Ok(files)
}

/// The content of a file in the site. Its link targets are added to `waiting`.
fn content(of: &Target, waiting: &mut Vec<Target>) -> Result<Vec<u8>> {
    let path = of.path();
    let text = || crate::page::read(&workspace_root().join(path));
    Ok(match of {
        Target::Document(_) => {
            let Document { title, body } = markdown::html(&text()?, |link| target::resolve(path, link, waiting))?;
            page(path, &title, &body).into_bytes()
        }
        Target::Source(_) => page(path, path, &markdown::source(path, &text()?)).into_bytes(),
        Target::Folder(_) => {
            page(&format!("{path}/index"), path, &markdown::listing(path, &target::names(path)?)).into_bytes()
        }
        Target::File(_) => fs::read(workspace_root().join(path))?,
    })
}

/// A page around the body. `path` is its location in the site.
fn page(path: &str, title: &str, body: &str) -> String {
    let up = "../".repeat(path.matches('/').count());
    let title = markdown::escaped(title);
    include_str!("site/page.html").replace("{{title}}", &title).replace("{{up}}", &up).replace("{{body}}", body)
}

/// Writes the files to a folder next to the named one, then replaces the named folder with it.
fn replace(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<()> {
    let is_empty = || fs::read_dir(folder).map(|mut entries| entries.next().is_none());
    if folder.exists() && !folder.join(MARK).exists() {
        ensure!(folder.is_dir(), "{}: this is a file; name a folder", folder.display());
        if !is_empty().with_context(|| format!("cannot read {}", folder.display()))? {
            bail!("{}: no run of this command made this folder; name a new one", folder.display());
        }
    }
    let absolute = std::path::absolute(folder).with_context(|| format!("no path: {}", folder.display()))?;
    let parent = absolute.parent().with_context(|| format!("{}: name a folder below another", folder.display()))?;
    fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    let made = tempfile::Builder::new()
        .prefix(".site-")
        .tempdir_in(parent)
        .with_context(|| format!("cannot write to {}", parent.display()))?;
    for (path, content) in files {
        let file = made.path().join(path);
        let parent = file.parent().expect("it is below the folder");
        fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
        fs::write(&file, content).with_context(|| format!("cannot write {}", file.display()))?;
    }
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    let made = made.keep();
    fs::rename(&made, folder).with_context(|| format!("cannot rename {} to {}", made.display(), folder.display()))?;
    // Only its user can read a temporary folder, and a server may be another user.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
            .with_context(|| format!("cannot open {} to other users", folder.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
