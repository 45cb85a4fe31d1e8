//! Initial values (PTX ISA 5.4.4).

use super::parser::{Parsed, Parser};
use super::token::Kind;
use super::{Immediate, Initializer};
use crate::limits::MAX_OMITTED_VALUES;

impl Parser<'_> {
    /// What follows `=`: one value, or values in braces within braces as the dimensions of `shape` have it. Also how
    /// many the first dimension has.
    pub(super) fn initializer(&mut self, shape: &[Option<usize>]) -> Parsed<(Vec<Initializer>, usize)> {
        let mut values = Vec::new();
        if shape.is_empty() {
            values.push(self.initial_value()?);
            return Ok((values, 1));
        }
        let length = self.row(shape, &mut values)?;
        Ok((values, length))
    }

    /// `{…}`; what is missing at the end of a row is zero, and written out only if a further row follows. Gives how
    /// many rows or values the braces hold.
    fn row(&mut self, shape: &[Option<usize>], values: &mut Vec<Initializer>) -> Parsed<usize> {
        self.expect(b'{', "`{`, for each dimension one")?;
        let first = values.len();
        let step: usize = shape[1..].iter().flatten().product();
        let mut index = 0;
        if self.eat(b'}') {
            return Ok(0);
        }
        loop {
            if shape[0].is_some_and(|size| index >= size) {
                return Err(self.error(format!("`}}`: the dimension has no more than {index}")));
            }
            let start = index.checked_mul(step).and_then(|offset| offset.checked_add(first));
            let left_out = start.and_then(|start| start.checked_sub(values.len()));
            let left = left_out.and_then(|left_out| self.omitted_values_left.checked_sub(left_out));
            let (Some(start), Some(left)) = (start, left) else {
                let expected =
                    format!("a value before which the module leaves out at most {MAX_OMITTED_VALUES} in all");
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
        if self.kind() != Kind::Name {
            if self.kind() == Kind::Number || self.is_sign(b'-') {
                return Ok(Initializer::Value(self.immediate()?));
            }
            return Err(self.error("a number, or the name of a variable"));
        }
        let generic = self.word() == "generic" && self.kind_after() == Kind::Sign(b'(');
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
