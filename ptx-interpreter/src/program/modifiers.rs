//! The parts of an instruction's name, taken one after the other.

use super::error::Problem;
use crate::syntax::ScalarType;

/// The modifiers that are left.
pub(crate) struct Modifiers<'a> {
    rest: &'a [String],
}

impl<'a> Modifiers<'a> {
    pub(crate) fn new(modifiers: &'a [String]) -> Self {
        Self { rest: modifiers }
    }

    /// Takes the next one if it is `name`.
    pub(crate) fn take(&mut self, name: &str) -> bool {
        self.take_any(&[name]).is_some()
    }

    /// Takes the next one if it is one of `names`.
    pub(crate) fn take_any(&mut self, names: &[&str]) -> Option<&'a str> {
        let (first, rest) = self.rest.split_first()?;
        names.contains(&first.as_str()).then(|| {
            self.rest = rest;
            first.as_str()
        })
    }

    /// Takes the next one if it begins so.
    pub(crate) fn take_beginning(&mut self, beginnings: &[&str]) -> Option<&'a str> {
        let (first, rest) = self.rest.split_first()?;
        beginnings.iter().any(|beginning| first.starts_with(beginning)).then(|| {
            self.rest = rest;
            first.as_str()
        })
    }

    /// Takes at most one modifier of each group, in any order: assemblers accept `.acq_rel.gpu.global` in each order, and
    /// compilers emit several.
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

    /// Takes one of `names`, which must be there.
    pub(crate) fn expect_any(&mut self, names: &[&str], what: &'static str) -> Result<&'a str, Problem> {
        self.take_any(names).ok_or_else(|| self.unexpected(what))
    }

    /// Takes a type, which must be there.
    pub(crate) fn expect_type(&mut self) -> Result<ScalarType, Problem> {
        let what = "the type";
        let (first, rest) = self.rest.split_first().ok_or(Problem::Missing(what))?;
        let scalar_type = ScalarType::from_name(first).ok_or_else(|| Problem::Modifier(first.clone()))?;
        self.rest = rest;
        Ok(scalar_type)
    }

    /// None must be left.
    pub(crate) fn end(&self) -> Result<(), Problem> {
        self.rest.first().map_or(Ok(()), |first| Err(Problem::Modifier(first.clone())))
    }

    /// The next one, which is none of those expected, or that something is missing.
    pub(crate) fn unexpected(&self, what: &'static str) -> Problem {
        self.rest.first().map_or(Problem::Missing(what), |first| Problem::Modifier(first.clone()))
    }
}
