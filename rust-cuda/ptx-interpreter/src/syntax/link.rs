//! Links several modules: resolves their names like NVIDIA's linker.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use thiserror::Error;

use super::parser::{Parsed, Parser};
use super::token::{TokenKind, tokens};
use super::{Function, Linkage, Space, SyntaxError, Variable};

/// The reason why modules cannot be linked.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum LinkError {
    /// A module is not PTX.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// A name with several definitions, none of them `.weak` or `.common`.
    #[error("`{0}` is defined in several modules")]
    DefinedTwice(String),
    /// A name with incompatible declarations.
    #[error("`{name}` has another {what} in another module")]
    Differs {
        /// The name.
        name: String,
        /// The difference: state space, size or prototype.
        what: &'static str,
    },
}

/// The properties that declarations of a name must share.
enum Kind {
    /// The sizes in bytes of return values and parameters.
    Function([Vec<Option<usize>>; 2]),
    /// The size in bytes.
    Variable(Space, Option<usize>),
}

/// A declaration at module scope.
struct Declaration {
    /// The module's index.
    module: usize,
    name: String,
    linkage: Linkage,
    kind: Kind,
    /// Whether it is a definition.
    defines: bool,
    /// Its text.
    range: Range<usize>,
    /// Whether the text declares no other variables.
    alone: bool,
}

/// Returns the texts of modules with each name defined once, so they can be joined into one text.
///
/// A `.visible` definition replaces `.weak` and `.common` ones. Otherwise the first `.weak` one
/// replaces the others, or the largest `.common` one does. A name that is visible only in its
/// module is renamed if another module uses the same name.
///
/// # Errors
/// A module that is not PTX, a name that is defined twice, or incompatible declarations. Programs
/// that call C functions may declare return values for a function without any, and the reverse.
///
/// ```
/// let module = |body: &str| format!(".version 8.0 .target sm_90 .address_size 64 {body}");
/// let [a, b] = [".weak .global .u32 v = 1;", ".weak .global .u32 v = 2; .global .u32 w;"].map(module);
/// let linked = ptx_interpreter::syntax::link(&[&a, &b]).unwrap();
/// assert_eq!(linked, [a, module(" .global .u32 w;")]);
/// ```
pub fn link(modules: &[&str]) -> Result<Vec<String>, LinkError> {
    let mut names: BTreeMap<String, Vec<Declaration>> = BTreeMap::new();
    for (index, text) in modules.iter().enumerate() {
        for declaration in declarations(index, text)? {
            names.entry(declaration.name.clone()).or_default().push(declaration);
        }
    }
    let mut edits: Vec<Edits> = modules.iter().map(|_| Edits::default()).collect();
    for (name, declarations) in &names {
        let (own, shared) = by_visibility(declarations);
        for &module in own.iter().skip(usize::from(shared.is_empty())) {
            let new = (0..).map(|number| format!("{name}__{module}_{number}")).find(|new| !names.contains_key(new));
            let (text, new) = (modules[module], new.unwrap_or_default());
            edits[module].rename(text, name, &new);
        }
        for declaration in dropped(name, &shared)? {
            edits[declaration.module].drop(modules[declaration.module], declaration);
        }
    }
    Ok(modules.iter().zip(edits).map(|(text, edits)| edits.applied(text)).collect())
}

/// The modules where the name is visible only internally, and the declarations in the other
/// modules.
fn by_visibility(declarations: &[Declaration]) -> (BTreeSet<usize>, Vec<&Declaration>) {
    // A declaration before the definition may omit the visibility.
    let visible = declarations.iter().filter(|declaration| declaration.linkage != Linkage::Internal);
    let visible: BTreeSet<usize> = visible.map(|declaration| declaration.module).collect();
    let own = declarations.iter().map(|declaration| declaration.module).filter(|module| !visible.contains(module));
    (own.collect(), declarations.iter().filter(|declaration| visible.contains(&declaration.module)).collect())
}

/// The definitions of a name that another one replaces.
fn dropped<'a>(name: &str, declarations: &[&'a Declaration]) -> Result<Vec<&'a Declaration>, LinkError> {
    let definitions: Vec<&Declaration> =
        declarations.iter().copied().filter(|declaration| declaration.defines).collect();
    let with = |linkage: &[Linkage]| definitions.iter().copied().filter(|of| linkage.contains(&of.linkage)).collect();
    let strong: Vec<&Declaration> = with(&[Linkage::Visible, Linkage::Internal]);
    let weak: Vec<&Declaration> = with(&[Linkage::Weak]);
    if strong.len() > 1 {
        return Err(LinkError::DefinedTwice(name.to_owned()));
    }
    let largest = || definitions.iter().copied().rev().max_by_key(|common| common.kind.bytes());
    let Some(kept) = strong.first().or(weak.first()).copied().or_else(largest) else { return Ok(Vec::new()) };
    for other in declarations {
        if let Some(what) = difference(kept, other) {
            return Err(LinkError::Differs { name: name.to_owned(), what });
        }
    }
    Ok(definitions.into_iter().filter(|definition| !std::ptr::eq(*definition, kept)).collect())
}

/// The property in which a declaration differs from the kept definition.
fn difference(kept: &Declaration, other: &Declaration) -> Option<&'static str> {
    match (&kept.kind, &other.kind) {
        (Kind::Function([returns, parameters]), Kind::Function([other_returns, other_parameters])) => {
            let is_same = returns == other_returns
                || other.linkage == Linkage::Extern && (returns.is_empty() || other_returns.is_empty());
            (!is_same || parameters != other_parameters).then_some("prototype")
        }
        (Kind::Variable(space, _), Kind::Variable(other_space, _)) if space != other_space => Some("state space"),
        (Kind::Variable(_, bytes), Kind::Variable(_, other_bytes)) => {
            let fits = match other.linkage {
                Linkage::Common => other_bytes <= bytes,
                Linkage::Extern => other_bytes.is_none() || other_bytes == bytes,
                _ => other_bytes == bytes,
            };
            (!fits).then_some("size")
        }
        _ => Some("state space"),
    }
}

impl Kind {
    fn bytes(&self) -> Option<usize> {
        match self {
            Self::Function(_) => None,
            Self::Variable(_, bytes) => *bytes,
        }
    }
}

/// The declarations of a module.
fn declarations(module: usize, text: &str) -> Parsed<Vec<Declaration>> {
    let mut parser = Parser::new(text);
    let mut parsed = parser.header()?;
    let mut declarations = Vec::new();
    while parser.kind() != TokenKind::End {
        let (start, functions, variables) = (parser.peek().start, parsed.functions.len(), parsed.variables.len());
        parser.item(&mut parsed)?;
        let range = start..parser.end_of_last();
        let [functions, variables] = [parsed.functions.len() - functions, parsed.variables.len() - variables];
        let alone = functions + variables == 1;
        for Function { name, linkage, returns, parameters, body, unsupported, .. } in
            parsed.functions.iter().rev().take(functions)
        {
            let defines = body.is_some() || unsupported.is_some();
            let sizes = |variables: &[Variable]| variables.iter().map(Variable::bytes).collect();
            let kind = Kind::Function([sizes(returns), sizes(parameters)]);
            let (name, linkage, range) = (name.clone(), *linkage, range.clone());
            declarations.push(Declaration { module, name, linkage, kind, defines, range, alone });
        }
        for variable in parsed.variables.iter().rev().take(variables) {
            let defines = variable.linkage != Linkage::Extern;
            let kind = Kind::Variable(variable.space, variable.bytes());
            let (name, linkage, range) = (variable.name.clone(), variable.linkage, range.clone());
            declarations.push(Declaration { module, name, linkage, kind, defines, range, alone });
        }
    }
    Ok(declarations)
}

/// Edits of a module's text: ranges and their replacements.
#[derive(Default)]
struct Edits(Vec<(Range<usize>, String)>);

impl Edits {
    /// Renames a name.
    fn rename(&mut self, text: &str, name: &str, new: &str) {
        self.0.extend(places(text, name).map(|place| (place, new.to_owned())));
    }

    /// Removes a definition.
    fn drop(&mut self, text: &str, declaration: &Declaration) {
        let Declaration { name, range, alone, .. } = declaration;
        if *alone {
            // Keep the line breaks, so errors refer to the module's lines.
            self.0.push((range.clone(), "\n".repeat(text[range.clone()].matches('\n').count())));
        } else {
            let place = places(text, name).find(|place| range.contains(&place.start));
            self.0.extend(place.map(|place| (place, format!("{name}__replaced"))));
        }
    }

    fn applied(mut self, text: &str) -> String {
        self.0.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        let (mut edited, mut copied) = (String::with_capacity(text.len()), 0);
        for (range, new) in self.0 {
            // Skip names inside a removed definition.
            if range.start >= copied {
                edited.push_str(&text[copied..range.start]);
                edited.push_str(&new);
                copied = range.end;
            }
        }
        edited.push_str(&text[copied..]);
        edited
    }
}

/// The places of a name in a text.
fn places(text: &str, name: &str) -> impl Iterator<Item = Range<usize>> {
    let found = tokens(text)
        .into_iter()
        .filter(move |token| token.kind == TokenKind::Name && text[token.start..token.end] == *name);
    found.map(|token| token.start..token.end)
}
