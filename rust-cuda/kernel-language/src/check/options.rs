//! `Option`.

use syn::Expr as Syntax;

use super::Checker;
use crate::refusal::{Checked, Place};
use crate::tree::{Expr, Kind, Message, Operation, Pattern, Statement, Unary};
use crate::types::Type;

/// Methods of `Option`.
const METHODS: [&str; 5] = ["is_some", "is_none", "unwrap", "unwrap_or", "expect"];

impl Checker<'_> {
    /// `Some(value)`
    pub(super) fn some(&mut self, call: &syn::ExprCall, place: Place) -> Checked<Expr> {
        let of = self.inference.any();
        let value = self.arguments("Some", call.args.iter(), std::slice::from_ref(&of), place)?.swap_remove(0);
        let of = Type::option(value.r#type.clone());
        let flag = Expr::new(Kind::Bool(true), Type::Bool, place);
        self.of_parts(vec![flag, value], of, place, Kind::Tuple)
    }

    /// `None`
    pub(super) fn none(&mut self, place: Place) -> Expr {
        let of = self.inference.any();
        let flag = Expr::new(Kind::Bool(false), Type::Bool, place);
        let value = self.operation(Operation::NoValue, Vec::new(), of.clone(), place);
        Expr::new(Kind::Tuple(vec![flag, value]), Type::option(of), place)
    }

    /// Whether an `Option` has a value, and that value.
    pub(super) fn parts_of_option(&self, option: &Expr) -> (Expr, Expr) {
        let place = option.place;
        let parts = self.inference.outer(&option.r#type).parts().to_vec();
        let part = |index: usize| {
            let of = parts.get(index).cloned().unwrap_or(Type::Never);
            Expr::new(Kind::Field(option.clone().into(), index), of, place)
        };
        (part(0), part(1))
    }

    /// A hidden variable for this value: its declaration, and the variable.
    pub(super) fn kept(&mut self, value: Expr) -> (Statement, Expr) {
        let (of, place) = (value.r#type.clone(), value.place);
        self.scopes.push(Vec::new());
        let number = self.declare("", of.clone(), false);
        self.scopes.pop();
        (Statement::Let(Pattern::Local(number), value), Expr::new(Kind::Local(number), of, place))
    }

    pub(super) fn option_method(&mut self, receiver: Expr, call: &syn::ExprMethodCall, place: Place) -> Checked<Expr> {
        let name = call.method.to_string();
        let of = self.inference.outer(&receiver.r#type);
        let (keep, option) = self.kept(receiver);
        let (flag, value) = self.parts_of_option(&option);
        let not = |flag: Expr| Expr::new(Kind::Unary(Unary::Not, flag.into()), Type::Bool, place);
        let block = |statements: Vec<Statement>, tail: Expr| {
            let of = tail.r#type.clone();
            Ok(Expr::new(Kind::Block(statements, Some(tail.into())), of, place))
        };
        let message = match (name.as_str(), call.args.first()) {
            ("is_some" | "is_none", _) => {
                self.arguments(&name, call.args.iter(), &[], place)?;
                return block(vec![keep], if name == "is_some" { flag } else { not(flag) });
            }
            ("unwrap_or", _) => {
                let mut arguments =
                    self.arguments(&name, call.args.iter(), std::slice::from_ref(&value.r#type), place)?;
                let (keep_other, other) = self.kept(arguments.swap_remove(0));
                let of = value.r#type.clone();
                let chosen = Expr::new(Kind::If(flag.into(), value.into(), Some(other.into())), of, place);
                return block(vec![keep, keep_other], chosen);
            }
            ("unwrap", None) => "called `Option::unwrap()` on a `None` value".to_owned(),
            ("expect", Some(Syntax::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }))) => text.value(),
            ("expect", _) => return place.refused("write the message itself: `expect(\"…\")`"),
            ("map" | "and_then" | "unwrap_or_else" | "map_or" | "filter" | "ok_or", _) => {
                return place
                    .refused(format!("`{name}` is not known here: write `match … {{ Some(value) => …, None => … }}`"));
            }
            _ => return self.no_method(&name, &of, &METHODS, (Some(call), place)),
        };
        let text = message.replace('{', "{{").replace('}', "}}");
        let panic = Kind::Say(Message { panics: true, text }.into(), Vec::new());
        let panic = Expr::new(panic, Type::Never, place);
        let check = Expr::new(Kind::If(not(flag).into(), panic.into(), None), Type::unit(), place);
        block(vec![keep, Statement::Expr(check)], value)
    }
}
