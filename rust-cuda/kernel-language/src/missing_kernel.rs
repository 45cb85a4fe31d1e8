//! The error if the sources have no kernel of a given name.

use std::collections::BTreeMap;

use crate::names::nearest;
use crate::refusal::{Checked, Place};
use crate::source::{Function, Program};

impl Program {
    /// Reports that there is no kernel of this name, at the place where it was probably intended.
    pub(crate) fn no_kernel<T>(&self, files: &BTreeMap<String, String>, name: &str) -> Checked<T> {
        if let Some(function) = self.functions.iter().find(|function| function.item.sig.ident == name) {
            let reason = format!("`{name}` is not marked as a kernel: write `#[kernel]` in the line above this one");
            return function.place.refused(reason);
        }
        let kernels = || self.functions.iter().filter(|function| function.is_kernel);
        // The comment that names a kernel to be written.
        let mark = self.mark(files, name);
        let around = mark.and_then(|mark| kernels().find(|kernel| self.is_around(kernel, mark)));
        let names: Vec<String> = kernels().map(|kernel| kernel.item.sig.ident.to_string()).collect();
        let near = nearest(name, names.iter().map(String::as_str));
        let similar = || kernels().find(|kernel| near.is_some_and(|near| kernel.item.sig.ident == near));
        let only = || kernels().next().filter(|_| names.len() == 1 && mark.is_none());
        if let Some(renamed) = around.or_else(similar).or_else(only) {
            let reason = format!("the kernel must be called `{name}`: write `pub fn {name}(…)` in this line");
            return renamed.place.refused(reason);
        }
        let reason =
            format!("there is no kernel `{name}`: write `#[kernel]`, and `pub fn {name}(…) {{` in the next line");
        match mark {
            Some(mark) => mark.refused(reason + ", above this one"),
            None => Place::default().refused(reason),
        }
    }

    /// The place of the comment `// write: NAME`.
    fn mark(&self, files: &BTreeMap<String, String>, name: &str) -> Option<Place> {
        files.values().enumerate().find_map(|(file, text)| {
            let mut lines = text.lines().enumerate();
            lines.find_map(|(index, line)| {
                let (before, of) = line.split_once("// write:")?;
                let column = before.chars().count() as u32 + 1;
                (of.trim() == name).then_some(Place { file, line: index as u32 + 1, column })
            })
        })
    }

    fn is_around(&self, function: &Function, place: Place) -> bool {
        let end = Place::behind(function.place.file, function.item.block.brace_token.span.close());
        place.file == end.file && (function.place.line..=end.line).contains(&place.line)
    }
}
