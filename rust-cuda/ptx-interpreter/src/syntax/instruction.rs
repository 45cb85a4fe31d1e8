//! Instructions and their operands (PTX ISA 4.3.2, chapter 6).

use cuda_launch::trap::TrapReason;

use super::parser::{Parsed, Parser};
use super::token::TokenKind;
use super::{Address, AddressBase, Element, Guard, Immediate, Instruction, Operand, Texel};

const OPERAND: &str = "an operand: a name, a number, `!name`, `[…]` or `{…}`";

impl Parser<'_> {
    /// `@!p opcode.modifier operand, operand;`
    pub(super) fn instruction(&mut self) -> Parsed<Instruction> {
        let guard = self.guard()?;
        let (from, line) = (self.position(), self.peek().line);
        let is_opcode =
            self.kind() == TokenKind::Name && self.word().starts_with(|first: char| first.is_ascii_alphabetic());
        if !is_opcode {
            return Err(self.error("an instruction"));
        }
        let opcode = self.name("an instruction")?;
        let mut modifiers = Vec::new();
        while let Some(directive) = self.directive() {
            modifiers.push(directive[1..].to_owned());
            self.advance();
        }
        let mut operands = Vec::new();
        if !self.is_punctuation(b';') {
            if !self.begins_operand() {
                return Err(self.error_after_last("`;` or an operand"));
            }
            operands.push(self.operand(opcode == "call")?);
            while self.eat(b',') {
                operands.push(self.operand(opcode == "call")?);
            }
        }
        if !self.is_punctuation(b';') {
            return Err(self.error_after_last("`;` or `,`"));
        }
        let text = self.text_since(from);
        self.advance();
        let reason = if opcode == "trap" { self.comment().and_then(TrapReason::parse).map(Box::new) } else { None };
        Ok(Instruction { guard, opcode, modifiers, operands, line, text, reason })
    }

    fn guard(&mut self) -> Parsed<Option<Guard>> {
        if !self.eat(b'@') {
            return Ok(None);
        }
        let negated = self.eat(b'!');
        let register = self.name("a predicate register")?;
        Ok(Some(Guard { register, negated }))
    }

    /// Whether the next token can begin an operand. A name followed by a modifier cannot: it is the
    /// next instruction after a missing semicolon.
    fn begins_operand(&self) -> bool {
        match self.kind() {
            TokenKind::Name => self.kind_after() != TokenKind::Directive,
            TokenKind::Number => true,
            TokenKind::Punctuation(punctuation) => matches!(punctuation, b'-' | b'!' | b'[' | b'{' | b'('),
            _ => false,
        }
    }

    fn operand(&mut self, is_call: bool) -> Parsed<Operand> {
        match self.kind() {
            TokenKind::Punctuation(b'{') => Ok(Operand::Vector(self.operands(b'}', "`}` or `,`")?)),
            TokenKind::Punctuation(b'(') if is_call => {
                if self.kind_after() == TokenKind::Punctuation(b')') {
                    self.advance();
                    self.advance();
                    return Ok(Operand::Group(Vec::new()));
                }
                Ok(Operand::Group(self.operands(b')', "`)` or `,`")?))
            }
            TokenKind::Punctuation(b'[') => self.bracketed(),
            TokenKind::Punctuation(b'!') => {
                self.advance();
                Ok(Operand::Not(self.name("a predicate register")?))
            }
            TokenKind::Name => self.named_operand(),
            _ => self.simple_operand(),
        }
    }

    /// Comma-separated names and numbers between two brackets. The next token is the opening
    /// bracket.
    fn operands(&mut self, end: u8, expected: &str) -> Parsed<Vec<Operand>> {
        self.advance();
        let mut operands = vec![self.simple_operand()?];
        while self.eat(b',') {
            operands.push(self.simple_operand()?);
        }
        self.expect(end, expected)?;
        Ok(operands)
    }

    fn simple_operand(&mut self) -> Parsed<Operand> {
        match self.kind() {
            TokenKind::Name => Ok(Operand::Name(self.component_name()?)),
            TokenKind::Number | TokenKind::Punctuation(b'-') => Ok(Operand::Immediate(self.immediate()?)),
            _ => Err(self.error(OPERAND)),
        }
    }

    /// `a`, `a|b`, `a+8` or `a[1]`.
    fn named_operand(&mut self) -> Parsed<Operand> {
        let name = self.component_name()?;
        if self.eat(b'|') {
            return Ok(Operand::Pair(name, self.name("a register, or `_`")?));
        }
        if self.is_punctuation(b'[') {
            return Ok(Operand::Element(self.element_of(name)?));
        }
        Ok(match self.offset()? {
            Some(offset) => Operand::Offset(name, offset),
            None => Operand::Name(name),
        })
    }

    /// The index of an element of an array: `[1]`, `[%r1]` or `[%r1+1]` (PTX ISA 6.4.2).
    fn element_of(&mut self, array: String) -> Parsed<Element> {
        const INDEX: &str = "an index: an integer, or a register with or without an offset";
        self.advance();
        let (register, index) = match self.kind() {
            TokenKind::Name => (Some(self.name(INDEX)?), self.offset()?.unwrap_or(0)),
            TokenKind::Number | TokenKind::Punctuation(b'-') => {
                let before = self.position();
                match self.immediate()? {
                    Immediate::Integer(index) => (None, index),
                    _ => {
                        self.rewind_to(before);
                        return Err(self.error(INDEX));
                    }
                }
            }
            _ => return Err(self.error(INDEX)),
        };
        self.expect(b']', if register.is_some() { "`]`, `+` or `-`" } else { "`]`" })?;
        Ok(Element { array, register, index })
    }

    /// A name, including the component of a vector such as `%tid.x`.
    fn component_name(&mut self) -> Parsed<String> {
        let mut name = self.name(OPERAND)?;
        if let Some(component) = self.directive().filter(|_| self.is_attached()) {
            if !matches!(component, ".x" | ".y" | ".z" | ".w" | ".r" | ".g" | ".b" | ".a") {
                return Err(self.error("a component: .x, .y, .z or .w"));
            }
            name.push_str(component);
            self.advance();
        }
        Ok(name)
    }

    /// `[name+8]`, or `[name, {x, y}]`
    fn bracketed(&mut self) -> Parsed<Operand> {
        self.advance();
        let base = match self.kind() {
            TokenKind::Name => AddressBase::Name(self.name("a name")?),
            TokenKind::Number => AddressBase::Immediate(self.unsigned("an address: an integer of at most 64 bits")?),
            _ => return Err(self.error("an address: a name or a number")),
        };
        let base = match base {
            AddressBase::Name(object) if self.eat(b',') => {
                let coordinates = match self.kind() {
                    TokenKind::Punctuation(b'{') => self.operands(b'}', "`}` or `,`")?,
                    _ => vec![self.simple_operand()?],
                };
                self.expect(b']', "`]`")?;
                return Ok(Operand::Texel(Texel { object, coordinates }));
            }
            base => base,
        };
        let offset = self.offset()?.unwrap_or(0);
        self.expect(b']', "`]`, `+` or `-`")?;
        Ok(Operand::Address(Address { base, offset }))
    }
}
