//! Conversions between types: `cvt` (PTX ISA 9.7.9.22), except floats of fewer than 8 bits.

use super::Class;
use super::definition::{Definition, Function};
use super::eight_bits::EightBits;
use super::modifiers::{Modifiers, ROUNDINGS, name_if};
use super::rounding::Mode;
use super::table::Table;
use super::values::clamp;
use crate::syntax::ScalarType::{
    self, B16, B32, Bf16, F16, F16x2, F32, F64, S8, S16, S32, S64, Tf32, U8, U16, U32, U64,
};

const INTEGERS: [ScalarType; 8] = [U8, U16, U32, U64, S8, S16, S32, S64];
const FLOATS: [ScalarType; 4] = [F16, Bf16, F32, F64];

/// The modifiers that round to an integral value.
const INTEGRAL_ROUNDINGS: [(&str, Mode); 4] =
    [(".rni", Mode::Nearest), (".rzi", Mode::TowardZero), (".rmi", Mode::Down), (".rpi", Mode::Up)];

/// Adds the forms to the table.
pub(super) fn forms(table: &mut Table) {
    for source in INTEGERS {
        for destination in INTEGERS {
            between_integers(table, destination, source);
        }
        for destination in FLOATS {
            from_integer(table, destination, source);
        }
    }
    for source in FLOATS {
        for destination in INTEGERS {
            to_integer(table, destination, source);
        }
        for destination in FLOATS {
            between_floats(table, destination, source);
        }
        for (rounding, mode) in INTEGRAL_ROUNDINGS {
            with_sat_and_ftz(table, rounding, mode, [source, source]);
        }
    }
    narrowing(table);
    eight_bits(table);
}

/// Pairs of floats of 8 bits.
fn eight_bits(table: &mut Table) {
    for (name, format) in [("e4m3x2", EightBits::E4M3), ("e5m2x2", EightBits::E5M2)] {
        for relu in [false, true] {
            let modifiers = Modifiers { relu, finite: true, ..Modifiers::NONE };
            let mut add = |form: String, function, to, sources: &[_]| {
                table.add(form, Definition::new(Class::Convert, function, to, sources).with(modifiers));
            };
            let relu = name_if(relu, ".relu");
            add(format!("cvt.rn.satfinite{relu}.{name}.f32"), Function::ToEightBits(format), B16, &[F32, F32]);
            add(format!("cvt.rn.satfinite{relu}.{name}.f16x2"), Function::ToEightBits(format), B16, &[F16x2]);
            add(format!("cvt.rn{relu}.f16x2.{name}"), Function::FromEightBits(format), F16x2, &[B16]);
        }
    }
}

/// Adds a conversion of `source` to `to`, with the modifiers before the types.
fn add(table: &mut Table, modifiers_name: &str, modifiers: Modifiers, [to, source]: [ScalarType; 2]) {
    let integral = INTEGRAL_ROUNDINGS.iter().any(|(name, _)| modifiers_name.starts_with(name));
    let function = Function::Convert { to, integral };
    let definition = Definition::new(Class::Convert, function, to, &[source]).with(modifiers);
    table.add(format!("cvt{modifiers_name}.{}.{}", to.name(), source.name()), definition);
}

fn between_integers(table: &mut Table, destination: ScalarType, source: ScalarType) {
    let types = [destination, source];
    add(table, "", Modifiers::NONE, types);
    let limits = [i128::MIN, i128::MAX].map(|limit| clamp(source, limit));
    if limits.iter().any(|&limit| clamp(destination, limit) != limit) {
        add(table, ".sat", Modifiers { saturate: true, ..Modifiers::NONE }, types);
    }
}

fn from_integer(table: &mut Table, destination: ScalarType, source: ScalarType) {
    for (rounding, mode) in ROUNDINGS {
        with_sat_and_ftz(table, rounding, mode, [destination, source]);
    }
}

fn to_integer(table: &mut Table, destination: ScalarType, source: ScalarType) {
    for (rounding, mode) in INTEGRAL_ROUNDINGS {
        with_sat_and_ftz(table, rounding, mode, [destination, source]);
    }
}

fn between_floats(table: &mut Table, destination: ScalarType, source: ScalarType) {
    let types = [destination, source];
    let is_exact = destination == source || matches!(types, [F32, F16 | Bf16] | [F64, _]);
    if is_exact {
        with_sat_and_ftz(table, "", Mode::Nearest, types);
    }
    // Exact conversions from bf16 also have forms with a rounding modifier.
    if !is_exact || (source == Bf16 && destination != Bf16) {
        for (rounding, mode) in ROUNDINGS {
            with_sat_and_ftz(table, rounding, mode, types);
        }
    }
}

/// Adds a conversion with and without `.sat` and `.ftz`. bf16 does not have `.sat`, and only
/// conversions from or to f32 have `.ftz`.
fn with_sat_and_ftz(table: &mut Table, rounding: &str, mode: Mode, types: [ScalarType; 2]) {
    for flush in [false, true] {
        for saturate in [false, true] {
            if (flush && !types.contains(&F32)) || (saturate && types.contains(&Bf16)) {
                continue;
            }
            let name = format!("{rounding}{}{}", name_if(flush, ".ftz"), name_if(saturate, ".sat"));
            add(table, &name, Modifiers { flush, saturate, ..Modifiers::rounding(mode) }, types);
        }
    }
}

/// Adds the conversions of f32 that have `.relu` and `.satfinite`.
fn narrowing(table: &mut Table) {
    for (rounding, mode) in [(".rn", Mode::Nearest), (".rz", Mode::TowardZero)] {
        for (relu, finite) in [(false, false), (true, false), (false, true), (true, true)] {
            let modifiers = Modifiers { relu, finite, ..Modifiers::rounding(mode) };
            let [relu_name, finite_name] = [name_if(relu, ".relu"), name_if(finite, ".satfinite")];
            for (half, packed) in [(F16, "f16x2"), (Bf16, "bf16x2")] {
                let name = format!("{rounding}{relu_name}{finite_name}");
                if relu || finite {
                    add(table, &name, modifiers, [half, F32]);
                }
                let pair = Function::ConvertPair { to: half };
                let definition = Definition::new(Class::Convert, pair, B32, &[F32, F32]).with(modifiers);
                table.add(format!("cvt{name}.{packed}.f32"), definition);
            }
            add(table, &format!("{rounding}{finite_name}{relu_name}"), modifiers, [Tf32, F32]);
        }
    }
    for finite in [false, true] {
        let modifiers = Modifiers { finite, ..Modifiers::rounding(Mode::NearestAway) };
        add(table, &format!(".rna{}", name_if(finite, ".satfinite")), modifiers, [Tf32, F32]);
    }
}
