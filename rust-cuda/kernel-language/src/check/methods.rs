//! Methods.

use syn::Expr as Syntax;

use super::{Checker, made};
use crate::refusal::{Checked, Place};
use crate::tree::{Binary, Expr, Kind, Operation};
use crate::types::{Float, Integer, Type};

/// What a method of numbers takes, beside the number, and what it returns.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    /// The number's own type.
    Same,
    Bool,
    U32,
    /// The unsigned integer of the same size.
    Unsigned,
}

/// Methods of integers: their name, whether they are of signed and of unsigned ones, arguments and result.
const INTEGERS: [(&str, bool, bool, &[Of], Of); 22] = [
    ("min", true, true, &[Of::Same], Of::Same),
    ("max", true, true, &[Of::Same], Of::Same),
    ("clamp", true, true, &[Of::Same, Of::Same], Of::Same),
    ("abs", true, false, &[], Of::Same),
    ("unsigned_abs", true, false, &[], Of::Unsigned),
    ("abs_diff", true, true, &[Of::Same], Of::Unsigned),
    ("wrapping_add", true, true, &[Of::Same], Of::Same),
    ("wrapping_sub", true, true, &[Of::Same], Of::Same),
    ("wrapping_mul", true, true, &[Of::Same], Of::Same),
    ("wrapping_neg", true, true, &[], Of::Same),
    ("saturating_sub", false, true, &[Of::Same], Of::Same),
    ("saturating_add", false, true, &[Of::Same], Of::Same),
    ("is_multiple_of", false, true, &[Of::Same], Of::Bool),
    ("is_power_of_two", false, true, &[], Of::Bool),
    ("div_ceil", false, true, &[Of::Same], Of::Same),
    ("count_ones", true, true, &[], Of::U32),
    ("count_zeros", true, true, &[], Of::U32),
    ("leading_zeros", true, true, &[], Of::U32),
    ("trailing_zeros", true, true, &[], Of::U32),
    ("reverse_bits", true, true, &[], Of::Same),
    ("wrapping_shl", true, true, &[Of::U32], Of::Same),
    ("wrapping_shr", true, true, &[Of::U32], Of::Same),
];

/// Methods of floats; whether `core` has them, so that a function that a kernel calls may too.
const FLOATS: [(&str, bool, &[Of], Of); 18] = [
    ("min", true, &[Of::Same], Of::Same),
    ("max", true, &[Of::Same], Of::Same),
    ("clamp", true, &[Of::Same, Of::Same], Of::Same),
    ("abs", true, &[], Of::Same),
    ("copysign", true, &[Of::Same], Of::Same),
    ("recip", true, &[], Of::Same),
    ("is_nan", true, &[], Of::Bool),
    ("is_finite", true, &[], Of::Bool),
    ("is_infinite", true, &[], Of::Bool),
    ("is_sign_negative", true, &[], Of::Bool),
    ("is_sign_positive", true, &[], Of::Bool),
    ("to_bits", true, &[], Of::Unsigned),
    ("sqrt", false, &[], Of::Same),
    ("floor", false, &[], Of::Same),
    ("ceil", false, &[], Of::Same),
    ("trunc", false, &[], Of::Same),
    ("round_ties_even", false, &[], Of::Same),
    ("mul_add", false, &[Of::Same, Of::Same], Of::Same),
];

impl Checker<'_> {
    pub(super) fn method_call(&mut self, call: &syn::ExprMethodCall) -> Checked<Expr> {
        let place = self.place(&call.method);
        let name = call.method.to_string();
        let receiver = self.expression(&call.receiver, None)?;
        let receiver = self.value(receiver);
        let of = self.inference.outer(&receiver.r#type);
        if let Type::Struct(number, _) = of
            && let Some(function) = self.program.methods.get(&(number, name.clone())).copied()
        {
            return self.own_method(function, receiver, call, place);
        }
        let arguments = call.args.iter();
        let memory = |element: Type, result: Type| (vec![Type::USIZE, element], result);
        let (operation, (types, result)) = match (&of, name.as_str()) {
            (Type::Global(_) | Type::GlobalMut(_) | Type::Shared(_) | Type::Dynamic(_) | Type::Array(_), "len") => {
                (Operation::Length, (Vec::new(), Type::USIZE))
            }
            (Type::Global(_) | Type::GlobalMut(_) | Type::Shared(_) | Type::Dynamic(_), "is_empty") => {
                let length = self.operation(Operation::Length, vec![receiver], Type::USIZE, place);
                let zero = made(Kind::Integer(0), Type::USIZE, place, &[]);
                self.arguments(arguments, &[], place)?;
                let kind = Kind::Compare(crate::tree::Comparison::Equal, length.into(), zero.into());
                return Ok(made(kind, Type::Bool, place, &[]));
            }
            (Type::Global(element), "get") | (Type::GlobalMut(element) | Type::Dynamic(element), "get") => {
                (Operation::Get, (vec![Type::USIZE], (**element).clone()))
            }
            (Type::GlobalMut(element) | Type::Dynamic(element), "set") => {
                (Operation::Set, memory((**element).clone(), Type::unit()))
            }
            (Type::Shared(parts), "get") => (Operation::Get, (vec![Type::USIZE], parts[0].clone())),
            (Type::Shared(parts), "set") => (Operation::Set, memory(parts[0].clone(), Type::unit())),
            (Type::Shared2d(parts), "get") => (Operation::Get, (vec![pair()], parts[0].clone())),
            (Type::Shared2d(parts), "set") => (Operation::Set, (vec![pair(), parts[0].clone()], Type::unit())),
            (Type::Shared2d(parts), "rows" | "columns") => {
                let length = if name == "rows" { &parts[1] } else { &parts[2] };
                let Type::Length(length) = self.inference.outer(length) else {
                    return place.refused("the array's size is not known yet");
                };
                return Ok(made(Kind::Integer(length.into()), Type::USIZE, place, &[]));
            }
            (Type::GlobalMut(element), "atomic") => {
                (Operation::Atomic, (vec![Type::USIZE], self.atomic(element, false, place)?))
            }
            (Type::Dynamic(element), "atomic") => {
                (Operation::Atomic, (vec![Type::USIZE], self.atomic(element, true, place)?))
            }
            (Type::Shared(parts), "atomic") => {
                (Operation::Atomic, (vec![Type::USIZE], self.atomic(&parts[0], true, place)?))
            }
            (Type::Shared2d(parts), "atomic") => {
                (Operation::Atomic, (vec![pair()], self.atomic(&parts[0], true, place)?))
            }
            (Type::Atomic(element, _), _) => {
                let element = (**element).clone();
                let of_bits = matches!(name.as_str(), "fetch_and" | "fetch_or" | "fetch_xor");
                let operation = match name.as_str() {
                    "load" => return self.method(Operation::AtomicLoad, receiver, call, (&[], element)),
                    "store" => return self.method(Operation::AtomicStore, receiver, call, (&[element], Type::unit())),
                    "fetch_add" => "add",
                    "fetch_sub" => "sub",
                    "fetch_max" => "max",
                    "fetch_min" => "min",
                    "fetch_and" => "and",
                    "fetch_or" => "or",
                    "fetch_xor" => "xor",
                    "swap" => "exch",
                    _ => return place.refused(format!("`{name}` of an atomic element is not known here")),
                };
                if of_bits && !self.inference.is_integer(&element) {
                    return place.refused(format!("`{name}` is of integers"));
                }
                (Operation::Update(operation), (vec![element.clone()], element))
            }
            _ if self.inference.is_integer(&of) || self.inference.is_float(&of) => {
                let arguments: Vec<&Syntax> = arguments.collect();
                return self.number_method(receiver, &name, &arguments, place, self.is_kernel);
            }
            _ => {
                let shown = self.shown(&of);
                return place.refused(format!("`{name}` of {shown} is not known here"));
            }
        };
        self.method(operation, receiver, call, (&types, result))
    }

    fn method(
        &mut self,
        operation: Operation,
        receiver: Expr,
        call: &syn::ExprMethodCall,
        (types, result): (&[Type], Type),
    ) -> Checked<Expr> {
        let place = self.place(&call.method);
        let arguments = self.arguments(call.args.iter(), types, place)?;
        // Memory does not change while the arguments are computed.
        let parts = std::iter::once(receiver).chain(arguments).collect();
        Ok(self.operation(operation, parts, result, place))
    }

    fn atomic(&self, element: &Type, is_shared: bool, place: Place) -> Checked<Type> {
        let element = self.inference.outer(element);
        match element {
            Type::Integer(Integer::U32 | Integer::I32 | Integer::U64 | Integer::I64) | Type::Float(_) => {
                Ok(Type::Atomic(element.into(), is_shared))
            }
            _ => place.refused("atomic operations are of u32, i32, u64, i64, f32 and f64"),
        }
    }

    fn own_method(
        &mut self,
        function: usize,
        receiver: Expr,
        call: &syn::ExprMethodCall,
        place: Place,
    ) -> Checked<Expr> {
        let mut given = Vec::new();
        for argument in call.turbofish.iter().flat_map(|turbofish| &turbofish.args) {
            given.push(self.generic_argument(argument)?);
        }
        let of = receiver.r#type.clone();
        let (generics, types, result) = self.instance(function, given, Some(&of), place)?;
        let Some((own, types)) = types.split_first() else { return place.refused("this function has no `self`") };
        let receiver = match self.inference.outer(own) {
            Type::Reference(_, is_mutable) => {
                if is_mutable {
                    self.check_assignable(&receiver)?;
                }
                let assigns = receiver.assigns || is_mutable;
                Expr { kind: Kind::Reference(receiver.into()), r#type: own.clone(), place, assigns }
            }
            _ => receiver,
        };
        let arguments = self.arguments(call.args.iter(), types, place)?;
        let parts = std::iter::once(receiver).chain(arguments).collect();
        self.of_parts(parts, result, place, |parts| Kind::Call(function, generics, parts))
    }

    /// A method of a number. `has_std` says whether the methods are known that `core` lacks.
    pub(super) fn number_method(
        &mut self,
        receiver: Expr,
        name: &str,
        arguments: &[&Syntax],
        place: Place,
        has_std: bool,
    ) -> Checked<Expr> {
        let of = self.inference.outer(&receiver.r#type);
        let unknown = |shown: String| place.refused(format!("`{name}` of {shown} is not known here"));
        let (operation, given, result) = match &of {
            Type::Integer(integer) => {
                let signed = integer.is_signed();
                let is_it = |row: &&(&str, bool, bool, &[Of], Of)| row.0 == name && if signed { row.1 } else { row.2 };
                match INTEGERS.iter().find(is_it) {
                    Some((name, .., given, result)) => (*name, *given, *result),
                    None => return unknown(self.shown(&of)),
                }
            }
            Type::Float(_) => match FLOATS.iter().find(|row| row.0 == name) {
                Some((name, in_core, ..)) if !in_core && !has_std => {
                    let shown = name;
                    return place.refused(format!(
                        "a GPU's `core` has no `{shown}`: write `GpuFloat::{shown}(x)` in a function"
                    ));
                }
                Some((name, _, given, result)) => (*name, *given, *result),
                None => return unknown(self.shown(&of)),
            },
            // These are of a trait that all integers have.
            Type::Unknown(_) if self.inference.is_integer(&of) && ["min", "max", "clamp"].contains(&name) => {
                let is_it = |row: &&(&str, bool, bool, &[Of], Of)| row.0 == name;
                let (name, .., given, result) = INTEGERS.iter().find(is_it).unwrap_or(&INTEGERS[0]);
                (*name, *given, *result)
            }
            _ => {
                return receiver
                    .place
                    .refused("the type of this number is not known yet: write it, as in `1_u32` or `0.5_f32`");
            }
        };
        let of_kind = |kind: Of| match (kind, &of) {
            (Of::Bool, _) => Type::Bool,
            (Of::U32, _) => Type::U32,
            (Of::Unsigned, Type::Float(Float::F32)) => Type::U32,
            (Of::Unsigned, Type::Float(Float::F64)) => Type::Integer(Integer::U64),
            (Of::Unsigned, Type::Integer(of)) => Type::Integer(match of {
                Integer::I8 => Integer::U8,
                Integer::I16 => Integer::U16,
                Integer::I32 => Integer::U32,
                Integer::I64 => Integer::U64,
                Integer::Isize => Integer::Usize,
                other => *other,
            }),
            _ => of.clone(),
        };
        let types: Vec<Type> = given.iter().map(|kind| of_kind(*kind)).collect();
        let result = of_kind(result);
        let arguments = self.arguments(arguments.iter().copied(), &types, place)?;
        // The same as the operators, which wrap around.
        let binary = match operation {
            "wrapping_add" => Some(Binary::Add),
            "wrapping_sub" => Some(Binary::Sub),
            "wrapping_mul" => Some(Binary::Mul),
            "wrapping_shl" => Some(Binary::ShiftLeft),
            "wrapping_shr" => Some(Binary::ShiftRight),
            _ => None,
        };
        match (binary, <[Expr; 1]>::try_from(arguments)) {
            (Some(binary), Ok([argument])) => self.computed(binary, receiver, argument, place),
            (_, arguments) => {
                let arguments = arguments.map_or_else(|arguments| arguments, |[argument]| vec![argument]);
                let operation = if operation == "to_bits" { Operation::Bits } else { Operation::Number(operation) };
                let parts = std::iter::once(receiver).chain(arguments).collect();
                Ok(self.operation(operation, parts, result, place))
            }
        }
    }
}

/// The indices of an element of rows.
fn pair() -> Type {
    Type::Array([Type::USIZE, Type::Length(2)].into())
}
