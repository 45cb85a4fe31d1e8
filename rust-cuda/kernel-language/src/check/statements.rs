//! Blocks, variables and patterns.

use syn::{Block, Expr as Syntax, Pat, Stmt};

use super::Checker;
use crate::refusal::{Checked, Place};
use crate::tree::{Expr, Kind, Pattern, Statement};
use crate::types::Type;

impl Checker<'_> {
    /// A block that should have a given type.
    pub(super) fn block(&mut self, block: &Block, wanted: Option<&Type>) -> Checked<Expr> {
        self.scopes.push(Vec::new());
        let checked = self.statements(block, wanted);
        self.scopes.pop();
        checked
    }

    fn statements(&mut self, block: &Block, wanted: Option<&Type>) -> Checked<Expr> {
        let mut statements = Vec::new();
        let (mut tail, mut ends) = (None, false);
        for (index, statement) in block.stmts.iter().enumerate() {
            let is_last = index + 1 == block.stmts.len();
            match statement {
                Stmt::Local(local) => {
                    let Some(init) = &local.init else {
                        return self.place(local).refused("a variable has a value here: write `let mut name = 0;`");
                    };
                    if let Some((_, otherwise)) = &init.diverge {
                        self.let_else(&local.pat, &init.expr, otherwise, &mut statements)?;
                        continue;
                    }
                    let annotation = match &local.pat {
                        Pat::Type(typed) => Some(self.type_of(&typed.ty)?),
                        _ => None,
                    };
                    let mut value = self.expression(&init.expr, annotation.as_ref())?;
                    if let Some(of) = &annotation {
                        value = self.coerced_from(Some(&init.expr), value, of)?;
                    }
                    ends |= self.is_never(&value);
                    let of = annotation.unwrap_or_else(|| value.r#type.clone());
                    let of = self.limited(of, value.place)?;
                    let first = self.locals.len();
                    let pattern = self.pattern(&local.pat, &of)?;
                    let place = self.place(local);
                    self.locals[first..].iter_mut().for_each(|local| local.place = place);
                    statements.push(Statement::Let(pattern, value));
                }
                Stmt::Expr(expr, semicolon) => {
                    let is_tail = is_last && semicolon.is_none();
                    let unit = Type::unit();
                    let wanted = match semicolon {
                        _ if is_tail => wanted,
                        None => Some(&unit),
                        Some(_) => None,
                    };
                    let value = self.expression(expr, wanted)?;
                    ends |= self.is_never(&value);
                    match semicolon {
                        _ if is_tail => tail = Some(Box::new(value)),
                        None => statements.push(Statement::Expr(self.coerced(value, &unit)?)),
                        Some(_) => statements.push(Statement::Expr(value)),
                    }
                }
                Stmt::Macro(call) => {
                    let value = self.macro_call(&call.mac, self.place(call))?;
                    ends |= self.is_never(&value);
                    if is_last && call.semi_token.is_none() {
                        tail = Some(Box::new(value));
                    } else {
                        statements.push(Statement::Expr(value));
                    }
                }
                Stmt::Item(item) => {
                    return self.place(item).refused("declare this outside of the function");
                }
            }
        }
        let r#type = match &tail {
            _ if ends => Type::Never,
            Some(tail) => tail.r#type.clone(),
            None => Type::unit(),
        };
        let place = tail.as_ref().map_or_else(|| self.place(&block.brace_token.span.close()), |tail| tail.place);
        Ok(Expr::new(Kind::Block(statements, tail), r#type, place))
    }

    pub(super) fn is_never(&self, of: &Expr) -> bool {
        self.inference.outer(&of.r#type) == Type::Never
    }

    /// Declares the variables in a pattern for a value of a type.
    pub(super) fn pattern(&mut self, pattern: &Pat, of: &Type) -> Checked<Pattern> {
        let place = self.place(pattern);
        match pattern {
            Pat::Wild(_) => Ok(Pattern::Ignore),
            Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => {
                Ok(Pattern::Local(self.declare(&name.ident.to_string(), of.clone(), name.mutability.is_some())))
            }
            Pat::Paren(inner) => self.pattern(&inner.pat, of),
            Pat::Type(typed) => {
                let annotation = self.type_of(&typed.ty)?;
                if !self.inference.unify(&annotation, of) {
                    let (wanted, found) = (self.shown(&annotation), self.shown(of));
                    return place.refused(format!("this is {found}, where {wanted} is needed"));
                }
                self.pattern(&typed.pat, &annotation)
            }
            Pat::Reference(inner) => match self.inference.outer(of) {
                Type::Reference(of, _) => self.pattern(&inner.pat, &of),
                _ => place.refused("this is no reference"),
            },
            Pat::Tuple(tuple) => {
                let mut parts = Vec::new();
                for _ in &tuple.elems {
                    parts.push(self.inference.any());
                }
                let whole = Type::Tuple(parts.iter().cloned().collect());
                if self.inference.outer(of) != Type::Never && !self.inference.unify(&whole, of) {
                    let found = self.shown(of);
                    return place.refused(format!("these are {} variables, and the value is {found}", parts.len()));
                }
                self.patterns(tuple.elems.iter().zip(parts), place)
            }
            Pat::Slice(slice) => {
                let element = self.inference.any();
                let whole = Type::Array([element.clone(), Type::Length(slice.elems.len() as u64)].into());
                if !self.inference.unify(&whole, of) {
                    let found = self.shown(of);
                    return place
                        .refused(format!("this is a pattern of {}, and the value is {found}", self.shown(&whole)));
                }
                self.patterns(slice.elems.iter().map(|pattern| (pattern, element.clone())), place)
            }
            _ => place.refused("this pattern is not known here: use names, `_`, tuples and arrays"),
        }
    }

    /// The parts of a pattern. Rejects duplicate names.
    fn patterns<'p>(&mut self, parts: impl Iterator<Item = (&'p Pat, Type)>, place: Place) -> Checked<Pattern> {
        let first = self.locals.len();
        let patterns = parts.map(|(pattern, of)| self.pattern(pattern, &of)).collect::<Checked<_>>()?;
        let names: Vec<&str> = self.locals[first..].iter().map(|local| &*local.name).collect();
        match (1..names.len()).find(|index| names[..*index].contains(&names[*index])) {
            Some(twice) => place.refused(format!("`{}` is in this pattern twice", names[twice])),
            None => Ok(Pattern::Tuple(patterns)),
        }
    }

    /// A condition.
    pub(super) fn condition(&mut self, condition: &Syntax) -> Checked<Expr> {
        let mut inner = condition;
        while let Syntax::Paren(parentheses) = inner {
            inner = &parentheses.expr;
        }
        if let Syntax::Assign(assign) = inner {
            return self.place(&assign.eq_token).refused("`=` changes a variable: write `==` to compare");
        }
        self.typed(condition, &Type::Bool)
    }

    /// Both branches of an `if`.
    pub(super) fn branches(&mut self, of: &syn::ExprIf, wanted: Option<&Type>) -> Checked<Expr> {
        let place = self.place(of);
        if let Syntax::Let(matched) = &*of.cond {
            return self.if_let(matched, of, wanted);
        }
        let condition = self.condition(&of.cond)?;
        let then = self.block(&of.then_branch, wanted)?;
        self.branched(condition, then, of, wanted, place)
    }

    /// An `if` with this condition and first branch.
    pub(super) fn branched(
        &mut self,
        condition: Expr,
        then: Expr,
        of: &syn::ExprIf,
        wanted: Option<&Type>,
        place: Place,
    ) -> Checked<Expr> {
        let Some((_, otherwise)) = &of.else_branch else {
            let is_unit = self.is_never(&then) || self.inference.unify(&then.r#type, &Type::unit());
            if !is_unit && wanted.is_none_or(|wanted| !self.inference.outer(wanted).is_unit()) {
                return then.place.refused("an `if` without `else` has no value: add `else { … }`");
            }
            let then = self.coerced(then, &Type::unit())?;
            return Ok(Expr::new(Kind::If(condition.into(), then.into(), None), Type::unit(), place));
        };
        let otherwise = self.expression(otherwise, wanted)?;
        self.joined(condition, then, otherwise, place)
    }

    pub(super) fn joined(&mut self, condition: Expr, then: Expr, otherwise: Expr, place: Place) -> Checked<Expr> {
        let r#type = if self.is_never(&then) { otherwise.r#type.clone() } else { then.r#type.clone() };
        let otherwise = self.coerced(otherwise, &r#type)?;
        Ok(Expr::new(Kind::If(condition.into(), then.into(), Some(otherwise.into())), r#type, place))
    }
}
