//! The names that `use` brings into a package, and what they mean.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};

use super::{MAX_DEPTH, is_punct, name_of};

/// Imported names, and what each may mean in any file of a package: the name itself, and the names
/// it is an alias of.
#[derive(Debug, Default)]
pub(super) struct Imports(BTreeMap<String, BTreeSet<String>>);

impl Imports {
    /// Adds the `use` statements in tokens, including those in functions and macros.
    pub(super) fn add(&mut self, tokens: TokenStream, depth: usize) {
        let (mut is_import, mut statement) = (false, Vec::new());
        for token in tokens {
            match &token {
                TokenTree::Ident(ident) if ident == "use" => is_import = true,
                _ if is_import && is_punct(Some(&token), ';') => {
                    self.add_statement(&std::mem::take(&mut statement), None, depth);
                    is_import = false;
                }
                _ if is_import => statement.push(token),
                TokenTree::Group(group) if depth < MAX_DEPTH => self.add(group.stream(), depth + 1),
                _ => {}
            }
        }
    }

    /// Adds the names of a `use` statement, or of a group within one that follows the name
    /// `parent`.
    fn add_statement(&mut self, tokens: &[TokenTree], parent: Option<&str>, depth: usize) {
        let (mut last, mut is_alias): (Option<String>, bool) = (None, false);
        for (i, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) if depth < MAX_DEPTH => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    self.add_statement(&inner, last.as_deref(), depth + 1);
                }
                TokenTree::Ident(ident) if ident == "as" => is_alias = true,
                TokenTree::Ident(_) => {
                    let name = name_of(Some(token));
                    let meaning = match (is_alias, last.as_deref()) {
                        (true, Some("self")) => parent.map(str::to_owned),
                        (true, _) => last.take(),
                        (false, _) => {
                            let is_last = tokens.get(i + 1).is_none() || is_punct(tokens.get(i + 1), ',');
                            name.clone().filter(|_| is_last)
                        }
                    };
                    if let Some((name, meaning)) = name.clone().zip(meaning) {
                        self.0.entry(name).or_default().insert(meaning);
                    }
                    (last, is_alias) = (name, false);
                }
                _ => {}
            }
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// What a name may mean: the name itself, and the names it is an alias of.
    pub(super) fn meanings(&self, name: &str) -> BTreeSet<String> {
        let (mut meanings, mut open) = (BTreeSet::from([name.to_owned()]), vec![name.to_owned()]);
        while let Some(name) = open.pop() {
            for meaning in self.0.get(&name).into_iter().flatten() {
                if meanings.insert(meaning.clone()) {
                    open.push(meaning.clone());
                }
            }
        }
        meanings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grade_sees_through_aliases() {
        let mut imports = Imports::default();
        let text =
            "pub use std::process::{self as p, exit as quit, Command}; fn f() { use quit as q; let x = 1 as f32; }";
        imports.add(text.parse().unwrap(), 0);
        let of = |name| imports.meanings(name).into_iter().collect::<Vec<_>>();
        assert_eq!(of("p"), ["p", "process"]);
        assert_eq!(of("q"), ["exit", "q", "quit"]);
        assert_eq!(of("x"), ["x"]);
        assert!(imports.has("Command") && !imports.has("std") && !imports.has("f32"));
    }
}
