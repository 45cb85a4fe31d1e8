//! The token cursor of the parser. The grammar is in the sibling modules.

use super::number::{NUMBER, negated, parse_number};
use super::token::{Token, TokenKind, tokens};
use super::{Immediate, ScalarType, SyntaxError};
use crate::limits::{MAX_OMITTED_VALUES, MAX_REGISTERS};

pub(super) type Parsed<T> = Result<T, SyntaxError>;

/// Maximum length of a line's text in an error, in characters.
const LINE_CHARACTERS: usize = 200;

/// The text, its tokens and the current position.
pub(super) struct Parser<'text> {
    text: &'text str,
    tokens: Vec<Token>,
    position: usize,
    /// Number of registers that the module may still declare in ranges.
    pub(super) registers_left: usize,
    /// Number of initial values that the module may still omit before other values.
    pub(super) omitted_values_left: usize,
}

impl<'text> Parser<'text> {
    pub(super) fn new(text: &'text str) -> Self {
        let (registers_left, omitted_values_left) = (MAX_REGISTERS, MAX_OMITTED_VALUES);
        Self { text, tokens: tokens(text), position: 0, registers_left, omitted_values_left }
    }

    /// The next token, without consuming it.
    pub(super) fn peek(&self) -> Token {
        self.tokens[self.position]
    }

    /// The next token's kind.
    pub(super) fn kind(&self) -> TokenKind {
        self.peek().kind
    }

    /// The next token's text.
    pub(super) fn word(&self) -> &'text str {
        self.text_of(self.peek())
    }

    /// The kind of the token after the next one.
    pub(super) fn kind_after(&self) -> TokenKind {
        self.tokens.get(self.position + 1).map_or(TokenKind::End, |token| token.kind)
    }

    pub(super) fn text_of(&self, token: Token) -> &'text str {
        &self.text[token.start..token.end]
    }

    /// Offset after the last consumed byte.
    pub(super) fn end_of_last(&self) -> usize {
        self.position.checked_sub(1).map_or(0, |last| self.tokens[last].end)
    }

    /// The comment at the end of the last token's line.
    pub(super) fn comment(&self) -> Option<&'text str> {
        let line = self.text[self.end_of_last()..].lines().next()?;
        line.find("//").map(|start| &line[start..])
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// Moves back to make an error refer to an already consumed token.
    pub(super) fn rewind_to(&mut self, position: usize) {
        self.position = position;
    }

    /// Whether the next token directly follows the last one, without white space.
    pub(super) fn is_attached(&self) -> bool {
        self.position > 0 && self.tokens[self.position - 1].end == self.peek().start
    }

    /// Consumes the next token, except the end of the text.
    pub(super) fn advance(&mut self) -> Token {
        let token = self.peek();
        if token.kind != TokenKind::End {
            self.position += 1;
        }
        token
    }

    /// Consumes `{ … }`, regardless of its contents. Returns whether its end was found.
    pub(super) fn skip_block(&mut self) -> bool {
        let mut depth = 0_usize;
        loop {
            match self.advance().kind {
                TokenKind::Punctuation(b'{') => depth += 1,
                TokenKind::Punctuation(b'}') => depth = depth.saturating_sub(1),
                TokenKind::End => return false,
                _ => {}
            }
            if depth == 0 {
                return true;
            }
        }
    }

    pub(super) fn is_punctuation(&self, punctuation: u8) -> bool {
        self.kind() == TokenKind::Punctuation(punctuation)
    }

    /// Consumes the punctuation if it is next. Returns whether it was.
    pub(super) fn eat(&mut self, punctuation: u8) -> bool {
        let is_next = self.is_punctuation(punctuation);
        if is_next {
            self.advance();
        }
        is_next
    }

    /// Consumes `punctuation`. `expected` describes it together with all alternatives.
    pub(super) fn expect(&mut self, punctuation: u8, expected: &str) -> Parsed<()> {
        if self.eat(punctuation) {
            return Ok(());
        }
        Err(if punctuation == b';' { self.error_after_last(expected) } else { self.error(expected) })
    }

    /// The next token if it is a directive, with its dot.
    pub(super) fn directive(&self) -> Option<&'text str> {
        (self.kind() == TokenKind::Directive).then(|| self.word())
    }

    /// Consumes the directive, given with its dot, if it is next. Returns whether it was.
    pub(super) fn eat_directive(&mut self, directive: &str) -> bool {
        let is_next = self.directive() == Some(directive);
        if is_next {
            self.advance();
        }
        is_next
    }

    pub(super) fn name(&mut self, expected: &str) -> Parsed<String> {
        if self.kind() != TokenKind::Name {
            return Err(self.error(expected));
        }
        let token = self.advance();
        Ok(self.text_of(token).to_owned())
    }

    /// A number with an optional minus sign.
    pub(super) fn immediate(&mut self) -> Parsed<Immediate> {
        let is_negative = self.eat(b'-');
        let number = if self.kind() == TokenKind::Number { parse_number(self.word()) } else { None };
        let number = number.ok_or_else(|| self.error(NUMBER))?;
        // The literals 0f… and 0d… include a sign bit. ptxas rejects a minus sign before them.
        let is_bits = matches!(self.word().as_bytes(), [b'0', b'f' | b'F' | b'd' | b'D', ..]);
        if is_negative && is_bits {
            return Err(self.error("an integer or a decimal number after the minus sign"));
        }
        self.advance();
        Ok(if is_negative { negated(number) } else { number })
    }

    /// An unsigned integer that fits in `T` and is at least 1.
    pub(super) fn positive<T: TryFrom<u64> + PartialEq + Default>(&mut self, expected: &str) -> Parsed<T> {
        let before = self.position;
        let value: T = self.unsigned(expected)?;
        if value == T::default() {
            self.rewind_to(before);
            return Err(self.error(expected));
        }
        Ok(value)
    }

    /// An unsigned integer that fits in `T`.
    pub(super) fn unsigned<T: TryFrom<u64>>(&mut self, expected: &str) -> Parsed<T> {
        let number = if self.kind() == TokenKind::Number { parse_number(self.word()) } else { None };
        let Some(Immediate::Integer(bits)) = number else { return Err(self.error(expected)) };
        let value = T::try_from(bits as u64).map_err(|_| self.error(expected))?;
        self.advance();
        Ok(value)
    }

    /// An optional offset: `+8`, `-8` or `+-8`.
    pub(super) fn offset(&mut self) -> Parsed<Option<i64>> {
        if !self.is_punctuation(b'+') && !self.is_punctuation(b'-') {
            return Ok(None);
        }
        self.eat(b'+');
        let is_negative = self.eat(b'-');
        let bits: u64 = self.unsigned("an offset: an integer of at most 64 bits")?;
        let value = bits as i64;
        Ok(Some(if is_negative { value.wrapping_neg() } else { value }))
    }

    /// A type, such as `.b32`.
    pub(super) fn scalar_type(&mut self) -> Parsed<ScalarType> {
        let scalar = self.directive().and_then(|directive| ScalarType::from_name(&directive[1..]));
        let scalar = scalar.ok_or_else(|| self.error("a type, such as .b32"))?;
        self.advance();
        Ok(scalar)
    }

    /// The tokens from `from` to the next one, as a single line: without comments, and with one
    /// space wherever tokens were separated.
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

    /// The error for an unexpected next token.
    pub(super) fn error(&self, expected: impl Into<String>) -> SyntaxError {
        let token = self.peek();
        let found = match token.kind {
            TokenKind::End => "the end of the text".to_owned(),
            TokenKind::UnclosedComment => "a comment without its `*/`".to_owned(),
            TokenKind::UnclosedQuotation => "a quotation without its second `\"`".to_owned(),
            _ => format!("`{}`", shortened(self.text_of(token))),
        };
        self.error_at(token, found, expected.into())
    }

    /// The error for something missing after the last token. It refers to that token's line, not to
    /// the next one.
    pub(super) fn error_after_last(&self, expected: impl Into<String>) -> SyntaxError {
        let Some(last) = self.position.checked_sub(1).map(|position| self.tokens[position]) else {
            return self.error(expected);
        };
        if last.line == self.peek().line || self.kind() == TokenKind::End {
            return self.error(expected);
        }
        self.error_at(last, "the end of the line".to_owned(), expected.into())
    }

    fn error_at(&self, token: Token, found: String, expected: String) -> SyntaxError {
        let line_start = self.text[..token.start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_start = if token.kind == TokenKind::End { self.last_line_start() } else { line_start };
        let line = self.text[line_start..].lines().next().unwrap_or("");
        SyntaxError { line: token.line, text: shortened(line.trim()), expected, found }
    }

    fn last_line_start(&self) -> usize {
        let text = self.text.strip_suffix('\n').unwrap_or(self.text);
        text.rfind('\n').map_or(0, |newline| newline + 1)
    }
}

/// The beginning of a line, safe to print to a terminal.
fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or("");
    match line.char_indices().nth(LINE_CHARACTERS) {
        Some((end, _)) => format!("{}…", printable(&line[..end])),
        None => printable(line),
    }
}

/// The text with escapes for control characters except tabs, and for characters that reorder or
/// hide others. Quoted text must not control the terminal.
pub fn printable(text: &str) -> String {
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
