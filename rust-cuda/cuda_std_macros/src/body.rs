//! Changes to a kernel's body: groups of a `macro_rules!` become parentheses, and on the host loops are counted.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Error, Expr, Item, Macro, Path, Result, Stmt, parse_quote, parse2};

use crate::parameter::internal;

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

/// The methods of floats that `core` has not: those of `cuda_std::math::GpuFloat`.
const FLOAT_METHODS: [&str; 34] = [
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sin_cos",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "powi",
    "powf",
    "exp",
    "exp2",
    "exp_m1",
    "ln",
    "ln_1p",
    "log",
    "log2",
    "log10",
    "sqrt",
    "cbrt",
    "hypot",
    "floor",
    "ceil",
    "round",
    "trunc",
    "fract",
    "mul_add",
    "div_euclid",
];
const REMAINDER_METHOD: &str = "rem_euclid";

/// Gives the body what the host has of `std` and a GPU has not: the methods of floats are those of `GpuFloat` on both, with the same
/// bits, and `println!` is that of `cuda_std`.
///
/// # Errors
/// At what needs a heap or an operating system, with what to write in its place.
pub(crate) fn without_std(body: &mut Block) -> Result<()> {
    let mut visitor = WithoutStd { errors: None };
    visitor.visit_block_mut(body);
    visitor.errors.map_or(Ok(()), Err)
}

struct WithoutStd {
    errors: Option<Error>,
}

impl WithoutStd {
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

impl VisitMut for WithoutStd {
    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        visit_mut::visit_expr_mut(self, expression);
        if let Expr::MethodCall(call) = expression {
            let method = call.method.to_string();
            if call.turbofish.is_none() && (method == REMAINDER_METHOD || FLOAT_METHODS.contains(&method.as_str())) {
                let span = call.receiver.span();
                let receiver = match &*call.receiver {
                    Expr::Paren(inner) => &inner.expr,
                    receiver => receiver,
                };
                let wrapped = quote_spanned!(span=> (::cuda_std::math::OnGpu(#receiver)));
                *call.receiver = parse2(wrapped).expect("an expression in parentheses");
            }
        }
    }

    fn visit_path_mut(&mut self, path: &mut Path) {
        visit_mut::visit_path_mut(self, path);
        let first = path.segments.first().map(|segment| segment.ident.to_string()).unwrap_or_default();
        match first.as_str() {
            "std" => self.error(&*path, NO_STD),
            "Vec" | "String" | "Box" | "Rc" | "Arc" | "HashMap" | "HashSet" | "BTreeMap" if path.segments.len() > 1 => {
                self.error(&*path, NO_HEAP);
            }
            _ => {}
        }
    }

    fn visit_macro_mut(&mut self, call: &mut Macro) {
        let Some(name) = call.path.get_ident().map(ToString::to_string) else { return };
        match name.as_str() {
            "println" => {
                let span = call.path.span();
                call.path = parse2(quote_spanned!(span=> ::cuda_std::println)).expect("a path");
            }
            "print" | "eprint" | "eprintln" | "dbg" => self.error(&call.path, "a kernel prints by `println!`"),
            "vec" | "format" => self.error(&call.path, NO_HEAP),
            _ => {}
        }
    }

    fn visit_item_mut(&mut self, _: &mut Item) {}
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

    fn visit_expr_const_mut(&mut self, _: &mut syn::ExprConst) {}

    fn visit_expr_async_mut(&mut self, _: &mut syn::ExprAsync) {}
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

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
