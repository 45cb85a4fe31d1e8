//! Imports of macros that a kernel's body calls.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::visit::Visit;
use syn::{ItemUse, UseTree};

/// Items that use the imports of macros that the body calls, of which it has the paths: without these uses, the compiler would call
/// `use cuda_std::println;` unused. Nothing if the file does not import them by name.
pub(crate) fn uses(speaking: &[Ident]) -> TokenStream {
    let Some(first) = speaking.first() else { return TokenStream::new() };
    // Outside of a compiler's macro, as in tests, there is no file.
    let file = proc_macro::is_available().then(|| first.span().unwrap().local_file()).flatten();
    let Some(text) = file.and_then(|file| std::fs::read_to_string(file).ok()) else { return TokenStream::new() };
    let imported: Vec<&Ident> = speaking.iter().filter(|name| imports(&text, &name.to_string())).collect();
    if imported.is_empty() {
        return TokenStream::new();
    }
    // A module that does not import one takes it from `cuda_std`.
    quote! {
        const _: () = {
            #[allow(unused_imports, clippy::wildcard_imports)]
            mod imported {
                pub(super) use super::*;
                pub(super) use ::cuda_std::speech::macros::*;
            }
            #(#[allow(unused_imports)] use imported::#imported as _;)*
        };
    }
}

/// Whether `use` declarations of a source file import the macro `name` from `cuda_std` by its name, and none imports another under it:
/// with two, its use would be ambiguous.
fn imports(source: &str, name: &str) -> bool {
    let mut imports = Imports { name, ours: false, others: false };
    if let Ok(file) = syn::parse_file(source) {
        imports.visit_file(&file);
    }
    imports.ours && !imports.others
}

struct Imports<'a> {
    name: &'a str,
    /// Whether the macro of `cuda_std` is imported.
    ours: bool,
    /// Whether something else is imported under its name.
    others: bool,
}

impl Visit<'_> for Imports<'_> {
    fn visit_item_use(&mut self, item: &ItemUse) {
        let is_ours = matches!(&item.tree, UseTree::Path(path) if path.ident == "cuda_std");
        self.tree(&item.tree, is_ours);
    }
}

impl Imports<'_> {
    fn tree(&mut self, tree: &UseTree, is_ours: bool) {
        match tree {
            UseTree::Path(path) => self.tree(&path.tree, is_ours),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(tree, is_ours)),
            UseTree::Name(name) if name.ident == self.name && is_ours => self.ours = true,
            UseTree::Name(name) => self.others |= name.ident == self.name,
            UseTree::Rename(renamed) => self.others |= renamed.rename == self.name,
            UseTree::Glob(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_imports_from_cuda_std_by_name_count() {
        for (source, expected) in [
            ("use cuda_std::println;", true),
            ("mod a { fn f() { use ::cuda_std::{kernel, println}; } }", true),
            ("use cuda_std::*; use cuda_std::prelude::*; // println", false),
            ("use std::println; use cuda_std::{kernel};", false),
            ("use cuda_std::println; mod tests { use other::macros::{said as println}; }", false),
            ("use cuda_std::println as said;", false),
            ("use cuda_std::println", false),
        ] {
            assert_eq!(imports(source, "println"), expected, "{source}");
        }
    }
}
