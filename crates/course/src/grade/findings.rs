//! What a person should look at, found in the syntax of the sources: findings, not verdicts.

use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::submission::Sources;

/// The findings in all sources, in the order of their files.
pub(super) fn of(sources: &Sources) -> Vec<String> {
    let ignored = sources.ignored.iter();
    let mut all: Vec<String> = ignored
        .map(|path| format!("{}: it would run while cargo compiles, and is not taken", path.display()))
        .chain(sources.notes.iter().cloned())
        .collect();
    for (path, text) in &sources.files {
        match (syn::parse_file(text), text.parse::<TokenStream>()) {
            (Ok(_), Ok(tokens)) => {
                let mut finder = Finder { path, function: None, found: Vec::new() };
                finder.visit(tokens);
                all.extend(finder.found);
            }
            (Err(error), _) => all.push(format!("{} is not Rust: {error}", path.display())),
            (_, Err(error)) => all.push(format!("{} is not Rust: {error}", path.display())),
        }
    }
    all.dedup();
    all
}

struct Finder<'a> {
    path: &'a Path,
    /// The function that is visited.
    function: Option<String>,
    found: Vec<String>,
}

/// Functions that must be written in loops, and the library calls that would do their work.
const TRIVIAL: [(&str, &[&str]); 2] = [
    ("max_cpu", &["max", "max_by", "fold", "clamp", "zip_mut_with", "map_collect", "map_inplace", "mapv"]),
    ("matmul_transpose_trivial", &["dot", "sum", "general_mat_mul", "fold"]),
];

/// Names that a function of the homework does not need, and why they are of interest.
const SUSPICIOUS: [(&str, &str); 11] = [
    ("sleep", "it waits"),
    ("exit", "it ends the program"),
    ("abort", "it ends the program"),
    ("Command", "it starts programs"),
    ("fs", "it opens files"),
    ("net", "it opens connections"),
    ("env", "it reads the environment"),
    ("include", "it reads files at compile time"),
    ("include_str", "it reads files at compile time"),
    ("include_bytes", "it reads files at compile time"),
    ("unsafe", "unsafe code"),
];

impl Finder<'_> {
    fn add(&mut self, what: &str) {
        let function = self.function.as_deref().map(|name| format!(", {name}")).unwrap_or_default();
        self.found.push(format!("{}{function}: {what}", self.path.display()));
    }

    /// Visits tokens: the body of `fn NAME` is that function's.
    fn visit(&mut self, tokens: TokenStream) {
        let (mut named, mut before) = (None, None);
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match &token {
                TokenTree::Ident(ident) => {
                    let name = ident.to_string();
                    if matches!(&before, Some(TokenTree::Ident(keyword)) if keyword == "fn") {
                        named = Some(name);
                    } else {
                        let is_called = matches!(tokens.peek(), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
                        self.name(&name, is_called);
                    }
                }
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && named.is_some() => {
                    let outer = std::mem::replace(&mut self.function, named.take());
                    self.visit(group.stream());
                    self.function = outer;
                }
                TokenTree::Group(group) => self.visit(group.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
            before = Some(token);
        }
    }

    fn name(&mut self, name: &str, is_called: bool) {
        let trivial = TRIVIAL.iter().find(|(function, _)| self.function.as_deref() == Some(*function));
        if is_called && trivial.is_some_and(|(_, calls)| calls.contains(&name)) {
            self.add(&format!("it calls {name}, where loops were asked for"));
        }
        if let Some((_, why)) = SUSPICIOUS.iter().find(|(suspicious, _)| *suspicious == name) {
            self.add(&format!("{name}: {why}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(text: &str) -> Vec<String> {
        let files = [("max_functions/src/trivial.rs".into(), text.to_owned())].into();
        of(&Sources { files, ..Sources::default() })
    }

    #[test]
    fn grade_finds_library_calls_in_trivial_functions_only() {
        let found = found_in("fn max_cpu(a: i32, b: i32) -> i32 { a.max(b) }\nfn other(a: i32) -> i32 { a.max(0) }");
        assert_eq!(found, ["max_functions/src/trivial.rs, max_cpu: it calls max, where loops were asked for"]);
        let found = found_in("fn max_cpu(a: i32, b: i32) -> i32 { std::cmp::max(a, b) }");
        assert_eq!(found.len(), 1);
        assert_eq!(found_in("fn max_cpu(a: i32, b: i32) -> i32 { if a > b { a } else { b } }"), [""; 0]);
    }

    #[test]
    fn grade_finds_what_the_homework_does_not_need() {
        for (text, part) in [
            ("fn f() { std::thread::sleep(t) }", "it waits"),
            ("fn f() { std::process::exit(0) }", "it ends the program"),
            ("use std::fs; fn f() { fs::read(\"x\"); }", "it opens files"),
            ("fn f() { unsafe { g() } }", "unsafe code"),
            ("const X: &str = include_str!(\"/etc/passwd\");", "compile time"),
            ("fn f( {", "is not Rust"),
        ] {
            let found = found_in(text);
            assert!(found.iter().any(|finding| finding.contains(part)), "{text}: {found:?}");
        }
    }
}
