//! Findings in the tokens of the sources, for a person to look at. They are not verdicts.
//!
//! Token streams include the contents of macros, and no syntax tree can get deep enough to overflow
//! a parser's stack.

mod calls;
mod imports;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use command_line::printable_line;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

use self::calls::{Function, Mention, Place};
use self::imports::Imports;
use super::submission::Sources;
use crate::starter::Part;

/// Returns the findings in all compiled sources, in the order of the parts and their files.
pub(super) fn find(sources: &Sources) -> Vec<String> {
    let ignored = sources.ignored.iter();
    let mut all: Vec<String> = ignored
        .map(|path| format!("{}: it would run while cargo compiles, and is not taken", path.display()))
        .chain(sources.notes.iter().cloned())
        .collect();
    for part in Part::ALL {
        of_package(&sources.of(part), &mut all);
    }
    let mut known = BTreeSet::new();
    all.retain(|finding| known.insert(finding.clone()));
    // A path or a message of the parser may quote any character.
    all.iter().map(|finding| printable_line(finding).into_owned()).collect()
}

fn of_package(sources: &[(PathBuf, String)], all: &mut Vec<String>) {
    let (mut files, mut imports, mut functions) = (Vec::new(), Imports::default(), Vec::new());
    // The programs are given and not compiled.
    for (path, text) in sources.iter().filter(|(path, _)| !path.ends_with("src/main.rs")) {
        match text.parse::<TokenStream>() {
            Ok(tokens) => {
                imports.add(tokens.clone(), 0);
                files.push((path, tokens));
            }
            Err(error) => all.push(format!("{} is not Rust: {error}", path.display())),
        }
    }
    for (path, tokens) in files {
        let mut finder = Finder { path, imports: &imports, function: None, functions: &mut functions, found: all };
        finder.visit(tokens, Context::default());
    }
    all.extend(calls::where_loops_were_asked_for(&functions));
}

/// Maximum nesting depth of brackets that is visited: the homework needs ten.
const MAX_DEPTH: usize = 100;

/// Names that a function of the homework does not need, with the reason why they are of interest.
const SUSPICIOUS: [(&[&str], &str); 12] = [
    (&["sleep", "sleep_ms", "sleep_until", "park", "park_timeout"], "it waits"),
    (&["exit", "abort"], "it ends the program"),
    (&["Command"], "it starts programs"),
    (&["process"], "it starts or ends programs"),
    (&["fs"], "it opens files"),
    (&["net"], "it opens connections"),
    (&["env", "option_env"], "it reads the environment"),
    (&["include", "include_str", "include_bytes"], "it reads files at compile time"),
    (&["spawn", "spawn_scoped", "spawn_unchecked"], "it starts a thread"),
    (&["ThreadPoolBuilder"], "it starts threads"),
    (&["catch_unwind", "set_hook", "take_hook"], "it hides panics"),
    (&["asm", "global_asm", "naked_asm"], "assembly"),
];

/// Whether a name starts a thread.
fn is_thread(name: &str) -> bool {
    matches!(name, "spawn" | "spawn_scoped")
}

/// Attributes that change what is compiled or linked, or that replace functions of the system.
const ATTRIBUTES: [(&[&str], &str); 3] = [
    (&["path"], "it takes a file from elsewhere"),
    (&["link_section", "link", "link_name"], "it changes how the program is linked"),
    (&["no_mangle", "export_name", "global_allocator", "panic_handler"], "it replaces functions of the system"),
];

/// Conditions that distinguish a GPU from a CPU. Kernels may use them.
const CONDITIONS: [(&[&str], &str); 1] =
    [(&["target_arch", "target_os"], "other code on another processor, outside of the kernels")];

fn why(table: &[(&[&str], &'static str)], name: &str) -> Option<&'static str> {
    table.iter().find(|(names, _)| names.contains(&name)).map(|(_, why)| *why)
}

/// Name of an identifier, without `r#`.
fn name_of(token: Option<&TokenTree>) -> Option<String> {
    let Some(TokenTree::Ident(ident)) = token else { return None };
    let name = ident.to_string();
    Some(name.strip_prefix("r#").map(str::to_owned).unwrap_or(name))
}

fn is_punct(token: Option<&TokenTree>, expected: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == expected)
}

fn is_group(token: Option<&TokenTree>, delimiter: Delimiter) -> bool {
    matches!(token, Some(TokenTree::Group(group)) if group.delimiter() == delimiter)
}

/// Whether `::` begins at a position.
fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    is_punct(tokens.get(at), ':') && is_punct(tokens.get(at + 1), ':')
}

/// Where the visited tokens are.
#[derive(Clone, Copy, Default)]
struct Context {
    is_attribute: bool,
    is_import: bool,
    depth: usize,
}

/// Visits the tokens of a file.
struct Finder<'a> {
    path: &'a Path,
    imports: &'a Imports,
    /// Index of the function that is being visited.
    function: Option<usize>,
    functions: &'a mut Vec<Function>,
    found: &'a mut Vec<String>,
}

impl Finder<'_> {
    fn add(&mut self, what: &str) {
        let function = self.function.map(|index| format!(", {}", self.functions[index].name)).unwrap_or_default();
        self.found.push(format!("{}{function}: {what}", self.path.display()));
    }

    fn enter(&mut self, name: String) {
        self.functions.push(Function { name, file: self.path.to_owned(), mentions: Vec::new() });
        self.function = Some(self.functions.len() - 1);
    }

    /// Visits tokens. The body of `fn NAME` belongs to that function. A constant of a module counts
    /// as a function that ends at its semicolon.
    fn visit(&mut self, tokens: TokenStream, mut context: Context) {
        if context.depth > MAX_DEPTH {
            return self.add("brackets that are nested too deep to be looked at");
        }
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let is_within_import = context.is_import;
        let (outer, mut named) = (self.function, None::<String>);
        for (i, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Ident(_) => {
                    let before = i.checked_sub(1).and_then(|before| name_of(tokens.get(before)));
                    let name = name_of(Some(token)).unwrap_or_default();
                    let is_macro = i > 1
                        && is_punct(tokens.get(i - 1), '!')
                        && name_of(tokens.get(i - 2)).is_some_and(|name| name == "macro_rules");
                    match name.as_str() {
                        _ if before.as_deref() == Some("fn") => named = Some(name),
                        _ if is_macro => named = Some(format!("{name}!")),
                        "use" => context.is_import = true,
                        "const" | "static" => {
                            let is_mutable = name == "static" && name_of(tokens.get(i + 1)).is_some_and(|n| n == "mut");
                            if is_mutable {
                                self.add("static mut: unsafe code");
                            }
                            let constant = name_of(tokens.get(if is_mutable { i + 2 } else { i + 1 }));
                            let constant = constant.filter(|name| !matches!(name.as_str(), "fn" | "unsafe" | "extern"));
                            // Excludes `<const N: usize>` and `*const T`.
                            let previous = i.checked_sub(1).and_then(|previous| tokens.get(previous));
                            let is_item = !matches!(previous, Some(TokenTree::Punct(punct)) if punct.as_char() != ';');
                            if let (None, true, Some(name)) = (outer, is_item, constant) {
                                self.enter(name);
                            }
                        }
                        "unsafe" => self.add("unsafe: unsafe code"),
                        "extern" => self.add("extern: code of another crate or language"),
                        _ => self.mention(&tokens, i, &name, context),
                    }
                }
                TokenTree::Group(group) => {
                    let is_body =
                        group.delimiter() == Delimiter::Brace || named.as_ref().is_some_and(|name| name.ends_with('!'));
                    let within = self.function;
                    if let Some(name) = named.take_if(|_| is_body) {
                        self.enter(name);
                    }
                    let is_attribute = group.delimiter() == Delimiter::Bracket
                        && (1..=2).any(|n| i >= n && is_punct(tokens.get(i - n), '#'));
                    let is_attribute = context.is_attribute || is_attribute;
                    self.visit(group.stream(), Context { is_attribute, depth: context.depth + 1, ..context });
                    self.function = within;
                }
                TokenTree::Punct(punct) if punct.as_char() == ';' => {
                    (named, context.is_import) = (None, is_within_import);
                    self.function = outer;
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
        self.function = outer;
    }

    /// Records a name that is not a keyword.
    fn mention(&mut self, tokens: &[TokenTree], at: usize, name: &str, context: Context) {
        let (previous, next) = (at.checked_sub(1).and_then(|before| tokens.get(before)), tokens.get(at + 1));
        let is_macro = is_punct(next, '!') && !is_punct(tokens.get(at + 2), '=');
        let is_turbofish = is_separator(tokens, at + 1) && is_punct(tokens.get(at + 3), '<');
        let is_called = is_group(next, Delimiter::Parenthesis) || is_turbofish || is_macro;
        let is_method = is_punct(previous, '.') && !(at > 1 && is_punct(tokens.get(at - 2), '.'));
        let is_after_path = at > 1 && is_separator(tokens, at - 2);
        let is_argument = (previous.is_none() || is_punct(previous, ',') || is_punct(previous, '='))
            && (next.is_none() || is_punct(next, ',') || is_punct(next, ';'));
        let place = if is_method && is_called {
            Place::Method
        } else if is_after_path {
            Place::Path(at.checked_sub(3).and_then(|before| name_of(tokens.get(before))).unwrap_or_default())
        } else if is_called || is_argument && self.imports.has(name) {
            Place::Call
        } else {
            Place::Value
        };
        let meanings = self.imports.meanings(name);
        let is_of_path = place != Place::Value || is_separator(tokens, at + 1) || context.is_import;
        // The workers of this part are threads.
        let starts_threads = self.path.starts_with(Part::Augmentation.package());
        let is_kernel = self.path.ends_with("src/kernel.rs") || self.path.ends_with("src/kernels.rs");
        for meaning in &meanings {
            let reason =
                match why(&SUSPICIOUS, meaning).filter(|_| is_of_path && !(starts_threads && is_thread(meaning))) {
                    None if context.is_attribute => why(&ATTRIBUTES, meaning),
                    reason => reason,
                };
            let reason = reason.or_else(|| why(&CONDITIONS, meaning).filter(|_| !is_kernel));
            if let Some(reason) = reason {
                let alias = if meaning == name { String::new() } else { format!(", as {name}") };
                self.add(&format!("{meaning}{alias}: {reason}"));
            }
        }
        if let Some(function) = self.function.filter(|_| !context.is_attribute && !context.is_import) {
            let name = if is_macro { format!("{name}!") } else { name.to_owned() };
            let meanings = if is_macro { [name.clone()].into() } else { meanings };
            self.functions[function].mentions.push(Mention { name, meanings, place });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::starter::Assignment;

    fn found_in_files(files: &[(&str, &str)]) -> Vec<String> {
        let files = files.iter().map(|(path, text)| (path.into(), (*text).to_owned())).collect();
        find(&Sources { files, ..Sources::default() })
    }

    fn found_in(text: &str) -> Vec<String> {
        found_in_files(&[("max_functions/src/trivial.rs", text)])
    }

    #[test]
    fn grade_finds_library_calls_in_trivial_functions_only() {
        let found = found_in("fn max_cpu(a: i32, b: i32) -> i32 { a.max(b) }\nfn other(a: i32) -> i32 { a.max(0) }");
        assert_eq!(found, ["max_functions/src/trivial.rs, max_cpu: it calls max, where loops were asked for"]);
        let found = found_in("fn max_cpu(a: i32, b: i32) -> i32 { std::cmp::max(a, b) }");
        assert_eq!(found.len(), 1);
        for none in [
            "fn max_cpu(a: i32, b: i32) -> i32 { let max = if a > b { a } else { b }; max }",
            "fn max_cpu(a: i32, b: i32) -> i32 { max(a, b) } fn max(a: i32, b: i32) -> i32 { if a > b { a } else { b } }",
            "fn max_cpu() { other() } fn other() {} fn f(a: i32) -> i32 { a.max(0) }",
        ] {
            assert_eq!(found_in(none), [""; 0], "{none}");
        }
    }

    #[test]
    fn grade_follows_the_calls_of_trivial_functions() {
        let shape = "fn larger(a: i32, b: i32) -> i32 { a.max(b) }";
        for trivial in [
            "use crate::shape::larger; fn max_cpu() { larger(a, b) }",
            "use crate::shape::larger as f; fn max_cpu() { f(a, b) }",
            "fn max_cpu() { crate::shape::larger(a, b) }",
            "fn max_cpu() { c.push(a.larger(b)) }",
            "use crate::shape::larger; fn max_cpu() { apply(a, larger) }",
            "use crate::shape::larger; fn max_cpu() { let f = larger; }",
        ] {
            let files = [("max_functions/src/shape.rs", shape), ("max_functions/src/trivial.rs", trivial)];
            let expected = "max_functions/src/trivial.rs: max_cpu calls larger (shape.rs), which calls max, where loops were asked for";
            assert_eq!(found_in_files(&files), [expected], "{trivial}");
        }
        let product = "matmul_functions/src/trivial.rs: matmul_transpose_trivial calls ";
        for (text, expected) in [
            (
                "fn matmul_transpose_trivial() { a() } fn a() { b() } fn b() { a(); x.dot(y) }",
                "a (trivial.rs), which calls b (trivial.rs), which calls dot, where loops were asked for",
            ),
            (
                "fn matmul_transpose_trivial() { sum_up!(x) } macro_rules! sum_up { ($x:expr) => { $x.iter().sum() } }",
                "sum_up! (trivial.rs), which calls sum, where loops were asked for",
            ),
            (
                "const F: fn(f32) = X::fold; fn matmul_transpose_trivial() { F(x) }",
                "F (trivial.rs), which calls fold, where loops were asked for",
            ),
        ] {
            let found = found_in_files(&[("matmul_functions/src/trivial.rs", text)]);
            assert_eq!(found, [format!("{product}{expected}")], "{text}");
        }
    }

    #[test]
    fn grade_sees_library_calls_by_other_names() {
        for (text, call) in [
            ("use std::cmp::max as larger; fn max_cpu() { larger(a, b) }", "max (as larger)"),
            ("use std::cmp::{min, max as larger}; fn max_cpu() { f(larger) }", "max (as larger)"),
            ("use std::cmp::max; fn max_cpu() { f(a, max) }", "max"),
            ("fn max_cpu() { a.r#max(b) }", "max"),
            ("fn max_cpu() { f(a, i32::max) }", "max"),
            ("fn max_cpu() { <i32 as Ord>::max(a, b) }", "max"),
            ("fn max_cpu() { vec![a.max(b)] }", "max"),
            ("fn max_cpu() { a.fold::<i32>(b) }", "fold"),
        ] {
            let expected =
                format!("max_functions/src/trivial.rs, max_cpu: it calls {call}, where loops were asked for");
            assert_eq!(found_in(text), [expected], "{text}");
        }
    }

    #[test]
    fn grade_finds_what_the_homework_does_not_need() {
        for (text, part) in [
            ("fn f() { std::thread::sleep(t) }", "f: sleep: it waits"),
            ("fn f() { std::process::exit(0) }", "f: exit: it ends the program"),
            ("fn f() { std::process::r#exit(0) }", "f: exit: it ends the program"),
            ("use std::process::exit as quit; fn f() { quit(0) }", "f: exit, as quit: it ends the program"),
            ("use std::{process as p}; fn f() { p::id() }", "f: process, as p: it starts or ends programs"),
            ("use std::fs; fn f() { fs::read(\"x\"); }", "f: fs: it opens files"),
            ("use std::{fs, net};", "trivial.rs: net: it opens connections"),
            ("fn f() { unsafe { g() } }", "f: unsafe: unsafe code"),
            ("#[unsafe(no_mangle)] fn f() {}", "no_mangle: it replaces functions of the system"),
            ("#[unsafe(link_section = \".init_array\")] static F: fn() = f;", "link_section: it changes how"),
            ("#[path = \"/etc/x.rs\"] mod x;", "path: it takes a file from elsewhere"),
            ("#[cfg_attr(all(), path = \"/etc/x.rs\")] mod x;", "path: it takes a file from elsewhere"),
            ("const X: &str = include_str!(\"/etc/passwd\");", "X: include_str: it reads files at compile time"),
            ("include!(\"/etc/passwd\");", "include: it reads files at compile time"),
            (
                "impl<const N: usize> F<N> { fn f(a: *const u8) { g() } } fn h() { exit(0) }",
                "h: exit: it ends the program",
            ),
            ("impl<const N: usize> F<N> { unsafe fn f() {} }", "trivial.rs: unsafe: unsafe code"),
            ("const X: &str = env!(\"HOME\");", "env: it reads the environment"),
            ("fn f() { option_env!(\"HOME\"); }", "option_env: it reads the environment"),
            ("unsafe extern \"C\" { fn getpid() -> i32; }", "extern: code of another crate or language"),
            ("fn f() { core::arch::asm!(\"nop\") }", "f: asm: assembly"),
            ("static mut COUNT: u32 = 0;", "static mut: unsafe code"),
            ("fn f() { std::thread::spawn(|| {}); }", "f: spawn: it starts a thread"),
            ("fn f() { s.spawn(|| {}); }", "f: spawn: it starts a thread"),
            ("fn f() { std::panic::catch_unwind(|| {}); }", "f: catch_unwind: it hides panics"),
            ("#[cfg(target_arch = \"x86_64\")] fn f() {}", "target_arch: other code on another processor"),
            ("fn f() { if cfg!(target_arch = \"x86_64\") {} }", "f: target_arch: other code on another processor"),
            ("macro_rules! m { () => { std::process::exit(0) } }", "m!: exit: it ends the program"),
            ("fn f( {", "is not Rust"),
        ] {
            let found = found_in(text);
            assert!(found.iter().any(|finding| finding.contains(part)), "{text}: {found:?}");
        }
    }

    #[test]
    fn grade_does_not_find_names_of_the_students_own() {
        for text in
            ["fn f() { let net = train(); let path = net.process; net }", "#[inline] fn f(exit: bool, env: &[f32]) {}"]
        {
            assert_eq!(found_in(text), [""; 0], "{text}");
        }
        let kernel = "#[cfg(target_arch = \"nvptx64\")] fn f() {}";
        assert_eq!(found_in_files(&[("max_functions/src/kernel.rs", kernel)]), [""; 0]);
        let program = "use std::process::ExitCode;";
        assert_eq!(found_in_files(&[("max_functions/src/main.rs", program)]), [""; 0]);
    }

    #[test]
    fn grade_finds_nothing_in_the_solutions() {
        let folder = tempfile::tempdir().unwrap();
        let homework = folder.path().join("homework");
        crate::starter::write(&homework, &Part::ALL, true).unwrap();
        for assignment in Assignment::ALL {
            let sources = super::super::submission::read(&homework, assignment).unwrap();
            assert_eq!(find(&sources), [""; 0], "{assignment:?}");
        }
    }

    #[test]
    fn grade_looks_at_deep_brackets_without_an_overflow() {
        let text = format!("fn f() {{ {}1{} }}", "(".repeat(200_000), ")".repeat(200_000));
        let found = found_in(&text);
        assert_eq!(found, ["max_functions/src/trivial.rs, f: brackets that are nested too deep to be looked at"]);
        assert_eq!(found_in(&format!("const X: bool = {}true;", "!".repeat(200_000))), [""; 0]);
    }
}
