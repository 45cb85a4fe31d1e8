//! Decodes addresses, and the names of state spaces and scopes.

use crate::memory::races::Scope;
use crate::program::error::Problem;
use crate::program::instruction::{AccessSpace, EffectiveAddress};
use crate::program::names::Named;
use crate::program::symbols::Symbols;
use crate::syntax::{self, AddressBase, Operand, Space};

/// Shared memory of any block of the cluster.
pub(super) const CLUSTER: &str = "shared::cluster";
/// Names of scopes, narrowest first.
pub(super) const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];

/// The scope with this name, from [`SCOPES`] or from `membar`.
pub(super) fn scope_named(name: &str) -> Scope {
    match name {
        "cta" => Scope::Block,
        "cluster" => Scope::Cluster,
        _ => Scope::Device,
    }
}

/// The state space of this name.
pub(super) fn space_named(name: &str) -> Option<Space> {
    Some(match name {
        "global" => Space::Global,
        "shared" | "shared::cta" => Space::Shared,
        "local" => Space::Local,
        "const" => Space::Const,
        "param" | "param::entry" | "param::func" => Space::Param,
        _ => return None,
    })
}

/// Decodes `[register + offset]` or `[variable + offset]`. Also returns the state space if it names
/// a variable.
pub(super) fn address(
    symbols: &mut Symbols<'_>,
    operand: &Operand,
    number: usize,
) -> Result<(EffectiveAddress, Option<Space>), Problem> {
    let Operand::Address(syntax::Address { base, offset }) = operand else {
        return Err(Problem::Operand { number, expected: "an address" });
    };
    let name = match base {
        AddressBase::Immediate(value) => {
            let offset = (*value as i64).wrapping_add(*offset);
            return Ok((EffectiveAddress { base: None, offset, narrow: false }, None));
        }
        AddressBase::Name(name) => name,
    };
    if let Some((space, address)) = symbols.variable_address(name)? {
        return Ok((symbols.effective(address, *offset), Some(space)));
    }
    match symbols.find(name) {
        Some(Named::Register { register, bits: bits @ (32 | 64) }) => {
            Ok((EffectiveAddress { base: Some(*register), offset: *offset, narrow: *bits == 32 }, None))
        }
        Some(_) => Err(Problem::Operand { number, expected: "an address in a register of 32 or 64 bits" }),
        None => Err(Problem::Undeclared(name.clone())),
    }
}

/// Like [`resolved`], for an access that may also name an array element: `ld` or `st`, as in
/// NVIDIA's assembler.
pub(super) fn accessed(
    symbols: &mut Symbols<'_>,
    operand: &Operand,
    number: usize,
    space: AccessSpace,
) -> Result<(EffectiveAddress, AccessSpace), Problem> {
    match operand {
        Operand::Element(element) => {
            let (address, variable) = symbols.element_address(element)?;
            in_space(address, number, space, Some(variable))
        }
        _ => resolved(symbols, operand, number, space),
    }
}

/// The effective address and its state space. If the address names a variable, the variable
/// determines the space.
pub(super) fn resolved(
    symbols: &mut Symbols<'_>,
    operand: &Operand,
    number: usize,
    space: AccessSpace,
) -> Result<(EffectiveAddress, AccessSpace), Problem> {
    let (address, variable) = address(symbols, operand, number)?;
    in_space(address, number, space, variable)
}

/// Like [`resolved`], without the state space.
pub(super) fn address_in(
    symbols: &mut Symbols<'_>,
    operand: &Operand,
    number: usize,
    space: AccessSpace,
) -> Result<EffectiveAddress, Problem> {
    Ok(resolved(symbols, operand, number, space)?.0)
}

/// An address in the state space of the access, if the named variable matches it.
fn in_space(
    address: EffectiveAddress,
    number: usize,
    space: AccessSpace,
    variable: Option<Space>,
) -> Result<(EffectiveAddress, AccessSpace), Problem> {
    match (space, variable) {
        // Call parameters are in local memory.
        (AccessSpace::Space(Space::Param), Some(Space::Local)) => Ok((address, AccessSpace::Space(Space::Local))),
        (AccessSpace::Space(space), Some(variable)) if space != variable => {
            Err(Problem::Operand { number, expected: "a variable of this state space" })
        }
        (AccessSpace::Generic, Some(Space::Global)) | (AccessSpace::Cluster, Some(Space::Shared)) => {
            Ok((address, space))
        }
        (AccessSpace::Cluster, Some(_)) => Err(Problem::Operand { number, expected: "a variable in shared memory" }),
        (AccessSpace::Generic, Some(_)) => Err(Problem::Operand { number, expected: "a generic address" }),
        _ => Ok((address, space)),
    }
}
