//! Checks on the source text of the code under test, for properties that results do not show:
//! whether it divides its work among threads, and whether it has its own loops. Words in comments
//! and strings do not count. Nothing is checked if the file is not next to the tests, as in a
//! grader.

use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Checks that a file of the package calls something that distributes work among threads.
///
/// # Errors
/// A message if no code in the file does.
pub fn divides_work(package: &Path, file: &str) -> Result<(), String> {
    let starts_threads = |word: &str| {
        word.starts_with("par_") || word.contains("_par_") || ["spawn", "scope", "join", "broadcast"].contains(&word)
    };
    let mut divides = false;
    let is_there = visit(package, file, &mut |word, _| divides |= starts_threads(word));
    match is_there && !divides {
        true => {
            Err(format!("{file} computes on one thread, expected a call that divides the work, such as `par_for_each`"))
        }
        false => Ok(()),
    }
}

/// Checks that a file of the package does not leave a product to a library.
///
/// # Errors
/// A message if it calls ndarray's product.
pub fn has_own_loops(package: &Path, file: &str) -> Result<(), String> {
    let mut call = None;
    let mut note = |word: &str, is_method: bool| {
        if word == "dot" && is_method || ["general_mat_mul", "general_mat_vec_mul", "Dot"].contains(&word) {
            call = Some(word.to_owned());
        }
    };
    visit(package, file, &mut note);
    call.map_or(Ok(()), |word| Err(format!("{file} calls ndarray's `{word}`, expected three loops of your own")))
}

/// Calls `note` for each word of a file and tells it whether the word is a method call. Returns
/// whether the file exists and is valid Rust.
fn visit(package: &Path, file: &str, note: &mut dyn FnMut(&str, bool)) -> bool {
    let text = std::fs::read_to_string(package.join(file)).ok();
    let tokens = text.and_then(|text| text.parse::<TokenStream>().ok());
    tokens.map(|tokens| visit_tokens(tokens, note)).is_some()
}

fn visit_tokens(tokens: TokenStream, note: &mut dyn FnMut(&str, bool)) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => visit_tokens(group.stream(), note),
            TokenTree::Ident(word) => {
                let before = index.checked_sub(1).map(|before| &tokens[before]);
                let follows_dot = matches!(before, Some(TokenTree::Punct(mark)) if mark.as_char() == '.');
                let is_called = matches!(tokens.get(index + 1), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
                note(&word.to_string(), follows_dot && is_called);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A package with this file.
    fn package(text: &str) -> tempfile::TempDir {
        let package = tempfile::TempDir::new().unwrap();
        std::fs::write(package.path().join("lib.rs"), text).unwrap();
        package
    }

    #[test]
    fn code_on_one_thread_is_found() {
        let divides = |text: &str| divides_work(package(text).path(), "lib.rs");
        for text in [
            "fn f() { Zip::from(&mut c).and(a).par_for_each(|c, a| *c = a) }",
            "fn f() { c.outer_iter_mut().into_par_iter().for_each(g) }",
            "fn f() { rayon::join(g, h); }",
            "fn f() { std::thread::scope(|scope| g(scope)) }",
            "fn f() { azip::par_azip!((c in c) g()) }",
        ] {
            assert_eq!(divides(text), Ok(()), "{text}");
        }
        for text in [
            "use rayon::prelude::*; /// par_for_each\nfn f() { Zip::from(&mut c).and(a).for_each(|c, a| *c = a) }",
            "fn f() { // into_par_iter\n \"par_iter\"; max_cpu(a, b) }",
        ] {
            let error = "lib.rs computes on one thread, expected a call that divides the work, such as `par_for_each`";
            assert_eq!(divides(text), Err(error.to_owned()), "{text}");
        }
        assert_eq!(divides_work(Path::new("/nowhere"), "lib.rs"), Ok(()));
    }

    #[test]
    fn a_product_of_the_library_is_found() {
        let own = |text: &str| has_own_loops(package(text).path(), "lib.rs");
        for text in [
            "fn f() { let mut dot = 0.0; for k in 0..n { dot += x[[i, k]] * x[[j, k]]; } }",
            "fn f() { c[[i, j]] = dot(x.row(i), x.row(j)); } // x.dot(&x.t())",
            "fn f() { v.dot.len() }",
        ] {
            assert_eq!(own(text), Ok(()), "{text}");
        }
        for (text, word) in [
            ("fn f() { x.dot(&x.t()) }", "dot"),
            ("fn f() { for i in 0..m { c = x.row(i) . dot (&y); } }", "dot"),
            ("fn f() { ndarray::linalg::general_mat_mul(1.0, x, y, 0.0, c) }", "general_mat_mul"),
            ("use ndarray::linalg::Dot; fn f() { Dot::dot(x, y) }", "Dot"),
        ] {
            let error = format!("lib.rs calls ndarray's `{word}`, expected three loops of your own");
            assert_eq!(own(text), Err(error), "{text}");
        }
    }
}
