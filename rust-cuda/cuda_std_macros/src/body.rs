//! Changes to a kernel's body: groups of a `macro_rules!` become parentheses, and on the host loops are counted.

use std::collections::HashSet;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};
use syn::{
    BinOp, Block, Error, Expr, ExprConst, ExprLit, ExprMethodCall, Item, Lit, LitStr, Macro, PatIdent, Path, Result,
    Stmt, Token, TypePath, parse_quote, parse_quote_spanned, parse2,
};

use crate::brackets;
use crate::cuda_c;
use crate::float_methods::{EXTREMES, FLOAT_METHODS};
use crate::parameter::{Parameter, internal};

/// Puts expressions that a `macro_rules!` has passed as one fragment in parentheses, and leaves out the invisible delimiters
/// around other fragments: the compiler drops those when it reads what a procedural macro has produced.
pub(crate) fn keep_fragments(tokens: TokenStream) -> TokenStream {
    keep_fragments_in(tokens, false)
}

fn keep_fragments_in(tokens: TokenStream, is_attribute: bool) -> TokenStream {
    let mut kept = TokenStream::new();
    let mut follows_hash = false;
    for tree in tokens {
        let TokenTree::Group(group) = tree else {
            follows_hash = matches!(&tree, TokenTree::Punct(punct) if punct.as_char() == '#');
            kept.extend([tree]);
            continue;
        };
        let inner = keep_fragments_in(group.stream(), is_attribute || follows_hash);
        follows_hash = false;
        let delimiter = match group.delimiter() {
            // What an attribute contains may look like an assignment.
            Delimiter::None if !is_attribute && is_loose(&inner) => Delimiter::Parenthesis,
            Delimiter::None => {
                kept.extend(inner);
                continue;
            }
            delimiter => delimiter,
        };
        let mut changed = Group::new(delimiter, inner);
        changed.set_span(group.span());
        kept.extend([TokenTree::Group(changed)]);
    }
    kept
}

/// Whether tokens are an expression whose parts an operator beside it could separate. A type or a pattern that looks like one may
/// have parentheses too.
fn is_loose(tokens: &TokenStream) -> bool {
    let binds_tightly = |expression: &Expr| {
        matches!(
            expression,
            Expr::Array(_)
                | Expr::Block(_)
                | Expr::Call(_)
                | Expr::Field(_)
                | Expr::Index(_)
                | Expr::Infer(_)
                | Expr::Let(_)
                | Expr::Lit(_)
                | Expr::Macro(_)
                | Expr::MethodCall(_)
                | Expr::Paren(_)
                | Expr::Path(_)
                | Expr::Repeat(_)
                | Expr::Struct(_)
                | Expr::Tuple(_)
                | Expr::Unsafe(_)
        )
    };
    parse2::<Expr>(tokens.clone()).is_ok_and(|expression| !binds_tightly(&expression))
}

/// Gives the body what the host has of `std` and a GPU has not: the methods of floats are those of `GpuFloat` on both, with the same
/// bits, and `println!` is that of `cuda_std`.
///
/// # Errors
/// At what needs a heap, an operating system or a caller, at names of CUDA C, and where memory of the launch, the `parameters`, is
/// used as a slice of the host, with what to write in its place.
///
/// Returns the names of macros that `cuda_std`'s replace.
pub(crate) fn without_std(body: &mut Block, parameters: &[Parameter]) -> Result<Vec<Ident>> {
    let mut declared = Declared::default();
    declared.visit_block(body);
    brackets::replace(body, parameters)?;
    let mut visitor = WithoutStd { parameters, declared, closures: 0, speaking: Vec::new(), errors: None };
    visitor.visit_block_mut(body);
    visitor.errors.map_or(Ok(visitor.speaking), Err)
}

/// The names of a body's variables.
#[derive(Default)]
struct Declared(HashSet<String>);

impl<'ast> Visit<'ast> for Declared {
    fn visit_pat_ident(&mut self, pattern: &'ast PatIdent) {
        self.0.insert(pattern.ident.to_string());
        visit::visit_pat_ident(self, pattern);
    }
}

struct WithoutStd<'a> {
    parameters: &'a [Parameter],
    declared: Declared,
    /// The closures around the present place.
    closures: u32,
    /// The names of macros that speak, each once.
    speaking: Vec<Ident>,
    errors: Option<Error>,
}

impl WithoutStd<'_> {
    /// The parameter that an expression names.
    fn parameter(&self, expression: &Expr) -> Option<&Parameter> {
        let Expr::Path(path) = expression else { return None };
        let name = path.path.get_ident()?;
        let is_shadowed = self.declared.0.contains(&name.to_string());
        self.parameters.iter().find(|parameter| parameter.name == *name && !is_shadowed)
    }

    /// Reports a write to `place` if it is an element of memory that the kernel only reads.
    fn check_written(&mut self, place: &Expr) {
        let Expr::Index(index) = place else { return };
        let Some(element) = self.parameter(&index.expr).and_then(Parameter::read_only_element) else { return };
        let message = format!(
            "the kernel only reads memory of a `&[{element}]`: make the parameter `GlobalMut<{element}>`, pass `&mut buffer` at the \
             launch, and write by `x.set(i, value)`"
        );
        self.error(place, &message);
    }

    fn error(&mut self, at: impl ToTokens, message: &str) {
        let error = Error::new_spanned(at, message);
        match &mut self.errors {
            Some(errors) => errors.combine(error),
            None => self.errors = Some(error),
        }
    }
}

const NO_HEAP: &str =
    "a GPU thread has no heap: use an array `[T; N]`, shared memory, or a buffer that the launch passes";
const NO_STD: &str = "a GPU has no `std`, only `core` and `cuda_std`";

impl VisitMut for WithoutStd<'_> {
    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        let is_closure = matches!(expression, Expr::Closure(_));
        self.closures += u32::from(is_closure);
        visit_mut::visit_expr_mut(self, expression);
        self.closures -= u32::from(is_closure);
        match expression {
            Expr::MethodCall(call) => {
                let method = call.method.to_string();
                let is_unwrap = method == "unwrap" && call.args.is_empty();
                let message = match call.args.first() {
                    Some(Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) if method == "expect" && call.args.len() == 1 => {
                        Some(text)
                    }
                    _ => None,
                };
                if is_unwrap || message.is_some() {
                    *expression = speaking_unwrap(call, message);
                    return;
                }
                // `max` without an argument is that of an iterator.
                let is_of_floats = FLOAT_METHODS.contains(&method.as_str())
                    || (EXTREMES.contains(&method.as_str()) && call.args.len() == 1);
                if call.turbofish.is_none() && is_of_floats {
                    let (span, receiver) = (call.receiver.span(), &call.receiver);
                    let wrapped = quote_spanned!(span=> (::cuda_std::math::OnGpu(&#receiver)));
                    *call.receiver = parse2(wrapped).expect("an expression in parentheses");
                }
            }
            Expr::Try(tried) if self.closures == 0 => self.error(
                tried.question_token,
                "a kernel returns nothing, so `?` has no caller to return to: handle the `None` or the `Err` here",
            ),
            Expr::Path(path) if path.qself.is_none() => {
                let names: Vec<String> = path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
                let [float, method] = &names[..] else { return };
                let is_method = [&FLOAT_METHODS[..], &EXTREMES].concat().contains(&method.as_str());
                if ["f32", "f64"].contains(&float.as_str()) && is_method {
                    let (float, method) = (&path.path.segments[0], &path.path.segments[1]);
                    let span = path.span();
                    *path = parse2(quote_spanned!(span=> <#float as ::cuda_std::math::GpuFloat>::#method)).expect("a path");
                }
            }
            Expr::Assign(assigned) => self.check_written(&assigned.left),
            Expr::Binary(binary) if is_assignment(&binary.op) => self.check_written(&binary.left),
            Expr::ForLoop(repeated) if self.parameter(&repeated.expr).is_some_and(Parameter::is_memory) => self.error(
                &repeated.expr,
                "memory of a launch is not iterated over: `for i in 0..x.len()`, or `x.iter()` of a `&[T]`, visits all elements, in \
                 every thread; a thread's own is that of `thread::index_1d() as usize`",
            ),
            Expr::Return(returned) if self.closures == 0 && returned.expr.as_deref().is_some_and(is_value) => {
                self.error(returned, "a kernel returns nothing: write results to a `GlobalMut`, then `return`");
            }
            Expr::Await(awaited) => self.error(awaited.await_token, "a GPU thread has nothing to await"),
            _ => {}
        }
    }

    fn visit_path_mut(&mut self, path: &mut Path) {
        visit_mut::visit_path_mut(self, path);
        let Some(first) = path.segments.first() else { return };
        let (name, is_alone) = (first.ident.to_string(), path.segments.len() == 1);
        match name.as_str() {
            "std" if !is_alone => self.error(&*path, NO_STD),
            "Instant" | "SystemTime" | "Mutex" | "RwLock" | "File" if !is_alone => self.error(&*path, NO_STD),
            "Vec" | "String" | "Box" | "Rc" | "Arc" | "HashMap" | "HashSet" | "BTreeMap" if !is_alone => {
                self.error(&*path, NO_HEAP);
            }
            "rand" if !is_alone => {
                self.error(&*path, "a GPU has no source of randomness: compute it from a seed and the thread's index");
            }
            _ if !is_alone || self.declared.0.contains(&name) => {}
            name => {
                if let Some(ours) = cuda_c::in_rust(name) {
                    self.error(&*path, &format!("`{name}` is CUDA C; in Rust: {ours}"));
                }
            }
        }
    }

    fn visit_type_path_mut(&mut self, ty: &mut TypePath) {
        visit_mut::visit_type_path_mut(self, ty);
        if let [only] = &ty.path.segments.iter().collect::<Vec<_>>()[..] {
            let is_generic = !only.arguments.is_none();
            match only.ident.to_string().as_str() {
                "Vec" | "Box" | "Rc" | "Arc" | "HashMap" | "HashSet" | "BTreeMap" if is_generic => {
                    self.error(ty, NO_HEAP);
                }
                "String" if !is_generic => self.error(ty, NO_HEAP),
                _ => {}
            }
        }
    }

    fn visit_macro_mut(&mut self, call: &mut Macro) {
        visit_arguments(call, |argument| self.visit_expr_mut(argument));
        let Some(ident) = call.path.get_ident().cloned() else { return };
        match ident.to_string().as_str() {
            name if SPEAKING.contains(&name) => {
                call.path = parse2(quote_spanned!(ident.span()=> ::cuda_std::#ident)).expect("a path");
                if !self.speaking.contains(&ident) {
                    self.speaking.push(ident);
                }
            }
            "print" | "eprint" | "eprintln" | "dbg" => self.error(&call.path, "a kernel prints by `println!`"),
            "vec" | "format" => self.error(&call.path, NO_HEAP),
            _ => {}
        }
    }

    fn visit_item_mut(&mut self, _: &mut Item) {}

    // The compiler evaluates it, by `core`'s methods.
    fn visit_expr_const_mut(&mut self, _: &mut ExprConst) {}
}

/// The macros of `core` and `std` for which a kernel has those of `cuda_std`.
const SPEAKING: [&str; 5] = ["println", "panic", "assert", "assert_eq", "assert_ne"];

/// Calls `visit` with each argument of a macro that speaks.
pub(crate) fn visit_arguments(call: &mut Macro, visit: impl FnMut(&mut Expr)) {
    let speaks =
        call.path.segments.last().is_some_and(|name| SPEAKING.iter().any(|macro_name| name.ident == macro_name));
    if speaks && let Ok(mut arguments) = call.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated) {
        arguments.iter_mut().for_each(visit);
        call.tokens = arguments.into_token_stream();
    }
}

/// `unwrap` or `expect` with a message, which a GPU says.
fn speaking_unwrap(call: &ExprMethodCall, message: Option<&LitStr>) -> Expr {
    let (opened, span) = (&call.receiver, call.method.span());
    let said = match message {
        Some(text) => {
            let text = LitStr::new(&text.value().replace('{', "{{").replace('}', "}}"), text.span());
            quote_spanned!(span=> ::cuda_std::panic!(#text))
        }
        None => quote_spanned! {span=>
            if is_option {
                ::cuda_std::panic!("called `Option::unwrap()` on a `None` value")
            } else {
                ::cuda_std::panic!("called `Result::unwrap()` on an `Err` value")
            }
        },
    };
    parse_quote_spanned! {span=> {
        #[cfg(not(target_arch = "nvptx64"))]
        {
            #call
        }
        #[cfg(target_arch = "nvptx64")]
        {
            let opened = #opened;
            #[allow(unused_variables)]
            let is_option = ::cuda_std::speech::is_option(&opened);
            match ::cuda_std::speech::Opened::opened(opened) {
                ::core::option::Option::Some(value) => value,
                ::core::option::Option::None => #said,
            }
        }
    }}
}

/// Whether an expression certainly has another type than `()`, which `return` may have behind it.
fn is_value(expression: &Expr) -> bool {
    match expression {
        Expr::Lit(_) | Expr::Unary(_) | Expr::Index(_) | Expr::Cast(_) | Expr::Reference(_) | Expr::Array(_) => true,
        Expr::Binary(binary) => !is_assignment(&binary.op),
        Expr::Tuple(tuple) => !tuple.elems.is_empty(),
        Expr::Paren(inner) => is_value(&inner.expr),
        _ => false,
    }
}

/// Whether an operator is `+=` or one of its kind.
fn is_assignment(operator: &BinOp) -> bool {
    operator.to_token_stream().to_string().ends_with('=')
        && !matches!(operator, BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Le(_) | BinOp::Ge(_))
}

/// Counts the iterations of the body's loops, so that the simulator reports one that does not end.
pub(crate) fn count_loops(body: &mut Block) {
    let mut counter = CountLoops { found: false };
    counter.visit_block_mut(body);
    if counter.found {
        let budget = internal("budget");
        // A reference, so that a closure that moves its captures copies it.
        body.stmts.insert(0, parse_quote!(let #budget = &::cuda_std::simulator::LoopBudget::new();));
    }
}

struct CountLoops {
    found: bool,
}

impl CountLoops {
    fn count(&mut self, body: &mut Block, loop_span: Span) {
        self.found = true;
        // All tokens at the loop, whose place a fault then has.
        let mut budget = internal("budget");
        budget.set_span(budget.span().located_at(loop_span));
        let statement = quote_spanned!(loop_span=> ::cuda_std::simulator::LoopBudget::count(#budget););
        let statement: Stmt = parse2(statement).expect("a call is a statement");
        body.stmts.insert(0, statement);
    }
}

impl VisitMut for CountLoops {
    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        visit_mut::visit_expr_mut(self, expression);
        match expression {
            Expr::While(repeated) => self.count(&mut repeated.body, repeated.while_token.span()),
            Expr::Loop(repeated) => self.count(&mut repeated.body, repeated.loop_token.span()),
            Expr::ForLoop(repeated) => self.count(&mut repeated.body, repeated.for_token.span()),
            _ => {}
        }
    }

    // Functions within the body do not see its variables, and constants have none.
    fn visit_item_mut(&mut self, _: &mut Item) {}

    fn visit_expr_const_mut(&mut self, _: &mut ExprConst) {}

    fn visit_expr_async_mut(&mut self, _: &mut syn::ExprAsync) {}
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    #[test]
    fn the_methods_are_those_of_the_trait() {
        let source = include_str!("../../cuda_std/src/math/gpu_float.rs");
        let file = syn::parse_file(source).unwrap();
        let found = file.items.iter().find_map(|item| match item {
            Item::Trait(item) if item.ident == "GpuFloat" => Some(&item.items),
            _ => None,
        });
        let names: Vec<String> = found
            .unwrap()
            .iter()
            .filter_map(|item| match item {
                syn::TraitItem::Fn(function) => Some(function.sig.ident.to_string()),
                _ => None,
            })
            .collect();
        // The last are in core too.
        assert_eq!(names, [&FLOAT_METHODS[..], &["abs", "signum", "copysign"], &EXTREMES].concat());
    }

    #[test]
    fn every_loop_is_counted_and_items_are_not() {
        let mut body: Block = parse_quote!({
            while a {
                for i in 0..n {
                    f();
                }
            }
            let c = || loop {
                break;
            };
            fn inner() {
                loop {}
            }
            const N: u32 = const {
                let mut i = 0;
                while i < 3 {
                    i += 1;
                }
                i
            };
        });
        count_loops(&mut body);
        let text = quote!(#body).to_string();
        assert_eq!(text.matches("LoopBudget :: count").count(), 3, "{text}");
        assert_eq!(text.matches("LoopBudget :: new").count(), 1, "{text}");
        let mut none: Block = parse_quote!({
            f();
        });
        count_loops(&mut none);
        assert_eq!(quote!(#none).to_string(), "{ f () ; }");
    }

    #[test]
    fn fragments_keep_their_parts_together() {
        let invisible = |tokens: TokenStream| TokenTree::Group(Group::new(Delimiter::None, tokens));
        let attribute = invisible(quote!(doc = "text"));
        assert_eq!(
            keep_fragments(quote!(#[#attribute] fn f())).to_string(),
            quote!(#[doc = "text"] fn f()).to_string()
        );
        for (fragment, kept) in [
            (quote!(x + 1.0), quote!((x + 1.0))),
            (quote!(-x), quote!((-x))),
            (quote!(&[f32]), quote!((&[f32]))),
            (quote!(|v| v), quote!((|v| v))),
            (quote!(a..b), quote!((a..b))),
            (quote!(if a { b } else { c }), quote!((if a { b } else { c }))),
            (quote!(x), quote!(x)),
            (quote!(f32), quote!(f32)),
            (quote!(x[i].get(2)), quote!(x[i].get(2))),
            (
                quote!({
                    f();
                }),
                quote!({
                    f();
                }),
            ),
            (quote!(let a = 1), quote!(let a = 1)),
            (
                quote!(
                    fn f() {}
                ),
                quote!(
                    fn f() {}
                ),
            ),
        ] {
            let fragment = invisible(fragment);
            let nested = invisible(quote!(#fragment));
            let found = keep_fragments(quote!(2.0 * f![#nested, #fragment]));
            assert_eq!(found.to_string(), quote!(2.0 * f![#kept, #kept]).to_string());
        }
    }
}
