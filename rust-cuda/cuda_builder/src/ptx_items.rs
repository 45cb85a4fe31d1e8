//! The functions in a PTX text, and the references between them.

use std::collections::{BTreeMap, BTreeSet};

/// A function or its declaration together with the comment in front of it, or the lines between two
/// functions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item<'a> {
    pub(crate) text: &'a str,
    /// The function's name; None for lines between functions.
    pub(crate) function: Option<&'a str>,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Entry,
    Definition,
    Declaration,
    Other,
}

/// Splits a text into items, in order and without gaps.
pub(crate) fn items(text: &str) -> Vec<Item<'_>> {
    let mut items = Vec::new();
    let (mut start, mut position) = (0, 0);
    // The current function: its name, whether it is an entry, and whether its body has begun.
    let mut open: Option<(&str, bool, bool)> = None;
    for line in text.split_inclusive('\n') {
        let end = position + line.len();
        match open {
            None => {
                if let Some((name, is_entry)) = begins_function(line) {
                    let comment = format!("\t// .globl\t{name}");
                    let before = text[start..position].trim_end_matches('\n');
                    let last = start + before.rfind('\n').map_or(0, |newline| newline + 1);
                    let is_comment = text[last..position]
                        .strip_prefix(&comment)
                        .is_some_and(|rest| !rest.starts_with(is_in_identifier));
                    let begin = if is_comment { last } else { position };
                    items.push(Item { text: &text[start..begin], function: None, kind: Kind::Other });
                    (start, open) = (begin, Some((name, is_entry, false)));
                    let kind = match line.trim_end() {
                        declared if declared.ends_with(';') => Some(Kind::Declaration),
                        // A body on the same line.
                        whole if whole.ends_with('}') && is_entry => Some(Kind::Entry),
                        whole if whole.ends_with('}') => Some(Kind::Definition),
                        _ => None,
                    };
                    if let Some(kind) = kind {
                        items.push(Item { text: &text[start..end], function: Some(name), kind });
                        (start, open) = (end, None);
                    }
                }
            }
            Some((name, is_entry, has_body)) => {
                let trimmed = line.trim_end();
                if trimmed == "{" {
                    open = Some((name, is_entry, true));
                }
                let kind = match trimmed {
                    "}" if is_entry => Some(Kind::Entry),
                    "}" => Some(Kind::Definition),
                    _ if !has_body && trimmed.ends_with(';') => Some(Kind::Declaration),
                    _ => None,
                };
                if let Some(kind) = kind {
                    items.push(Item { text: &text[start..end], function: Some(name), kind });
                    (start, open) = (end, None);
                }
            }
        }
        position = end;
    }
    items.push(Item { text: &text[start..], function: None, kind: Kind::Other });
    items
}

/// The name of the function that begins on this line, and whether it is an entry.
fn begins_function(line: &str) -> Option<(&str, bool)> {
    if line.starts_with(['\t', ' ', '/']) {
        return None;
    }
    if let Some((_, after)) = line.split_once(".entry ") {
        return Some((identifier(after), true));
    }
    let (_, mut after) = line.split_once(".func ")?;
    // Skip the return parameters.
    after = after.trim_start();
    if after.starts_with('(') {
        after = after.split_once(')')?.1.trim_start();
    }
    Some((identifier(after), false))
}

fn identifier(text: &str) -> &str {
    text.split(|c: char| !is_in_identifier(c)).next().unwrap_or_default()
}

/// Whether a character is part of an identifier or a register's name.
pub(crate) fn is_in_identifier(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%')
}

/// The functions that each function's body mentions.
pub(crate) fn mentions<'a>(items: &[Item<'a>]) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let names: BTreeSet<&str> = items.iter().filter_map(|item| item.function).collect();
    let mut mentioned: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for item in items.iter().filter(|item| matches!(item.kind, Kind::Entry | Kind::Definition)) {
        let found = item.words().filter_map(|word| names.get(word).copied());
        mentioned.entry(item.function.unwrap_or_default()).or_default().extend(found);
    }
    mentioned
}

/// The functions in `start` and all functions that they mention, directly or indirectly.
pub(crate) fn reached_from<'a>(
    start: impl IntoIterator<Item = &'a str>,
    mentions: &BTreeMap<&'a str, BTreeSet<&'a str>>,
) -> BTreeSet<&'a str> {
    let (mut reached, mut pending) = (BTreeSet::new(), Vec::from_iter(start));
    while let Some(name) = pending.pop() {
        if reached.insert(name) {
            pending.extend(mentions.get(name).into_iter().flatten());
        }
    }
    reached
}

impl<'a> Item<'a> {
    /// The words in its code, without comments.
    pub(crate) fn words(self) -> impl Iterator<Item = &'a str> {
        let code = self.text.lines().map(|line| line.split("//").next().unwrap_or_default());
        code.flat_map(|line| line.split(|c: char| !is_in_identifier(c))).filter(|word| !word.is_empty())
    }
}
