//! User-visible names of kernels.

use std::collections::BTreeMap;

use cpp_demangle::{DemangleOptions, Symbol};

/// Start of the tag in which Numba stores the version of a Python function.
const TAG_OF_NUMBA: &str = "[abi:v";

/// A kernel's demangled name. C++ names keep their namespaces and template arguments. Numba names
/// lose their module and argument types.
pub(crate) fn short_name(kernel: &str) -> String {
    demangled(kernel, DemangleOptions::new().no_params().no_return_type())
}

/// The short name of each kernel. Kernels with the same short name are distinguished by their
/// argument types.
pub(crate) fn names<'k>(kernels: impl Iterator<Item = &'k str>) -> BTreeMap<&'k str, String> {
    let short: Vec<(&str, String)> = kernels.map(|kernel| (kernel, short_name(kernel))).collect();
    let is_alone = |name: &String| short.iter().filter(|(_, other)| other == name).count() == 1;
    let name_of = |(kernel, name): &(&'k str, String)| {
        let signature = || demangled(kernel, DemangleOptions::new().no_return_type());
        (*kernel, if is_alone(name) { name.clone() } else { signature() })
    };
    short.iter().map(name_of).collect()
}

fn demangled(kernel: &str, options: DemangleOptions) -> String {
    let symbol = Symbol::new(kernel).ok().filter(|_| kernel.starts_with("_Z"));
    let name = symbol.and_then(|symbol| symbol.demangle_with_options(&options).ok());
    let Some(name) = name.filter(|name| !name.is_empty()) else { return kernel.to_owned() };
    // Numba mangles Python names like C++ names, with tags that distinguish functions of the same
    // name.
    let is_of_python = name.contains(TAG_OF_NUMBA);
    let mut parts = name.split("[abi:");
    let first = parts.next().unwrap_or_default().to_owned();
    let name = parts.fold(first, |text, part| text + part.split_once(']').map_or("", |(_, after)| after));
    if !is_of_python {
        return name;
    }
    let (function, types) = name.split_at(name.find('(').unwrap_or(name.len()));
    format!("{}{types}", function.rsplit("::").next().unwrap_or(function))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NUMBA: &str = "_ZN6cudapy8__main__10max_kernelB2v1B94cw51cXTLSUwv1sCUt9Uw1VEw0NRRQPKzLTg4gaGKFsG2oMQGEYakJSQB1PQBk0Bynm21OiwU1a0UoLGhDpQE8oxrNQE_3dE5ArrayIiLi1E1C7mutable7alignedE";

    #[test]
    fn mangled_names_are_shortened() {
        for (mangled, name) in [
            ("max_kernel", "max_kernel"),
            ("_Z6squarePfi", "square"),
            ("_Z6squareIfEvPT_i", "square<float>"),
            ("_Z6squareIdEvPT_i", "square<double>"),
            ("_ZN4nets5layer7forwardEPf", "nets::layer::forward"),
            (NUMBA, "max_kernel"),
            ("_ZN8__main__7shiftedB2v1B2cwE5ArrayIfLi1E1C7mutable7alignedE", "shifted"),
            ("_ZN4nets4nameB5cxx11Ev", "nets::name"),
            ("_Z", "_Z"),
            ("_Z99short", "_Z99short"),
            ("_ZN4nets18446744073709551600layerE", "_ZN4nets18446744073709551600layerE"),
            ("_Z1λ", "_Z1λ"),
            ("_Z0f", "_Z0f"),
            ("_ZN5", "_ZN5"),
        ] {
            assert_eq!(short_name(mangled), name);
        }
    }

    #[test]
    fn kernels_of_one_name_are_told_apart_by_their_arguments() {
        let other = NUMBA.replace("5ArrayIi", "5ArrayIf");
        let names = names(["_Z4copyPf", "_Z4copyPi", "_Z6squarePf", NUMBA, &other].into_iter());
        let expected = [
            "copy(float*)",
            "copy(int*)",
            "max_kernel(Array<float, 1, C, mutable, aligned>)",
            "max_kernel(Array<int, 1, C, mutable, aligned>)",
            "square",
        ];
        let mut found: Vec<&String> = names.values().collect();
        found.sort();
        assert_eq!(found, expected);
    }

    proptest! {
        #[test]
        fn any_name_has_a_short_one(name in "(_Z|_R|)N?([0-9]{0,21}\\PC{0,6}){0,5}") {
            prop_assert!(name.is_empty() || !short_name(&name).is_empty());
        }
    }
}
