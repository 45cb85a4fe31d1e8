//! Finds the bracket, string or character that makes a source unreadable.

use crate::refusal::{Checked, Place};

/// An opened bracket.
#[derive(Clone, Copy)]
struct Open {
    bracket: char,
    place: Place,
    /// The number of spaces at the start of its line.
    indentation: usize,
}

struct Scanner<'t> {
    rest: std::str::Chars<'t>,
    place: Place,
    indentation: usize,
    /// Whether only spaces precede it on its line.
    is_start: bool,
}

impl Scanner<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.rest.clone().nth(ahead)
    }

    fn next(&mut self) -> Option<char> {
        let character = self.rest.next()?;
        match character {
            '\n' => {
                self.place.line += 1;
                self.place.column = 1;
                (self.indentation, self.is_start) = (0, true);
            }
            _ => {
                self.place.column += 1;
                match character {
                    ' ' if self.is_start => self.indentation += 1,
                    '\t' if self.is_start => self.indentation += 4,
                    _ => self.is_start = false,
                }
            }
        }
        Some(character)
    }

    /// Skips a string up to its end, `close`, handling escapes with `\`; false if it has no end.
    fn skip_text(&mut self, close: char) -> bool {
        while let Some(character) = self.next() {
            match character {
                '\\' => _ = self.next(),
                _ if character == close => return true,
                _ => {}
            }
        }
        false
    }

    /// Skips a comment after its `/*`, including nested comments; false if it has no end.
    fn skip_comment(&mut self) -> bool {
        let mut depth = 1;
        while let Some(character) = self.next() {
            match (character, self.peek(0)) {
                ('/', Some('*')) => depth += 1,
                ('*', Some('/')) => depth -= 1,
                _ => continue,
            }
            self.next();
            if depth == 0 {
                return true;
            }
        }
        false
    }

    /// Skips `r"…"` or `r#"…"#` after the `r`; false if it has no end. Does nothing if it is not a
    /// raw string.
    fn skip_raw(&mut self) -> bool {
        let hashes = self.rest.clone().take_while(|character| *character == '#').count();
        if self.peek(hashes) != Some('"') {
            return true;
        }
        (0..=hashes).for_each(|_| _ = self.next());
        while let Some(character) = self.next() {
            if character == '"' && self.rest.clone().take(hashes).filter(|next| *next == '#').count() == hashes {
                (0..hashes).for_each(|_| _ = self.next());
                return true;
            }
        }
        false
    }
}

fn closing(bracket: char) -> char {
    match bracket {
        '(' => ')',
        '[' => ']',
        _ => '}',
    }
}

/// The plain replacement for characters that look like others.
fn plain(character: char) -> Option<&'static str> {
    Some(match character {
        '×' | '·' => "*",
        '÷' => "/",
        '−' | '–' | '—' => "-",
        '≤' => "<=",
        '≥' => ">=",
        '≠' => "!=",
        '“' | '”' | '„' => "\"",
        '‘' | '’' => "'",
        '…' => "..",
        '\u{a0}' => " ",
        _ => return None,
    })
}

/// Rejects a text that cannot be tokenized; `failed` is where the lexer stopped.
pub(crate) fn refuse<T>(text: &str, failed: Place) -> Checked<T> {
    let place = Place { line: 1, column: 1, ..failed };
    let mut scanner = Scanner { rest: text.chars(), place, indentation: 0, is_start: true };
    let mut open: Vec<Open> = Vec::new();
    // The brace with a `}` further to the left, and a string that spans lines: the missing part is
    // probably there.
    let (mut suspected, mut long_text) = (None::<Open>, None);
    // A `}` that is further to the right than the brace it closes.
    let mut surplus = None;
    // Whether a function's body is still to come, and the place after its parameters.
    let (mut has_head, mut behind_head) = (false, None::<Place>);
    let mut before = ' ';
    loop {
        let (place, is_start, indentation) = (scanner.place, scanner.is_start, scanner.indentation);
        let Some(character) = scanner.next() else { break };
        let follows_word = before.is_alphanumeric() || before == '_';
        match character {
            '/' if scanner.peek(0) == Some('/') => {
                while scanner.peek(0).is_some_and(|next| next != '\n') {
                    scanner.next();
                }
            }
            '/' if scanner.peek(0) == Some('*') => {
                scanner.next();
                if !scanner.skip_comment() {
                    return place.refused("this comment is not closed: write `*/` at its end");
                }
            }
            '"' => {
                let is_closed = scanner.skip_text('"');
                if scanner.place.line > place.line {
                    long_text = long_text.or(Some(place));
                }
                if !is_closed {
                    return long_text.unwrap_or(place).refused("this text is not closed: write `\"` at its end");
                }
            }
            'r' if !follows_word || before == 'b' => {
                if !scanner.skip_raw() {
                    return place.refused("this text is not closed: write `\"` and its `#` at its end");
                }
            }
            // A character, or a loop label.
            '\'' if scanner.peek(0) == Some('\\') || scanner.peek(1) == Some('\'') => {
                if !scanner.skip_text('\'') {
                    return place.refused("this character is not closed: write `'` behind it");
                }
            }
            '\'' => {
                let word = scanner.rest.clone().take_while(|next| next.is_alphanumeric() || *next == '_').count();
                if scanner.peek(word) == Some('\'') {
                    return place.refused("`'…'` is one character: write `\"…\"` for a text");
                }
            }
            '(' | '[' | '{' => {
                if character == '{' {
                    (has_head, behind_head) = (false, None);
                }
                open.push(Open { bracket: character, place, indentation });
            }
            'f' if open.is_empty() && !follows_word && scanner.rest.as_str().starts_with("n ") => has_head = true,
            ')' | ']' | '}' => {
                let Some(last) = open.pop() else {
                    if let Some(place) = behind_head {
                        return place.refused("`{` is missing here, before the function's body");
                    }
                    let place = surplus.unwrap_or(place);
                    return place.refused(format!("this `{character}` closes nothing: remove it, or open it before"));
                };
                if character != closing(last.bracket) {
                    let (open, close) = (last.bracket, closing(last.bracket));
                    let way_out = match last.place.line == place.line {
                        true => format!("write `{close}` before the `{character}` in column {}", place.column),
                        false => format!("write `{close}`, before the `{character}` in line {}", place.line),
                    };
                    return last.place.refused(format!("this `{open}` is not closed: {way_out}"));
                }
                if has_head && open.is_empty() && character == ')' {
                    behind_head = Some(scanner.place);
                }
                if is_start && character == '}' && indentation < last.indentation {
                    suspected = suspected.or(Some(last));
                }
                if is_start && character == '}' && indentation > last.indentation {
                    surplus = surplus.or(Some(place));
                }
            }
            _ => {
                if let Some(plain) = plain(character) {
                    return place.refused(format!("`{character}` is no character of Rust: write `{plain}`"));
                }
            }
        }
        before = character;
    }
    match suspected.or(open.pop()) {
        Some(Open { bracket, place, .. }) => {
            place.refused(format!("this `{bracket}` is not closed: write `{}` at its end", closing(bracket)))
        }
        None => {
            let at = text.lines().nth(failed.line.saturating_sub(1) as usize).unwrap_or_default();
            match at.chars().nth(failed.column.saturating_sub(1) as usize) {
                Some(character) => {
                    failed.refused(format!("`{}` is not known here: remove it", character.escape_debug()))
                }
                None => failed.refused("this is not known here: remove it"),
            }
        }
    }
}
