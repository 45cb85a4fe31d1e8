//! The files of a crate form layers, except for [`PAIRS`]: there is no circle of files in which
//! each one refers to the next.
//!
//! A file refers to everything that its code names by a path or an import, wherever that is
//! defined. A module declaration or a re-export is not a reference, so a parent does not depend on
//! its children by declaring them. A module contains its children. A child's reference to the files
//! above it is not an edge either, so circles only occur among siblings and their parts. Method
//! calls are not followed, since they do not name their files, and test code is ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Item, ItemMod, UseTree, Visibility};

/// The pairs of files in a folder that still refer to each other, by path. Do not add any.
const PAIRS: &[(&str, [&str; 2])] = &[
    ("neural-net/perceptron/src/engine", ["cpu/gradients.rs", "ranks.rs"]),
    ("rust-cuda/cuda_launch/src/message", ["format.rs", "value.rs"]),
    ("rust-cuda/cuda_std/src", ["launcher.rs", "simulator/buffer.rs"]),
    ("rust-cuda/cuda_std/src", ["scalar.rs", "signature.rs"]),
    ("rust-cuda/cuda_std_macros/src", ["body.rs", "brackets.rs"]),
    ("rust-cuda/gpu/src", ["capture.rs", "interpreter.rs"]),
    ("rust-cuda/kernel-debugger/src", ["lines.rs", "names.rs"]),
    ("rust-cuda/kernel-language/src", ["check/mod.rs", "constants.rs"]),
    ("rust-cuda/ptx-interpreter/src/machine", ["fidelity.rs", "report.rs"]),
    ("rust-cuda/ptx-interpreter/src/memory", ["access_error.rs", "extent.rs"]),
    ("rust-cuda/ptx-interpreter/src/memory", ["initialised.rs", "region.rs"]),
    ("rust-cuda/ptx-interpreter/src/program", ["image.rs", "instruction.rs"]),
];

/// Names of modules and items, starting at the crate's root or at a module.
type Names = Vec<String>;

/// Edges between files, each with a name through which the first refers to the second.
type Edges = BTreeMap<PathBuf, BTreeMap<PathBuf, String>>;

/// A module of a crate.
#[derive(Default)]
struct Module {
    file: PathBuf,
    children: BTreeSet<String>,
    items: BTreeSet<String>,
    /// Imports and re-exports: the name in the module, and its path.
    imports: BTreeMap<String, Names>,
    globs: Vec<Names>,
    /// The paths that its code and private imports refer to.
    references: BTreeSet<Names>,
}

/// The modules of a crate, by their names starting at the root.
#[derive(Default)]
struct Crate {
    modules: BTreeMap<Names, Module>,
}

/// What a path resolves to.
enum Target {
    Module(Names),
    /// An item defined in this file.
    Item(PathBuf),
}

impl Crate {
    fn read(root: &Path) -> Self {
        let mut modules = Self::default();
        let folder = root.parent().expect("a file in a folder").to_owned();
        modules.add_file(Vec::new(), root.to_owned(), &folder);
        modules
    }

    /// Adds the module in a file. The files of its child modules are in `folder`.
    fn add_file(&mut self, module: Names, file: PathBuf, folder: &Path) {
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.add_items(module, &file, folder, &parsed.items);
    }

    fn add_items(&mut self, name: Names, file: &Path, folder: &Path, items: &[Item]) {
        let mut module = Module { file: file.to_owned(), ..Module::default() };
        for item in items.iter().filter(|item| !is_test(attributes(item))) {
            module.items.extend(defined_name(item));
            match item {
                Item::Use(import) => {
                    let is_private = matches!(import.vis, Visibility::Inherited);
                    add_import(&mut module, &mut Vec::new(), &import.tree, is_private);
                }
                Item::Mod(child) => {
                    module.children.insert(child.ident.to_string());
                    self.add_child(&name, file, folder, child);
                }
                item => add_paths(&mut module.references, item.to_token_stream()),
            }
        }
        self.modules.insert(name, module);
    }

    fn add_child(&mut self, parent: &Names, file: &Path, folder: &Path, child: &ItemMod) {
        let name = child.ident.to_string();
        let names = [&parent[..], std::slice::from_ref(&name)].concat();
        let inner = folder.join(&name);
        if let Some((_, items)) = &child.content {
            return self.add_items(names, file, &inner, items);
        }
        let beside = file.parent().expect("a file in a folder");
        let by_attribute = path_attribute(&child.attrs).map(|path| beside.join(path));
        let candidates = [by_attribute, Some(folder.join(format!("{name}.rs"))), Some(inner.join("mod.rs"))];
        if let Some(path) = candidates.into_iter().flatten().find(|path| path.is_file()) {
            self.add_file(names, path, &inner);
        }
    }

    /// Resolves a path in a module. `None` if it leads outside the crate.
    fn resolve(&self, module: &Names, path: &[String], depth: usize) -> Option<Target> {
        let (first, mut rest) = path.split_first()?;
        let mut target = match first.as_str() {
            "crate" => Target::Module(Vec::new()),
            "self" => Target::Module(module.clone()),
            "super" => Target::Module(module[..module.len().checked_sub(1)?].to_vec()),
            _ => self.find(module, first, depth)?,
        };
        while let (Target::Module(module), Some((next, further))) = (&target, rest.split_first()) {
            target = match next.as_str() {
                "super" => Target::Module(module[..module.len().checked_sub(1)?].to_vec()),
                "self" => Target::Module(module.clone()),
                next => self.find(module, next, depth)?,
            };
            rest = further;
        }
        Some(target)
    }

    /// Resolves a name in a module. A depth limit ends imports that refer to each other.
    fn find(&self, names: &Names, name: &str, depth: usize) -> Option<Target> {
        let module = self.modules.get(names)?;
        if depth > 20 {
            return None;
        }
        if module.children.contains(name) {
            return Some(Target::Module([&names[..], &[name.to_owned()]].concat()));
        }
        if module.items.contains(name) {
            return Some(Target::Item(module.file.clone()));
        }
        if let Some(path) = module.imports.get(name) {
            // An import with the same name, such as an external crate's, does not resolve to itself.
            return if path[0] == name { None } else { self.resolve(names, path, depth + 1) };
        }
        module.globs.iter().find_map(|path| match self.resolve(names, path, depth + 1)? {
            Target::Module(glob) if glob != *names => self.find(&glob, name, depth + 1),
            _ => None,
        })
    }

    fn edges(&self) -> Edges {
        let mut edges = Edges::new();
        for (names, module) in &self.modules {
            // The files of the module and of the modules that contain it.
            let above: BTreeSet<&PathBuf> =
                (0..=names.len()).map(|depth| &self.modules[&names[..depth]].file).collect();
            for path in &module.references {
                if let Some(Target::Item(file)) = self.resolve(names, path, 0)
                    && !above.contains(&file)
                {
                    edges.entry(module.file.clone()).or_default().entry(file).or_insert(path.join("::"));
                }
            }
        }
        edges
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.to_token_stream().to_string().replace(' ', "") == "#[cfg(test)]")
}

fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    let attribute = attributes.iter().find(|attribute| attribute.path().is_ident("path"))?;
    let value = &attribute.meta.require_name_value().ok()?.value;
    Some(value.to_token_stream().to_string().trim_matches('"').to_owned())
}

fn defined_name(item: &Item) -> Option<String> {
    Some(match item {
        Item::Const(item) => item.ident.to_string(),
        Item::Enum(item) => item.ident.to_string(),
        Item::Fn(item) => item.sig.ident.to_string(),
        Item::Macro(item) => item.ident.as_ref()?.to_string(),
        Item::Static(item) => item.ident.to_string(),
        Item::Struct(item) => item.ident.to_string(),
        Item::Trait(item) => item.ident.to_string(),
        Item::Type(item) => item.ident.to_string(),
        Item::Union(item) => item.ident.to_string(),
        _ => return None,
    })
}

/// Adds the imports of a tree. A private import refers to what it imports; a re-export does not.
fn add_import(module: &mut Module, prefix: &mut Names, tree: &UseTree, is_private: bool) {
    let length = prefix.len();
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            add_import(module, prefix, &path.tree, is_private);
        }
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| add_import(module, prefix, tree, is_private));
        }
        UseTree::Glob(_) => module.globs.push(prefix.clone()),
        UseTree::Name(_) | UseTree::Rename(_) => {
            let (original, alias) = match tree {
                UseTree::Rename(rename) => (&rename.ident, &rename.rename),
                UseTree::Name(name) => (&name.ident, &name.ident),
                _ => return,
            };
            let is_parent = original == "self";
            let alias = if is_parent && alias == "self" { prefix.last().cloned() } else { Some(alias.to_string()) };
            if !is_parent {
                prefix.push(original.to_string());
            }
            module.imports.extend(alias.map(|alias| (alias, prefix.clone())));
            if is_private {
                module.references.insert(prefix.clone());
            }
        }
    }
    prefix.truncate(length);
}

/// Adds the paths in code, including macro arguments. A single lowercase name counts only if it is
/// called, since it may be a variable.
fn add_paths(paths: &mut BTreeSet<Names>, tokens: TokenStream) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_punct = |index: usize, letter: char| matches!(tokens.get(index), Some(TokenTree::Punct(punct)) if punct.as_char() == letter);
    let mut index = 0;
    while index < tokens.len() {
        if let TokenTree::Group(group) = &tokens[index] {
            add_paths(paths, group.stream());
        }
        let TokenTree::Ident(first) = &tokens[index] else {
            index += 1;
            continue;
        };
        let is_field = index > 0 && is_punct(index - 1, '.') && !(index > 1 && is_punct(index - 2, '.'));
        let mut path = vec![first.to_string()];
        index += 1;
        while is_punct(index, ':') && is_punct(index + 1, ':') {
            match tokens.get(index + 2) {
                Some(TokenTree::Ident(next)) => path.push(next.to_string()),
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                    let names = group.stream().into_iter().filter_map(|token| match token {
                        TokenTree::Ident(name) => Some([&path[..], &[name.to_string()]].concat()),
                        _ => None,
                    });
                    paths.extend(names);
                    break;
                }
                _ => break,
            }
            index += 3;
        }
        let is_call =
            matches!(tokens.get(index), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
        let is_type = path[0].starts_with(char::is_uppercase);
        if !is_field && (path.len() > 1 || is_type || is_call || is_punct(index, '!')) {
            paths.insert(path);
        }
    }
}

/// The files that can be reached from a file.
fn reachable<'a>(edges: &'a Edges, from: &Path) -> BTreeSet<&'a PathBuf> {
    let mut found = BTreeSet::new();
    let mut left: Vec<&PathBuf> = edges.get(from).into_iter().flatten().map(|(file, _)| file).collect();
    while let Some(file) = left.pop() {
        if found.insert(file) {
            left.extend(edges.get(file).into_iter().flatten().map(|(file, _)| file));
        }
    }
    found
}

/// Groups of several files that all depend on each other.
fn circles(edges: &Edges) -> Vec<BTreeSet<&PathBuf>> {
    let mut circles = Vec::new();
    let mut assigned = BTreeSet::new();
    for file in edges.keys() {
        if assigned.contains(file) {
            continue;
        }
        let mut circle = reachable(edges, file);
        circle.retain(|other| reachable(edges, other).contains(file));
        assigned.extend(circle.iter().copied());
        if circle.len() > 1 {
            circles.push(circle);
        }
    }
    circles
}

/// The files below a folder that are crate roots: lib.rs, main.rs, and the files in src/bin.
fn roots(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name == "src" {
            found.extend(["lib.rs", "main.rs"].map(|root| path.join(root)).into_iter().filter(|root| root.is_file()));
            if let Ok(binaries) = fs::read_dir(path.join("bin")) {
                let files = binaries.map(|entry| entry.unwrap().path());
                found.extend(files.filter(|file| file.extension().is_some_and(|extension| extension == "rs")));
            }
        } else if path.is_dir() && !name.starts_with('.') && !["target", "fixtures", "shared"].contains(&name.as_str())
        {
            roots(&path, found);
        }
    }
}

#[test]
fn no_files_form_a_circle_but_the_known_pairs() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut crates = Vec::new();
    roots(repository, &mut crates);
    let mut report = String::new();
    let known =
        PAIRS.iter().map(|(folder, files)| BTreeSet::from(files.map(|file| repository.join(folder).join(file))));
    let mut known: Vec<BTreeSet<PathBuf>> = known.collect();
    for root in crates {
        let edges = Crate::read(&root).edges();
        let name = root.strip_prefix(repository).unwrap().display().to_string();
        for circle in circles(&edges) {
            if let Some(at) = known.iter().position(|pair| pair.iter().eq(circle.iter().copied())) {
                known.swap_remove(at);
                continue;
            }
            report += &format!("{name}: {} files\n", circle.len());
            for from in &circle {
                for (to, name) in edges[*from].iter().filter(|(to, _)| circle.contains(to)) {
                    let [from, to] = [from, to].map(|file| file.strip_prefix(root.parent().unwrap()).unwrap_or(file));
                    report += &format!("    {} → {} ({name})\n", from.display(), to.display());
                }
            }
        }
    }
    assert!(report.is_empty(), "circles of files:\n{report}");
    assert!(known.is_empty(), "these are no circles any more, so remove them from PAIRS: {known:?}");
}
