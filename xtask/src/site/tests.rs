use std::collections::{BTreeMap, BTreeSet};

use learn::host::puzzles::PUZZLES;

use super::*;

/// The pages of a site and their texts.
fn pages(files: &BTreeMap<String, Vec<u8>>) -> impl Iterator<Item = (&str, &str)> {
    let pages = files.iter().filter(|(path, _)| path.ends_with(".html"));
    pages.map(|(path, content)| (path.as_str(), str::from_utf8(content).unwrap()))
}

/// A link's path in the site and its anchor.
fn followed(from: &str, link: &str) -> (String, Option<String>) {
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor.to_owned())));
    let file = if path.is_empty() { Ok(from.to_owned()) } else { target::joined(from, path) };
    (file.unwrap_or_else(|error| panic!("{from}: {error}")), anchor)
}

#[test]
fn every_link_leads_to_a_file_and_an_anchor_of_the_site() {
    let files = site().unwrap();
    let mut reached = BTreeSet::from(["index.html".to_owned()]);
    let mut count = 0;
    for (page, text) in pages(&files) {
        for link in links::of_html(text) {
            if link.contains("://") || link.starts_with("data:") || link.contains("${") {
                continue;
            }
            let (path, anchor) = followed(page, &link);
            let content = files.get(&path).unwrap_or_else(|| panic!("{page}: no file is {link}"));
            if let Some(anchor) = anchor {
                let is_there = match anchor.split_once('=') {
                    // The lab's script reads these.
                    Some((name, puzzle)) => name == "puzzle" && PUZZLES.iter().any(|each| each.kernel.name == puzzle),
                    None => str::from_utf8(content).unwrap().contains(&format!("id=\"{anchor}\"")),
                };
                assert!(is_there, "{page}: {link}: no such anchor");
            }
            reached.insert(path);
            count += 1;
        }
    }
    assert!(count > 400, "{count}");
    let hidden = |path: &&String| !reached.contains(*path) && !path.starts_with('.');
    assert_eq!(files.keys().find(hidden), None, "no page links it");
}

#[test]
fn no_page_loads_anything_from_elsewhere() {
    let files = site().unwrap();
    for (page, text) in pages(&files) {
        for start in
            ["src=\"http", "src=\"//", "@import", "url(http", "<link rel=\"stylesheet\" href=\"http", "<iframe"]
        {
            // Sources are shown as text.
            assert!(!text.contains(start), "{page}: {start}");
        }
    }
}

#[test]
fn every_document_for_readers_is_in_the_site() {
    let files = site().unwrap();
    for folder in ["docs", "docs/learn", "rust-cuda/docs"] {
        for name in target::names(folder).unwrap().iter().filter(|name| name.ends_with(".md")) {
            let page = format!("{folder}/{}.html", name.trim_end_matches(".md"));
            assert!(files.contains_key(&page), "nothing links {folder}/{name}");
        }
    }
}

#[test]
fn a_folder_of_someone_else_is_left_alone() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("site");
    let files = |text: &str| BTreeMap::from([(MARK.to_owned(), Vec::new()), ("a/index.html".to_owned(), text.into())]);
    let page = || fs::read_to_string(folder.join("a/index.html")).unwrap();
    replace(&folder, &files("first")).unwrap();
    assert_eq!(page(), "first");
    fs::write(folder.join("old.html"), "").unwrap();
    replace(&folder, &files("second")).unwrap();
    assert_eq!(page(), "second");
    assert!(!folder.join("old.html").exists());
    fs::remove_file(folder.join(MARK)).unwrap();
    let error = replace(&folder, &files("third")).unwrap_err().to_string();
    assert!(error.contains("no run of this command made this folder"), "{error}");
    let file = parent.path().join("file");
    fs::write(&file, "mine").unwrap();
    assert!(replace(&file, &files("third")).unwrap_err().to_string().contains("this is a file"));
    assert_eq!((page().as_str(), fs::read_to_string(&file).unwrap().as_str()), ("second", "mine"));
    // An empty folder is used, and nothing is left next to it.
    let empty = parent.path().join("empty");
    fs::create_dir(&empty).unwrap();
    replace(&empty, &files("third")).unwrap();
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 3);
}
