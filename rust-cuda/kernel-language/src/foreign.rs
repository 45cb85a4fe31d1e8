//! Translates common CUDA C and Numba code to Rust, for suggestions.

#[path = "../../cuda_std_macros/src/cuda_c.rs"]
mod cuda_c;

use crate::tokens::{Token, behind_group, joined, short, split};

/// Maximum number of tokens in a translated expression.
const MAX_TOKENS: usize = 200;

/// The Rust type for a type in C, C++, Python or another language.
pub(crate) fn type_of(name: &str) -> Option<&'static str> {
    Some(match name {
        "int" | "int32" | "int32_t" | "integer" | "Int" | "long32" => "i32",
        "float" | "float32" | "Float" => "f32",
        "double" | "float64" | "Double" => "f64",
        "unsigned" | "uint" | "uint32" | "uint32_t" | "dword" => "u32",
        "long" | "int64" | "int64_t" => "i64",
        "uint64" | "uint64_t" => "u64",
        "short" | "int16" | "int16_t" => "i16",
        "uint16" | "uint16_t" => "u16",
        "int8" | "int8_t" => "i8",
        "uint8" | "uint8_t" | "byte" | "uchar" => "u8",
        "size_t" => "usize",
        "boolean" | "Bool" | "bool_" => "bool",
        _ => return None,
    })
}

/// Functions with one or two arguments that are methods in Rust, or functions in `math`.
fn function(name: &str, arguments: &[String]) -> Option<String> {
    let name = name.strip_prefix("std::").unwrap_or(name);
    let method = |name: &str| {
        let (first, rest) = arguments.split_first()?;
        Some(format!("{}.{name}({})", operand(first), rest.join(", ")))
    };
    match (name, arguments.len()) {
        ("max" | "fmax" | "fmaxf", 2) => method("max"),
        ("min" | "fmin" | "fminf", 2) => method("min"),
        ("abs" | "fabs" | "fabsf", 1) => method("abs"),
        ("sqrt" | "sqrtf", 1) => method("sqrt"),
        ("floor" | "floorf", 1) => method("floor"),
        ("ceil" | "ceilf", 1) => method("ceil"),
        ("fma" | "fmaf", 3) => method("mul_add"),
        ("pow" | "powf", 2) => method("powi"),
        ("__popc", 1) => method("count_ones"),
        ("__clz", 1) => method("leading_zeros"),
        ("__brev", 1) => method("reverse_bits"),
        ("len", 1) => method("len"),
        ("exp" | "expf" | "__expf", 1) => Some(format!("math::exp({})", arguments[0])),
        ("tanh" | "tanhf", 1) => Some(format!("math::tanh({})", arguments[0])),
        ("float" | "int", 1) => Some(format!("{} as {}", operand(&arguments[0]), type_of(name)?)),
        ("__ldg", 1) => Some(arguments[0].trim_start_matches('&').to_owned()),
        ("__syncthreads" | "syncthreads", 0) => Some("thread::sync_threads()".to_owned()),
        ("__syncthreads_count" | "syncthreads_count", 1) => {
            Some(format!("thread::sync_threads_count({})", arguments[0]))
        }
        ("__syncthreads_and" | "syncthreads_and", 1) => Some(format!("thread::sync_threads_and({})", arguments[0])),
        ("__syncthreads_or" | "syncthreads_or", 1) => Some(format!("thread::sync_threads_or({})", arguments[0])),
        ("__syncwarp" | "syncwarp", _) => Some("warp::sync_warp()".to_owned()),
        ("__threadfence" | "threadfence", 0) => Some("thread::device_fence()".to_owned()),
        ("__threadfence_block", 0) => Some("thread::block_fence()".to_owned()),
        ("__shfl_sync", 3..) => Some(format!("warp::shuffle_idx({})", arguments[1..3].join(", "))),
        ("__shfl_up_sync", 3..) => Some(format!("warp::shuffle_up({})", arguments[1..3].join(", "))),
        ("__shfl_down_sync", 3..) => Some(format!("warp::shuffle_down({})", arguments[1..3].join(", "))),
        ("__shfl_xor_sync", 3..) => Some(format!("warp::shuffle_xor({})", arguments[1..3].join(", "))),
        ("__ballot_sync", 2) => Some(format!("warp::ballot({})", arguments[1])),
        ("__any_sync", 2) => Some(format!("warp::any({})", arguments[1])),
        ("__all_sync", 2) => Some(format!("warp::all({})", arguments[1])),
        ("print", _) => {
            let holes = vec!["{}"; arguments.len()].join(" ");
            Some(format!("println!({})", [vec![format!("\"{holes}\"")], arguments.to_vec()].concat().join(", ")))
        }
        ("printf", 1..) => {
            Some(format!("println!({})", [vec![holes(&arguments[0])], arguments[1..].to_vec()].concat().join(", ")))
        }
        _ => None,
    }
}

/// A `printf` format string with Rust's placeholders.
fn holes(format: &str) -> String {
    let mut text = String::new();
    let mut rest = format.strip_suffix("\\n\"").map_or_else(|| format.to_owned(), |line| format!("{line}\""));
    while let Some(start) = rest.find('%') {
        text += &rest[..start];
        let behind =
            rest[start + 1..].trim_start_matches(|each: char| !each.is_alphabetic() && each != '%' && each != '"');
        let behind = behind.trim_start_matches(['l', 'z', 'h']);
        text += if behind.starts_with('%') { "%" } else { "{}" };
        rest = behind.chars().next().map_or(String::new(), |first| behind[first.len_utf8()..].to_owned());
    }
    text + &rest
}

/// The receiver of a method call: in parentheses if it contains operators.
pub(crate) fn operand(text: &str) -> String {
    let is_plain = text.chars().all(|each| each.is_alphanumeric() || "_.:".contains(each))
        || (text.ends_with([')', ']']) && !text.contains(' ') && !text.starts_with(['(', '-', '!', '*', '&']));
    if is_plain { text.to_owned() } else { format!("({text})") }
}

fn method_of_atomic(name: &str) -> Option<&'static str> {
    let name = name.strip_prefix("atomic").unwrap_or(name).to_lowercase();
    Some(match &*name {
        "add" => "fetch_add",
        "sub" => "fetch_sub",
        "max" => "fetch_max",
        "min" => "fetch_min",
        "and" | "and_" => "fetch_and",
        "or" | "or_" => "fetch_or",
        "xor" => "fetch_xor",
        "exch" => "swap",
        _ => return None,
    })
}

/// The Rust for an expression in CUDA C or Python, and the language; None if it contains nothing
/// from either. `is_known` says whether a name already has another meaning.
pub(crate) fn in_rust(tokens: &[Token], is_known: &dyn Fn(&str) -> bool) -> Option<(String, &'static str)> {
    if tokens.is_empty() || tokens.len() > MAX_TOKENS {
        return None;
    }
    let mut translation = Translation { is_known, found: false, is_python: false };
    let text = translation.expression(tokens);
    let language = if translation.is_python { "Python" } else { "CUDA C" };
    translation.found.then_some((text, language))
}

/// The message for an expression in another language; None if it is not one.
pub(crate) fn reason(tokens: &[Token], is_known: &dyn Fn(&str) -> bool) -> Option<String> {
    let (rust, language) = in_rust(tokens, is_known)?;
    Some(match short(joined(tokens)) {
        Some(text) => format!("`{text}` is {language}: write `{rust}`"),
        None => format!("this is {language}: write `{rust}`"),
    })
}

/// The message for a bare CUDA C or Python name.
pub(crate) fn reason_of_name(name: &str) -> Option<String> {
    if let Some(of) = type_of(name) {
        return Some(format!("`{name}` is no type of Rust: write `{of}`, as in `let value: {of} = …;`"));
    }
    match name {
        "cuda" => Some("`cuda` is Numba: the thread's index is `thread::index_1d() as usize`".to_owned()),
        "np" | "numpy" => {
            Some(format!("`{name}` is Python: a kernel has the functions of `math` and methods of numbers"))
        }
        "Vec" | "Box" | "String" | "HashMap" => Some(format!(
            "a kernel has no `{name}`: write `[0.0; 4]` for a thread's own values, `&[f32]` or `GlobalMut<f32>` for buffers"
        )),
        "NULL" | "nullptr" => Some(format!("`{name}` is C: memory of a kernel is always there")),
        "warpSize" => Some("`warpSize` is CUDA C: a warp has 32 lanes".to_owned()),
        name => cuda_c::in_rust(name).map(|rust| format!("`{name}` is CUDA C: write {rust}")),
    }
}

struct Translation<'k> {
    is_known: &'k dyn Fn(&str) -> bool,
    found: bool,
    is_python: bool,
}

impl Translation<'_> {
    fn expression(&mut self, tokens: &[Token]) -> String {
        if let [condition, rest] = &split(tokens, "?")[..]
            && let [then, otherwise] = &split(rest, ":")[..]
        {
            self.found = true;
            return self.choice(condition, then, otherwise);
        }
        if let [then, rest] = &split(tokens, "if")[..]
            && let [condition, otherwise] = &split(rest, "else")[..]
            && !then.is_empty()
        {
            (self.found, self.is_python) = (true, true);
            return self.choice(condition, then, otherwise);
        }
        let mut text = String::new();
        let mut index = 0;
        while index < tokens.len() {
            if index > 0 && !tokens[index - 1].touches(&tokens[index]) {
                text.push(' ');
            }
            // After `.` or `::`, a name belongs to Rust.
            let is_part = index > 0 && matches!(&*tokens[index - 1].text, "." | ":");
            match (!is_part).then(|| self.form(&tokens[index..])).flatten() {
                Some((rust, count)) => {
                    self.found = true;
                    // A conversion within an expression is parenthesized.
                    let is_part = count < tokens.len() && rust.contains(" as ");
                    text += &if is_part { format!("({rust})") } else { rust };
                    index += count;
                }
                None => {
                    text += &tokens[index].text;
                    index += 1;
                }
            }
        }
        let text = text.replace("! ", "!");
        // An index has the type `usize`.
        ["x", "y", "z"]
            .iter()
            .fold(text, |text, axis| text.replace(&format!("_{axis}()]"), &format!("_{axis}() as usize]")))
    }

    fn choice(&mut self, condition: &[Token], then: &[Token], otherwise: &[Token]) -> String {
        let [condition, then, otherwise] = [condition, then, otherwise].map(|part| self.expression(part));
        format!("if {condition} {{ {then} }} else {{ {otherwise} }}")
    }

    /// The Rust for the form at the start of the tokens, and the form's number of tokens.
    fn form(&mut self, tokens: &[Token]) -> Option<(String, usize)> {
        let texts: Vec<&str> = tokens.iter().take(12).map(|token| &*token.text).collect();
        if texts.first() == Some(&"cuda") && texts.get(1) == Some(&".") {
            self.is_python = true;
            let (rust, count) = self.of_cuda(&tokens[2..])?;
            return Some((rust, count + 2));
        }
        if let Some(found) = grid_index(&texts) {
            return Some(found);
        }
        if let Some(float) = tokens[0].text.strip_suffix(['f', 'F'])
            && float.starts_with(|first: char| first.is_ascii_digit())
            && !float.starts_with("0x")
        {
            return Some((if float.ends_with('.') { format!("{float}0") } else { float.to_owned() }, 1));
        }
        match texts[..] {
            [name, ".", axis, ..] if register(name, axis).is_some() => Some((register(name, axis)?, 3)),
            ["and", ..] | ["or", ..] | ["not", ..] | ["True", ..] | ["False", ..] if !(self.is_known)(texts[0]) => {
                self.is_python = true;
                let rust = match texts[0] {
                    "and" => "&&",
                    "or" => "||",
                    "not" => "!",
                    "True" => "true",
                    _ => "false",
                };
                Some((rust.to_owned(), 1))
            }
            ["math", ".", ..] => {
                self.is_python = true;
                let (arguments, count) = self.arguments(tokens, 3)?;
                Some((function(texts.get(2)?, &arguments)?, count))
            }
            [of, ".", "shape", "[", "0", "]", ..] => {
                self.is_python = true;
                Some((format!("{of}.len()"), 6))
            }
            [name, "(", ..] if name.starts_with("atomic") => {
                let method = method_of_atomic(name)?;
                let close = behind_group(tokens, 1)?;
                let [address, value] = split(&tokens[2..close - 1], ",")[..] else { return None };
                let (memory, index) = element(address)?;
                let [memory, index, value] = [memory, index, value].map(|part| self.expression(part));
                Some((
                    format!("{memory}.atomic({}).{method}({value})", if index.is_empty() { "0" } else { &index }),
                    close,
                ))
            }
            [name, "(", ..] if !(self.is_known)(name) => {
                let (arguments, count) = self.arguments(tokens, 1)?;
                self.is_python |= ["len", "print", "int", "float"].contains(&name);
                Some((function(name, &arguments)?, count))
            }
            ["(", name, ")", next, ..]
                if type_of(name).is_some()
                    && next.starts_with(|first: char| first.is_alphanumeric() || first == '(') =>
            {
                let mut end = if next == "(" { behind_group(tokens, 3)? } else { 4 };
                while let Some("[" | "(" | ".") = tokens.get(end).map(|token| &*token.text) {
                    end = if tokens[end].text == "." { end + 2 } else { behind_group(tokens, end)? };
                }
                let end = end.min(tokens.len());
                Some((format!("{} as {}", self.expression(&tokens[3..end]), type_of(name)?), end))
            }
            _ => None,
        }
    }

    /// The arguments of the call with its bracket at `open`, and the index after the call.
    fn arguments(&mut self, tokens: &[Token], open: usize) -> Option<(Vec<String>, usize)> {
        if tokens.get(open)?.text != "(" {
            return None;
        }
        let end = behind_group(tokens, open)?;
        let parts = split(&tokens[open + 1..end - 1], ",");
        Some((parts.into_iter().filter(|part| !part.is_empty()).map(|part| self.expression(part)).collect(), end))
    }

    /// The form after `cuda.` in Numba.
    fn of_cuda(&mut self, tokens: &[Token]) -> Option<(String, usize)> {
        let texts: Vec<&str> = tokens.iter().take(12).map(|token| &*token.text).collect();
        if let Some(found) = grid_index(&texts) {
            return Some(found);
        }
        match texts[..] {
            [name, ".", axis, ..] if register(name, axis).is_some() => Some((register(name, axis)?, 3)),
            ["grid", "(", "1", ")", ..] => Some(("thread::index_1d() as usize".to_owned(), 4)),
            ["grid", "(", count, ")", ..] => Some((format!("thread::index_{count}d()"), 4)),
            ["gridsize", "(", "1", ")", ..] => {
                Some(("(thread::grid_dim_x() * thread::block_dim_x()) as usize".to_owned(), 4))
            }
            ["laneid", ..] => Some(("warp::lane_id()".to_owned(), 1)),
            ["warpsize", ..] => Some(("32".to_owned(), 1)),
            ["shared", ".", "array", "(", ..] => {
                let (arguments, count) = self.arguments(tokens, 3)?;
                let named = |argument: &String| argument.split('=').next_back().unwrap_or_default().trim().to_owned();
                let [shape, of] = <[String; 2]>::try_from(arguments.iter().map(named).collect::<Vec<_>>()).ok()?;
                let of = of.rsplit('.').next().and_then(type_of).unwrap_or("f32");
                Some((
                    shared_array(of, &shape.trim_matches(['(', ')']).split(',').map(str::trim).collect::<Vec<_>>()),
                    count,
                ))
            }
            ["atomic", ".", name, "(", ..] => {
                let method = method_of_atomic(name)?;
                let (arguments, count) = self.arguments(tokens, 3)?;
                let [memory, index, value] = &arguments[..] else { return None };
                Some((format!("{memory}.atomic({index}).{method}({value})"), count))
            }
            [name, "(", ..] => {
                let (arguments, count) = self.arguments(tokens, 1)?;
                Some((function(name, &arguments)?, count))
            }
            _ => None,
        }
    }
}

/// `shared_array![[f32; 4]; 8]`
pub(crate) fn shared_array(of: &str, lengths: &[&str]) -> String {
    let inner = lengths
        .iter()
        .rev()
        .filter(|length| !length.is_empty())
        .fold(of.to_owned(), |of, length| format!("[{of}; {length}]"));
    format!("shared_array!{}", if inner.starts_with('[') { inner } else { format!("[{inner}; …]") })
}

/// `&x[i]` or `x + i`: the memory and the index.
fn element(address: &[Token]) -> Option<(&[Token], &[Token])> {
    match address {
        [and, rest @ ..] if and.text == "&" => {
            let open = rest.iter().position(|token| token.text == "[")?;
            let end = behind_group(rest, open)?;
            (end == rest.len()).then(|| (&rest[..open], &rest[open + 1..end - 1]))
        }
        _ => match split(address, "+")[..] {
            [memory, index] => Some((memory, index)),
            _ => Some((address, &[])),
        },
    }
}

/// `threadIdx.x` as a function call.
fn register(name: &str, axis: &str) -> Option<String> {
    let function = match name {
        "threadIdx" => "thread_idx",
        "blockIdx" => "block_idx",
        "blockDim" => "block_dim",
        "gridDim" => "grid_dim",
        _ => return None,
    };
    ["x", "y", "z"].contains(&axis).then(|| format!("thread::{function}_{axis}()"))
}

/// `blockIdx.x * blockDim.x + threadIdx.x` in any order, and its number of tokens.
fn grid_index(texts: &[&str]) -> Option<(String, usize)> {
    let plain: Vec<&str> = texts.iter().copied().take(11).collect();
    let [a, ".", axis, first, b, ".", second_axis, second, c, ".", third_axis] = plain[..] else { return None };
    let names = match (first, second) {
        ("*", "+") => [a, b, c],
        ("+", "*") => [b, c, a],
        _ => return None,
    };
    let is_it = matches!(names, ["blockIdx", "blockDim", "threadIdx"] | ["blockDim", "blockIdx", "threadIdx"]);
    if !is_it || axis != second_axis || axis != third_axis {
        return None;
    }
    let index = match axis {
        "x" => "thread::index_1d() as usize",
        "y" => "thread::index_2d().y as usize",
        "z" => "thread::index_3d().z as usize",
        _ => return None,
    };
    Some((index.to_owned(), 11))
}
