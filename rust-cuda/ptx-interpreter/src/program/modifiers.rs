//! A cursor over an instruction's modifiers.

use super::error::Problem;
use crate::syntax::ScalarType;

/// The modifiers not yet consumed.
pub(crate) struct ModifierCursor<'a> {
    rest: &'a [String],
}

impl<'a> ModifierCursor<'a> {
    pub(crate) fn new(modifiers: &'a [String]) -> Self {
        Self { rest: modifiers }
    }

    /// Consumes the next modifier if it is `name`.
    pub(crate) fn take(&mut self, name: &str) -> bool {
        self.take_any(&[name]).is_some()
    }

    /// Consumes the next modifier if it is one of `names`.
    pub(crate) fn take_any(&mut self, names: &[&str]) -> Option<&'a str> {
        let (first, rest) = self.rest.split_first()?;
        names.contains(&first.as_str()).then(|| {
            self.rest = rest;
            first.as_str()
        })
    }

    /// Consumes the next modifier if it begins with one of `beginnings`.
    pub(crate) fn take_beginning(&mut self, beginnings: &[&str]) -> Option<&'a str> {
        let (first, rest) = self.rest.split_first()?;
        beginnings.iter().any(|beginning| first.starts_with(beginning)).then(|| {
            self.rest = rest;
            first.as_str()
        })
    }

    /// Consumes at most one modifier of each group, in any order. Assemblers accept
    /// `.acq_rel.gpu.global` in every order, and compilers emit several of them.
    pub(crate) fn take_one_of_each<const N: usize>(&mut self, groups: [&[&str]; N]) -> [Option<&'a str>; N] {
        let mut taken = [None; N];
        while let Some((first, rest)) = self.rest.split_first()
            && let Some(group) = groups.iter().position(|group| group.contains(&first.as_str()))
            && taken[group].is_none()
        {
            taken[group] = Some(first.as_str());
            self.rest = rest;
        }
        taken
    }

    /// Consumes one of `names`.
    ///
    /// # Errors
    /// If the next modifier is not one of them. `what` describes them.
    pub(crate) fn expect_any(&mut self, names: &[&str], what: &'static str) -> Result<&'a str, Problem> {
        self.take_any(names).ok_or_else(|| self.unexpected(what))
    }

    /// Consumes a type.
    ///
    /// # Errors
    /// If the next modifier is not a type.
    pub(crate) fn expect_type(&mut self) -> Result<ScalarType, Problem> {
        let what = "the type";
        let (first, rest) = self.rest.split_first().ok_or(Problem::Missing(what))?;
        let scalar_type = ScalarType::from_name(first).ok_or_else(|| Problem::Modifier(first.clone()))?;
        self.rest = rest;
        Ok(scalar_type)
    }

    /// Checks that no modifier is left.
    ///
    /// # Errors
    /// The first remaining modifier.
    pub(crate) fn end(&self) -> Result<(), Problem> {
        self.rest.first().map_or(Ok(()), |first| Err(Problem::Modifier(first.clone())))
    }

    /// The error for an unexpected next modifier, or for a missing one.
    pub(crate) fn unexpected(&self, what: &'static str) -> Problem {
        self.rest.first().map_or(Problem::Missing(what), |first| Problem::Modifier(first.clone()))
    }
}
