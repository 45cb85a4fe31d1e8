//! Walks over the tokens; what stands where is in the files beside this one.

use super::number::{NUMBER, negated, parse_number};
use super::token::{Kind, Token, tokens};
use super::{Immediate, ScalarType, SyntaxError};
use crate::limits::{MAX_OMITTED_VALUES, MAX_REGISTERS};

pub(super) type Parsed<T> = Result<T, SyntaxError>;

/// The longest text of a line that an error carries, in characters.
const LINE_CHARACTERS: usize = 200;

/// The text, its tokens, and how far it is read.
pub(super) struct Parser<'text> {
    text: &'text str,
    tokens: Vec<Token>,
    position: usize,
    /// How many more registers the module may declare by ranges.
    pub(super) registers_left: usize,
    /// How many more initial values the module may leave out before others.
    pub(super) omitted_values_left: usize,
}

impl<'text> Parser<'text> {
    pub(super) fn new(text: &'text str) -> Self {
        let (registers_left, omitted_values_left) = (MAX_REGISTERS, MAX_OMITTED_VALUES);
        Self { text, tokens: tokens(text), position: 0, registers_left, omitted_values_left }
    }

    /// The next token, which is not yet read.
    pub(super) fn next(&self) -> Token {
        self.tokens[self.position]
    }

    /// What kind it is.
    pub(super) fn kind(&self) -> Kind {
        self.next().kind
    }

    /// The text of the next token.
    pub(super) fn word(&self) -> &'text str {
        self.text_of(self.next())
    }

    /// What kind of token comes after the next.
    pub(super) fn kind_after(&self) -> Kind {
        self.tokens.get(self.position + 1).map_or(Kind::End, |token| token.kind)
    }

    pub(super) fn text_of(&self, token: Token) -> &'text str {
        &self.text[token.start..token.end]
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// Goes back, so that an error is told of a token that is read already.
    pub(super) fn back_to(&mut self, position: usize) {
        self.position = position;
    }

    /// Whether nothing, not even a blank, is between the last token and the next.
    pub(super) fn is_attached(&self) -> bool {
        self.position > 0 && self.tokens[self.position - 1].end == self.next().start
    }

    /// Reads the next token; the end is never passed.
    pub(super) fn advance(&mut self) -> Token {
        let token = self.next();
        if token.kind != Kind::End {
            self.position += 1;
        }
        token
    }

    pub(super) fn is_sign(&self, sign: u8) -> bool {
        self.kind() == Kind::Sign(sign)
    }

    /// Reads the sign if it is next.
    pub(super) fn eat(&mut self, sign: u8) -> bool {
        let is_next = self.is_sign(sign);
        if is_next {
            self.advance();
        }
        is_next
    }

    /// Reads `sign`, which `expected` describes together with all else that could stand there.
    pub(super) fn expect(&mut self, sign: u8, expected: &str) -> Parsed<()> {
        if self.eat(sign) {
            return Ok(());
        }
        Err(if sign == b';' { self.error_after_last(expected) } else { self.error(expected) })
    }

    /// The next token if it is a directive, with its dot.
    pub(super) fn directive(&self) -> Option<&'text str> {
        (self.kind() == Kind::Directive).then(|| self.word())
    }

    /// Reads the directive, written with its dot, if it is next.
    pub(super) fn eat_directive(&mut self, directive: &str) -> bool {
        let is_next = self.directive() == Some(directive);
        if is_next {
            self.advance();
        }
        is_next
    }

    pub(super) fn name(&mut self, expected: &str) -> Parsed<String> {
        if self.kind() != Kind::Name {
            return Err(self.error(expected));
        }
        let token = self.advance();
        Ok(self.text_of(token).to_owned())
    }

    /// A number with an optional minus.
    pub(super) fn immediate(&mut self) -> Parsed<Immediate> {
        let is_negative = self.eat(b'-');
        let number = if self.kind() == Kind::Number { parse_number(self.word()) } else { None };
        let number = number.ok_or_else(|| self.error(NUMBER))?;
        // The bits of 0f and 0d have their own sign: ptxas refuses a second one.
        let is_bits = matches!(self.word().as_bytes(), [b'0', b'f' | b'F' | b'd' | b'D', ..]);
        if is_negative && is_bits {
            return Err(self.error("an integer or a decimal number after the minus"));
        }
        self.advance();
        Ok(if is_negative { negated(number) } else { number })
    }

    /// An integer without a sign that fits into `T` and is at least 1.
    pub(super) fn positive<T: TryFrom<u64> + PartialEq + Default>(&mut self, expected: &str) -> Parsed<T> {
        let before = self.position;
        let value: T = self.unsigned(expected)?;
        if value == T::default() {
            self.back_to(before);
            return Err(self.error(expected));
        }
        Ok(value)
    }

    /// An integer without a sign that fits into `T`.
    pub(super) fn unsigned<T: TryFrom<u64>>(&mut self, expected: &str) -> Parsed<T> {
        let number = if self.kind() == Kind::Number { parse_number(self.word()) } else { None };
        let Some(Immediate::Integer(bits)) = number else { return Err(self.error(expected)) };
        let value = T::try_from(bits as u64).map_err(|_| self.error(expected))?;
        self.advance();
        Ok(value)
    }

    /// `+8`, `-8`, `+-8` or nothing.
    pub(super) fn offset(&mut self) -> Parsed<Option<i64>> {
        if !self.is_sign(b'+') && !self.is_sign(b'-') {
            return Ok(None);
        }
        self.eat(b'+');
        let is_negative = self.eat(b'-');
        let bits: u64 = self.unsigned("an offset: an integer of at most 64 bits")?;
        let value = bits as i64;
        Ok(Some(if is_negative { value.wrapping_neg() } else { value }))
    }

    /// `.b32` and the like.
    pub(super) fn scalar_type(&mut self) -> Parsed<ScalarType> {
        let scalar = self.directive().and_then(|directive| ScalarType::from_name(&directive[1..]));
        let scalar = scalar.ok_or_else(|| self.error("a type, such as .b32"))?;
        self.advance();
        Ok(scalar)
    }

    /// The tokens from `from` to the next as one line: without comments, a blank wherever something was between.
    pub(super) fn text_since(&self, from: usize) -> String {
        let tokens = &self.tokens[from..self.position];
        let mut line = String::with_capacity(tokens.last().map_or(0, |last| last.end - tokens[0].start));
        for (index, &token) in tokens.iter().enumerate() {
            if index > 0 && tokens[index - 1].end != token.start {
                line.push(' ');
            }
            line.push_str(self.text_of(token));
        }
        line
    }

    /// The next token is not what is expected.
    pub(super) fn error(&self, expected: impl Into<String>) -> SyntaxError {
        let token = self.next();
        let found = match token.kind {
            Kind::End => "the end of the text".to_owned(),
            Kind::UnclosedComment => "a comment without its `*/`".to_owned(),
            Kind::UnclosedQuotation => "a quotation without its second `\"`".to_owned(),
            _ => format!("`{}`", shortened(self.text_of(token))),
        };
        self.error_at(token, found, expected.into())
    }

    /// What is expected is missing after the last token: that one's line is at fault, not the next line.
    pub(super) fn error_after_last(&self, expected: impl Into<String>) -> SyntaxError {
        let Some(last) = self.position.checked_sub(1).map(|position| self.tokens[position]) else {
            return self.error(expected);
        };
        if last.line == self.next().line || self.kind() == Kind::End {
            return self.error(expected);
        }
        self.error_at(last, "the end of the line".to_owned(), expected.into())
    }

    fn error_at(&self, token: Token, found: String, expected: String) -> SyntaxError {
        let line_start = self.text[..token.start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_start = if token.kind == Kind::End { self.last_line_start() } else { line_start };
        let line = self.text[line_start..].lines().next().unwrap_or("");
        SyntaxError { line: token.line, text: shortened(line.trim()), expected, found }
    }

    fn last_line_start(&self) -> usize {
        let text = self.text.strip_suffix('\n').unwrap_or(self.text);
        text.rfind('\n').map_or(0, |newline| newline + 1)
    }
}

/// The beginning of a line, fit for a terminal.
fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or("");
    match line.char_indices().nth(LINE_CHARACTERS) {
        Some((end, _)) => format!("{}…", printable(&line[..end])),
        None => printable(line),
    }
}

/// The text with escapes for control characters, tabs aside, and for those that reorder or hide others: a quotation must
/// not move a terminal's cursor.
pub(crate) fn printable(text: &str) -> String {
    let mut printed = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => printed.push(character),
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' => {
                printed.extend(character.escape_unicode());
            }
            _ if character.is_control() => printed.extend(character.escape_unicode()),
            _ => printed.push(character),
        }
    }
    printed
}
