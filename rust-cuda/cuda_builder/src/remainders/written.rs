//! The float remainders in LLVM IR.

use std::collections::BTreeSet;

use crate::BuilderError;
use crate::llvm_ir::{Place, location_of, metadata, place, place_in_source};

/// A remainder in the IR, such as `%z = frem float %x, %y, !dbg !7`.
#[derive(Clone, Debug)]
pub(super) struct Written {
    /// The function's name in the PTX.
    pub(super) function: String,
    /// Type and operands as in the IR.
    pub(super) operands: String,
    pub(super) divisor: Divisor,
    /// The location. None if the compiler did not keep it, for example where it merges code from
    /// two branches.
    pub(super) place: Option<Place>,
    /// The number of the location's metadata.
    location: Option<u32>,
    /// Whether the function also contains its own fused approximation with the same x and the same
    /// constant: the compiler may merge both.
    pub(super) is_shared: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Divisor {
    Register,
    /// Its magnitude.
    Constant(f64),
    /// A constant in a form that is not supported, such as a vector.
    Unknown,
}

/// The remainders in the IR, except those for which a kernel allows an approximation.
pub(super) fn remainders(ir: &str) -> Vec<Written> {
    let mut function = String::new();
    let mut found: Vec<Written> = Vec::new();
    // For each function: its truncated values; x and the constant in its sums with products of
    // these.
    let (mut truncated, mut own) = (BTreeSet::new(), Vec::new());
    for line in ir.lines() {
        if line.starts_with("define ") {
            function = function_of(line);
            truncated.clear();
            own.clear();
        }
        if line == "}" {
            let of_function = found.iter_mut().rev().take_while(|written| written.function == function);
            of_function.for_each(|written| written.is_shared = own.contains(&written.x_and_divisor()));
        }
        if line.contains("@llvm.trunc.") {
            truncated.extend(line.split_whitespace().next());
        }
        if let Some((_, arguments)) = line.split_once("@llvm.fma.f").or_else(|| line.split_once("@llvm.fmuladd.f")) {
            let values: Vec<&str> =
                arguments.split([',', ')']).filter_map(|value| value.split(' ').next_back()).collect();
            if let [a, b, x, ..] = values[..] {
                let constants = [(a, b), (b, a)].into_iter().filter(|(whole, _)| truncated.contains(whole));
                own.extend(constants.map(|(_, constant)| (x.to_owned(), divisor(constant))));
            }
        }
        let Some((_, operation)) = line.split_once(" = frem ") else { continue };
        if operation.starts_with("fast ") || operation.contains("arcp ") || operation.contains("afn ") {
            continue;
        }
        let operands = operation.split_once(", !").map_or(operation, |(operands, _)| operands);
        let location = location_of(line);
        found.push(Written {
            function: function.clone(),
            operands: operands.to_owned(),
            divisor: divisor(operands.rsplit_once(", ").map_or("", |(_, divisor)| divisor)),
            place: location.and_then(|location| place(metadata(ir, location)?)),
            location,
            is_shared: false,
        });
    }
    found
}

impl Written {
    /// The dividend, and the divisor if it is constant. If the divisor is a register, the selection
    /// of x identifies the remainder.
    fn x_and_divisor(&self) -> (String, Divisor) {
        let x = self.operands.rsplit_once(", ").map_or("", |(x, _)| x);
        let is_register = self.divisor == Divisor::Register;
        (if is_register { "" } else { x.rsplit(' ').next().unwrap_or(x) }.to_owned(), self.divisor)
    }

    pub(super) fn error(&self, ir: &str, name_of_file: &dyn Fn(&str) -> String) -> BuilderError {
        let place = self.location.and_then(|location| place_in_source(ir, location, name_of_file));
        BuilderError::Remainder { place: place.map(|place| format!("at {place}")).unwrap_or_default() }
    }
}

/// The name of a function in the PTX, from the line that defines it.
fn function_of(definition: &str) -> String {
    let name = definition.split_once('@').map_or("", |(_, rest)| rest);
    let end = |c: char| !(c.is_ascii_alphanumeric() || "_$.-".contains(c));
    let name = match name.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => name.split(end).next(),
    };
    name.unwrap_or_default().replace(['.', '@'], "_$_")
}

fn divisor(operand: &str) -> Divisor {
    if operand.starts_with('%') {
        return Divisor::Register;
    }
    // A float without a short decimal form is written as the bits of a double.
    let value = match operand.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).map(f64::from_bits).ok(),
        None => operand.parse().ok(),
    };
    value.map_or(Divisor::Unknown, |value: f64| Divisor::Constant(value.abs()))
}
