//! Operators, assignments and conversions.

use quote::ToTokens;
use syn::{BinOp, Expr as Syntax, UnOp};

use super::Checker;
use crate::foreign::in_rust;
use crate::names::nearest;
use crate::refusal::{Checked, Place};
use crate::source::Named;
use crate::tokens::{flat, joined, short};
use crate::tree::{Binary, Comparison, Expr, Kind, Operation, Pattern, Statement, Unary};
use crate::types::{Integer, Type};

enum Operator {
    Computes(Binary),
    Assigns(Binary),
    Compares(Comparison),
    And,
    Or,
}

fn operator_of(operator: &BinOp) -> Option<Operator> {
    use Operator::{Assigns, Compares, Computes};
    Some(match operator {
        BinOp::Add(_) => Computes(Binary::Add),
        BinOp::Sub(_) => Computes(Binary::Sub),
        BinOp::Mul(_) => Computes(Binary::Mul),
        BinOp::Div(_) => Computes(Binary::Div),
        BinOp::Rem(_) => Computes(Binary::Rem),
        BinOp::BitXor(_) => Computes(Binary::Xor),
        BinOp::BitAnd(_) => Computes(Binary::And),
        BinOp::BitOr(_) => Computes(Binary::Or),
        BinOp::Shl(_) => Computes(Binary::ShiftLeft),
        BinOp::Shr(_) => Computes(Binary::ShiftRight),
        BinOp::AddAssign(_) => Assigns(Binary::Add),
        BinOp::SubAssign(_) => Assigns(Binary::Sub),
        BinOp::MulAssign(_) => Assigns(Binary::Mul),
        BinOp::DivAssign(_) => Assigns(Binary::Div),
        BinOp::RemAssign(_) => Assigns(Binary::Rem),
        BinOp::BitXorAssign(_) => Assigns(Binary::Xor),
        BinOp::BitAndAssign(_) => Assigns(Binary::And),
        BinOp::BitOrAssign(_) => Assigns(Binary::Or),
        BinOp::ShlAssign(_) => Assigns(Binary::ShiftLeft),
        BinOp::ShrAssign(_) => Assigns(Binary::ShiftRight),
        BinOp::Eq(_) => Compares(Comparison::Equal),
        BinOp::Ne(_) => Compares(Comparison::NotEqual),
        BinOp::Lt(_) => Compares(Comparison::Less),
        BinOp::Le(_) => Compares(Comparison::LessOrEqual),
        BinOp::Gt(_) => Compares(Comparison::Greater),
        BinOp::Ge(_) => Compares(Comparison::GreaterOrEqual),
        BinOp::And(_) => Operator::And,
        BinOp::Or(_) => Operator::Or,
        _ => return None,
    })
}

impl Checker<'_> {
    pub(super) fn binary(&mut self, of: &syn::ExprBinary, wanted: Option<&Type>, place: Place) -> Checked<Expr> {
        let operator = operator_of(&of.op);
        if let (BinOp::Mul(_), Syntax::Unary(power)) = (&of.op, &*of.right)
            && let (UnOp::Deref(star), Some(text)) = (&power.op, self.text(&of.left))
            && self.behind(&of.op) == self.place(star)
        {
            let power = self.text(&power.expr).unwrap_or_else(|| "2".to_owned());
            let reason = format!("`**` is Python: write `{}.powi({power})`", crate::foreign::operand(&text));
            return self.place(&of.op).refused(reason);
        }
        match operator {
            Some(Operator::Computes(operator)) => {
                let left = self.expression(&of.left, wanted.filter(|wanted| self.inference.is_integer(wanted)))?;
                let right = self.expression(&of.right, None)?;
                for (side, written) in [(&left, &of.left), (&right, &of.right)] {
                    if let Type::Option(parts) = self.inference.outer(&side.r#type) {
                        return self.mismatch(Some(written), side, &parts[1]);
                    }
                }
                if !matches!(operator, Binary::ShiftLeft | Binary::ShiftRight) {
                    self.check_mixed(of, &left, &right)?;
                }
                self.computed(operator, left, right, place)
            }
            Some(Operator::Compares(comparison)) => {
                let left = self.expression(&of.left, None)?;
                let right = self.expression(&of.right, None)?;
                self.check_mixed(of, &left, &right)?;
                let (left, right) = (self.value(left), self.value(right));
                let right = self.coerced_from(Some(&of.right), right, &left.r#type)?;
                let is_comparable = self.inference.is_integer(&left.r#type)
                    || self.inference.is_float(&left.r#type)
                    || matches!(self.inference.outer(&left.r#type), Type::Bool | Type::Never);
                if !is_comparable {
                    let shown = self.shown(&left.r#type);
                    return place
                        .refused(format!("a comparison is known here of numbers and bools, and this is {shown}"));
                }
                Ok(Expr::new(Kind::Compare(comparison, left.into(), right.into()), Type::Bool, place))
            }
            Some(operator @ (Operator::And | Operator::Or)) => {
                let left = self.condition(&of.left)?;
                let right = self.condition(&of.right)?;
                Ok(Expr::new(
                    match operator {
                        Operator::And => Kind::And(left.into(), right.into()),
                        _ => Kind::Or(left.into(), right.into()),
                    },
                    Type::Bool,
                    place,
                ))
            }
            Some(Operator::Assigns(operator)) => self.assign_computed(operator, &of.left, &of.right, place),
            None => place.refused("this operator is not known here"),
        }
    }

    /// The operand of an operator: a reference to a number is dereferenced.
    pub(super) fn value(&self, expr: Expr) -> Expr {
        match self.inference.outer(&expr.r#type) {
            Type::Reference(of, _) => {
                let place = expr.place;
                Expr::new(Kind::Dereference(expr.into()), (*of).clone(), place)
            }
            _ => expr,
        }
    }

    pub(super) fn computed(&mut self, operator: Binary, left: Expr, right: Expr, place: Place) -> Checked<Expr> {
        let (left, right) = (self.value(left), self.value(right));
        let right = self.checked_operands(operator, &left, right, place)?;
        let of = left.r#type.clone();
        if operator == Binary::Rem && self.inference.is_float(&of) {
            // Call a function in the compiler's built-in source, which computes the exact
            // remainder.
            let path = ["cuda_std", "math", "__remainder"].map(str::to_owned);
            if let Named::Function(number) = self.program.find(self.module, &path, place)? {
                return Ok(Expr::new(Kind::Call(number, vec![of.clone()], vec![left, right]), of, place));
            }
        }
        Ok(Expr::new(Kind::Binary(operator, left.into(), right.into()), of, place))
    }

    fn checked_operands(&mut self, operator: Binary, left: &Expr, right: Expr, place: Place) -> Checked<Expr> {
        let is_shift = matches!(operator, Binary::ShiftLeft | Binary::ShiftRight);
        let right = if is_shift { right } else { self.coerced(right, &left.r#type)? };
        let of = self.inference.outer(&left.r#type);
        let is_of_bits = matches!(operator, Binary::And | Binary::Or | Binary::Xor);
        let fits = match of {
            Type::Never => true,
            Type::Bool => is_of_bits,
            _ if self.inference.is_integer(&of) => !is_shift || self.inference.is_integer(&right.r#type),
            _ if self.inference.is_float(&of) => !is_of_bits && !is_shift,
            _ => false,
        };
        if !fits {
            let shown = self.shown(&of);
            return place.refused(format!("this operator is not known for {shown}"));
        }
        Ok(right)
    }

    pub(super) fn unary(&mut self, of: &syn::ExprUnary, wanted: Option<&Type>, place: Place) -> Checked<Expr> {
        let operand = match of.op {
            UnOp::Deref(_) => {
                let inner = self.expression(&of.expr, None)?;
                let Type::Reference(of, _) = self.inference.outer(&inner.r#type) else {
                    let shown = self.shown(&inner.r#type);
                    return place.refused(format!("`*` needs a reference, and this is {shown}"));
                };
                return Ok(Expr::new(Kind::Dereference(inner.into()), (*of).clone(), place));
            }
            _ => self.expression(&of.expr, wanted)?,
        };
        let operand = self.value(operand);
        let r#type = operand.r#type.clone();
        let is_negated = matches!(of.op, UnOp::Neg(_));
        let fits = self.inference.is_integer(&r#type)
            || (is_negated && self.inference.is_float(&r#type))
            || (!is_negated && self.inference.outer(&r#type) == Type::Bool);
        if !fits {
            let shown = self.shown(&r#type);
            return place.refused(format!("this operator is not known for {shown}"));
        }
        let kind = match &operand.kind {
            Kind::Integer(value) if is_negated && *value >= 0 => Kind::Integer(-value),
            Kind::Float(digits) if is_negated && !digits.starts_with('-') => Kind::Float(format!("-{digits}")),
            _ => Kind::Unary(if is_negated { Unary::Negate } else { Unary::Not }, operand.into()),
        };
        Ok(Expr::new(kind, r#type, place))
    }

    pub(super) fn cast(&mut self, of: &syn::ExprCast, place: Place) -> Checked<Expr> {
        let to = self.type_of(&of.ty)?;
        let to = match self.inference.outer(&to) {
            to @ (Type::Integer(_) | Type::Float(_)) => to,
            _ => return place.refused("`as` is known here to numbers only"),
        };
        let operand = self.expression(&of.expr, is_literal(&of.expr).then_some(&to))?;
        let from = self.inference.outer(&operand.r#type);
        let is_number = self.inference.is_integer(&from) || self.inference.is_float(&from);
        let is_bool = from == Type::Bool && matches!(to, Type::Integer(_));
        if !is_number && !is_bool {
            let (from, to) = (self.shown(&from), self.shown(&to));
            return place.refused(format!("{from} cannot become {to} by `as`"));
        }
        Ok(Expr::new(Kind::Cast(operand.into()), to, place))
    }

    /// Rejects a write to read-only memory.
    pub(super) fn only_read<T>(&self, memory: &Expr, place: Place) -> Checked<T> {
        let name = match &memory.kind {
            Kind::Local(number) => &*self.locals[*number].name,
            _ => "x",
        };
        let of = match self.inference.whole(&memory.r#type) {
            Type::Global(of) => of.to_string(),
            _ => "T".to_owned(),
        };
        place.refused(format!("`{name}` is only read: write `{name}: GlobalMut<{of}>` in the kernel's parameters"))
    }

    /// Rejects a place that cannot be assigned to.
    pub(super) fn check_assignable(&self, place: &Expr) -> Checked<()> {
        match &place.kind {
            Kind::Local(number) => {
                let local = &self.locals[*number];
                if local.closures != self.results.len() {
                    return place
                        .place
                        .refused(format!("a closure does not change `{}` here: return its value", local.name));
                }
                if !local.is_mutable {
                    let way_out = match local.place.line {
                        0 => format!("write `mut {}` where it is declared", local.name),
                        line => format!("declare it as `let mut {}` in line {line}", local.name),
                    };
                    return place.place.refused(format!("`{}` is not mutable: {way_out}", local.name));
                }
                Ok(())
            }
            Kind::Field(base, _) | Kind::Element(base, _) => self.check_assignable(base),
            Kind::Dereference(inner) => match self.inference.outer(&inner.r#type) {
                Type::Reference(_, true) => Ok(()),
                _ => place.place.refused("a value behind `&` cannot be assigned: it needs `&mut`"),
            },
            Kind::Operation(Operation::Get, parts) => {
                match parts.first().map(|memory| (memory, self.inference.outer(&memory.r#type))) {
                    Some((memory, Type::Global(_))) => self.only_read(memory, place.place),
                    _ => place.place.refused("write `x.set(i, value)`: `get` only reads an element"),
                }
            }
            _ => place.place.refused("this cannot be assigned: a variable is at the left of `=`"),
        }
    }

    pub(super) fn assign(&mut self, left: &Syntax, right: &Syntax, place: Place) -> Checked<Expr> {
        if let Syntax::Tuple(tuple) = left {
            return self.assign_parts(tuple, right, place);
        }
        if let Syntax::Infer(_) = left {
            return self.expression(right, None);
        }
        if let Some((memory, index)) = self.element_of_memory(left)? {
            return self.write((memory, index), None, (left, right), place);
        }
        if let Syntax::Path(path) = left
            && let Some(name) = path.path.get_ident()
            && !self.is_known(&name.to_string())
        {
            return self.undeclared(name, right);
        }
        let target = self.expression(left, None)?;
        self.check_assignable(&target)?;
        let value = self.typed(right, &target.r#type)?;
        Ok(Expr::new(Kind::Assign(target.into(), value.into()), Type::unit(), place))
    }

    /// Rejects an assignment to an undeclared variable.
    fn undeclared(&self, name: &proc_macro2::Ident, value: &Syntax) -> Checked<Expr> {
        let place = self.place(name);
        let locals = self.scopes.iter().flatten().map(|(known, _)| known.as_str());
        if let Some(meant) = nearest(&name.to_string(), locals) {
            return place.refused(format!("`{name}` is not known here: did you mean `{meant}`?"));
        }
        let tokens = flat(value.to_token_stream());
        let value = in_rust(&tokens, &|name| self.is_known(name)).map_or_else(|| joined(&tokens), |(rust, _)| rust);
        let value = short(value).unwrap_or_else(|| "…".to_owned());
        place.refused(format!(
            "`{name}` is not declared: write `let {name} = {value};`, or `let mut {name}` if it changes"
        ))
    }

    /// `(a, b) = (b, a)`
    fn assign_parts(&mut self, left: &syn::ExprTuple, right: &Syntax, place: Place) -> Checked<Expr> {
        let value = self.expression(right, None)?;
        let mut statements = Vec::new();
        let (mut patterns, mut types, mut targets) = (Vec::new(), Vec::new(), Vec::new());
        for part in &left.elems {
            let target = self.expression(part, None)?;
            self.check_assignable(&target)?;
            self.scopes.push(Vec::new());
            let hidden = self.declare("", target.r#type.clone(), false);
            self.scopes.pop();
            patterns.push(Pattern::Local(hidden));
            types.push(target.r#type.clone());
            let source = Expr::new(Kind::Local(hidden), target.r#type.clone(), target.place);
            targets.push(Statement::Expr(Expr::new(Kind::Assign(target.into(), source.into()), Type::unit(), place)));
        }
        let value = self.coerced(value, &Type::Tuple(types.into()))?;
        statements.push(Statement::Let(Pattern::Tuple(patterns), value));
        statements.extend(targets);
        Ok(Expr::new(Kind::Block(statements, None), Type::unit(), place))
    }

    fn assign_computed(&mut self, operator: Binary, left: &Syntax, right: &Syntax, place: Place) -> Checked<Expr> {
        if let Some((memory, index)) = self.element_of_memory(left)? {
            return self.write((memory, index), Some(operator), (left, right), place);
        }
        let target = self.expression(left, None)?;
        let value = self.expression(right, None)?;
        let value = self.value(value);
        self.check_assignable(&target)?;
        if !matches!(operator, Binary::ShiftLeft | Binary::ShiftRight) {
            self.check_mixed_change((left, &target), (right, &value))?;
        }
        let value = self.checked_operands(operator, &target, value, place)?;
        if operator == Binary::Rem && self.inference.is_float(&target.r#type) {
            let value = self.computed(operator, target.clone(), value, place)?;
            return Ok(Expr::new(Kind::Assign(target.into(), value.into()), Type::unit(), place));
        }
        Ok(Expr::new(Kind::AssignBinary(operator, target.into(), value.into()), Type::unit(), place))
    }

    /// `memory[index] = value`, as in `#[kernel]`: the value is evaluated before the index.
    fn write(
        &mut self,
        (memory, index): (Expr, Expr),
        operator: Option<Binary>,
        (left, right): (&Syntax, &Syntax),
        place: Place,
    ) -> Checked<Expr> {
        let element = self.element_type(&memory, place)?;
        let value = self.expression(right, Some(&element))?;
        self.scopes.push(Vec::new());
        let numbers = [&value, &index].map(|part| self.declare("", part.r#type.clone(), false));
        self.scopes.pop();
        let local = |number: usize, of: &Expr| Expr::new(Kind::Local(number), of.r#type.clone(), place);
        let (at, mut result) = (local(numbers[1], &index), local(numbers[0], &value));
        if let Some(operator) = operator {
            let old = self.operation(Operation::Get, vec![memory.clone(), at.clone()], element.clone(), place);
            if !matches!(operator, Binary::ShiftLeft | Binary::ShiftRight) {
                self.check_mixed_change((left, &old), (right, &value))?;
            }
            result = self.computed(operator, old, result, place)?;
        }
        if operator.is_none() && self.inference.outer(&value.r#type) != Type::Never {
            let is_same = self.inference.unify(&value.r#type, &element);
            if !is_same {
                return self.mismatch(Some(right), &value, &element);
            }
        }
        let result = self.coerced(result, &element)?;
        let statements = vec![
            Statement::Let(Pattern::Local(numbers[0]), value),
            Statement::Let(Pattern::Local(numbers[1]), index),
            Statement::Expr(self.operation(Operation::Set, vec![memory, at, result], Type::unit(), place)),
        ];
        Ok(Expr::new(Kind::Block(statements, None), Type::unit(), place))
    }

    /// An index into memory.
    pub(super) fn index_value(&mut self, written: &Syntax) -> Checked<Expr> {
        let index = self.expression(written, Some(&Type::USIZE))?;
        if let Type::Integer(of) = self.inference.outer(&index.r#type)
            && of != Integer::Usize
        {
            let way_out = match self.converted(Some(written), &index, &Type::USIZE) {
                Some(text) => format!("write `{text}`"),
                None => "add `as usize`".to_owned(),
            };
            return index.place.refused(format!("an index is `usize`, and this is `{}`: {way_out}", of.name()));
        }
        self.coerced_from(Some(written), index, &Type::USIZE)
    }
}

/// Whether an expression is a numeric literal, possibly with a sign.
fn is_literal(expr: &Syntax) -> bool {
    match expr {
        Syntax::Lit(_) => true,
        Syntax::Paren(inner) => is_literal(&inner.expr),
        Syntax::Unary(unary) => is_literal(&unary.expr),
        _ => false,
    }
}
