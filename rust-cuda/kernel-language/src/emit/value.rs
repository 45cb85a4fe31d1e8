//! The values of expressions.

use std::rc::Rc;

use super::Emitter;
use crate::constants::Constant;
use crate::refusal::{Checked, Place};
use crate::tree::{Body, Expr, Kind, Pattern};
use crate::types::{Integer, Type};

#[derive(Clone, Debug)]
pub(super) enum Value {
    /// No value: the expression never completes.
    Nothing,
    /// A register or a number.
    Scalar(String),
    /// The parts of a tuple or a struct.
    Parts(Vec<Value>),
    Memory(Rc<Memory>),
    /// The address of an element.
    Atomic(String),
    /// A thread's own array: a symbol or a register with its address, and the offset.
    Array(String, u64),
    /// An element of such an array as a place, created by `&mut`.
    Cell(String, u64),
    /// A closure, and the function that contains it.
    Closure(usize, usize),
}

/// Memory shared by threads.
#[derive(Debug)]
pub(super) struct Memory {
    /// The address of the first element.
    pub(super) base: String,
    pub(super) length: Length,
    /// Elements per row in 2D arrays.
    pub(super) columns: u64,
    pub(super) space: Space,
}

#[derive(Clone, Debug)]
pub(super) enum Length {
    Register(String),
    Number(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    /// Global memory, and whether it is read-only during the launch.
    Global {
        is_constant: bool,
    },
    Shared,
}

impl Space {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Global { .. } => "global",
            Self::Shared => "shared",
        }
    }
}

impl Emitter<'_> {
    pub(super) fn body(&self) -> Rc<Body> {
        self.activations[self.current].body.clone()
    }

    /// The type of an expression of the current function.
    pub(super) fn type_of(&self, expr: &Expr) -> Type {
        self.activations[self.current].body.inference.whole(&expr.r#type)
    }

    /// The register or number of a value. Uninitialized values get a new register.
    pub(super) fn scalar(&mut self, value: Value, of: &Type) -> String {
        match value {
            Value::Scalar(scalar) => scalar,
            Value::Cell(base, offset) => {
                let loaded = self.load_element((base, offset), of);
                self.scalar(loaded, of)
            }
            _ => self.fresh(of),
        }
    }

    /// A scalar in a register.
    pub(super) fn in_register(&mut self, scalar: String, of: &Type) -> String {
        if scalar.starts_with('%') {
            return scalar;
        }
        let register = self.fresh(of);
        self.mov(&register, &scalar, of);
        register
    }

    pub(super) fn mov(&mut self, to: &str, from: &str, of: &Type) {
        let suffix = match of {
            Type::Bool => "pred",
            _ if super::width_of(of) == 64 => "b64",
            _ => "b32",
        };
        self.emit(format!("mov.{suffix} \t{to}, {from};"));
    }

    /// A constant of this type.
    pub(super) fn constant(&self, constant: Constant, of: &Type, place: Place) -> Checked<Value> {
        Ok(Value::Scalar(match constant {
            Constant::Integer(value) => match of {
                Type::Integer(of) if !of.contains(value) => {
                    return place.refused(format!("{value} is no `{}`", of.name()));
                }
                // 64-bit registers have the same bits for both.
                Type::Integer(Integer::U64 | Integer::Usize) => (value as u64).cast_signed().to_string(),
                _ => value.to_string(),
            },
            Constant::F32(value) => format!("0f{:08X}", value.to_bits()),
            Constant::F64(value) => format!("0d{:016X}", value.to_bits()),
            Constant::Bool(value) => if value { "-1" } else { "0" }.to_owned(),
        }))
    }

    /// New registers for a value that several branches set.
    pub(super) fn unset(&mut self, of: &Type, place: Place) -> Checked<Value> {
        Ok(match of {
            Type::Never => Value::Nothing,
            Type::Bool | Type::Integer(_) | Type::Float(_) => Value::Scalar(self.fresh(of)),
            Type::Tuple(_) | Type::Struct(..) | Type::Option(_) => {
                Value::Parts(of.parts().iter().map(|part| self.unset(part, place)).collect::<Checked<_>>()?)
            }
            Type::Indices(count) => Value::Parts((0..*count).map(|_| Value::Scalar(self.fresh(&Type::U32))).collect()),
            Type::Array(_) => self.new_array(of, place)?,
            Type::Global(_) | Type::GlobalMut(_) => {
                let is_constant = matches!(of, Type::Global(_));
                let (base, length) = (self.wide(), Length::Register(self.wide()));
                Value::Memory(Rc::new(Memory { base, length, columns: 0, space: Space::Global { is_constant } }))
            }
            _ => return place.refused("branches cannot give this value here: use it in each of them"),
        })
    }

    /// Assigns to the registers of `to`.
    pub(super) fn set(&mut self, to: &Value, from: Value, of: &Type, place: Place) -> Checked<()> {
        match (to, from) {
            (Value::Nothing, _) | (_, Value::Nothing) => {}
            (Value::Cell(base, offset), from) => self.store_element((base.clone(), *offset), from, of, place)?,
            (to, Value::Cell(base, offset)) => {
                let loaded = self.load_element((base, offset), of);
                self.set(to, loaded, of, place)?;
            }
            (Value::Scalar(to), Value::Scalar(from)) => {
                if *to != from {
                    self.mov(to, &from, of);
                }
            }
            (Value::Parts(to), Value::Parts(from)) => {
                let u32s = vec![Type::U32; to.len()];
                let types = if let Type::Indices(_) = of { &u32s[..] } else { of.parts() };
                // Parts of both may be in the same registers.
                let from: Vec<Value> = from
                    .into_iter()
                    .zip(types)
                    .map(|(from, of)| self.copied(from, of, place))
                    .collect::<Checked<_>>()?;
                for ((to, from), of) in to.iter().zip(from).zip(types) {
                    self.set(to, from, of, place)?;
                }
            }
            (Value::Memory(to), Value::Memory(from)) => {
                self.mov(&to.base, &from.base, &Type::USIZE);
                if let (Length::Register(to), Length::Register(from)) = (&to.length, &from.length) {
                    self.mov(to, from, &Type::USIZE);
                }
            }
            (Value::Array(to, to_offset), Value::Array(from, from_offset)) => {
                self.copy_array((to, *to_offset), (&from, from_offset), of, place)?;
            }
            _ => return place.refused("this value cannot be assigned here"),
        }
        Ok(())
    }

    /// Copies the value to separate registers.
    pub(super) fn copied(&mut self, value: Value, of: &Type, place: Place) -> Checked<Value> {
        match (&value, of) {
            (Value::Scalar(scalar), _) if !scalar.starts_with('%') => Ok(value),
            (_, Type::Reference(..)) => Ok(value),
            (Value::Scalar(_) | Value::Parts(_) | Value::Array(..) | Value::Cell(..), _) => {
                let to = self.unset(of, place)?;
                self.set(&to, value, of, place)?;
                Ok(to)
            }
            _ => Ok(value),
        }
    }

    /// Whether the registers of an expression's value may belong to a variable that changes.
    pub(super) fn may_change(&self, expr: &Expr) -> bool {
        match &expr.kind {
            Kind::Local(number) => {
                let local = &self.activations[self.current].body.locals[*number];
                local.is_mutable || matches!(local.r#type, Type::Array(_))
            }
            Kind::Field(base, _) | Kind::Element(base, _) => self.may_change(base),
            Kind::Dereference(_) => true,
            Kind::Block(_, Some(tail)) => self.may_change(tail),
            Kind::Tuple(parts) => parts.iter().any(|part| self.may_change(part)),
            _ => false,
        }
    }

    /// Binds the variables in a pattern to a value.
    pub(super) fn bind(&mut self, pattern: &Pattern, value: Value, of: &Type, may_change: bool) -> Checked<()> {
        let place = self.place;
        match pattern {
            Pattern::Ignore => {}
            Pattern::Local(number) => {
                let body = self.body();
                let local = &body.locals[*number];
                let value = match value {
                    Value::Cell(..) if !matches!(of, Type::Reference(..)) => self.copied(value, of, place)?,
                    // A mutable variable has a register, whatever its initial value is.
                    Value::Scalar(scalar) if local.is_mutable && !matches!(of, Type::Reference(..)) => {
                        let register = self.fresh(of);
                        self.mov(&register, &scalar, of);
                        Value::Scalar(register)
                    }
                    value if local.is_mutable && !matches!(of, Type::Reference(..)) => {
                        self.in_variable(value, of, place)?
                    }
                    value if may_change => self.copied(value, of, place)?,
                    value => value,
                };
                let (line, frame) = (self.line(), self.activations[self.current].frame);
                if !self.is_own {
                    self.names.declare(&local.name, of, &value, frame, line);
                }
                self.activations[self.current].values[*number] = value;
            }
            Pattern::Tuple(patterns) => {
                let parts = match (value, of) {
                    (Value::Parts(parts), _) => parts.into_iter().zip(of.parts().iter().cloned()).collect(),
                    (Value::Array(base, start), Type::Array(parts)) => {
                        let bytes = Self::bytes_of(&parts[0]).unwrap_or_default();
                        let offsets = (0..patterns.len() as u64).map(|index| start + index * bytes);
                        offsets
                            .map(|at| (self.load_element((base.clone(), at), &parts[0]), parts[0].clone()))
                            .collect::<Vec<_>>()
                    }
                    _ => vec![(Value::Nothing, Type::Never); patterns.len()],
                };
                for (pattern, (part, of)) in patterns.iter().zip(parts) {
                    self.bind(pattern, part, &of, may_change)?;
                }
            }
        }
        Ok(())
    }

    /// Copies the value to separate registers, even if it is a number.
    fn in_variable(&mut self, value: Value, of: &Type, place: Place) -> Checked<Value> {
        match value {
            Value::Parts(_) | Value::Array(..) => {
                let to = self.unset(of, place)?;
                self.set(&to, value, of, place)?;
                Ok(to)
            }
            Value::Memory(_) => place.refused("a variable for memory is not `mut` here"),
            value => Ok(value),
        }
    }
}
