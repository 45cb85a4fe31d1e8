//! Decodes loads, stores, atomic operations and fences.

use super::addresses::{CLUSTER, SCOPES, accessed, address, resolved, scope_named, space_named};
use super::copies;
use super::operands::{Widths, count, destination, extension, parts, source};
use crate::memory::races::{Fence, Scope};
use crate::program::atomic;
use crate::program::error::Problem;
use crate::program::instruction::{AccessSpace, Action, Atomic, Extend, Load, MemoryOrdering, Register, Store};
use crate::program::modifiers::ModifierCursor;
use crate::program::symbols::Symbols;
use crate::semantics::Class;
use crate::syntax::{Operand, ScalarType, Space};

pub(super) fn decode(
    symbols: &mut Symbols<'_>,
    opcode: &str,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<(Action, Class), Problem> {
    match opcode {
        "ld" | "ldu" => Ok((load(symbols, modifiers, operands)?, Class::Memory)),
        "st" if modifiers.take("async") => {
            Ok((Action::StoreAsync(copies::store_async(symbols, modifiers, operands)?), Class::Memory))
        }
        "st" => Ok((store(symbols, modifiers, operands)?, Class::Memory)),
        "atom" | "red" => Ok((atomic(symbols, opcode == "atom", modifiers, operands)?, Class::Atomic)),
        "prefetch" | "prefetchu" => {
            // A hint: it has no effect and no address faults.
            while modifiers.take_beginning(&["global", "local", "const", "param", "tensormap", "L1", "L2"]).is_some() {}
            modifiers.end()?;
            let [operand] = count(operands, "1")?;
            address(symbols, operand, 1)?;
            Ok((Action::Nothing, Class::Memory))
        }
        "membar" | "fence" => {
            if opcode == "fence" && modifiers.take("proxy") {
                return Ok((proxy_fence(symbols, modifiers, operands)?, Class::Barrier));
            }
            count::<0>(operands, "0")?;
            if opcode == "fence" && modifiers.take("mbarrier_init") {
                // Makes mbarriers visible after a relaxed barrier of the cluster. Here, these
                // barriers order all accesses.
                modifiers.expect_any(&["release"], "`.release`")?;
                modifiers.expect_any(&["cluster"], "`.cluster`")?;
                modifiers.end()?;
                return Ok((Action::Nothing, Class::Barrier));
            }
            // A fence without semantics is acq_rel; `membar` is sc (PTX ISA 9.7.13, membar/fence).
            let [semantics, scope] = match opcode {
                "fence" => modifiers.take_one_of_each([&["sc", "acq_rel", "acquire", "release"], &SCOPES]),
                _ => [Some("sc"), modifiers.take_any(&["cta", "gl", "sys"])],
            };
            modifiers.end()?;
            let scope = scope.ok_or(Problem::Missing("the scope"))?;
            let fence = Fence { scope: scope_named(scope), is_sc: semantics == Some("sc") };
            Ok((Action::Fence(fence), Class::Barrier))
        }
        _ => Ok((copies::copy_async(symbols, modifiers, operands)?, Class::Memory)),
    }
}

/// Decodes `fence.proxy`, which orders a thread's accesses through different proxies. It has no
/// effect here: every access uses the generic proxy, and the fence does not order threads (PTX ISA,
/// Memory Consistency Model: only `fence.sem.scope` synchronizes).
fn proxy_fence(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<Action, Problem> {
    let proxies = ["async", "alias", "tensormap::generic", "async::generic"];
    let proxy = modifiers.expect_any(&proxies, "the proxy")?;
    let mut acquires = false;
    match proxy {
        "async" => drop(modifiers.take_any(&["async", "global", "shared::cta", CLUSTER])),
        "async::generic" => {
            modifiers.expect_any(&["acquire", "release"], "`.acquire` or `.release`")?;
            let restricted = ["sync_restrict::shared::cluster", "sync_restrict::shared::cta"];
            modifiers.expect_any(&restricted, "what the fence is restricted to")?;
            modifiers.expect_any(&["cluster"], "`.cluster`")?;
        }
        "tensormap::generic" => {
            acquires = modifiers.expect_any(&["acquire", "release"], "`.acquire` or `.release`")? == "acquire";
            modifiers.expect_any(&SCOPES, "the scope")?;
        }
        _ => {}
    }
    modifiers.end()?;
    if acquires {
        let [map, bytes] = count(operands, "2")?;
        address(symbols, map, 1)?;
        source(symbols, bytes, 2, ScalarType::U32, Widths::Exact)?;
        return Ok(Action::Nothing);
    }
    count::<0>(operands, "0")?;
    Ok(Action::Nothing)
}

/// The modifiers of `ld` or `st`.
struct AccessModifiers {
    space: AccessSpace,
    ordering: MemoryOrdering,
    vector: usize,
    scalar_type: ScalarType,
}

fn access(modifiers: &mut ModifierCursor<'_>, loads: bool) -> Result<AccessModifiers, Problem> {
    let mut ordering = MemoryOrdering::default();
    let semantics: &[&str] = &["weak", "volatile", "relaxed", "acquire", "release", "mmio"];
    let spaces: &[&str] =
        &["global", "shared", "shared::cta", CLUSTER, "local", "const", "param", "param::entry", "param::func"];
    let [semantics, scope, space] = modifiers.take_one_of_each([semantics, &SCOPES, spaces]);
    match (semantics, scope) {
        (Some("volatile"), None) => ordering = MemoryOrdering::VOLATILE,
        (Some(word @ ("relaxed" | "acquire" | "release")), scope)
            if (word == "acquire") <= loads && (word == "release") <= !loads =>
        {
            let scope = scope_named(scope.ok_or(Problem::Missing("the scope"))?);
            let (acquire, release) = (word == "acquire", word == "release");
            ordering = MemoryOrdering { strong: true, scope, acquire, release, ..MemoryOrdering::default() };
        }
        (None | Some("weak"), None) => {}
        (_, Some(word)) | (Some(word), None) => return Err(Problem::Modifier(word.to_owned())),
    }
    let space = match space {
        Some(CLUSTER) => AccessSpace::Cluster,
        space => space.and_then(space_named).map_or(AccessSpace::Generic, AccessSpace::Space),
    };
    // Cache operators and eviction priorities have no effect: caches are not modeled.
    while modifiers.take_beginning(&["L1::", "L2::"]).is_some()
        || modifiers.take_any(&["ca", "cg", "cs", "lu", "cv", "wb", "wt"]).is_some()
    {}
    ordering.read_only = modifiers.take("nc");
    if ordering.read_only && !(loads && matches!(space, AccessSpace::Generic | AccessSpace::Space(Space::Global))) {
        return Err(Problem::Modifier("nc".to_owned()));
    }
    while modifiers.take_beginning(&["L1::", "L2::"]).is_some() {}
    let vector = match modifiers.take_any(&["v2", "v4", "v8"]) {
        Some("v2") => 2,
        Some("v4") => 4,
        Some(_) => return Err(Problem::Unsupported("a vector of 8")),
        None => 1,
    };
    let scalar_type = modifiers.expect_type()?;
    modifiers.end()?;
    if matches!(scalar_type, ScalarType::B128 | ScalarType::Pred) {
        return Err(Problem::Unsupported("an access of this type"));
    }
    Ok(AccessModifiers { space, ordering, vector, scalar_type })
}

fn load(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<Action, Problem> {
    let AccessModifiers { space, ordering, vector, scalar_type } = access(modifiers, true)?;
    let [to, from] = count(operands, "2")?;
    let bytes = scalar_type.bytes();
    let destinations = parts(to, vector)?.iter().map(|part| match part {
        Operand::Name(name) if name == "_" => Ok(None),
        part => destination(symbols, part, 1, bytes * 8, Widths::OrWider).map(Some),
    });
    let destinations = destinations.collect::<Result<Vec<Option<Register>>, _>>()?;
    let (address, space) = accessed(symbols, from, 2, space)?;
    let mut widths = destinations.iter().flatten().map(|part| symbols.register_bits(*part));
    if widths.next().is_some_and(|first| widths.any(|other| other != first)) {
        return Err(Problem::Operand { number: 1, expected: "registers of one width" });
    }
    let extend = destinations.iter().flatten().next();
    let extend = extend.map_or(Extend::Zero, |first| extension(symbols, scalar_type, *first));
    Ok(Action::Load(Load { space, address, bytes, extend, destinations, ordering }))
}

fn store(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<Action, Problem> {
    let AccessModifiers { space, ordering, vector, scalar_type } = access(modifiers, false)?;
    let [to, from] = count(operands, "2")?;
    let (address, space) = accessed(symbols, to, 1, space)?;
    if matches!(space, AccessSpace::Space(Space::Const | Space::Param)) {
        return Err(Problem::Operand { number: 1, expected: "memory that can be written" });
    }
    let sources = parts(from, vector)?.iter().map(|part| source(symbols, part, 2, scalar_type, Widths::OrWider));
    let sources = sources.collect::<Result<_, _>>()?;
    Ok(Action::Store(Store { space, address, bytes: scalar_type.bytes(), sources, ordering }))
}

fn atomic(
    symbols: &mut Symbols<'_>,
    returns: bool,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<Action, Problem> {
    let semantics: &[&str] = &["relaxed", "acquire", "release", "acq_rel"];
    let spaces: &[&str] = &["global", "shared", "shared::cta"];
    let names: &[&str] = &["and", "or", "xor", "exch", "cas", "add", "inc", "dec", "min", "max"];
    let [order, scope, space, name] = modifiers.take_one_of_each([semantics, &SCOPES, spaces, names]);
    let space = space.and_then(space_named).map_or(AccessSpace::Generic, AccessSpace::Space);
    let Some(name) = name else { return Err(modifiers.unexpected("the operation")) };
    let scalar_type = modifiers.expect_type()?;
    modifiers.end()?;
    let (update, update_global, takes_two) = atomic::update(name, scalar_type)?;
    if !returns && matches!(name, "exch" | "cas") {
        return Err(Problem::Modifier(name.to_owned()));
    }
    let (to, rest) = match operands.split_first() {
        Some((to, rest)) if returns => (Some(to), rest),
        _ => (None, operands),
    };
    let expected = if takes_two { "an address and two values" } else { "an address and a value" };
    if rest.len() != 2 + usize::from(takes_two) {
        return Err(Problem::OperandCount { expected, found: operands.len() });
    }
    let bytes = scalar_type.bytes();
    let destination = match to {
        None => None,
        Some(Operand::Name(name)) if name == "_" => None,
        Some(to) => Some(destination(symbols, to, 1, bytes * 8, Widths::Exact)?),
    };
    let (address, space) = resolved(symbols, &rest[0], 2, space)?;
    let first = source(symbols, &rest[1], 3, scalar_type, Widths::Exact)?;
    let second = match rest.get(2) {
        Some(operand) => source(symbols, operand, 4, scalar_type, Widths::Exact)?,
        None => first,
    };
    let ordering = MemoryOrdering {
        strong: true,
        volatile: false,
        scope: scope.map_or(Scope::Device, scope_named),
        acquire: matches!(order, Some("acquire" | "acq_rel")),
        release: matches!(order, Some("release" | "acq_rel")),
        read_only: false,
    };
    let operands = [first, second];
    let counts = matches!(name, "add" | "inc" | "dec");
    Ok(Action::Atomic(Atomic { space, address, bytes, update, update_global, destination, operands, ordering, counts }))
}
