//! The sources as modules with their items and names.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::str::FromStr;

use proc_macro2::TokenStream;
use syn::spanned::Spanned;
use syn::{Attribute, Item, ItemFn, ItemStruct, Meta, UseTree};

use crate::brackets;
use crate::limits;
use crate::mathematics::MATHEMATICS;
use crate::refusal::{Checked, Place};
use crate::syntax;

/// Maximum number of imports between a name and its item.
const MAX_IMPORTS: usize = 16;
/// Maximum number of glob imports in a module.
const MAX_ALL_OF: usize = 8;
/// Crates that are not part of the sources.
const OTHERS: [&str; 3] = ["cuda_std", "core", "std"];

/// Macros and attributes that `use` may import.
const MACROS: [&str; 7] = [
    "cuda_std::kernel",
    "cuda_std::shared_array",
    "cuda_std::println",
    "cuda_std::panic",
    "cuda_std::assert",
    "cuda_std::assert_eq",
    "cuda_std::assert_ne",
];

/// A function in the sources.
pub(crate) struct Function {
    pub(crate) module: usize,
    pub(crate) item: ItemFn,
    pub(crate) place: Place,
    pub(crate) is_kernel: bool,
    /// The generics of the `impl` block around a method, and its type.
    pub(crate) of: Option<Rc<(syn::Generics, syn::Type)>>,
}

/// An item, by its number in the list of its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Function(usize),
    Constant(usize),
    Struct(usize),
    Module(usize),
    /// A path to another crate.
    Other(String),
}

enum Entry {
    Is(Named),
    Import(Vec<String>),
}

#[derive(Default)]
struct Module {
    parent: usize,
    file: usize,
    entries: HashMap<String, Entry>,
    /// The glob imports: modules from which all names are imported.
    all_of: Vec<Vec<String>>,
}

/// All sources.
#[derive(Default)]
pub(crate) struct Program {
    pub(crate) files: Vec<String>,
    modules: Vec<Module>,
    pub(crate) functions: Vec<Rc<Function>>,
    /// Constants with their modules, types and values.
    pub(crate) constants: Vec<(usize, Rc<(syn::Type, syn::Expr)>)>,
    pub(crate) structs: Vec<(usize, Rc<ItemStruct>)>,
    /// Methods, by the name of their type and their own name.
    pub(crate) methods: HashMap<(usize, String), usize>,
    /// Constants that a trait in the sources defines for a numeric type, by the names of both.
    pub(crate) associated: HashMap<(String, String), usize>,
    /// The module with the compiler's built-in source.
    mathematics: usize,
}

impl Program {
    /// Reads the files. Their names end like `src/step01.rs` or `src/folder/mod.rs`.
    pub(crate) fn read(files: &BTreeMap<String, String>) -> Checked<Self> {
        let mut program = Self { modules: vec![Module::default()], ..Self::default() };
        let bytes: usize = files.values().map(String::len).sum();
        if bytes > limits::MAX_BYTES {
            return Place::default().refused(format!("the sources have more than {} bytes", limits::MAX_BYTES));
        }
        let mut blocks = Vec::new();
        for (name, text) in files {
            let file = program.files.len();
            program.files.push(name.clone());
            let module = program.module_of(name);
            program.modules[module].file = file;
            let tokens =
                TokenStream::from_str(text).or_else(|error| brackets::refuse(text, Place::of(file, error.span())))?;
            limits::check_nesting(file, &tokens)?;
            let parsed: syn::File =
                syn::parse2(tokens.clone()).or_else(|error| syntax::refuse(file, tokens, &error))?;
            for item in parsed.items {
                program.add(module, item, &mut blocks)?;
            }
        }
        program.modules.push(Module::default());
        program.mathematics = program.modules.len() - 1;
        program.modules[program.mathematics].file = program.files.len();
        program.files.push("cuda_std/src/math/mod.rs".to_owned());
        let own: syn::File = syn::parse_str(MATHEMATICS)
            .or_else(|error| Place::default().refused(format!("the compiler's own text: {error}")))?;
        for item in own.items {
            program.add(program.mathematics, item, &mut blocks)?;
        }
        program.add_methods(blocks)?;
        Ok(program)
    }

    /// The module of a file.
    fn module_of(&mut self, name: &str) -> usize {
        let path = name.rsplit_once("src/").map_or(name, |(_, path)| path);
        let path = path.strip_suffix(".rs").unwrap_or(path);
        let mut module = 0;
        for part in path.split('/').filter(|part| !["lib", "mod", "main"].contains(part)) {
            module = self.child(module, part);
        }
        module
    }

    fn child(&mut self, parent: usize, name: &str) -> usize {
        if let Some(Entry::Is(Named::Module(module))) = self.modules[parent].entries.get(name) {
            return *module;
        }
        let file = self.modules[parent].file;
        self.modules.push(Module { parent, file, ..Module::default() });
        let module = self.modules.len() - 1;
        self.modules[parent].entries.insert(name.to_owned(), Entry::Is(Named::Module(module)));
        module
    }

    pub(crate) fn file_of(&self, module: usize) -> usize {
        self.modules[module].file
    }

    pub(crate) fn place(&self, module: usize, of: &impl Spanned) -> Place {
        Place::of(self.file_of(module), of.span())
    }

    fn add(&mut self, module: usize, item: Item, blocks: &mut Vec<(usize, syn::ItemImpl)>) -> Checked<()> {
        let (name, named) = match item {
            Item::Fn(item) if is_compiled(&item.attrs) => {
                let name = item.sig.ident.clone();
                (name, Named::Function(self.add_function(module, item, None)))
            }
            Item::Const(item) if is_compiled(&item.attrs) => {
                let name = item.ident.clone();
                self.constants.push((module, Rc::new((*item.ty, *item.expr))));
                (name, Named::Constant(self.constants.len() - 1))
            }
            Item::Struct(item) if is_compiled(&item.attrs) => {
                let name = item.ident.clone();
                self.structs.push((module, Rc::new(item)));
                (name, Named::Struct(self.structs.len() - 1))
            }
            Item::Impl(item) if is_compiled(&item.attrs) => {
                blocks.push((module, item));
                return Ok(());
            }
            Item::Mod(item) if is_compiled(&item.attrs) => {
                let inner = self.child(module, &item.ident.to_string());
                if let Some((_, items)) = item.content {
                    self.modules[inner].file = self.modules[module].file;
                    items.into_iter().try_for_each(|item| self.add(inner, item, blocks))?;
                }
                return Ok(());
            }
            Item::Use(item) if is_compiled(&item.attrs) => {
                let mut leaves = Vec::new();
                collect(&item.tree, &mut Vec::new(), &mut leaves);
                // Macros have a separate namespace.
                for (name, path) in leaves.into_iter().filter(|leaf| !MACROS.contains(&leaf.1.join("::").as_str())) {
                    match name {
                        Some(name) => {
                            let known = self.modules[module].entries.insert(name.clone(), Entry::Import(path));
                            if known.is_some() {
                                let place = self.place(module, &item);
                                return place.refused(format!("`{name}` is the name of something else here"));
                            }
                        }
                        None => self.modules[module].all_of.push(path),
                    }
                }
                return Ok(());
            }
            // They are rejected where they are used.
            _ => return Ok(()),
        };
        let place = self.place(module, &name);
        let entries = &mut self.modules[module].entries;
        // A module and a function may have the same name.
        let is_other = matches!(entries.get(&name.to_string()), Some(Entry::Import(_) | Entry::Is(Named::Module(_))));
        let key = match named {
            Named::Function(_) if is_other => function_key(&name.to_string()),
            _ => name.to_string(),
        };
        if entries.insert(key, Entry::Is(named)).is_some() {
            return place.refused(format!("`{name}` is the name of something else here"));
        }
        Ok(())
    }

    fn add_function(&mut self, module: usize, item: ItemFn, of: Option<Rc<(syn::Generics, syn::Type)>>) -> usize {
        let is_kernel = item.attrs.iter().any(|attribute| is_named(attribute, "kernel"));
        let place = self.place(module, &item.sig.ident);
        self.functions.push(Rc::new(Function { module, item, place, is_kernel, of }));
        self.functions.len() - 1
    }

    /// Adds the methods and functions of types in the sources. Trait methods are rejected where
    /// they are used.
    fn add_methods(&mut self, blocks: Vec<(usize, syn::ItemImpl)>) -> Checked<()> {
        for (module, block) in blocks {
            let syn::Type::Path(path) = &*block.self_ty else { continue };
            let names = segments(&path.path);
            if let (true, Some(number)) = (block.trait_.is_some(), path.path.get_ident()) {
                self.add_associated(module, &number.to_string(), block.items);
                continue;
            }
            let Ok(Named::Struct(number)) = self.find(module, &names, Place::default()) else { continue };
            let of = Rc::new((block.generics, *block.self_ty));
            for item in block.items {
                let syn::ImplItem::Fn(method) = item else { continue };
                let name = method.sig.ident.to_string();
                let item = ItemFn {
                    attrs: method.attrs,
                    vis: method.vis,
                    modifiers: Default::default(),
                    sig: method.sig,
                    block: Box::new(method.block),
                };
                let function = self.add_function(module, item, Some(of.clone()));
                self.methods.insert((number, name), function);
            }
        }
        Ok(())
    }

    /// Adds the constants that a trait defines for a numeric type.
    fn add_associated(&mut self, module: usize, number: &str, items: Vec<syn::ImplItem>) {
        for item in items {
            let (syn::ImplItem::Const(item), Ok(of)) = (item, syn::parse_str(number)) else { continue };
            self.constants.push((module, Rc::new((of, item.expr))));
            self.associated.insert((number.to_owned(), item.ident.to_string()), self.constants.len() - 1);
        }
    }

    /// Resolves a path in a module.
    pub(crate) fn find(&self, module: usize, path: &[String], place: Place) -> Checked<Named> {
        self.resolved(module, path, 0).or_else(|name| {
            let path = path.join("::");
            let of = if path == name { String::new() } else { format!(" of `{path}`") };
            place.refused(format!("`{name}`{of} is not known here: is it declared, or in a `use`?"))
        })
    }

    /// Resolves a path, or returns the name in it that is unknown. `imports` is the number of
    /// imports followed so far.
    fn resolved<'p>(&self, module: usize, path: &'p [String], imports: usize) -> Result<Named, &'p str> {
        let mut found = Named::Module(module);
        for (index, name) in path.iter().enumerate() {
            found = match found {
                Named::Module(inside) => match (name.as_str(), index) {
                    ("crate", 0) => Named::Module(0),
                    ("self", _) => Named::Module(inside),
                    ("super", _) => Named::Module(self.modules[inside].parent),
                    (name, 0) if OTHERS.contains(&name) => Named::Other(name.to_owned()),
                    (name, _) => {
                        let is_last = index + 1 == path.len();
                        let function = is_last.then(|| self.entry(inside, &function_key(name), imports)).flatten();
                        function.or_else(|| self.entry(inside, name, imports)).ok_or(name)?
                    }
                },
                Named::Other(other) => self.of_other(format!("{other}::{name}")),
                Named::Struct(number) => {
                    Named::Function(*self.methods.get(&(number, name.clone())).ok_or(name.as_str())?)
                }
                _ => return Err(name),
            };
        }
        Ok(found)
    }

    fn entry(&self, module: usize, name: &str, imports: usize) -> Option<Named> {
        match self.modules[module].entries.get(name) {
            _ if imports > MAX_IMPORTS => None,
            Some(Entry::Is(named)) => Some(named.clone()),
            Some(Entry::Import(path)) => self.resolved(module, path, imports + 1).ok(),
            // For glob imports only a few levels, since each level may have several of them.
            None => self.modules[module].all_of.iter().take(MAX_ALL_OF).find_map(|path| {
                match self.resolved(module, path, imports + MAX_IMPORTS / 2).ok()? {
                    Named::Module(other) if other != module => self.entry(other, name, imports + MAX_IMPORTS / 2),
                    Named::Other(other) => of_prelude(&other, name),
                    _ => None,
                }
            }),
        }
    }

    /// An item in another crate. If the compiler's built-in source has the function, that one is
    /// used.
    fn of_other(&self, path: String) -> Named {
        let own =
            path.strip_prefix("cuda_std::math::").and_then(|name| self.modules[self.mathematics].entries.get(name));
        match own {
            Some(Entry::Is(own)) => own.clone(),
            _ => Named::Other(path),
        }
    }

    /// The names that a module declares or imports.
    pub(crate) fn names(&self, module: usize) -> impl Iterator<Item = &str> {
        self.modules[module].entries.keys().map(|name| name.strip_suffix("()").unwrap_or(name))
    }

    /// Whether a module is the compiler's built-in source, with lines that belong to no file.
    pub(crate) fn is_own(&self, module: usize) -> bool {
        module == self.mathematics
    }

    /// The function of a kernel.
    pub(crate) fn kernel(&self, name: &str) -> Option<usize> {
        self.functions.iter().position(|function| function.is_kernel && function.item.sig.ident == name)
    }
}

/// The key for a function that shares its name with another item.
fn function_key(name: &str) -> String {
    format!("{name}()")
}

/// A name imported by `use cuda_std::prelude::*`.
fn of_prelude(path: &str, name: &str) -> Option<Named> {
    let is_prelude = path == "cuda_std::prelude" || path == "cuda_std";
    // A function that shares its name with another item is in the sources.
    (is_prelude && name != function_key(name.trim_end_matches("()"))).then(|| Named::Other(format!("cuda_std::{name}")))
}

/// The names of a path.
pub(crate) fn segments(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

fn collect(tree: &UseTree, path: &mut Vec<String>, leaves: &mut Vec<(Option<String>, Vec<String>)>) {
    match tree {
        UseTree::Path(inner) => {
            path.push(inner.ident.to_string());
            collect(&inner.tree, path, leaves);
            path.pop();
        }
        UseTree::Name(name) if name.ident == "self" => leaves.push((path.last().cloned(), path.clone())),
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            leaves.push((Some(name.clone()), path.iter().cloned().chain([name]).collect()));
        }
        UseTree::Rename(name) if name.ident == "self" => leaves.push((Some(name.rename.to_string()), path.clone())),
        UseTree::Rename(name) => {
            let whole = path.iter().cloned().chain([name.ident.to_string()]).collect();
            leaves.push((Some(name.rename.to_string()), whole));
        }
        UseTree::Glob(_) => leaves.push((None, path.clone())),
        UseTree::Group(group) => group.items.iter().for_each(|tree| collect(tree, path, leaves)),
    }
}

fn is_named(attribute: &Attribute, name: &str) -> bool {
    attribute.path().segments.last().is_some_and(|segment| segment.ident == name)
}

/// Whether the conditions of an item hold on a GPU.
fn is_compiled(attributes: &[Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).all(|attribute| {
        let Meta::List(list) = &attribute.meta else { return true };
        holds(&list.tokens.to_string().replace(' ', ""))
    })
}

/// The value of a condition without spaces.
fn holds(condition: &str) -> bool {
    let inner = |name: &str| condition.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    if let Some(inner) = inner("not") {
        return !holds(inner);
    }
    match (inner("any"), inner("all")) {
        (Some(inner), _) => parts(inner).any(holds),
        (_, Some(inner)) => parts(inner).all(holds),
        _ => condition == "target_arch=\"nvptx64\"",
    }
}

/// The parts between commas outside brackets.
fn parts(conditions: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    conditions.split(move |character| {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth == 0 && character == ','
    })
}
