//! Methods.

use syn::Expr as Syntax;

use super::Checker;
use crate::refusal::{Checked, Place};
use crate::source::Named;
use crate::tree::{Binary, Expr, Kind, Operation, Unary};
use crate::types::{Float, Integer, Type};

/// The type of a numeric method's argument or result.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    /// The number's own type.
    Same,
    Bool,
    U32,
    /// The unsigned integer of the same size.
    Unsigned,
    /// An option of the number's own type.
    Option,
}

/// Integer methods: their names, whether signed and unsigned integers have them, arguments and
/// result.
const INTEGERS: [(&str, bool, bool, &[Of], Of); 12] = [
    ("min max wrapping_add wrapping_sub wrapping_mul", true, true, &[Of::Same], Of::Same),
    ("checked_add checked_sub checked_mul checked_div checked_rem", true, true, &[Of::Same], Of::Option),
    ("clamp", true, true, &[Of::Same, Of::Same], Of::Same),
    ("abs", true, false, &[], Of::Same),
    ("unsigned_abs", true, false, &[], Of::Unsigned),
    ("abs_diff", true, true, &[Of::Same], Of::Unsigned),
    ("wrapping_neg reverse_bits", true, true, &[], Of::Same),
    ("saturating_sub saturating_add div_ceil", false, true, &[Of::Same], Of::Same),
    ("is_multiple_of", false, true, &[Of::Same], Of::Bool),
    ("is_power_of_two", false, true, &[], Of::Bool),
    ("count_ones count_zeros leading_zeros trailing_zeros", true, true, &[], Of::U32),
    ("wrapping_shl wrapping_shr", true, true, &[Of::U32], Of::Same),
];

/// Float methods. The flag says whether `core` has them, so functions called by kernels may use
/// them too.
const FLOATS: [(&str, bool, &[Of], Of); 7] = [
    ("min max copysign", true, &[Of::Same], Of::Same),
    ("clamp", true, &[Of::Same, Of::Same], Of::Same),
    ("abs recip", true, &[], Of::Same),
    ("is_nan is_finite is_infinite is_sign_negative is_sign_positive", true, &[], Of::Bool),
    ("to_bits", true, &[], Of::Unsigned),
    ("sqrt floor ceil trunc round_ties_even", false, &[], Of::Same),
    ("mul_add", false, &[Of::Same, Of::Same], Of::Same),
];

/// Methods of atomic elements.
const ATOMIC: [&str; 11] = [
    "load",
    "store",
    "swap",
    "fetch_add",
    "fetch_sub",
    "fetch_max",
    "fetch_min",
    "fetch_and",
    "fetch_or",
    "fetch_xor",
    "compare_exchange",
];

/// A name from a row of names.
fn among(names: &'static str, name: &str) -> Option<&'static str> {
    names.split(' ').find(|known| *known == name)
}

impl Checker<'_> {
    pub(super) fn method_call(&mut self, call: &syn::ExprMethodCall) -> Checked<Expr> {
        let place = self.place(&call.method);
        let name = call.method.to_string();
        if let ("is_ok" | "is_err", Syntax::MethodCall(exchange)) = (&*name, &*call.receiver)
            && exchange.method == "compare_exchange"
        {
            return self.exchange(exchange, name == "is_ok", place);
        }
        let receiver = self.expression(&call.receiver, None)?;
        let receiver = self.value(receiver);
        let of = self.inference.outer(&receiver.r#type);
        if let Type::Option(_) = of {
            return self.option_method(receiver, call, place);
        }
        if let Type::Struct(number, _) = of
            && let Some(function) = self.program.methods.get(&(number, name.clone())).copied()
        {
            return self.own_method(function, receiver, call, place);
        }
        let arguments = call.args.iter();
        let is_global = matches!(of, Type::Global(_) | Type::GlobalMut(_));
        let (element, index) = memory_of(&of).unzip();
        let element = element.unwrap_or(Type::Never);
        let index = index.map(|indices| if indices == 2 { pair() } else { Type::USIZE });
        let (operation, (types, result)) = match (&of, name.as_str()) {
            (Type::Array(_), "len") => (Operation::Length, (Vec::new(), Type::USIZE)),
            (_, "len") if index == Some(Type::USIZE) => (Operation::Length, (Vec::new(), Type::USIZE)),
            (_, "is_empty") if index == Some(Type::USIZE) => {
                let length = self.operation(Operation::Length, vec![receiver], Type::USIZE, place);
                let zero = Expr::new(Kind::Integer(0), Type::USIZE, place);
                self.arguments(&name, arguments, &[], place)?;
                let kind = Kind::Compare(crate::tree::Comparison::Equal, length.into(), zero.into());
                return Ok(Expr::new(kind, Type::Bool, place));
            }
            (_, "get") if index.is_some() => (Operation::Get, (index.into_iter().collect(), element)),
            (Type::Global(_), "set" | "atomic") => {
                return self.only_read(&receiver, place);
            }
            (_, "set") if index.is_some() => {
                (Operation::Set, (index.into_iter().chain([element]).collect(), Type::unit()))
            }
            (_, "atomic") if index.is_some() => {
                (Operation::Atomic, (index.into_iter().collect(), self.atomic(&element, !is_global, place)?))
            }
            (Type::Shared2d(parts), "rows" | "columns") => {
                let length = if name == "rows" { &parts[1] } else { &parts[2] };
                let Type::Length(length) = self.inference.outer(length) else {
                    return place.refused("the array's size is not known yet");
                };
                return Ok(Expr::new(Kind::Integer(length.into()), Type::USIZE, place));
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
                    "compare_exchange" => {
                        let reason = "the result of `compare_exchange` is known here as `….is_ok()` and `….is_err()`";
                        return place.refused(reason);
                    }
                    _ => return self.no_method(&name, &of, &ATOMIC, (Some(call), place)),
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
                let known: &[&str] = match (&of, &index) {
                    (Type::Array(_), _) => &["len", "iter", "iter_mut"],
                    (Type::Global(_), _) => &["len", "get", "is_empty"],
                    (_, Some(Type::Array(_))) => &["get", "set", "atomic", "rows", "columns"],
                    (_, Some(_)) => &["len", "get", "set", "atomic", "is_empty"],
                    _ => &[],
                };
                return self.no_method(&name, &of, known, (Some(call), place));
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
        let arguments = self.arguments(&call.method.to_string(), call.args.iter(), types, place)?;
        // Memory does not change while the arguments are evaluated.
        let parts = std::iter::once(receiver).chain(arguments).collect();
        Ok(self.operation(operation, parts, result, place))
    }

    /// `compare_exchange(current, new)` followed by `is_ok()` or, if `is_ok` is false, `is_err()`.
    fn exchange(&mut self, call: &syn::ExprMethodCall, is_ok: bool, place: Place) -> Checked<Expr> {
        let receiver = self.expression(&call.receiver, None)?;
        let Type::Atomic(element, _) = self.inference.outer(&receiver.r#type) else {
            return place.refused("`compare_exchange` is of an atomic element");
        };
        let types = [(*element).clone(), (*element).clone()];
        let exchanged = self.method(Operation::Exchange, receiver, call, (&types, Type::Bool))?;
        if is_ok {
            return Ok(exchanged);
        }
        Ok(Expr::new(Kind::Unary(Unary::Not, exchanged.into()), Type::Bool, place))
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
                Expr::new(Kind::Reference(receiver.into()), own.clone(), place)
            }
            _ => receiver,
        };
        let arguments = self.arguments(&call.method.to_string(), call.args.iter(), types, place)?;
        let parts = std::iter::once(receiver).chain(arguments).collect();
        self.of_parts(parts, result, place, |parts| Kind::Call(function, generics, parts))
    }

    /// `x.powi(n)`: calls a function in the compiler's built-in source.
    fn power(&mut self, value: Expr, arguments: &[&Syntax], place: Place, has_std: bool) -> Checked<Expr> {
        if !has_std {
            return place.refused("a GPU's `core` has no `powi`: write `GpuFloat::powi(x, n)` in a function");
        }
        let of = value.r#type.clone();
        let i32s = [Type::Integer(Integer::I32)];
        let exponent = self.arguments("powi", arguments.iter().copied(), &i32s, place)?;
        let path = ["cuda_std", "math", "__powi"].map(str::to_owned);
        let Named::Function(number) = self.program.find(self.module, &path, place)? else {
            return place.refused("`powi` is not known here");
        };
        let parts = std::iter::once(value).chain(exponent).collect();
        Ok(Expr::new(Kind::Call(number, vec![of.clone()], parts), of, place))
    }

    /// A numeric method. `has_std` enables the methods that `core` lacks.
    pub(super) fn number_method(
        &mut self,
        receiver: Expr,
        name: &str,
        arguments: &[&Syntax],
        place: Place,
        has_std: bool,
    ) -> Checked<Expr> {
        let of = self.inference.outer(&receiver.r#type);
        if name == "powi" && self.inference.is_float(&of) {
            return self.power(receiver, arguments, place, has_std);
        }
        let of_integers = |signed: Option<bool>| {
            let rows =
                INTEGERS.iter().filter(move |row| signed.is_none_or(|signed| if signed { row.1 } else { row.2 }));
            rows.filter_map(|(names, .., given, result)| Some((among(names, name)?, *given, *result))).next()
        };
        let found = match &of {
            Type::Integer(integer) => of_integers(Some(integer.is_signed())),
            Type::Float(_) => {
                let mut rows = FLOATS.iter().filter_map(|row| Some((among(row.0, name)?, row.1, row.2, row.3)));
                match rows.next() {
                    Some((shown, false, ..)) if !has_std => {
                        return place.refused(format!(
                            "a GPU's `core` has no `{shown}`: write `GpuFloat::{shown}(x)` in a function"
                        ));
                    }
                    found => found.map(|(name, _, given, result)| (name, given, result)),
                }
            }
            // These belong to a trait that all integers implement.
            Type::Unknown(_) if self.inference.is_integer(&of) && ["min", "max", "clamp"].contains(&name) => {
                of_integers(None)
            }
            _ => {
                return receiver
                    .place
                    .refused("the type of this number is not known yet: write it, as in `1_u32` or `0.5_f32`");
            }
        };
        let Some((operation, given, result)) = found else {
            let names: Vec<&str> = match &of {
                Type::Float(_) => FLOATS.iter().flat_map(|row| row.0.split(' ')).chain(["powi"]).collect(),
                _ => INTEGERS.iter().flat_map(|row| row.0.split(' ')).collect(),
            };
            return self.no_method(name, &of, &names, (None, place));
        };
        let of_kind = |kind: Of| match (kind, &of) {
            (Of::Bool, _) => Type::Bool,
            (Of::Option, of) => Type::option((*of).clone()),
            (Of::U32, _) => Type::U32,
            (Of::Unsigned, Type::Float(Float::F32)) => Type::U32,
            (Of::Unsigned, Type::Float(Float::F64)) => Type::Integer(Integer::U64),
            (Of::Unsigned, Type::Integer(of)) => Type::Integer(of.unsigned()),
            _ => of.clone(),
        };
        let types: Vec<Type> = given.iter().map(|kind| of_kind(*kind)).collect();
        let result = of_kind(result);
        let arguments = self.arguments(name, arguments.iter().copied(), &types, place)?;
        // Same as the operators, which wrap around.
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

/// The element type of memory shared by threads, and the number of indices per element.
pub(super) fn memory_of(of: &Type) -> Option<(Type, usize)> {
    match of {
        Type::Global(of) | Type::GlobalMut(of) | Type::Dynamic(of) => Some(((**of).clone(), 1)),
        Type::Shared(of) => Some((of[0].clone(), 1)),
        Type::Shared2d(of) => Some((of[0].clone(), 2)),
        _ => None,
    }
}

/// The indices of an element in a 2D array.
fn pair() -> Type {
    Type::Array([Type::USIZE, Type::Length(2)].into())
}
