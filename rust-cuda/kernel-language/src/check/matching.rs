//! `match`, `if let` and `let … else`, as a sequence of comparisons.

use syn::{Expr as Syntax, Pat};

use super::Checker;
use crate::refusal::{Checked, Place};
use crate::source::Named;
use crate::tree::{Comparison, Expr, Kind, Statement, Unary};
use crate::types::Type;

/// Maximum number of arms. Each arm is nested in the previous one.
const MAX_ARMS: usize = 40;
/// Maximum number of cases distinguished in a `match`.
const MAX_CASES: usize = 1000;

/// The patterns of an arm for several values; None matches all of them.
type Row<'p> = Vec<Option<&'p Pat>>;

/// The condition under which a pattern matches, None if always, and its variables' patterns with
/// their values.
type Fitting<'p> = (Option<Expr>, Vec<(&'p Pat, Expr)>);

impl Checker<'_> {
    pub(super) fn matching(&mut self, of: &syn::ExprMatch, wanted: Option<&Type>, place: Place) -> Checked<Expr> {
        if of.arms.len() > MAX_ARMS {
            return place.refused("this `match` has too many arms");
        }
        let value = self.expression(&of.expr, None)?;
        let value = self.value(value);
        let (keep, value) = self.kept(value);
        let arms = self.arms(&of.arms, &value, wanted, place)?;
        let (of, place) = (arms.r#type.clone(), arms.place);
        Ok(Expr::new(Kind::Block(vec![keep], Some(arms.into())), of, place))
    }

    fn arms(&mut self, arms: &[syn::Arm], value: &Expr, wanted: Option<&Type>, place: Place) -> Checked<Expr> {
        let mut checked = Vec::new();
        let mut last = None;
        for (index, arm) in arms.iter().enumerate() {
            let (pattern, guard) = match &arm.pat {
                Pat::Guard(guarded) => (&*guarded.pat, Some(&*guarded.guard)),
                pattern => (pattern, None),
            };
            let (fits, bound) = self.fitting(pattern, value)?;
            let fits = match guard {
                Some(guard) => {
                    let guard = self.with_variables(&bound, |checker| checker.condition(guard))?;
                    let place = self.place(pattern);
                    Some(match fits {
                        Some(fits) => Expr::new(Kind::And(fits.into(), guard.into()), Type::Bool, place),
                        None => guard,
                    })
                }
                None => fits,
            };
            let body = self.with_variables(&bound, |checker| checker.expression(&arm.body, wanted))?;
            let is_last = index + 1 == arms.len() && self.is_exhaustive(arms, value);
            match fits.filter(|_| !is_last) {
                Some(fits) => checked.push((fits, body, self.place(pattern))),
                None => {
                    last = Some(body);
                    break;
                }
            }
        }
        let Some(mut joined) = last else {
            let missing = match self.inference.outer(&value.r#type) {
                Type::Option(_) => "write arms for `Some(value)` and `None`, without `if`",
                _ => "write `_ => …` as the last arm of `match`",
            };
            return place.refused(format!("some values have no arm: {missing}"));
        };
        while let Some((fits, then, place)) = checked.pop() {
            joined = self.joined(fits, then, joined, place)?;
        }
        Ok(joined)
    }

    /// Whether each value has an arm without a guard.
    fn is_exhaustive(&self, arms: &[syn::Arm], value: &Expr) -> bool {
        let patterns = arms.iter().map(|arm| &arm.pat).filter(|pattern| !matches!(pattern, Pat::Guard(_)));
        let mut rows = Vec::new();
        for pattern in patterns {
            match pattern {
                Pat::Or(cases) => rows.extend(cases.cases.iter().map(|case| vec![Some(case)])),
                pattern => rows.push(vec![Some(pattern)]),
            }
        }
        self.covers(&rows, std::slice::from_ref(&value.r#type), &mut { MAX_CASES })
    }

    /// Whether the rows match each combination of values of these types.
    fn covers<'p>(&self, rows: &[Row<'p>], types: &[Type], cases: &mut usize) -> bool {
        *cases = cases.saturating_sub(1);
        let (Some((of, rest)), true) = (types.split_first(), *cases > 0) else { return *cases > 0 && !rows.is_empty() };
        // The rows that match a case, with their patterns for its parts and for the rest.
        let mut fits = |parts: &[Type], of_case: &dyn Fn(&'p Pat) -> Option<Row<'p>>| {
            let of_row = |row: &Row<'p>| -> Option<Row<'p>> {
                let first = match row[0].filter(|pattern| !self.is_always(pattern)) {
                    Some(pattern) => of_case(pattern)?,
                    None => vec![None; parts.len()],
                };
                Some([first, row[1..].to_vec()].concat())
            };
            let rows: Vec<_> = rows.iter().filter_map(of_row).collect();
            self.covers(&rows, &[parts, rest].concat(), cases)
        };
        match self.inference.outer(of) {
            Type::Bool => [false, true].iter().all(|value| {
                fits(&[], &|pattern| match pattern {
                    Pat::Lit(syn::PatLit { lit: syn::Lit::Bool(case), .. }) if case.value == *value => Some(Vec::new()),
                    _ => None,
                })
            }),
            Type::Option(parts) => {
                fits(&[], &|pattern| matches!(pattern, Pat::Ident(_)).then(Vec::new))
                    && fits(&parts[1..], &|pattern| match pattern {
                        Pat::TupleStruct(some) if some.elems.len() == 1 => Some(vec![some.elems.first()]),
                        _ => None,
                    })
            }
            Type::Tuple(parts) => fits(&parts, &|pattern| match pattern {
                Pat::Tuple(tuple) if tuple.elems.len() == parts.len() => Some(tuple.elems.iter().map(Some).collect()),
                _ => None,
            }),
            _ => fits(&[], &|_| None),
        }
    }

    fn is_always(&self, pattern: &Pat) -> bool {
        match pattern {
            Pat::Wild(_) => true,
            Pat::Ident(name) => self.is_variable(&name.ident.to_string()),
            _ => false,
        }
    }

    /// The result of `check` in a scope with these variables.
    fn with_variables(
        &mut self,
        bound: &[(&Pat, Expr)],
        check: impl FnOnce(&mut Self) -> Checked<Expr>,
    ) -> Checked<Expr> {
        self.scopes.push(Vec::new());
        let bound: Checked<Vec<Statement>> = bound
            .iter()
            .map(|(pattern, value)| Ok(Statement::Let(self.pattern(pattern, &value.r#type)?, value.clone())))
            .collect();
        let checked = bound.and_then(|bound| Ok((bound, check(self)?)));
        self.scopes.pop();
        let (bound, value) = checked?;
        if bound.is_empty() {
            return Ok(value);
        }
        let (of, place) = (value.r#type.clone(), value.place);
        Ok(Expr::new(Kind::Block(bound, Some(value.into())), of, place))
    }

    /// `if let Some(v) = option { … }`
    pub(super) fn if_let(&mut self, of: &syn::ExprLet, whole: &syn::ExprIf, wanted: Option<&Type>) -> Checked<Expr> {
        let place = self.place(whole);
        let value = self.expression(&of.expr, None)?;
        let value = self.value(value);
        let (keep, value) = self.kept(value);
        let (fits, bound) = self.fitting(&of.pat, &value)?;
        let fits = fits.unwrap_or_else(|| Expr::new(Kind::Bool(true), Type::Bool, place));
        let then = self.with_variables(&bound, |checker| checker.block(&whole.then_branch, wanted))?;
        let branched = self.branched(fits, then, whole, wanted, place)?;
        let of = branched.r#type.clone();
        Ok(Expr::new(Kind::Block(vec![keep], Some(branched.into())), of, place))
    }

    /// `let Some(v) = option else { return };`
    pub(super) fn let_else(
        &mut self,
        pattern: &Pat,
        value: &Syntax,
        otherwise: &Syntax,
        statements: &mut Vec<Statement>,
    ) -> Checked<()> {
        let (pattern, annotation) = match pattern {
            Pat::Type(typed) => (&*typed.pat, Some(self.type_of(&typed.ty)?)),
            pattern => (pattern, None),
        };
        let value = match annotation {
            Some(of) => self.typed(value, &of)?,
            None => self.expression(value, None)?,
        };
        let value = self.value(value);
        let (keep, value) = self.kept(value);
        let (fits, bound) = self.fitting(pattern, &value)?;
        let otherwise = self.expression(otherwise, None)?;
        if !self.is_never(&otherwise) {
            let reason = "the block of `else` must leave: end it with `return;`, `break;` or `continue;`";
            return otherwise.place.refused(reason);
        }
        statements.push(keep);
        if let Some(fits) = fits {
            let place = fits.place;
            let not = Expr::new(Kind::Unary(Unary::Not, fits.into()), Type::Bool, place);
            statements.push(Statement::Expr(Expr::new(
                Kind::If(not.into(), otherwise.into(), None),
                Type::unit(),
                place,
            )));
        }
        for (pattern, value) in bound {
            let of = value.r#type.clone();
            statements.push(Statement::Let(self.pattern(pattern, &of)?, value));
        }
        Ok(())
    }

    /// When a pattern matches a value. The value is a variable or a part of one.
    fn fitting<'p>(&mut self, pattern: &'p Pat, value: &Expr) -> Checked<Fitting<'p>> {
        let place = self.place(pattern);
        let equals = |checker: &mut Self, other: Expr| {
            let other = checker.coerced(other, &value.r#type)?;
            let of = checker.inference.outer(&value.r#type);
            if !checker.inference.is_integer(&of) && !checker.inference.is_float(&of) && of != Type::Bool {
                return place.refused(format!("{} is not compared with a pattern here", checker.shown(&of)));
            }
            let kind = Kind::Compare(Comparison::Equal, value.clone().into(), other.into());
            Ok((Some(Expr::new(kind, Type::Bool, place)), Vec::new()))
        };
        match pattern {
            Pat::Wild(_) => Ok((None, Vec::new())),
            Pat::Paren(inner) => self.fitting(&inner.pat, value),
            Pat::Lit(literal) => {
                let literal = self.literal(&literal.lit, Some(&value.r#type), place)?;
                equals(self, literal)
            }
            Pat::Ident(name) if name.ident == "None" && !self.is_known("None") => {
                let flag = self.option_of(value, place)?.0;
                Ok((Some(Expr::new(Kind::Unary(Unary::Not, flag.into()), Type::Bool, place)), Vec::new()))
            }
            Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => {
                let path = syn::ExprPath { attrs: Vec::new(), qself: None, path: name.ident.clone().into() };
                if self.is_variable(&name.ident.to_string()) {
                    return Ok((None, vec![(pattern, value.clone())]));
                }
                let constant = self.path(&path, place)?;
                equals(self, constant)
            }
            Pat::Path(path) => {
                let constant = self.path(path, place)?;
                equals(self, constant)
            }
            Pat::TupleStruct(some) if some.path.is_ident("Some") && some.elems.len() == 1 => {
                let (flag, inner) = self.option_of(value, place)?;
                let (fits, bound) = self.fitting(&some.elems[0], &inner)?;
                Ok((Some(both(flag, fits, place)), bound))
            }
            Pat::Tuple(tuple) => {
                let types: Vec<Type> = tuple.elems.iter().map(|_| self.inference.any()).collect();
                let whole = Type::Tuple(types.iter().cloned().collect());
                if !self.inference.unify(&whole, &value.r#type) {
                    let found = self.shown(&value.r#type);
                    return place
                        .refused(format!("this is a pattern of {}, and the value is {found}", self.shown(&whole)));
                }
                let (mut all, mut bound): Fitting<'p> = (None, Vec::new());
                for (index, (pattern, of)) in tuple.elems.iter().zip(types).enumerate() {
                    let part = Expr::new(Kind::Field(value.clone().into(), index), of, place);
                    let (fits, variables) = self.fitting(pattern, &part)?;
                    bound.extend(variables);
                    all = match (all, fits) {
                        (Some(all), fits) => Some(both(all, fits, place)),
                        (None, fits) => fits,
                    };
                }
                Ok((all, bound))
            }
            Pat::Or(cases) => {
                let mut all: Option<Expr> = None;
                for case in &cases.cases {
                    let (fits, bound) = self.fitting(case, value)?;
                    if !bound.is_empty() {
                        return self.place(case).refused("a pattern with `|` has no variables here: write two arms");
                    }
                    let Some(fits) = fits else { return Ok((None, bound)) };
                    all = Some(match all {
                        Some(all) => Expr::new(Kind::Or(all.into(), fits.into()), Type::Bool, place),
                        None => fits,
                    });
                }
                Ok((all, Vec::new()))
            }
            Pat::Range(range) => {
                let comparison = match range.limits {
                    syn::RangeLimits::HalfOpen(_) => Comparison::Less,
                    syn::RangeLimits::Closed(_) => Comparison::LessOrEqual,
                };
                let mut all: Option<Expr> = None;
                for (end, comparison) in [(&range.start, Comparison::GreaterOrEqual), (&range.end, comparison)] {
                    let Some(end) = end else { continue };
                    let end = self.typed(end, &value.r#type)?;
                    let kind = Kind::Compare(comparison, value.clone().into(), end.into());
                    let fits = Expr::new(kind, Type::Bool, place);
                    all = Some(match all {
                        Some(all) => both(all, Some(fits), place),
                        None => fits,
                    });
                }
                if !self.inference.is_integer(&value.r#type) {
                    return place.refused("a range is a pattern of integers here");
                }
                Ok((all, Vec::new()))
            }
            _ => place
                .refused("this pattern is not known here: use numbers, constants, names, tuples, `Some(…)` and `_`"),
        }
    }

    /// Whether a name in a pattern declares a new variable and does not refer to a constant.
    fn is_variable(&self, name: &str) -> bool {
        let found = self.program.find(self.module, &[name.to_owned()], Place::default());
        name != "None" && !matches!(found, Ok(Named::Constant(_)))
    }

    fn option_of(&mut self, value: &Expr, place: Place) -> Checked<(Expr, Expr)> {
        let of = Type::option(self.inference.any());
        if !self.inference.unify(&of, &value.r#type) {
            let found = self.shown(&value.r#type);
            return place
                .refused(format!("this is a pattern of an `Option`, and the value is {found}: it is always there"));
        }
        Ok(self.parts_of_option(value))
    }
}

fn both(left: Expr, right: Option<Expr>, place: Place) -> Expr {
    match right {
        Some(right) => Expr::new(Kind::And(left.into(), right.into()), Type::Bool, place),
        None => left,
    }
}
