//! Suggestions for how to fix an error.

use quote::ToTokens;
use syn::Expr as Syntax;

use super::Checker;
use super::float_methods::FLOAT_METHODS;
use crate::foreign;
use crate::names::nearest;
use crate::refusal::{Checked, Place, Refused};
use crate::source::Named;
use crate::tokens::{flat, joined, short};
use crate::tree::{Expr, Kind};
use crate::types::{Float, Integer, Type};

/// The supported functions of `cuda_std`, without the crate's name.
pub(super) const FUNCTIONS: [&str; 52] = [
    "thread::index_1d",
    "thread::index_2d",
    "thread::index_3d",
    "thread::thread_idx",
    "thread::block_idx",
    "thread::block_dim",
    "thread::grid_dim",
    "thread::thread_idx_x",
    "thread::thread_idx_y",
    "thread::thread_idx_z",
    "thread::block_idx_x",
    "thread::block_idx_y",
    "thread::block_idx_z",
    "thread::block_dim_x",
    "thread::block_dim_y",
    "thread::block_dim_z",
    "thread::grid_dim_x",
    "thread::grid_dim_y",
    "thread::grid_dim_z",
    "thread::sync_threads",
    "thread::sync_threads_count",
    "thread::sync_threads_and",
    "thread::sync_threads_or",
    "thread::block_fence",
    "thread::device_fence",
    "thread::system_fence",
    "warp::lane_id",
    "warp::shuffle_xor",
    "warp::shuffle_up",
    "warp::shuffle_down",
    "warp::shuffle_idx",
    "warp::ballot",
    "warp::any",
    "warp::all",
    "warp::match_any",
    "warp::activemask",
    "warp::sync_warp",
    "warp::reduce_add",
    "warp::reduce_min",
    "warp::reduce_max",
    "warp::reduce_and",
    "warp::reduce_or",
    "warp::reduce_xor",
    "warp::inclusive_scan_add",
    "warp::exclusive_scan_add",
    "dynamic_shared",
    "grid::sync",
    "math::fma",
    "math::sqrt",
    "math::exp",
    "math::tanh",
    "math::sigmoid",
];

/// The usual imports from `cuda_std` in a module of kernels.
const IMPORTED: [&str; 10] = [
    "DynamicShared",
    "thread",
    "warp",
    "math",
    "grid",
    "dynamic_shared",
    "Global",
    "GlobalMut",
    "SharedArray",
    "SharedArray2d",
];

/// Types available in every module.
const TYPES: [&str; 13] =
    ["i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize", "f32", "f64", "bool"];

impl Checker<'_> {
    /// The source text of an expression; None if it is long.
    pub(super) fn text(&self, expr: &impl ToTokens) -> Option<String> {
        short(joined(&flat(expr.to_token_stream())))
    }

    /// An expression with an unknown name, which may come from another language.
    pub(super) fn foreign(&self, expr: &Syntax, refused: Refused) -> Refused {
        if let Syntax::Block(_) | Syntax::If(_) | Syntax::Match(_) | Syntax::While(_) | Syntax::ForLoop(_) = expr {
            return refused;
        }
        if let Syntax::Loop(_) | Syntax::Closure(_) | Syntax::Unsafe(_) | Syntax::Paren(_) = expr {
            return refused;
        }
        match foreign::reason(&flat(expr.to_token_stream()), &|name| self.is_known(name)) {
            Some(reason) => Refused { place: self.place(expr), reason, is_name: true },
            None => refused,
        }
    }

    pub(super) fn is_known(&self, name: &str) -> bool {
        let found = || self.program.find(self.module, &[name.to_owned()], Place::default());
        self.local(name).is_some()
            || match found() {
                // A glob import may bring in all names of `cuda_std`.
                Ok(Named::Other(other)) => match other.strip_prefix("cuda_std::") {
                    Some(name) => IMPORTED.contains(&name) || name.contains("::"),
                    None => true,
                },
                found => found.is_ok(),
            }
    }

    /// Resolves a path.
    pub(super) fn find(&self, names: &[String], place: Place) -> Checked<Named> {
        let found = self.program.find(self.module, names, place);
        match (found, names) {
            (Ok(Named::Other(_)), [name]) if !self.is_known(name) => {
                let reason = format!("`{name}` is not known here: is it declared, or in a `use`?");
                self.unknown(names, Refused { place, reason, is_name: true })
            }
            (found, _) => found.or_else(|refused| self.unknown(names, refused)),
        }
    }

    /// Rejects an unknown name and suggests a similar one.
    fn unknown<T>(&self, names: &[String], refused: Refused) -> Checked<T> {
        let place = refused.place;
        let Some(first) = names.first() else { return Err(refused) };
        let is_first = !self.is_known(first);
        let name = if is_first { first } else { names.last().unwrap_or(first) };
        if IMPORTED.contains(&first.as_str()) && is_first {
            return place
                .refused(format!("`{first}` is not imported: write `use cuda_std::{first};` at the top of the file"));
        }
        let path = names.join("::");
        let of_module = FUNCTIONS.iter().find(|known| known.split("::").last() == Some(&*path));
        if let Some(known) = of_module {
            return place.refused(format!("`{path}` is not known here: write `{known}`"));
        }
        if let (true, Some(reason)) = (is_first, foreign::reason_of_name(first)) {
            return place.unknown(reason);
        }
        let locals = self.scopes.iter().flatten().map(|(name, _)| name.as_str());
        let in_scope = locals.chain(self.program.names(self.module)).chain(TYPES).chain(IMPORTED);
        let meant = match is_first {
            true => nearest(name, in_scope).map(str::to_owned),
            false => nearest(&path, FUNCTIONS).map(str::to_owned),
        };
        match meant {
            Some(meant) => place.unknown(format!("`{name}` is not known here: did you mean `{meant}`?")),
            None if is_first
                && name.chars().all(|each| each.is_ascii_uppercase() || each == '_' || each.is_ascii_digit()) =>
            {
                place.unknown(format!("`{name}` is not known here: declare it as `const {name}: usize = …;`"))
            }
            None => place.unknown(refused.reason),
        }
    }

    /// Rejects a method that the type does not have; `call` is its source text.
    pub(super) fn no_method<T>(
        &self,
        name: &str,
        of: &Type,
        known: &[&str],
        (call, place): (Option<&syn::ExprMethodCall>, Place),
    ) -> Checked<T> {
        let meant = match name {
            "length" | "size" | "count" | "shape" | "numel" if known.contains(&"len") => Some("len"),
            "at" | "load" | "read" if known.contains(&"get") => Some("get"),
            "push" | "write" | "store" | "put" if known.contains(&"set") => Some("set"),
            "add" | "atomic_add" | "atomicAdd" if known.contains(&"fetch_add") => Some("fetch_add"),
            "add" | "atomic_add" | "fetch_add" if known.contains(&"atomic") => Some("atomic(i).fetch_add"),
            "pow" | "powf" if known.contains(&"powi") => Some("powi"),
            _ => nearest(name, known.iter().copied()),
        };
        let shown = self.shown(of);
        if matches!(of, Type::Integer(_)) && FLOAT_METHODS.contains(&name) && meant.is_none_or(|meant| meant == "min") {
            return place.refused(format!(
                "`{name}` is a method of floats, and this is {shown}: write `(value as f32).{name}(…)`"
            ));
        }
        if matches!(of, Type::Float(_)) && meant.is_none_or(|meant| meant != "powi") {
            if let "exp" | "tanh" = name {
                return place.refused(format!("`{name}` is not a method here: write `math::{name}(x)` of an `f32`"));
            }
            if FLOAT_METHODS.contains(&name) {
                return place
                    .refused(format!("`{name}` is not known on this page: kernels that `cargo` builds have it"));
            }
        }
        let of = shown;
        match meant {
            Some(meant) => {
                let whole = call.and_then(|call| {
                    let arguments = if call.args.is_empty() { "()" } else { "(…)" };
                    Some(format!("{}.{meant}{arguments}", self.text(&call.receiver)?))
                });
                let meant = whole.as_deref().unwrap_or(meant);
                place.refused(format!("`{name}` of {of} is not known here: did you mean `{meant}`?"))
            }
            None => place.refused(format!("`{name}` of {of} is not known here")),
        }
    }

    /// How to convert a value to a type; None if there is no conversion.
    pub(super) fn converted(&self, written: Option<&Syntax>, value: &Expr, to: &Type) -> Option<String> {
        let text = written.and_then(|written| self.text(written))?;
        let operand = match written {
            Some(Syntax::Binary(_) | Syntax::If(_) | Syntax::Closure(_) | Syntax::Block(_)) => format!("({text})"),
            _ => text.clone(),
        };
        let (from, to) = (self.inference.outer(&value.r#type), self.inference.outer(to));
        let is = |of: &Type| (self.inference.is_integer(of), self.inference.is_float(of));
        match (is(&from), is(&to)) {
            ((true, _), (_, true)) => match &value.kind {
                Kind::Integer(_) if text.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit()) => {
                    Some(format!("{text}.0"))
                }
                _ => Some(format!("{operand} as {}", self.named(&to))),
            },
            ((_, true), (true, _)) => match &value.kind {
                Kind::Float(digits)
                    if digits.parse().is_ok_and(|value: f64| value.fract() == 0.0 && value.abs() < 1e9) =>
                {
                    digits.parse().ok().map(|value: f64| format!("{value}"))
                }
                _ => Some(format!("{operand} as {}", self.named(&to))),
            },
            ((true, _), (true, _)) | ((_, true), (_, true)) => match &value.kind {
                Kind::Integer(value) => Some(format!("{value}_{}", self.named(&to))),
                _ => Some(format!("{operand} as {}", self.named(&to))),
            },
            ((true, _), _) if to == Type::Bool => Some(format!("{operand} != 0")),
            ((_, true), _) if to == Type::Bool => Some(format!("{operand} != 0.0")),
            (_, (true, _)) if from == Type::Bool => Some(format!("{operand} as {}", self.named(&to))),
            (_, (_, true)) if from == Type::Bool => Some(format!("if {text} {{ 1.0 }} else {{ 0.0 }}")),
            _ => match (&from, &to) {
                (Type::Option(of), to) if self.is_number(&of[1]) && self.is_number(to) => {
                    let zero = if self.inference.is_float(&of[1]) { "0.0" } else { "0" };
                    Some(format!("{operand}.unwrap_or({zero})"))
                }
                (to, Type::Option(of)) if self.is_number(&of[1]) && self.is_number(to) => Some(format!("Some({text})")),
                (Type::Reference(of, _), to) if self.inference.whole(of) == self.inference.whole(to) => {
                    Some(format!("*{operand}"))
                }
                (from, Type::Reference(of, is_mutable)) if self.inference.whole(from) == self.inference.whole(of) => {
                    Some(format!("&{}{operand}", if *is_mutable { "mut " } else { "" }))
                }
                (Type::Global(_) | Type::GlobalMut(_) | Type::Shared(_) | Type::Dynamic(_) | Type::Array(_), to)
                    if is(to) != (false, false) =>
                {
                    Some(format!("{operand}[i]"))
                }
                _ => None,
            },
        }
    }

    /// The name of a numeric type. If it is not known yet, the most common type's name.
    fn named(&self, of: &Type) -> String {
        match self.inference.outer(of) {
            Type::Unknown(_) if self.inference.is_float(of) => "f32".to_owned(),
            Type::Unknown(_) => "i32".to_owned(),
            of => of.to_string(),
        }
    }

    /// Rejects a value of the wrong type.
    pub(super) fn mismatch<T>(&self, written: Option<&Syntax>, value: &Expr, to: &Type) -> Checked<T> {
        let from = self.inference.outer(&value.r#type);
        let (wanted, found) = (self.shown(to), self.shown(&from));
        let way_out = match self.converted(written, value, to) {
            Some(text) => format!(": write `{text}`"),
            None => match (&from, self.inference.outer(to)) {
                (Type::Integer(_) | Type::Float(_), of @ (Type::Integer(_) | Type::Float(_))) => {
                    format!(": add `as {}`", self.named(&of))
                }
                (from, _) if from.is_unit() => ": its last line needs a value without `;`".to_owned(),
                (_, of) if of.is_unit() => ": end it with `;`".to_owned(),
                _ => String::new(),
            },
        };
        value.place.refused(format!("this is {found}, where {wanted} is needed{way_out}"))
    }

    /// Rejects an operator with different numeric types.
    pub(super) fn check_mixed(&self, of: &syn::ExprBinary, left: &Expr, right: &Expr) -> Checked<()> {
        let types = [left, right].map(|side| self.inference.outer(&self.value(side.clone()).r#type));
        if let Some(memory) = [(left, &of.left, &types), (right, &of.right, &[types[1].clone(), types[0].clone()])]
            .into_iter()
            .find(|(_, _, types)| super::methods::memory_of(&types[0]).is_some() && self.is_number(&types[1]))
        {
            let name = self.text(memory.1).unwrap_or_else(|| "x".to_owned());
            return memory.0.place.refused(format!("`{name}` is memory: write one of its elements, as in `{name}[i]`"));
        }
        if !self.is_mixed(&types[0], &types[1]) {
            return Ok(());
        }
        let [is_left_literal, is_right_literal] =
            [left, right].map(|side| matches!(side.kind, Kind::Integer(_) | Kind::Float(_)));
        let [is_left_float, is_right_float] = [&types[0], &types[1]].map(|of| self.inference.is_float(of));
        // Convert the side that is easier to change without losing digits.
        let changes_left = match (is_left_literal, is_right_literal) {
            (true, true) => !is_left_float,
            (true, false) if is_left_float => false,
            (false, true) if is_right_float => true,
            (true, false) => true,
            (false, true) => false,
            (false, false) if is_left_float != is_right_float => is_right_float,
            _ => self.width(&types[0]) < self.width(&types[1]),
        };
        let (changed, written, to) = match changes_left {
            true => (left, &*of.left, &types[1]),
            false => (right, &*of.right, &types[0]),
        };
        let shown = |side: &Syntax, of: &Type| match self.text(side) {
            Some(text) => format!("`{text}` is {}", self.shown(of)),
            None => format!("this is {}", self.shown(of)),
        };
        let sides = format!("{}, and {}", shown(&of.left, &types[0]), shown(&of.right, &types[1]));
        let operator = flat(of.op.to_token_stream());
        let operator: String = operator.iter().map(|token| token.text.as_str()).collect();
        let whole = self.converted(Some(written), changed, to).and_then(|text| {
            let cast = text.contains(" as ");
            let text = if changes_left && cast && operator.starts_with('<') { format!("({text})") } else { text };
            let other = self.text(if changes_left { &*of.right } else { &*of.left })?;
            Some(match changes_left {
                true => format!("{text} {operator} {other}"),
                false => format!("{other} {operator} {text}"),
            })
        });
        let way_out = match whole {
            Some(whole) => format!("write `{whole}`"),
            None => format!("add `as {}`", self.named(to)),
        };
        changed.place.refused(format!("{sides}: {way_out}"))
    }

    /// Rejects a compound assignment with another type: `target += value`.
    pub(super) fn check_mixed_change(&self, target: (&Syntax, &Expr), value: (&Syntax, &Expr)) -> Checked<()> {
        let [to, from] = [target.1, value.1].map(|side| self.inference.outer(&self.value(side.clone()).r#type));
        if !self.is_mixed(&to, &from) {
            return Ok(());
        }
        let shown = |side: &Syntax, of: &Type| match self.text(side) {
            Some(text) => format!("`{text}` is {}", self.shown(of)),
            None => format!("this is {}", self.shown(of)),
        };
        let sides = format!("{}, and {}", shown(target.0, &to), shown(value.0, &from));
        if let (Kind::Local(number), Type::Unknown(_), true) = (&target.1.kind, &to, self.inference.is_float(&from)) {
            let name = &self.locals[*number].name;
            return target.1.place.refused(format!("{sides}: declare it with a float, as in `let mut {name} = 0.0;`"));
        }
        let way_out = match self.converted(Some(value.0), value.1, &to) {
            Some(text) => format!("write `{text}`"),
            None => format!("add `as {}`", self.named(&to)),
        };
        value.1.place.refused(format!("{sides}: {way_out}"))
    }

    /// Whether both are numeric types, and different ones.
    fn is_mixed(&self, a: &Type, b: &Type) -> bool {
        let kind = |of: &Type| (self.inference.is_integer(of), self.inference.is_float(of));
        if kind(a) == (false, false) || kind(b) == (false, false) {
            return false;
        }
        let is_known = |of: &Type| matches!(of, Type::Integer(_) | Type::Float(_));
        kind(a) != kind(b) || is_known(a) && is_known(b) && a != b
    }

    fn is_number(&self, of: &Type) -> bool {
        self.inference.is_integer(of) || self.inference.is_float(of)
    }

    fn width(&self, of: &Type) -> u32 {
        match of {
            // Indices are compared with indices.
            Type::Integer(Integer::Usize) => 65,
            Type::Integer(of) => of.bits(),
            Type::Float(Float::F64) => 64,
            _ => 32,
        }
    }
}
