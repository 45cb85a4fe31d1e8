//! The forms of `cvt`.

use super::{
    ConvertInteger, convert, convert_finite, integer_to, pack, pack_finite, saturate, to_integer, to_integral, to_tf32,
    to_tf32_finite, to_tf32_nearest_away, to_tf32_nearest_away_finite, truncate,
};
use crate::semantics::float::{Bf16Bits, Float};
use crate::semantics::modifiers::{Ftz, Modifiers, Relu, Rm, Rn, Rp, Rz, Sat};
use crate::semantics::operand_type::{
    B32, Bf16, F16, F32, F64, OperandType, S8, S16, S32, S64, Tf32, U8, U16, U32, U64, operation,
};
use crate::semantics::table::Table;
use crate::syntax::ScalarType;

/// Adds the forms to the table.
pub(in crate::semantics) fn forms(table: &mut Table) {
    from_integer::<U8>(table);
    from_integer::<U16>(table);
    from_integer::<U32>(table);
    from_integer::<U64>(table);
    from_integer::<S8>(table);
    from_integer::<S16>(table);
    from_integer::<S32>(table);
    from_integer::<S64>(table);

    to_integers::<F16>(table);
    to_integers::<Bf16>(table);
    to_integers::<F32>(table);
    to_integers::<F64>(table);

    between_floats(table);
    packed(table);
}

fn from_integer<S: OperandType<Value: ConvertInteger>>(table: &mut Table) {
    integer_pair::<U8, S>(table);
    integer_pair::<U16, S>(table);
    integer_pair::<U32, S>(table);
    integer_pair::<U64, S>(table);
    integer_pair::<S8, S>(table);
    integer_pair::<S16, S>(table);
    integer_pair::<S32, S>(table);
    integer_pair::<S64, S>(table);
    integer_to_float::<F16, S>(table);
    integer_to_float::<F32, S>(table);
    integer_to_float::<F64, S>(table);
    // bf16 has no conversions from or to 8 bits.
    if S::TYPE.bytes() > 1 {
        integer_to_bf16::<Rn, S>(table, "rn");
        integer_to_bf16::<Rz, S>(table, "rz");
        integer_to_bf16::<Rm, S>(table, "rm");
        integer_to_bf16::<Rp, S>(table, "rp");
    }
}

fn integer_pair<D: OperandType<Value: ConvertInteger>, S: OperandType<Value: ConvertInteger>>(table: &mut Table) {
    let types = format!("{}{}", D::NAME, S::NAME);
    table.add(format!("cvt{types}"), operation!(Convert, truncate: (S) -> D));
    if S::Value::MIN < D::Value::MIN || S::Value::MAX > D::Value::MAX {
        table.add(format!("cvt.sat{types}"), operation!(Convert, saturate: (S) -> D));
    }
}

fn integer_to_float<D: OperandType<Value: Float>, S: OperandType<Value: ConvertInteger>>(table: &mut Table) {
    integer_to_float_rounding::<D, S, Rn>(table, "rn");
    integer_to_float_rounding::<D, S, Rz>(table, "rz");
    integer_to_float_rounding::<D, S, Rm>(table, "rm");
    integer_to_float_rounding::<D, S, Rp>(table, "rp");
}

fn integer_to_float_rounding<D: OperandType<Value: Float>, S: OperandType<Value: ConvertInteger>, R: Modifiers>(
    table: &mut Table,
    rounding: &str,
) {
    let types = format!("{}{}", D::NAME, S::NAME);
    let plain = operation!(Convert, integer_to::<S::Value, D::Value, R>: (S) -> D);
    let saturating = operation!(Convert, integer_to::<S::Value, D::Value, Sat<R>>: (S) -> D);
    table.add(format!("cvt.{rounding}{types}"), plain);
    table.add(format!("cvt.{rounding}.sat{types}"), saturating);
    if D::TYPE == ScalarType::F32 {
        // An integer never converts to a subnormal number.
        table.add(format!("cvt.{rounding}.ftz{types}"), plain);
        table.add(format!("cvt.{rounding}.ftz.sat{types}"), saturating);
    }
}

fn integer_to_bf16<R: Modifiers, S: OperandType<Value: ConvertInteger>>(table: &mut Table, rounding: &str) {
    let name = format!("cvt.{rounding}.bf16{}", S::NAME);
    table.add(name, operation!(Convert, integer_to::<S::Value, Bf16Bits, R>: (S) -> Bf16));
}

fn to_integers<S: OperandType<Value: Float>>(table: &mut Table) {
    if S::TYPE != ScalarType::Bf16 {
        float_to_integer::<U8, S>(table);
        float_to_integer::<S8, S>(table);
    }
    float_to_integer::<U16, S>(table);
    float_to_integer::<U32, S>(table);
    float_to_integer::<U64, S>(table);
    float_to_integer::<S16, S>(table);
    float_to_integer::<S32, S>(table);
    float_to_integer::<S64, S>(table);
}

fn float_to_integer<D: OperandType<Value: ConvertInteger>, S: OperandType<Value: Float>>(table: &mut Table) {
    float_to_integer_rounding::<D, S, Rn>(table, "rni");
    float_to_integer_rounding::<D, S, Rz>(table, "rzi");
    float_to_integer_rounding::<D, S, Rm>(table, "rmi");
    float_to_integer_rounding::<D, S, Rp>(table, "rpi");
}

fn float_to_integer_rounding<D: OperandType<Value: ConvertInteger>, S: OperandType<Value: Float>, R: Modifiers>(
    table: &mut Table,
    rounding: &str,
) {
    let types = format!("{}{}", D::NAME, S::NAME);
    let plain = operation!(Convert, to_integer::<S::Value, D::Value, R>: (S) -> D);
    table.add(format!("cvt.{rounding}{types}"), plain);
    if S::TYPE != ScalarType::Bf16 {
        table.add(format!("cvt.{rounding}.sat{types}"), plain);
    }
    if S::TYPE == ScalarType::F32 {
        let flushing = operation!(Convert, to_integer::<S::Value, D::Value, Ftz<R>>: (S) -> D);
        table.add(format!("cvt.{rounding}.ftz{types}"), flushing);
        table.add(format!("cvt.{rounding}.ftz.sat{types}"), flushing);
    }
}

/// The optional modifiers of a conversion between two formats.
struct Suffixes {
    sat: bool,
    ftz: bool,
}

fn between_floats(table: &mut Table) {
    const SAT: Suffixes = Suffixes { sat: true, ftz: false };
    const FTZ: Suffixes = Suffixes { sat: false, ftz: true };
    const BOTH: Suffixes = Suffixes { sat: true, ftz: true };
    const NEITHER: Suffixes = Suffixes { sat: false, ftz: false };

    exact::<F32, F16>(table, &BOTH);
    exact::<F64, F16>(table, &SAT);
    exact::<F64, F32>(table, &BOTH);
    exact::<F32, Bf16>(table, &FTZ);
    exact::<F64, Bf16>(table, &NEITHER);
    exact::<F16, F16>(table, &SAT);
    exact::<F32, F32>(table, &BOTH);
    exact::<F64, F64>(table, &SAT);
    exact::<Bf16, Bf16>(table, &NEITHER);

    rounded::<F16, F32>(table, &BOTH);
    rounded::<F16, F64>(table, &SAT);
    rounded::<F32, F64>(table, &BOTH);
    rounded::<Bf16, F32>(table, &FTZ);
    rounded::<Bf16, F64>(table, &NEITHER);
    rounded::<F16, Bf16>(table, &NEITHER);
    rounded::<Bf16, F16>(table, &NEITHER);
    // Exact conversions that also have forms with a rounding modifier.
    rounded::<F32, Bf16>(table, &FTZ);
    rounded::<F64, Bf16>(table, &NEITHER);

    integral::<F16>(table, &SAT);
    integral::<F32>(table, &BOTH);
    integral::<F64>(table, &SAT);
    integral::<Bf16>(table, &NEITHER);

    finite_and_relu::<F16>(table);
    finite_and_relu::<Bf16>(table);
    tf32(table);
}

fn exact<D: OperandType<Value: Float>, S: OperandType<Value: Float>>(table: &mut Table, suffixes: &Suffixes) {
    convert_with::<D, S, Rn>(table, "", suffixes);
}

fn rounded<D: OperandType<Value: Float>, S: OperandType<Value: Float>>(table: &mut Table, suffixes: &Suffixes) {
    convert_with::<D, S, Rn>(table, ".rn", suffixes);
    convert_with::<D, S, Rz>(table, ".rz", suffixes);
    convert_with::<D, S, Rm>(table, ".rm", suffixes);
    convert_with::<D, S, Rp>(table, ".rp", suffixes);
}

fn convert_with<D: OperandType<Value: Float>, S: OperandType<Value: Float>, R: Modifiers>(
    table: &mut Table,
    rounding: &str,
    suffixes: &Suffixes,
) {
    let types = format!("{}{}", D::NAME, S::NAME);
    table.add(format!("cvt{rounding}{types}"), operation!(Convert, convert::<S::Value, D::Value, R>: (S) -> D));
    if suffixes.sat {
        let operation = operation!(Convert, convert::<S::Value, D::Value, Sat<R>>: (S) -> D);
        table.add(format!("cvt{rounding}.sat{types}"), operation);
    }
    if suffixes.ftz {
        let operation = operation!(Convert, convert::<S::Value, D::Value, Ftz<R>>: (S) -> D);
        table.add(format!("cvt{rounding}.ftz{types}"), operation);
    }
    if suffixes.sat && suffixes.ftz {
        let operation = operation!(Convert, convert::<S::Value, D::Value, Sat<Ftz<R>>>: (S) -> D);
        table.add(format!("cvt{rounding}.ftz.sat{types}"), operation);
    }
}

fn integral<T: OperandType<Value: Float>>(table: &mut Table, suffixes: &Suffixes) {
    integral_rounding::<T, Rn>(table, "rni", suffixes);
    integral_rounding::<T, Rz>(table, "rzi", suffixes);
    integral_rounding::<T, Rm>(table, "rmi", suffixes);
    integral_rounding::<T, Rp>(table, "rpi", suffixes);
}

fn integral_rounding<T: OperandType<Value: Float>, R: Modifiers>(
    table: &mut Table,
    rounding: &str,
    suffixes: &Suffixes,
) {
    let types = format!("{}{}", T::NAME, T::NAME);
    table.add(format!("cvt.{rounding}{types}"), operation!(Convert, to_integral::<T::Value, R>: (T) -> T));
    if suffixes.sat {
        let operation = operation!(Convert, to_integral::<T::Value, Sat<R>>: (T) -> T);
        table.add(format!("cvt.{rounding}.sat{types}"), operation);
    }
    if suffixes.ftz {
        let flushing = operation!(Convert, to_integral::<T::Value, Ftz<R>>: (T) -> T);
        let both = operation!(Convert, to_integral::<T::Value, Sat<Ftz<R>>>: (T) -> T);
        table.add(format!("cvt.{rounding}.ftz{types}"), flushing);
        table.add(format!("cvt.{rounding}.ftz.sat{types}"), both);
    }
}

fn finite_and_relu<D: OperandType<Value: Float>>(table: &mut Table) {
    finite_and_relu_rounding::<D, Rn>(table, "rn");
    finite_and_relu_rounding::<D, Rz>(table, "rz");
}

fn finite_and_relu_rounding<D: OperandType<Value: Float>, R: Modifiers>(table: &mut Table, rounding: &str) {
    let name = D::NAME;
    let relu = operation!(Convert, convert::<f32, D::Value, Relu<R>>: (F32) -> D);
    let finite = operation!(Convert, convert_finite::<D::Value, R>: (F32) -> D);
    let both = operation!(Convert, convert_finite::<D::Value, Relu<R>>: (F32) -> D);
    table.add(format!("cvt.{rounding}.relu{name}.f32"), relu);
    table.add(format!("cvt.{rounding}.satfinite{name}.f32"), finite);
    table.add(format!("cvt.{rounding}.relu.satfinite{name}.f32"), both);
}

fn tf32(table: &mut Table) {
    table.add("cvt.rna.tf32.f32", operation!(Convert, to_tf32_nearest_away: (F32) -> Tf32));
    table.add("cvt.rna.satfinite.tf32.f32", operation!(Convert, to_tf32_nearest_away_finite: (F32) -> Tf32));
    tf32_rounding::<Rn>(table, "rn");
    tf32_rounding::<Rz>(table, "rz");
}

fn tf32_rounding<R: Modifiers>(table: &mut Table, rounding: &str) {
    let finite_relu = operation!(Convert, to_tf32_finite::<Relu<R>>: (F32) -> Tf32);
    table.add(format!("cvt.{rounding}.tf32.f32"), operation!(Convert, to_tf32::<R>: (F32) -> Tf32));
    table.add(format!("cvt.{rounding}.relu.tf32.f32"), operation!(Convert, to_tf32::<Relu<R>>: (F32) -> Tf32));
    table.add(format!("cvt.{rounding}.satfinite.tf32.f32"), operation!(Convert, to_tf32_finite::<R>: (F32) -> Tf32));
    table.add(format!("cvt.{rounding}.satfinite.relu.tf32.f32"), finite_relu);
}

fn packed(table: &mut Table) {
    packed_rounding::<F16, Rn>(table, "rn", "f16x2");
    packed_rounding::<F16, Rz>(table, "rz", "f16x2");
    packed_rounding::<Bf16, Rn>(table, "rn", "bf16x2");
    packed_rounding::<Bf16, Rz>(table, "rz", "bf16x2");
}

/// The destination is a 32-bit register; its upper half is converted from the first source.
fn packed_rounding<D: OperandType<Value: Float>, R: Modifiers>(table: &mut Table, rounding: &str, name: &str) {
    let plain = operation!(Convert, pack::<D, R>: (F32, F32) -> B32);
    let relu = operation!(Convert, pack::<D, Relu<R>>: (F32, F32) -> B32);
    let finite = operation!(Convert, pack_finite::<D, R>: (F32, F32) -> B32);
    let both = operation!(Convert, pack_finite::<D, Relu<R>>: (F32, F32) -> B32);
    table.add(format!("cvt.{rounding}.{name}.f32"), plain);
    table.add(format!("cvt.{rounding}.relu.{name}.f32"), relu);
    table.add(format!("cvt.{rounding}.satfinite.{name}.f32"), finite);
    table.add(format!("cvt.{rounding}.relu.satfinite.{name}.f32"), both);
}
