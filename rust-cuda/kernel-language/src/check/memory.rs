//! Elements of memory, and parts of values.

use syn::{Expr as Syntax, Member};

use super::Checker;
use super::methods::memory_of;
use crate::refusal::{Checked, Place};
use crate::tree::{Expr, Kind, Operation};
use crate::types::Type;

/// Names of fields with the number of elements in other languages.
const LENGTHS: [&str; 4] = ["length", "size", "shape", "count"];

impl Checker<'_> {
    /// The element type of memory.
    pub(super) fn element_type(&self, memory: &Expr, place: Place) -> Checked<Type> {
        match memory_of(&self.inference.outer(&memory.r#type)) {
            Some((element, _)) => Ok(element),
            None => place.refused("this is no memory"),
        }
    }

    /// The memory and the index in `x[i]`, or in `tile[i][j]`, if many threads may write it.
    pub(super) fn element_of_memory(&mut self, expr: &Syntax) -> Checked<Option<(Expr, Expr)>> {
        let mut indices = Vec::new();
        let mut inner = expr;
        while let Syntax::Index(index) = inner {
            indices.push(&*index.index);
            inner = &index.expr;
        }
        indices.reverse();
        let (Syntax::Path(path), false) = (inner, indices.is_empty()) else { return Ok(None) };
        let Some(local) = path.path.get_ident().and_then(|name| self.local(&name.to_string())) else { return Ok(None) };
        let of = self.inference.outer(&self.locals[local].r#type);
        let Some((_, count)) = memory_of(&of).filter(|_| !matches!(of, Type::Global(_))) else { return Ok(None) };
        let place = self.place(expr);
        if !self.is_kernel {
            return place
                .refused("brackets are known in the body of a kernel: write `x.get(i)` and `x.set(i, value)` here");
        }
        if indices.len() != count {
            return place.refused(if count == 1 {
                "an element of this memory has one index"
            } else {
                "an element of this memory has two indices: `tile[row][column]`"
            });
        }
        let memory = self.expression(inner, None)?;
        let indices: Vec<Expr> = indices.into_iter().map(|index| self.index_value(index)).collect::<Checked<_>>()?;
        let index = match <[Expr; 1]>::try_from(indices) {
            Ok([index]) => index,
            Err(indices) => {
                self.of_parts(indices, Type::Array([Type::USIZE, Type::Length(2)].into()), place, Kind::Array)?
            }
        };
        Ok(Some((memory, index)))
    }

    pub(super) fn index(&mut self, expr: &Syntax, of: &syn::ExprIndex, place: Place) -> Checked<Expr> {
        if let Some((memory, index)) = self.element_of_memory(expr)? {
            let element = self.element_type(&memory, place)?;
            return Ok(self.operation(Operation::Get, vec![memory, index], element, place));
        }
        if let Syntax::Range(_) = &*of.index {
            return place.refused("a part of memory is not known here: compute the index");
        }
        let base = self.expression(&of.expr, None)?;
        let base = self.value(base);
        match self.inference.outer(&base.r#type) {
            Type::Global(element) => {
                let index = self.index_value(&of.index)?;
                Ok(self.operation(Operation::Get, vec![base, index], (*element).clone(), place))
            }
            Type::Array(parts) => {
                let index = self.index_value(&of.index)?;
                Ok(Expr::new(Kind::Element(base.into(), index.into()), parts[0].clone(), place))
            }
            Type::GlobalMut(_) | Type::Shared(_) | Type::Dynamic(_) | Type::Shared2d(_) => {
                place.refused("brackets are known after the name of a variable: write `x.get(i)` here")
            }
            other => {
                let shown = self.shown(&other);
                place.refused(format!("{shown} has no elements"))
            }
        }
    }

    pub(super) fn field(&mut self, of: &syn::ExprField, place: Place) -> Checked<Expr> {
        let base = self.expression(&of.base, None)?;
        let base = self.value(base);
        let found = match (self.inference.outer(&base.r#type), &of.member) {
            (Type::Tuple(parts), Member::Unnamed(index)) => {
                parts.get(index.index as usize).map(|part| (index.index as usize, part.clone()))
            }
            (Type::Indices(count), Member::Named(name)) => {
                let index = ["x", "y", "z"].iter().take(count).position(|known| name == known);
                index.map(|index| (index, Type::U32))
            }
            (Type::Struct(number, parts), member) => {
                let fields = &self.program.structs[number].1.fields;
                let index = match member {
                    Member::Named(name) => fields.iter().position(|field| field.ident.as_ref() == Some(name)),
                    Member::Unnamed(index) => Some(index.index as usize),
                };
                index.and_then(|index| Some((index, parts.get(index)?.clone())))
            }
            _ => None,
        };
        let Some((index, r#type)) = found else {
            let shown = self.shown(&base.r#type);
            let text = self.text(&of.base).unwrap_or_else(|| "x".to_owned());
            let outer = self.inference.outer(&base.r#type);
            let has_length = memory_of(&outer).is_some() || matches!(outer, Type::Array(_));
            let way_out = match (&of.member, has_length) {
                (Member::Named(name), true) if name == "len" || LENGTHS.iter().any(|length| name == length) => {
                    format!(": write `{text}.len()`")
                }
                (Member::Named(name), _) if name == "x" => ": it is a number by itself, without `.x`".to_owned(),
                _ => String::new(),
            };
            return place.refused(format!("{shown} has no such field{way_out}"));
        };
        Ok(Expr::new(Kind::Field(base.into(), index), r#type, place))
    }

    /// `Matrix { rows, columns }`
    pub(super) fn structure(&mut self, of: &syn::ExprStruct, place: Place) -> Checked<Expr> {
        let r#type = self.path_type(&of.path)?;
        let Type::Struct(number, parts) = self.inference.outer(&r#type) else {
            return place.refused("this is no struct");
        };
        if of.rest.is_some() || of.fields.len() != parts.len() {
            return place.refused("a value of a struct has all its fields here");
        }
        // The values are evaluated in source order.
        let mut values: Vec<(usize, Expr)> = Vec::new();
        let item = self.program.structs[number].1.clone();
        for value in &of.fields {
            let index = item.fields.iter().position(|field| match &value.member {
                Member::Named(name) => field.ident.as_ref() == Some(name),
                Member::Unnamed(_) => false,
            });
            let Some(index) = index.filter(|index| values.iter().all(|(known, _)| known != index)) else {
                return place.refused("the struct has no such field, or it is given twice");
            };
            values.push((index, self.typed(&value.expr, &parts[index])?));
        }
        if values.iter().map(|(index, _)| *index).ne(0..parts.len()) {
            return place.refused("write the fields in the order of the struct's declaration");
        }
        let values = values.into_iter().map(|(_, value)| value).collect();
        self.of_parts(values, r#type, place, Kind::Tuple)
    }
}
