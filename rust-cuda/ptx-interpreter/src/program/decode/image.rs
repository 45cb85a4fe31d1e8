//! Decodes texture and surface instructions in the unified mode, where a register holds the
//! object's handle (PTX ISA, Texture Instructions and Surface Instructions).

use super::operands::{Widths, count, destination, extension, parts, source};
use crate::memory::{Geometry, OutsidePolicy};
use crate::program::error::Problem;
use crate::program::image::{Fetch, ImageAccess, ImagePlace, ImageQuery, Queried, SurfaceAccess};
use crate::program::instruction::{Action, Extend, Register};
use crate::program::modifiers::ModifierCursor;
use crate::program::symbols::Symbols;
use crate::semantics::Class;
use crate::syntax::{AddressBase, Operand, ScalarType, Texel};

pub(super) fn decode(
    symbols: &mut Symbols<'_>,
    opcode: &str,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<(Action, Class), Problem> {
    let access = match opcode {
        "tex" => ImageAccess::Fetch(fetch(symbols, modifiers, operands)?),
        "tld4" => gather(symbols, modifiers, operands)?,
        "suld" => ImageAccess::Load(load(symbols, modifiers, operands)?),
        "sust" => ImageAccess::Store(store(symbols, modifiers, operands)?),
        _ => ImageAccess::Query(query(symbols, opcode == "txq", modifiers, operands)?),
    };
    Ok((Action::Image(access), Class::Memory))
}

/// The dimensions of an instruction.
fn geometry(modifiers: &mut ModifierCursor<'_>) -> Result<Geometry, Problem> {
    let names = ["1d", "2d", "3d", "a1d", "a2d", "cube", "acube", "2dms", "a2dms"];
    let name = modifiers.expect_any(&names, "the dimensions")?;
    Geometry::from_name(name).ok_or(Problem::Unsupported("a texture with several samples"))
}

/// Decodes `[a, {layer, x, y}]`, with coordinates of the given type. Vectors have 1, 2 or 4
/// components; three are padded with a fourth.
fn place(
    symbols: &mut Symbols<'_>,
    operand: &Operand,
    number: usize,
    geometry: Geometry,
    scalar_type: ScalarType,
) -> Result<ImagePlace, Problem> {
    let expected = "a texture or surface in a register of 64 bits, and its coordinates";
    let Operand::Texel(Texel { object, coordinates }) = operand else {
        return Err(Problem::Operand { number, expected });
    };
    let object = handle(symbols, object, number)?;
    let needed = usize::from(geometry.is_layered()) + geometry.dimensions();
    if coordinates.len() != needed.next_power_of_two() {
        return Err(Problem::Operand { number, expected: "as many coordinates as there are dimensions" });
    }
    let (layer, rest) = match coordinates.split_first() {
        Some((layer, rest)) if geometry.is_layered() => {
            (Some(source(symbols, layer, number, ScalarType::U32, Widths::Exact)?), rest)
        }
        _ => (None, &coordinates[..]),
    };
    let mut at = [0; 3];
    for (index, operand) in rest.iter().enumerate() {
        let register = source(symbols, operand, number, scalar_type, Widths::Exact)?;
        if let Some(place) = at.get_mut(index) {
            *place = register;
        }
    }
    Ok(ImagePlace { object, geometry, layer, at })
}

/// The register with a handle.
fn handle(symbols: &mut Symbols<'_>, name: &str, number: usize) -> Result<Register, Problem> {
    source(symbols, &Operand::Name(name.to_owned()), number, ScalarType::B64, Widths::Exact)
}

/// `tex{.level|.grad}.geom.v4.dtype.ctype d, [a, c]{, lod}`
fn fetch(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<Fetch, Problem> {
    let level = modifiers.take_any(&["level", "grad"]);
    let geometry = geometry(modifiers)?;
    modifiers.expect_any(&["v4"], "`.v4`")?;
    result_type(modifiers)?;
    let is_float = modifiers.expect_any(&["s32", "f32"], "the coordinates' type")? == "f32";
    modifiers.end()?;
    let scalar_type = if is_float { ScalarType::F32 } else { ScalarType::S32 };
    let (to, from, rest) = match (level, operands) {
        (None, [to, from]) => (to, from, &[][..]),
        (Some("level"), [to, from, _]) | (Some(_), [to, from, _, _]) => (to, from, &operands[2..]),
        (None, _) => return Err(wrong_count("2", operands)),
        (Some("level"), _) => return Err(wrong_count("3", operands)),
        (Some(_), _) => return Err(wrong_count("4", operands)),
    };
    let mut unused = Vec::new();
    for (index, operand) in rest.iter().enumerate() {
        let components = match operand {
            Operand::Vector(components) => components,
            operand => std::slice::from_ref(operand),
        };
        for component in components {
            unused.push(source(symbols, component, index + 3, scalar_type, Widths::Exact)?);
        }
    }
    let destinations = four(symbols, to)?;
    Ok(Fetch { place: place(symbols, from, 2, geometry, scalar_type)?, is_float, unused, destinations })
}

fn wrong_count(expected: &'static str, operands: &[Operand]) -> Problem {
    Problem::OperandCount { expected, found: operands.len() }
}

/// Decodes the type of the results, which are 32-bit registers.
fn result_type(modifiers: &mut ModifierCursor<'_>) -> Result<(), Problem> {
    modifiers.expect_any(&["u32", "s32", "f32"], "the results' type: `.u32`, `.s32` or `.f32`").map(|_| ())
}

/// The four registers of a fetch.
fn four(symbols: &Symbols<'_>, operand: &Operand) -> Result<[Option<Register>; 4], Problem> {
    let mut registers = [None; 4];
    for (register, part) in registers.iter_mut().zip(parts(operand, 4)?) {
        *register = optional(symbols, part, 32, Widths::Exact)?;
    }
    Ok(registers)
}

/// A destination register. `None` for `_`.
fn optional(symbols: &Symbols<'_>, part: &Operand, bits: usize, widths: Widths) -> Result<Option<Register>, Problem> {
    match part {
        Operand::Name(name) if name == "_" => Ok(None),
        part => destination(symbols, part, 1, bits, widths).map(Some),
    }
}

/// `tld4.comp.geom.v4.dtype.f32 d, [a, c]`
fn gather(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<ImageAccess, Problem> {
    const CHANNELS: [&str; 4] = ["r", "g", "b", "a"];
    let name = modifiers.expect_any(&CHANNELS, "the channel: `.r`, `.g`, `.b` or `.a`")?;
    let channel = CHANNELS.iter().position(|channel| *channel == name).unwrap_or(0);
    let geometry = geometry(modifiers)?;
    if geometry.dimensions() == 1 || geometry == Geometry::ThreeD {
        return Err(Problem::Unsupported("a gather of other than planes"));
    }
    modifiers.expect_any(&["v4"], "`.v4`")?;
    result_type(modifiers)?;
    modifiers.expect_any(&["f32"], "`.f32`")?;
    modifiers.end()?;
    let [to, from] = count(operands, "2")?;
    let destinations = four(symbols, to)?;
    let place = place(symbols, from, 2, geometry, ScalarType::F32)?;
    Ok(ImageAccess::Gather { fetch: Fetch { place, is_float: true, unused: Vec::new(), destinations }, channel })
}

/// The modifiers of `suld.b` or `sust.b`.
struct SurfaceModifiers {
    geometry: Geometry,
    vector: usize,
    scalar_type: ScalarType,
    outside: OutsidePolicy,
}

/// `.b.geom{.cop}{.vec}.type.clamp`
fn surface(modifiers: &mut ModifierCursor<'_>) -> Result<SurfaceModifiers, Problem> {
    if modifiers.take("p") {
        return Err(Problem::Unsupported("a formatted store to a surface"));
    }
    modifiers.expect_any(&["b"], "`.b`")?;
    let geometry = geometry(modifiers)?;
    if geometry.is_cube() {
        return Err(Problem::Unsupported("a surface of cubes but by their layers"));
    }
    // Cache operators have no effect: caches are not modeled.
    modifiers.take_any(&["ca", "cg", "cs", "cv", "wb", "wt"]);
    let vector = match modifiers.take_any(&["v2", "v4"]) {
        Some("v2") => 2,
        Some(_) => 4,
        None => 1,
    };
    let types = ["b8", "b16", "b32", "b64"];
    let name = modifiers.expect_any(&types, "the type: `.b8`, `.b16`, `.b32` or `.b64`")?;
    let scalar_type = ScalarType::from_name(name).ok_or(Problem::Missing("the type"))?;
    let outside = match modifiers.expect_any(&["trap", "clamp", "zero"], "`.trap`, `.clamp` or `.zero`")? {
        "trap" => OutsidePolicy::Trap,
        "clamp" => OutsidePolicy::Clamp,
        _ => OutsidePolicy::Zero,
    };
    modifiers.end()?;
    if scalar_type.bytes() * vector > 16 {
        return Err(Problem::Unsupported("a surface access of more than 16 bytes"));
    }
    Ok(SurfaceModifiers { geometry, vector, scalar_type, outside })
}

fn load(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<SurfaceAccess, Problem> {
    let SurfaceModifiers { geometry, vector, scalar_type, outside } = surface(modifiers)?;
    let [to, from] = count(operands, "2")?;
    let bytes = scalar_type.bytes();
    let registers = parts(to, vector)?.iter().map(|part| optional(symbols, part, bytes * 8, Widths::OrWider));
    let registers = registers.collect::<Result<Vec<_>, _>>()?;
    let first = registers.iter().flatten().next();
    let extend = first.map_or(Extend::Zero, |first| extension(symbols, scalar_type, *first));
    let place = place(symbols, from, 2, geometry, ScalarType::S32)?;
    Ok(SurfaceAccess { place, outside, bytes, registers, extend })
}

fn store(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<SurfaceAccess, Problem> {
    let SurfaceModifiers { geometry, vector, scalar_type, outside } = surface(modifiers)?;
    let [to, from] = count(operands, "2")?;
    let place = place(symbols, to, 1, geometry, ScalarType::S32)?;
    let parts = parts(from, vector)?.iter();
    let registers = parts.map(|part| source(symbols, part, 2, scalar_type, Widths::OrWider).map(Some));
    let registers = registers.collect::<Result<Vec<_>, _>>()?;
    Ok(SurfaceAccess { place, outside, bytes: scalar_type.bytes(), registers, extend: Extend::Zero })
}

/// `txq.query.b32 d, [a]` and `suq`
fn query(
    symbols: &mut Symbols<'_>,
    is_texture: bool,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<ImageQuery, Problem> {
    let of = match modifiers.take_any(&["width", "height", "depth", "array_size", "normalized_coords"]) {
        Some("width") => Queried::Size(0),
        Some("height") => Queried::Size(1),
        Some("depth") => Queried::Size(2),
        Some("array_size") => Queried::Layers,
        Some(_) if is_texture => Queried::NormalizedCoordinates,
        _ => return Err(Problem::Unsupported("this query of a texture or surface")),
    };
    modifiers.expect_any(&["b32"], "`.b32`")?;
    modifiers.end()?;
    let [to, from] = count(operands, "2")?;
    let destination = destination(symbols, to, 1, 32, Widths::Exact)?;
    let object = match from {
        Operand::Address(address) if address.offset == 0 => match &address.base {
            AddressBase::Name(name) => Some(handle(symbols, name, 2)?),
            AddressBase::Immediate(_) => None,
        },
        _ => None,
    };
    let object =
        object.ok_or(Problem::Operand { number: 2, expected: "a texture or surface in a register of 64 bits" })?;
    Ok(ImageQuery { object, is_texture, destination, of })
}
