//! Initializers of variables (PTX ISA 5.4.4).

use super::parser::{Parsed, Parser};
use super::token::TokenKind;
use super::{Immediate, Initializer};
use crate::limits::MAX_OMITTED_VALUES;

impl Parser<'_> {
    /// Parses the initializer after `=`: one value, or values in braces, nested like the dimensions
    /// of `shape`. Returns the values and the length of the first dimension.
    pub(super) fn initializer(&mut self, shape: &[Option<usize>]) -> Parsed<(Vec<Initializer>, usize)> {
        let mut values = Vec::new();
        if shape.is_empty() {
            values.push(self.initial_value()?);
            return Ok((values, 1));
        }
        let length = self.row(shape, &mut values)?;
        Ok((values, length))
    }

    /// Parses `{…}`. Missing values at the end of a row are zero, and pushed only if another row
    /// follows. Returns the number of rows or values in the braces.
    fn row(&mut self, shape: &[Option<usize>], values: &mut Vec<Initializer>) -> Parsed<usize> {
        self.expect(b'{', "`{`, one per dimension")?;
        let first = values.len();
        let step: usize = shape[1..].iter().flatten().product();
        let mut index = 0;
        if self.eat(b'}') {
            return Ok(0);
        }
        loop {
            if shape[0].is_some_and(|size| index >= size) {
                return Err(self.error(format!("`}}`: the size of the dimension is {index}")));
            }
            let start = index.checked_mul(step).and_then(|offset| offset.checked_add(first));
            let omitted = start.and_then(|start| start.checked_sub(values.len()));
            let left = omitted.and_then(|omitted| self.omitted_values_left.checked_sub(omitted));
            let (Some(start), Some(left)) = (start, left) else {
                let expected =
                    format!("a value with at most {MAX_OMITTED_VALUES} omitted before it in the whole module");
                return Err(self.error(expected));
            };
            self.omitted_values_left = left;
            values.resize(start, Initializer::Value(Immediate::Integer(0)));
            if shape.len() > 1 {
                self.row(&shape[1..], values)?;
            } else {
                let value = self.initial_value()?;
                values.push(value);
            }
            index += 1;
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b'}', "`}` or `,`")?;
        Ok(index)
    }

    fn initial_value(&mut self) -> Parsed<Initializer> {
        if self.kind() != TokenKind::Name {
            if self.kind() == TokenKind::Number || self.is_punctuation(b'-') {
                return Ok(Initializer::Value(self.immediate()?));
            }
            return Err(self.error("a number, or the name of a variable"));
        }
        let generic = self.word() == "generic" && self.kind_after() == TokenKind::Punctuation(b'(');
        if generic {
            self.advance();
            self.advance();
        }
        let name = self.name("the name of a variable")?;
        if generic {
            self.expect(b')', "`)`")?;
        }
        let offset = self.offset()?.unwrap_or(0);
        Ok(Initializer::Address { name, offset, generic })
    }
}
