//! Function and macro calls.

use syn::{Expr as Syntax, PathArguments};

use super::Checker;
use super::hints::FUNCTIONS;
use crate::names::nearest;
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
                if self.behind(&call.func).line < self.place(&call.paren_token.span.open()).line {
                    return self.behind(&call.func).refused("`;` is missing at the end of this line");
                }
                return place.refused(format!("`{name}` is a variable, not a function"));
            };
            let (types, result) = (self.closures[closure].types.clone(), self.closures[closure].result.clone());
            let arguments = self.arguments(name, call.args.iter(), &types, place)?;
            let closure = Expr::new(Kind::Local(number), of, place);
            return Ok(Expr::new(Kind::CallClosure(closure.into(), arguments), result, place));
        }
        if names == ["Some"] && !self.is_known("Some") {
            return self.some(call, place);
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
        let own = self.generics.get("Self").map(|of| self.inference.outer(of));
        let of_self = match (&names[..], &own) {
            ([of, name], Some(Type::Struct(number, _))) if of == "Self" => {
                self.program.methods.get(&(*number, name.clone())).map(|function| Named::Function(*function))
            }
            _ => None,
        };
        let own = own.filter(|_| of_self.is_some());
        match of_self.map_or_else(|| self.find(&names, place), Ok)? {
            Named::Function(number) => {
                let (generics, types, result) = self.instance(number, given, own.as_ref(), place)?;
                let arguments = self.arguments_of(number, call.args.iter(), &types, place)?;
                self.of_parts(arguments, result, place, |arguments| Kind::Call(number, generics, arguments))
            }
            Named::Struct(number) => {
                let r#type = self.struct_type(number, &[])?;
                let types = r#type.parts().to_vec();
                let arguments = self.arguments(&names.join("::"), call.args.iter(), &types, place)?;
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
                        let fits = to.contains(from.minimum()) && to.contains(from.maximum());
                        let is_small = from.bits() <= 16 && from.is_signed() == to.is_signed() || *from == Integer::U8;
                        from == to || (fits && (!is_size || is_small))
                    }
                    (Type::Integer(from), Type::Float(to)) => from.bits() <= if *to == Float::F32 { 16 } else { 32 },
                    (Type::Float(from), Type::Float(to)) => from.bits() <= to.bits(),
                    _ => false,
                };
                if !is_lossless {
                    let (from, to) = (self.shown(&from), self.shown(&of));
                    let text = self.converted(Some(first), &value, &of).unwrap_or_else(|| "value as …".to_owned());
                    return place.refused(format!("{from} may not fit {to}, so `from` is not known: write `{text}`"));
                }
                Ok(Expr::new(Kind::Cast(value.into()), of, place))
            }
            ("from_bits", Type::Float(float)) => {
                let bits = Type::Integer(if *float == Float::F32 { Integer::U32 } else { Integer::U64 });
                self.simple((name, Operation::Bits), call.args.iter(), (&[bits], of.clone()), place)
            }
            _ => {
                let receiver = self.typed(first, &of)?;
                self.number_method(receiver, name, &rest, place, true)
            }
        }
    }

    /// A function from `cuda_std` or `core`.
    fn of_cuda_std(&mut self, path: &str, given: Vec<Type>, call: &syn::ExprCall, place: Place) -> Checked<Expr> {
        use Operation::{BarrierVote, Fence, GridIndex, Indices, Number, Reduce, Register, Scan, Shuffle, Vote};
        if let (Some(name), Some(first)) = (path.strip_prefix("cuda_std::math::GpuFloat::"), call.args.first()) {
            let receiver = self.expression(first, None)?;
            let rest: Vec<&Syntax> = call.args.iter().skip(1).collect();
            return self.number_method(receiver, name, &rest, place, true);
        }
        let name = path.strip_prefix("cuda_std::").or_else(|| path.strip_prefix("core::")).unwrap_or(path);
        let of = match name {
            "math::fma" => self.inference.float(),
            "cmp::min" | "cmp::max" => self.inference.integer(),
            _ => given.into_iter().next().unwrap_or_else(|| self.inference.any()),
        };
        let (one, two) = ([of.clone()], [of.clone(), of.clone()]);
        let (three, shuffled) = ([of.clone(), of.clone(), of.clone()], [of.clone(), Type::U32]);
        let state = [Type::GlobalMut(Type::U32.into())];
        let (operation, types, result): (Operation, &[Type], Type) = match name.strip_prefix("std::").unwrap_or(name) {
            "array::from_fn" => return self.array_from(call, place),
            "thread::index_1d" => (GridIndex("x"), &[], Type::U32),
            "thread::index_2d" => (Indices(""), &[], Type::Indices(2)),
            "thread::index_3d" => (Indices(""), &[], Type::Indices(3)),
            "thread::thread_idx" => (Indices("%tid"), &[], Type::Indices(3)),
            "thread::block_idx" => (Indices("%ctaid"), &[], Type::Indices(3)),
            "thread::block_dim" => (Indices("%ntid"), &[], Type::Indices(3)),
            "thread::grid_dim" => (Indices("%nctaid"), &[], Type::Indices(3)),
            "thread::sync_threads" => (Operation::Barrier, &[], Type::unit()),
            "thread::sync_threads_count" => (BarrierVote("popc"), &[Type::Bool], Type::U32),
            "thread::sync_threads_and" => (BarrierVote("and"), &[Type::Bool], Type::Bool),
            "thread::sync_threads_or" => (BarrierVote("or"), &[Type::Bool], Type::Bool),
            "thread::block_fence" => (Fence("cta"), &[], Type::unit()),
            "thread::device_fence" => (Fence("gpu"), &[], Type::unit()),
            "thread::system_fence" => (Fence("sys"), &[], Type::unit()),
            "warp::lane_id" => (Register("%laneid"), &[], Type::U32),
            "warp::shuffle_xor" => (Shuffle("bfly"), &shuffled, of),
            "warp::shuffle_up" => (Shuffle("up"), &shuffled, of),
            "warp::shuffle_down" => (Shuffle("down"), &shuffled, of),
            "warp::shuffle_idx" => (Shuffle("idx"), &shuffled, of),
            "warp::ballot" => (Vote("ballot"), &[Type::Bool], Type::U32),
            "warp::any" => (Vote("any"), &[Type::Bool], Type::Bool),
            "warp::all" => (Vote("all"), &[Type::Bool], Type::Bool),
            "warp::match_any" => (Operation::MatchAny, &one, Type::U32),
            "warp::activemask" => (Operation::ActiveMask, &[], Type::U32),
            "warp::sync_warp" => (Operation::SyncWarp, &[], Type::unit()),
            "warp::reduce_add" => (Reduce("add"), &one, of),
            "warp::reduce_min" => (Reduce("min"), &one, of),
            "warp::reduce_max" => (Reduce("max"), &one, of),
            "warp::reduce_and" => (Reduce("and"), &one, of),
            "warp::reduce_or" => (Reduce("or"), &one, of),
            "warp::reduce_xor" => (Reduce("xor"), &one, of),
            "warp::inclusive_scan_add" => (Scan(true), &one, of),
            "warp::exclusive_scan_add" => (Scan(false), &two, of),
            "dynamic_shared" => (Operation::DynamicShared, &[], Type::Dynamic(of.into())),
            "grid::sync" => (Operation::GridBarrier, &state, Type::unit()),
            "math::fma" => (Number("mul_add"), &three, of),
            "cmp::min" => (Number("min"), &two, of),
            "cmp::max" => (Number("max"), &two, of),
            name => match name.strip_prefix("thread::").and_then(register_of) {
                Some(register) => (Register(register), &[], Type::U32),
                None => {
                    let (module, last) = name.rsplit_once("::").unwrap_or(("", name));
                    let of_module = FUNCTIONS.iter().filter_map(|known| known.rsplit_once("::"));
                    let of_module = of_module.filter(|known| known.0 == module).map(|known| known.1);
                    let meant = if last == "sum" { Some("reduce_add") } else { nearest(last, of_module) };
                    let meant = meant.map(|meant| format!("{module}::{meant}"));
                    let meant = meant.map_or(String::new(), |meant| format!(": did you mean `{meant}`?"));
                    return place.unknown(format!("`{name}` is not known here{meant}"));
                }
            },
        };
        self.simple((name, operation), call.args.iter(), (types, result), place)
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
            _ => self.speaking_macro(&name, call, place),
        }
    }
}

/// The tokens of a macro, enclosed in brackets.
fn bracketed(call: &syn::Macro) -> proc_macro2::TokenStream {
    let mut group = proc_macro2::Group::new(proc_macro2::Delimiter::Bracket, call.tokens.clone());
    group.set_span(call.delimiter.span().join());
    proc_macro2::TokenTree::from(group).into()
}

/// The register that a function reads, by its Rust or CUDA C name.
fn register_of(name: &str) -> Option<&'static str> {
    const REGISTERS: [(&str, &str, [&str; 3]); 4] = [
        ("thread_idx_", "threadIdx_", ["%tid.x", "%tid.y", "%tid.z"]),
        ("block_idx_", "blockIdx_", ["%ctaid.x", "%ctaid.y", "%ctaid.z"]),
        ("block_dim_", "blockDim_", ["%ntid.x", "%ntid.y", "%ntid.z"]),
        ("grid_dim_", "gridDim_", ["%nctaid.x", "%nctaid.y", "%nctaid.z"]),
    ];
    REGISTERS.iter().find_map(|(rust, c, registers)| {
        let axis = name.strip_prefix(rust).or_else(|| name.strip_prefix(c))?;
        registers.iter().find(|register| register.split('.').next_back() == Some(axis)).copied()
    })
}
