//! Restores kernel names as they are in the source. C++, Rust and Numba names are mangled in PTX.

use cpp_demangle::{DemangleOptions, Symbol};

/// The tag that marks a Python function in Numba's names: the version of its code.
const TAG_OF_NUMBA: &str = "[abi:v";
/// Prefix of every tag.
const TAG: &str = "[abi:";
/// Numba's escape for `<locals>`, the scope of a nested function.
const LOCALS: &str = "_3clocals_3e";
/// C types and their Numba names.
const TYPES: [(&str, &str); 11] = [
    ("bool", "bool"),
    ("signed char", "int8"),
    ("short", "int16"),
    ("int", "int32"),
    ("long long", "int64"),
    ("unsigned char", "uint8"),
    ("unsigned short", "uint16"),
    ("unsigned int", "uint32"),
    ("unsigned long long", "uint64"),
    ("float", "float32"),
    ("double", "float64"),
];

/// A kernel's name in its source, with its argument types if the mangled name contains them. A name
/// that is not mangled is returned unchanged.
pub(crate) fn demangled(kernel: &str) -> String {
    let name = if is_of_rust(kernel) { of_rust(kernel) } else { of_cpp(kernel) };
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| kernel.to_owned())
}

/// Whether the name has a form that rustc generates: `_R…`, or `_ZN…17h…E` with a 16-digit hash.
/// The latter is also a valid C++ name.
fn is_of_rust(kernel: &str) -> bool {
    let has_hash = || {
        let hash = kernel.strip_suffix('E')?.rsplit_once("17h")?.1;
        Some(hash.len() == 16 && hash.bytes().all(|digit| digit.is_ascii_hexdigit()))
    };
    kernel.starts_with("_R") || (kernel.starts_with("_ZN") && has_hash() == Some(true))
}

fn of_rust(kernel: &str) -> Option<String> {
    // The alternate form omits the hash.
    rustc_demangle::try_demangle(kernel).ok().map(|name| format!("{name:#}"))
}

fn of_cpp(kernel: &str) -> Option<String> {
    let symbol = Symbol::new(kernel).ok().filter(|_| kernel.starts_with("_Z"))?;
    let name = symbol.demangle_with_options(&DemangleOptions::new().no_return_type()).ok()?;
    Some(if name.contains(TAG_OF_NUMBA) { of_python(&without_tags(&name)) } else { name })
}

/// Removes the tags that Numba adds to a name for the code's version and the compiler's options.
fn without_tags(name: &str) -> String {
    let mut parts = name.split(TAG);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |name, part| name + part.split_once(']').map_or("", |(_, after)| after))
}

/// Converts `module::function(Array<int, 1, C, mutable, aligned>, int)` to its Python form,
/// `module.function(array(int32, 1d, C), int32)`.
fn of_python(name: &str) -> String {
    let (function, arguments) = name.split_at(name.find('(').unwrap_or(name.len()));
    let function = function.replace(LOCALS, "<locals>").replace("::", ".");
    let Some(arguments) = arguments.strip_prefix('(').and_then(|arguments| arguments.strip_suffix(')')) else {
        return function + arguments;
    };
    let types: Vec<String> = at_commas(arguments).into_iter().map(type_of_python).collect();
    format!("{function}({})", types.join(", "))
}

fn type_of_python(name: &str) -> String {
    let scalar = |name: &str| {
        let found = TYPES.iter().find(|(in_c, _)| *in_c == name);
        found.map_or(name, |(_, in_python)| in_python).to_owned()
    };
    let array = name.strip_prefix("Array<").and_then(|array| array.strip_suffix('>')).map(at_commas);
    match array.as_deref() {
        Some([element, dimensions, layout, ..]) => format!("array({}, {dimensions}d, {layout})", scalar(element)),
        _ => scalar(name),
    }
}

/// The parts between commas outside brackets.
fn at_commas(list: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = list.split(|character| {
        match character {
            '(' | '<' | '[' => depth += 1,
            ')' | '>' | ']' => depth -= 1,
            _ => {}
        }
        character == ',' && depth == 0
    });
    parts.map(str::trim).collect()
}
