//! Directives for debuggers and for the assembler (PTX ISA 11.5).

use super::parser::{Parsed, Parser};
use super::token::TokenKind;
use super::{Location, SourceFile};

impl Parser<'_> {
    /// `.file 1 "name.rs"`, optionally with `, timestamp, size`.
    pub(super) fn source_file(&mut self) -> Parsed<SourceFile> {
        self.advance();
        let number = self.unsigned("the number of a file")?;
        let name = unescaped(self.quoted("the name of a file in quotation marks")?);
        if self.eat(b',') {
            self.unsigned::<u64>("the timestamp of the file")?;
            self.expect(b',', "`,` and the size of the file")?;
            self.unsigned::<u64>("the size of the file")?;
        }
        Ok(SourceFile { number, name })
    }

    /// `.loc 1 23 5`, optionally with `, function_name LABEL+8, inlined_at 1 10 3`.
    pub(super) fn location(&mut self) -> Parsed<Location> {
        self.advance();
        let [file, line, column] = self.place()?;
        let mut inlined_at = None;
        if self.eat(b',') {
            self.keyword("function_name")?;
            self.name("the label of a function's name")?;
            self.offset()?;
            self.expect(b',', "`, inlined_at`")?;
            self.keyword("inlined_at")?;
            inlined_at = Some(self.place()?);
        }
        Ok(Location { file, line, column, inlined_at })
    }

    /// The numbers of a file, a line and a column.
    fn place(&mut self) -> Parsed<[u32; 3]> {
        Ok([
            self.unsigned("the number of a file")?,
            self.unsigned("the number of a line")?,
            self.unsigned("the number of a column")?,
        ])
    }

    fn keyword(&mut self, keyword: &str) -> Parsed<()> {
        if self.word() != keyword {
            return Err(self.error(format!("`{keyword}`")));
        }
        self.advance();
        Ok(())
    }

    /// `.pragma "nounroll";`, ignored: a pragma does not affect results.
    pub(super) fn pragma(&mut self) -> Parsed<()> {
        self.advance();
        loop {
            self.quoted("a text in quotation marks")?;
            if !self.eat(b',') {
                return self.expect(b';', "`;` or `,`");
            }
        }
    }

    /// `.section .debug_info { … }`, skipped up to the closing brace.
    pub(super) fn debug_section(&mut self) -> Parsed<()> {
        self.advance();
        if !self.directive().is_some_and(|name| name.starts_with(".debug_")) {
            return Err(self.error("a section of debug information, such as .debug_info"));
        }
        self.advance();
        self.expect(b'{', "`{`")?;
        let mut depth = 1_usize;
        while depth > 0 {
            match self.kind() {
                TokenKind::Punctuation(b'{') => depth += 1,
                TokenKind::Punctuation(b'}') => depth -= 1,
                TokenKind::End | TokenKind::Unknown | TokenKind::UnclosedComment | TokenKind::UnclosedQuotation => {
                    return Err(self.error("the `}` that closes the section"));
                }
                _ => {}
            }
            self.advance();
        }
        Ok(())
    }

    /// Parses `$L__sec_end0:` at module scope. LLVM emits it between two sections for the second
    /// one to refer to.
    pub(super) fn section_label(&mut self) -> Parsed<()> {
        self.name("a label of a section")?;
        self.expect(b':', "`:`")?;
        if self.directive() != Some(".section") {
            return Err(self.error("`.section .debug_…` after a label outside of functions"));
        }
        Ok(())
    }

    /// The text between quotation marks, with its escapes.
    fn quoted(&mut self, expected: &str) -> Parsed<&str> {
        if self.kind() != TokenKind::Quoted {
            return Err(self.error(expected));
        }
        let token = self.advance();
        let text = self.text_of(token);
        Ok(&text[1..text.len() - 1])
    }
}

/// The content of a quoted string. LLVM escapes a quotation mark as `\"`, and non-ASCII bytes as
/// `\303\274`.
fn unescaped(quoted: &str) -> String {
    let mut bytes = Vec::with_capacity(quoted.len());
    let mut rest = quoted.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let octal = rest.iter().take(3).take_while(|digit| matches!(digit, b'0'..=b'7')).count();
        if octal == 3 {
            let value = rest[..3].iter().fold(0_u32, |value, digit| value * 8 + u32::from(digit - b'0'));
            bytes.push(value as u8);
            rest = &rest[3..];
        } else if let Some((&escaped, after)) = rest.split_first() {
            bytes.push(escaped);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::unescaped;

    #[test]
    fn file_names_are_unescaped() {
        assert_eq!(unescaped("src/lib.rs"), "src/lib.rs");
        assert_eq!(unescaped(r#"C:\\a \"b\".rs"#), r#"C:\a "b".rs"#);
        assert_eq!(unescaped(r"f\303\274r.rs"), "für.rs");
    }
}
