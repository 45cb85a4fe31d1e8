//! Variables, parameters and registers (PTX ISA 5.4).

use super::parser::{Parsed, Parser};
use super::token::TokenKind;
use super::{Linkage, ScalarType, Space, Statement, Variable};
use crate::limits::{MAX_ALIGNMENT, MAX_DIMENSIONS};

const NAME: &str = "a name";

/// The alignment, vector size and element type before a variable's name.
struct Declarator {
    align: Option<usize>,
    vector: usize,
    element: ScalarType,
}

impl Declarator {
    /// The alignment from `.align`, otherwise the natural one. A vector is aligned to its whole
    /// size (PTX ISA 5.4.5).
    fn align(&self) -> usize {
        self.align.unwrap_or(self.vector * self.element.bytes())
    }
}

impl Parser<'_> {
    /// The state space, if its directive is next.
    pub(super) fn space(&self) -> Option<Space> {
        Some(match self.directive()? {
            ".const" => Space::Const,
            ".global" => Space::Global,
            ".local" => Space::Local,
            ".param" => Space::Param,
            ".shared" => Space::Shared,
            _ => return None,
        })
    }

    /// `.global .align 4 .b8 NAME[2][3] = {…}, OTHER;`: the next token is the space.
    pub(super) fn variables(&mut self, linkage: Linkage, variables: &mut Vec<Variable>) -> Parsed<()> {
        let space = self.space().ok_or_else(|| self.error("a state space, such as .global"))?;
        self.advance();
        let is_managed = self.attributes()?;
        let declarator = self.declarator()?;
        loop {
            let line = self.peek().line;
            let name = self.name(NAME)?;
            let dimensions = self.dimensions()?;
            let mut count = self.count(&declarator, &dimensions)?;
            let mut initial = Vec::new();
            if self.is_punctuation(b'=') && matches!(space, Space::Const | Space::Global) && linkage != Linkage::Extern
            {
                self.advance();
                let mut shape = dimensions.clone();
                if declarator.vector > 1 {
                    shape.push(Some(declarator.vector));
                }
                let (values, length) = self.initializer(&shape)?;
                initial = values;
                if count.is_none() {
                    let sized: Vec<_> = std::iter::once(Some(length)).chain(dimensions[1..].iter().copied()).collect();
                    count = self.count(&declarator, &sized)?;
                }
            } else if count.is_none() && linkage != Linkage::Extern {
                return Err(self.error_after_last("an array with a size, with initial values, or `.extern`"));
            }
            variables.push(Variable {
                space,
                linkage,
                align: declarator.align(),
                element: declarator.element,
                vector: declarator.vector,
                name,
                count,
                is_array: !dimensions.is_empty(),
                is_managed,
                is_pointer: false,
                initial,
                line,
            });
            if !self.eat(b',') {
                return self.expect(b';', "`;`, `,`, dimensions `[…]` or an initialiser `= …`");
            }
        }
    }

    /// Parses `.attribute(.managed)`. Ignores `.unified` with its two numbers. Returns whether
    /// `.managed` is present.
    fn attributes(&mut self) -> Parsed<bool> {
        let mut is_managed = false;
        if self.eat_directive(".attribute") {
            self.expect(b'(', "`(`")?;
            loop {
                if self.eat_directive(".managed") {
                    is_managed = true;
                } else if self.eat_directive(".unified") {
                    self.expect(b'(', "`(`")?;
                    self.unsigned::<u64>("a number")?;
                    self.expect(b',', "`,`")?;
                    self.unsigned::<u64>("a number")?;
                    self.expect(b')', "`)`")?;
                } else {
                    return Err(self.error("an attribute: `.managed` or `.unified(…)`"));
                }
                if !self.eat(b',') {
                    self.expect(b')', "`,` or `)`")?;
                    break;
                }
            }
        }
        Ok(is_managed)
    }

    /// `.param .u64 .ptr .global .align 4 NAME`, one parameter or return value.
    pub(super) fn parameter(&mut self, is_entry: bool) -> Parsed<Variable> {
        if !self.eat_directive(".param") {
            return Err(self.error("a parameter: `.param …` (registers as parameters are not supported)"));
        }
        let declarator = self.declarator()?;
        let is_pointer = self.pointer()?;
        let line = self.peek().line;
        let name = self.name("a parameter's name, or `.ptr`")?;
        let dimensions = self.dimensions()?;
        let count = self.count(&declarator, &dimensions)?;
        if is_entry && count.is_none() {
            return Err(self.error_after_last("an array with a size"));
        }
        Ok(Variable {
            space: Space::Param,
            linkage: Linkage::Internal,
            align: declarator.align(),
            element: declarator.element,
            vector: declarator.vector,
            name,
            count,
            is_array: !dimensions.is_empty(),
            is_managed: false,
            is_pointer,
            initial: Vec::new(),
            line,
        })
    }

    /// Whether the parameter is a pointer: `.ptr .global .align 4`. Ignores the rest, which is a
    /// hint about the memory that it points to (PTX ISA 5.1.6.2).
    fn pointer(&mut self) -> Parsed<bool> {
        let is_pointer = self.eat_directive(".ptr");
        if is_pointer {
            if matches!(self.space(), Some(Space::Const | Space::Global | Space::Local | Space::Shared)) {
                self.advance();
            }
            if self.directive() == Some(".align") {
                self.align()?;
            }
        }
        Ok(is_pointer)
    }

    /// `.reg .b32 %r<5>, %x;`
    pub(super) fn registers(&mut self) -> Parsed<Statement> {
        let line = self.advance().line;
        let vector = self.vector();
        let element = self.element(vector)?;
        let mut names = Vec::new();
        loop {
            let name = self.name("a register's name")?;
            if self.eat(b'<') {
                let expected = format!("a number of registers, at most {} more in the module", self.registers_left);
                let before = self.position();
                let count: usize = self.unsigned(&expected)?;
                if count > self.registers_left {
                    self.rewind_to(before);
                    return Err(self.error(expected));
                }
                self.registers_left -= count;
                self.expect(b'>', "`>`")?;
                names.extend((0..count).map(|number| format!("{name}{number}")));
            } else {
                names.push(name);
            }
            if !self.eat(b',') {
                self.expect(b';', "`;`, `,`, or a number of registers `<…>`")?;
                return Ok(Statement::Registers { element, vector, names, line });
            }
        }
    }

    /// `.align 4 .v2 .b32`
    fn declarator(&mut self) -> Parsed<Declarator> {
        let align = if self.directive() == Some(".align") { Some(self.align()?) } else { None };
        let vector = self.vector();
        let element = self.element(vector)?;
        if element == ScalarType::Pred {
            self.rewind_to(self.position() - 1);
            return Err(self.error("a type that memory can hold"));
        }
        Ok(Declarator { align, vector, element })
    }

    /// The element type. A vector has at most 16 bytes and no predicates (PTX ISA 5.4.2).
    fn element(&mut self, vector: usize) -> Parsed<ScalarType> {
        let element = self.scalar_type()?;
        if vector > 1 && (vector * element.bytes() > 16 || element == ScalarType::Pred) {
            self.rewind_to(self.position() - 1);
            return Err(self.error("an element type with which the vector has at most 16 bytes"));
        }
        Ok(element)
    }

    fn align(&mut self) -> Parsed<usize> {
        self.advance();
        let expected = format!("an alignment: a power of two, at most {MAX_ALIGNMENT}");
        let before = self.position();
        let align: usize = self.unsigned(&expected)?;
        if !align.is_power_of_two() || align > MAX_ALIGNMENT {
            self.rewind_to(before);
            return Err(self.error(expected));
        }
        Ok(align)
    }

    fn vector(&mut self) -> usize {
        let vector = match self.directive() {
            Some(".v2") => 2,
            Some(".v4") => 4,
            _ => return 1,
        };
        self.advance();
        vector
    }

    /// Parses `[2][3]`. `None` for a first dimension without a size.
    fn dimensions(&mut self) -> Parsed<Vec<Option<usize>>> {
        let mut dimensions = Vec::new();
        while self.is_punctuation(b'[') {
            if dimensions.len() == MAX_DIMENSIONS {
                return Err(self.error(format!("at most {MAX_DIMENSIONS} dimensions")));
            }
            self.advance();
            let has_size = self.kind() == TokenKind::Number || !dimensions.is_empty();
            dimensions.push(if has_size { Some(self.positive("the positive size of a dimension")?) } else { None });
            self.expect(b']', if has_size { "`]`" } else { "the positive size of a dimension, or `]`" })?;
        }
        Ok(dimensions)
    }

    /// The number of elements. `None` if the first dimension has no size.
    fn count(&self, declarator: &Declarator, dimensions: &[Option<usize>]) -> Parsed<Option<usize>> {
        let sized = dimensions.iter().flatten();
        let element_bytes = declarator.vector * declarator.element.bytes();
        let count = sized.clone().try_fold(1_usize, |count, &size| count.checked_mul(size));
        let fits = |count: &usize| count.checked_mul(element_bytes).is_some_and(|bytes| bytes as u64 <= 1 << 40);
        let count = count.filter(fits).ok_or_else(|| self.error_after_last("an array of at most 2^40 bytes"))?;
        Ok((!dimensions.contains(&None)).then_some(count))
    }
}
