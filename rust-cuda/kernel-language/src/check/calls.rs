//! Calls of functions and macros.

use syn::{Expr as Syntax, PathArguments};

use super::{Checker, made};
use crate::refusal::{Checked, Place};
use crate::source::{Named, segments};
use crate::tree::{Expr, Kind, Operation};
use crate::types::{Float, Integer, Type};

impl Checker<'_> {
    pub(super) fn call(&mut self, call: &syn::ExprCall, place: Place) -> Checked<Expr> {
        let Syntax::Path(path) = &*call.func else {
            return place.refused("a function is called by its name here");
        };
        let names = segments(&path.path);
        if let [name] = &names[..]
            && let Some(number) = self.local(name)
        {
            let of = self.locals[number].r#type.clone();
            let Type::Closure(closure) = self.inference.outer(&of) else {
                return place.refused(format!("`{name}` is no function"));
            };
            let (types, result) = (self.closures[closure].types.clone(), self.closures[closure].result.clone());
            let arguments = self.arguments(call.args.iter(), &types, place)?;
            let closure = made(Kind::Local(number), of, place, &[]);
            let assigns = arguments.iter().any(|argument| argument.assigns);
            return Ok(Expr { kind: Kind::CallClosure(closure.into(), arguments), r#type: result, place, assigns });
        }
        if let [of, name] = &names[..]
            && (Integer::named(of).is_some() || Float::named(of).is_some() || self.is_generic_number(of))
        {
            return self.of_number(of, name, call, place);
        }
        let mut given = Vec::new();
        if let Some(PathArguments::AngleBracketed(arguments)) = path.path.segments.last().map(|last| &last.arguments) {
            for argument in &arguments.args {
                given.push(self.generic_argument(argument)?);
            }
        }
        let names = match &names[..] {
            [of, name] if of == "Self" => return self.of_self(name, call, place),
            _ => names,
        };
        match self.program.find(self.module, &names, place)? {
            Named::Function(number) => {
                let (generics, types, result) = self.instance(number, given, None, place)?;
                let arguments = self.arguments(call.args.iter(), &types, place)?;
                self.of_parts(arguments, result, place, |arguments| Kind::Call(number, generics, arguments))
            }
            Named::Struct(number) => {
                let r#type = self.struct_type(number, &[])?;
                let types = r#type.parts().to_vec();
                let arguments = self.arguments(call.args.iter(), &types, place)?;
                self.of_parts(arguments, r#type, place, Kind::Tuple)
            }
            Named::Other(other) => self.of_cuda_std(&other, given, call, place),
            _ => place.refused("this is no function"),
        }
    }

    fn is_generic_number(&self, name: &str) -> bool {
        let of = self.generics.get(name).map(|of| self.inference.outer(of));
        matches!(of, Some(Type::Integer(_) | Type::Float(_)))
    }

    /// `Self::function(…)`
    fn of_self(&mut self, name: &str, call: &syn::ExprCall, place: Place) -> Checked<Expr> {
        let of = self.generics.get("Self").map(|of| self.inference.outer(of));
        let Some(of @ Type::Struct(number, _)) = of else { return place.refused("`Self` is not known here") };
        let Some(function) = self.program.methods.get(&(number, name.to_owned())).copied() else {
            return place.refused(format!("`Self::{name}` is not known here"));
        };
        let (generics, types, result) = self.instance(function, Vec::new(), Some(&of), place)?;
        let arguments = self.arguments(call.args.iter(), &types, place)?;
        self.of_parts(arguments, result, place, |arguments| Kind::Call(function, generics, arguments))
    }

    /// `f32::from_bits(…)`, `u64::from(…)`, `u32::min(a, b)`
    fn of_number(&mut self, of: &str, name: &str, call: &syn::ExprCall, place: Place) -> Checked<Expr> {
        let of = match (Integer::named(of), Float::named(of)) {
            (Some(of), _) => Type::Integer(of),
            (_, Some(of)) => Type::Float(of),
            _ => self.inference.outer(&self.generics[of].clone()),
        };
        let Some((first, rest)) =
            call.args.iter().collect::<Vec<_>>().split_first().map(|(first, rest)| (*first, rest.to_vec()))
        else {
            return place.refused("this function of a number needs an argument");
        };
        match (name, &of) {
            ("from", _) => {
                let value = self.expression(first, None)?;
                let from = self.inference.outer(&value.r#type);
                let is_lossless = match (&from, &of) {
                    (Type::Bool, Type::Integer(_)) => true,
                    (Type::Integer(from), Type::Integer(to)) => {
                        let is_size = [from, to].iter().any(|of| matches!(of, Integer::Usize | Integer::Isize));
                        let small = Integer::contains(*to, from.minimum()) && Integer::contains(*to, from.maximum());
                        from == to
                            || (small
                                && (!is_size
                                    || (from.bits() <= 16 && from.is_signed() == to.is_signed())
                                    || *from == Integer::U8))
                    }
                    (Type::Integer(from), Type::Float(to)) => from.bits() <= if *to == Float::F32 { 16 } else { 32 },
                    (Type::Float(from), Type::Float(to)) => from.bits() <= to.bits(),
                    _ => false,
                };
                if !is_lossless {
                    let (from, to) = (self.shown(&from), self.shown(&of));
                    return place.refused(format!("{from} does not become {to} by `from`: write `as`"));
                }
                let assigns = value.assigns;
                Ok(Expr { kind: Kind::Cast(value.into()), r#type: of, place, assigns })
            }
            ("from_bits", Type::Float(float)) => {
                let bits = Type::Integer(if *float == Float::F32 { Integer::U32 } else { Integer::U64 });
                self.simple(Operation::Bits, call.args.iter(), (&[bits], of.clone()), place)
            }
            _ => {
                let receiver = self.expression(first, Some(&of))?;
                let receiver = self.coerced(receiver, &of)?;
                self.number_method(receiver, name, &rest, place, true)
            }
        }
    }

    /// A function of `cuda_std`, or of `core`.
    fn of_cuda_std(&mut self, path: &str, given: Vec<Type>, call: &syn::ExprCall, place: Place) -> Checked<Expr> {
        let arguments = call.args.iter();
        let none = |of: Type| -> (&[Type], Type) { (&[], of) };
        if let Some(name) = path.strip_prefix("cuda_std::thread::") {
            let operation = match name {
                "index_1d" => Operation::GridIndex("x"),
                "sync_threads" => return self.simple(Operation::Barrier, arguments, none(Type::unit()), place),
                "sync_threads_count" => {
                    return self.simple(Operation::BarrierVote("popc"), arguments, (&[Type::Bool], Type::U32), place);
                }
                "sync_threads_and" | "sync_threads_or" => {
                    let vote = if name == "sync_threads_and" { "and" } else { "or" };
                    return self.simple(Operation::BarrierVote(vote), arguments, (&[Type::Bool], Type::Bool), place);
                }
                "block_fence" => return self.simple(Operation::Fence("cta"), arguments, none(Type::unit()), place),
                "device_fence" => return self.simple(Operation::Fence("gpu"), arguments, none(Type::unit()), place),
                "system_fence" => return self.simple(Operation::Fence("sys"), arguments, none(Type::unit()), place),
                "index_2d" | "index_3d" | "thread_idx" | "block_idx" | "block_dim" | "grid_dim" => {
                    let (register, count) = match name {
                        "index_2d" => ("", 2),
                        "index_3d" => ("", 3),
                        "thread_idx" => ("%tid", 3),
                        "block_idx" => ("%ctaid", 3),
                        "block_dim" => ("%ntid", 3),
                        _ => ("%nctaid", 3),
                    };
                    let of = Type::Indices(count);
                    return self.simple(Operation::Indices(register), arguments, none(of), place);
                }
                _ => match REGISTERS.iter().find(|(rust, c, _)| *rust == name || *c == name) {
                    Some((.., register)) => Operation::Register(register),
                    None => return place.refused(format!("`thread::{name}` is not known here")),
                },
            };
            return self.simple(operation, arguments, none(Type::U32), place);
        }
        if let Some(name) = path.strip_prefix("cuda_std::warp::") {
            return self.of_warp(name, call, place);
        }
        match path {
            "cuda_std::dynamic_shared" => {
                let of = given.into_iter().next().unwrap_or_else(|| self.inference.any());
                self.simple(Operation::DynamicShared, arguments, none(Type::Dynamic(of.into())), place)
            }
            "cuda_std::grid::sync" => {
                let of = Type::GlobalMut(Type::U32.into());
                self.simple(Operation::GridBarrier, arguments, (&[of], Type::unit()), place)
            }
            "cuda_std::math::fma" => {
                let of = self.inference.float();
                let types = [of.clone(), of.clone(), of.clone()];
                self.simple(Operation::Number("mul_add"), arguments, (&types, of), place)
            }
            "core::cmp::min" | "core::cmp::max" | "std::cmp::min" | "std::cmp::max" => {
                let of = self.inference.integer();
                let operation = Operation::Number(if path.ends_with("min") { "min" } else { "max" });
                self.simple(operation, arguments, (&[of.clone(), of.clone()], of), place)
            }
            _ => match path.strip_prefix("cuda_std::math::GpuFloat::") {
                Some(name) if !call.args.is_empty() => {
                    let receiver = self.expression(&call.args[0], None)?;
                    let rest: Vec<&Syntax> = call.args.iter().skip(1).collect();
                    self.number_method(receiver, name, &rest, place, true)
                }
                _ => place.refused(format!("`{path}` is not known here")),
            },
        }
    }

    fn of_warp(&mut self, name: &str, call: &syn::ExprCall, place: Place) -> Checked<Expr> {
        let arguments = call.args.iter();
        let of = self.inference.any();
        let shuffled = [of.clone(), Type::U32];
        let (operation, types, result): (Operation, &[Type], Type) = match name {
            "lane_id" => (Operation::Register("%laneid"), &[], Type::U32),
            "shuffle_xor" => (Operation::Shuffle("bfly"), &shuffled, of),
            "shuffle_up" => (Operation::Shuffle("up"), &shuffled, of),
            "shuffle_down" => (Operation::Shuffle("down"), &shuffled, of),
            "shuffle_idx" => (Operation::Shuffle("idx"), &shuffled, of),
            "ballot" => (Operation::Vote("ballot"), &[Type::Bool], Type::U32),
            "any" => (Operation::Vote("any"), &[Type::Bool], Type::Bool),
            "all" => (Operation::Vote("all"), &[Type::Bool], Type::Bool),
            "match_any" => (Operation::MatchAny, &shuffled[..1], Type::U32),
            "activemask" => (Operation::ActiveMask, &[], Type::U32),
            "sync_warp" => (Operation::SyncWarp, &[], Type::unit()),
            "reduce_add" => (Operation::Reduce("add"), &shuffled[..1], of),
            "reduce_min" => (Operation::Reduce("min"), &shuffled[..1], of),
            "reduce_max" => (Operation::Reduce("max"), &shuffled[..1], of),
            "reduce_and" => (Operation::Reduce("and"), &shuffled[..1], of),
            "reduce_or" => (Operation::Reduce("or"), &shuffled[..1], of),
            "reduce_xor" => (Operation::Reduce("xor"), &shuffled[..1], of),
            "inclusive_scan_add" => (Operation::Scan(true), &shuffled[..1], of),
            "exclusive_scan_add" => {
                let types = [of.clone(), of.clone()];
                return self.simple(Operation::Scan(false), arguments, (&types, of), place);
            }
            _ => return place.refused(format!("`warp::{name}` is not known here")),
        };
        self.simple(operation, arguments, (types, result), place)
    }

    pub(super) fn macro_call(&mut self, call: &syn::Macro, place: Place) -> Checked<Expr> {
        let name = call.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        let refused = |error: syn::Error| Place::of(place.file, error.span()).refused(error.to_string());
        match name.as_str() {
            "shared_array" => {
                if !self.is_kernel {
                    return place.refused("declare shared memory in the kernel, and pass it to the function");
                }
                if !self.around.is_empty() || self.results.len() > 1 {
                    return place.refused("declare shared memory outside of loops and closures here");
                }
                let array: syn::Type = syn::parse2(bracketed(call)).or_else(refused)?;
                let of = self.type_of(&array)?;
                let r#type = match self.inference.outer(&of) {
                    Type::Array(parts) => match self.inference.outer(&parts[0]) {
                        Type::Array(inner) => {
                            Type::Shared2d([inner[0].clone(), parts[1].clone(), inner[1].clone()].into())
                        }
                        _ => Type::Shared(parts),
                    },
                    _ => return place.refused("write `shared_array![f32; 256]` or `shared_array![[f32; 33]; 32]`"),
                };
                let is_number = |of: &Type| self.inference.outer(of).bytes().is_some();
                if !r#type.parts().first().is_some_and(is_number) {
                    return place.refused("elements in memory are integers of 8 to 64 bits, f32 or f64 here");
                }
                Ok(self.operation(Operation::Shared, Vec::new(), r#type, place))
            }
            _ => place.refused(format!("`{name}!` is not known here")),
        }
    }
}

/// The tokens of a macro in brackets.
fn bracketed(call: &syn::Macro) -> proc_macro2::TokenStream {
    let mut group = proc_macro2::Group::new(proc_macro2::Delimiter::Bracket, call.tokens.clone());
    group.set_span(call.delimiter.span().join());
    proc_macro2::TokenTree::from(group).into()
}

/// The functions that read a register, by their names in Rust and in CUDA C.
const REGISTERS: [(&str, &str, &str); 12] = [
    ("thread_idx_x", "threadIdx_x", "%tid.x"),
    ("thread_idx_y", "threadIdx_y", "%tid.y"),
    ("thread_idx_z", "threadIdx_z", "%tid.z"),
    ("block_idx_x", "blockIdx_x", "%ctaid.x"),
    ("block_idx_y", "blockIdx_y", "%ctaid.y"),
    ("block_idx_z", "blockIdx_z", "%ctaid.z"),
    ("block_dim_x", "blockDim_x", "%ntid.x"),
    ("block_dim_y", "blockDim_y", "%ntid.y"),
    ("block_dim_z", "blockDim_z", "%ntid.z"),
    ("grid_dim_x", "gridDim_x", "%nctaid.x"),
    ("grid_dim_y", "gridDim_y", "%nctaid.y"),
    ("grid_dim_z", "gridDim_z", "%nctaid.z"),
];
