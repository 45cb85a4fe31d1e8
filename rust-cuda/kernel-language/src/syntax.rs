//! Error messages for tokens that are not Rust: what is missing, or how another language's syntax
//! looks in Rust.

use proc_macro2::{LineColumn, TokenStream};

use crate::foreign::{in_rust, operand, shared_array, type_of};
use crate::refusal::{Checked, Place};
use crate::tokens::{Token, behind_group, flat, joined, short, split};

/// Words that cannot be variable names.
const KEYWORDS: [&str; 36] = [
    "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern", "false", "fn",
    "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "static",
    "struct", "super", "trait", "true", "type", "unsafe", "use", "where", "while",
];

/// The tokens of a file, and where the parser stopped.
struct Found<'t> {
    file: usize,
    /// The statement, including everything that may belong to it.
    statement: &'t [Token],
    /// The index in the statement of the token where the parser stopped.
    at: usize,
}

/// Rejects tokens that the parser could not parse.
pub(crate) fn refuse<T>(file: usize, tokens: TokenStream, error: &syn::Error) -> Checked<T> {
    let tokens = flat(tokens);
    let place = Place::of(file, error.span());
    let start = error.span().start();
    let is_at = |token: &Token| at_or_after(token.span.start(), start);
    let stopped = tokens.iter().position(is_at).unwrap_or(tokens.len().saturating_sub(1));
    let mut first = stopped;
    while first > 0 && !ends_statement(&tokens[first - 1]) {
        first -= 1;
    }
    let end = statement_end(&tokens, first, stopped);
    let found = Found { file, statement: &tokens[first..end], at: stopped - first };
    if let Some((place, reason)) = found.reason() {
        return place.refused(reason);
    }
    let message = error.to_string();
    let message = message.lines().next().unwrap_or("wrong syntax").trim_start_matches("unexpected token, ");
    match found.missing(message) {
        Some((place, reason)) => place.refused(reason),
        None => match tokens.get(stopped) {
            Some(token) => place.refused(format!("{message}, found `{}`", token.text)),
            None => place.refused(message),
        },
    }
}

fn at_or_after(place: LineColumn, other: LineColumn) -> bool {
    (place.line, place.column) >= (other.line, other.column)
}

fn ends_statement(token: &Token) -> bool {
    matches!(&*token.text, ";" | "{" | "}")
}

/// The index after a statement's tokens. The parts of a C `for (…; …; …)` are in parentheses.
fn statement_end(tokens: &[Token], first: usize, stopped: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(first) {
        match &*token.text {
            "(" | "[" => depth += 1,
            ")" | "]" if depth == 0 => return index.max(stopped + 1).min(tokens.len()),
            ")" | "]" => depth -= 1,
            ";" | "{" | "}" if depth == 0 && index >= stopped => return (index + 1).min(tokens.len()),
            _ => {}
        }
    }
    tokens.len()
}

impl Found<'_> {
    fn text(&self, index: usize) -> &str {
        self.statement.get(index).map_or("", |token| &token.text)
    }

    fn place(&self, index: usize) -> Place {
        let token = self.statement.get(index).or(self.statement.last());
        token.map_or_else(Place::default, |token| Place::of(self.file, token.span))
    }

    fn behind(&self, index: usize) -> Place {
        self.statement.get(index).map_or_else(Place::default, |token| Place::behind(self.file, token.span))
    }

    /// The tokens from an index up to `;` or a brace.
    fn rest(&self, from: usize) -> &[Token] {
        let tokens = &self.statement[from.min(self.statement.len())..];
        let end = tokens.iter().position(ends_statement).unwrap_or(tokens.len());
        &tokens[..end]
    }

    /// The statement's meaning in another language, with its place.
    fn reason(&self) -> Option<(Place, String)> {
        let at = |index: usize, reason: String| Some((self.place(index), reason));
        if let Some(reason) = self.c_loop() {
            return at(0, reason);
        }
        if let Some(reason) = self.declaration() {
            return at(self.first_word(), reason);
        }
        let small = self.step().or_else(|| self.parameter()).or_else(|| self.cast()).or_else(|| self.equals());
        if let Some((index, reason)) = small {
            return at(index, reason);
        }
        if let Some(reason) = self.statement_of_another_language() {
            return at(0, reason);
        }
        let is_cast = |index: &usize| {
            let operator = self.text(index + 2);
            self.text(*index) == "as" && operator == "<" && self.statement.get(index + 1).is_some_and(Token::is_word)
        };
        if let Some(index) = (0..self.at).rev().find(is_cast) {
            let start = (0..index).rev().find(|index| {
                matches!(self.text(*index), "if" | "while" | "=" | "&" | "|" | "(" | "," | "return" | "!")
            });
            let start = start.map_or(0, |start| start + 1);
            let cast = short(joined(&self.statement[start..index + 2])).unwrap_or_else(|| "… as usize".to_owned());
            let of = self.text(index + 1);
            return at(start, format!("behind `as {of}`, `<` begins a list of types: write `({cast}) < …`"));
        }
        let is_other =
            |index: &usize| matches!(self.text(*index), "and" | "or" | "not" | "?") || self.is_inline_if(*index);
        if let Some(index) = (0..(self.at + 2).min(self.statement.len())).find(is_other) {
            let start = (0..index).rev().find(|index| {
                let text = self.text(*index);
                matches!(text, "let" | "return" | "while")
                    || (text == "if" && !self.is_inline_if(*index))
                    || self.is_equals(*index)
            });
            let start = start.map_or(0, |start| start + 1);
            let tokens = self.rest(start);
            // A Python condition ends with a colon.
            let tokens = match split(tokens, "?").len() {
                1 => split(tokens, ":")[0],
                _ => tokens,
            };
            if let Some((rust, language)) =
                in_rust(tokens, &|_| false).or_else(|| in_rust(&tokens[..tokens.len().min(8)], &|_| false))
            {
                let rust = short(rust).unwrap_or_else(|| "if condition { a } else { b }".to_owned());
                return at(index, format!("`{}` is {language}: write `{rust}`", self.text(index)));
            }
        }
        None
    }

    fn is_equals(&self, index: usize) -> bool {
        self.text(index) == "="
            && self.text(index + 1) != "="
            && (index == 0 || !matches!(self.text(index - 1), "=" | "!" | "<" | ">"))
    }

    /// `a if condition else b`
    fn is_inline_if(&self, index: usize) -> bool {
        self.text(index) == "if"
            && index > 0
            && !matches!(self.text(index - 1), "else" | "=" | "(" | "," | "return" | "{" | "}" | "match")
            && self.rest(index).iter().any(|token| token.text == "else")
    }

    /// `for (int i = 0; i < n; i++)`, and `for i in range(n)`.
    fn c_loop(&self) -> Option<String> {
        if self.text(0) != "for" {
            return None;
        }
        if let Some(range) = (1..self.at + 1).find(|index| self.text(*index) == "range" && self.text(index + 1) == "(")
        {
            let end = behind_group(self.statement, range + 1)?;
            let parts = split(&self.statement[range + 2..end - 1], ",");
            let parts: Vec<String> = parts.into_iter().map(translated).collect();
            let range = match &parts[..] {
                [to] => format!("0..{to}"),
                [from, to] => format!("{from}..{to}"),
                [from, to, step] => format!("({from}..{to}).step_by({step})"),
                _ => return None,
            };
            return Some(format!("`range` is Python: write `for {} in {range} {{ … }}`", self.text(1)));
        }
        let open = (self.text(1) == "(").then_some(1)?;
        let end = behind_group(self.statement, open).unwrap_or(self.statement.len());
        let inner = &self.statement[open + 1..end.saturating_sub(1).max(open + 1)];
        let general = "`for (…; …; …)` is C: write `for i in start..end { … }`";
        let [start, condition, step] = split(inner, ";")[..] else {
            return inner.iter().all(|token| token.text != "in").then(|| general.to_owned());
        };
        let read = || {
            let [name, from] = split(start, "=")[..] else { return None };
            let (variable, from) = (&name.last()?.text, translated(from));
            let is_inclusive = condition.get(2)?.text == "=";
            let is_up = condition.first()?.text == *variable && condition.get(1)?.text == "<";
            let to = translated(&condition[if is_inclusive { 3 } else { 2 }..]);
            let range = format!("{from}..{}{to}", if is_inclusive { "=" } else { "" });
            let steps: Vec<&str> = step.iter().map(|token| &*token.text).collect();
            let range = match &steps[..] {
                [_, "+", "+"] | ["+", "+", _] | [_, "+", "=", "1"] => range,
                [_, "+=", ..] | [_, "+", "=", ..] => {
                    let by = translated(&step[if steps[1] == "+=" { 2 } else { 3 }..]);
                    format!("({range}).step_by({} as usize)", operand(&by))
                }
                _ => return None,
            };
            is_up.then(|| format!("`for (…; …; …)` is C: write `for {variable} in {range} {{ … }}`"))
        };
        Some(read().unwrap_or_else(|| general.to_owned()))
    }

    /// `int i = 3;`, `float* p`, `__shared__ float tile[4];`, `__global__ void …`
    fn declaration(&self) -> Option<String> {
        let mut index = self.first_word();
        let start = index;
        let (mut is_shared, mut is_dynamic) = (false, false);
        while let "const" | "extern" | "static" | "volatile" | "__shared__" | "__device__" | "__constant__" =
            self.text(index)
        {
            is_shared |= self.text(index) == "__shared__";
            is_dynamic |= self.text(index) == "extern";
            index += 1;
        }
        if self.text(index) == "__global__" || (self.text(index) == "void" && index == start) {
            return Some("a function of CUDA C is here: write `#[kernel]`, and `pub fn name(x: &[f32], y: GlobalMut<f32>) { … }` in the next line".to_owned());
        }
        if let word @ ("def" | "function" | "func" | "fun") = self.text(index) {
            return Some(format!("`{word}` is not Rust: write `pub fn name(x: &[f32], y: GlobalMut<f32>) {{ … }}`"));
        }
        if start > 0 && self.text(start - 1) == "pub" && self.text(start + 1) == "(" {
            return Some(format!("`fn` is missing: write `pub fn {}(…)`", self.text(start)));
        }
        let first = index;
        let mut of = None;
        while let Some(next) = self.c_type(index, of) {
            of = Some(next);
            index += 1;
        }
        let of = of?;
        while self.text(index) == "*" {
            index += 1;
        }
        let name = self.statement.get(index).filter(|token| token.is_word())?;
        let shown = joined(&self.statement[first.min(index)..=index]);
        let mut lengths = Vec::new();
        let mut next = index + 1;
        while self.text(next) == "[" {
            let end = behind_group(self.statement, next)?;
            lengths.push(joined(&self.statement[next + 1..end - 1]));
            next = end;
        }
        let lengths: Vec<&str> = lengths.iter().map(String::as_str).collect();
        let name = &name.text;
        if is_shared {
            let rust = match is_dynamic || lengths.iter().all(|length| length.is_empty()) {
                true => format!("dynamic_shared::<{of}>()"),
                false => shared_array(of, &lengths),
            };
            return Some(format!("`__shared__` is CUDA C: write `let {name} = {rust};`"));
        }
        if !lengths.is_empty() {
            let array = lengths.iter().rev().fold(format!("0 as {of}"), |of, length| format!("[{of}; {length}]"));
            return Some(format!("`{shown}[…]` is C: write `let mut {name} = {array};`"));
        }
        if self.text(next) == "(" {
            return Some(format!("`{shown}(…)` is a function of C: write `fn {name}(x: f32) -> {of} {{ … }}`"));
        }
        if self.text(next) != "=" {
            return Some(format!("`{shown}` is C: write `let mut {name}: {of} = 0 as {of};`"));
        }
        let mut value = translated(self.rest(next + 1));
        // An int computed from thread indices is an index: Rust's thread indices are u32.
        if of == "i32" && value.contains("thread::") && !value.contains("as usize") {
            value = format!("{} as usize", operand(&value));
        }
        // An index has the type of Rust's indices.
        let of = if value.contains("as usize") { String::new() } else { format!(": {of}") };
        Some(format!("`{shown} = …` is C: write `let {name}{of} = {value};`, or `let mut {name}` if it changes"))
    }

    /// The type after adding a word of a C declaration.
    fn c_type(&self, index: usize, of: Option<&'static str>) -> Option<&'static str> {
        // A name follows the type.
        let has_more = self.statement.get(index + 1).is_some_and(|next| next.is_word() || next.text == "*");
        match (self.text(index), of) {
            _ if !has_more => None,
            ("int", Some(of)) => Some(of),
            ("long", Some("u32" | "u64")) => Some("u64"),
            ("char", Some("u32")) => Some("u8"),
            ("short", Some("u32")) => Some("u16"),
            ("bool", None) => Some("bool"),
            ("char", None) => Some("i8"),
            ("auto", None) => Some("_"),
            (name, None) => type_of(name),
            (name, Some(_)) => type_of(name).filter(|_| name == "long"),
        }
    }

    /// The index after attributes and `pub`.
    fn first_word(&self) -> usize {
        let mut index = 0;
        while self.text(index) == "#"
            && let Some(end) = behind_group(self.statement, index + 1).filter(|_| self.text(index + 1) == "[")
        {
            index = end;
        }
        if self.text(index) == "pub" { index + 1 } else { index }
    }

    /// A C parameter: `float* x`.
    fn parameter(&self) -> Option<(usize, String)> {
        if !self.statement[..self.at].iter().any(|token| token.text == "fn") {
            return None;
        }
        let index = self.at.checked_sub(1)?;
        let of = type_of(self.text(index))?;
        let name = (self.at..self.statement.len()).find(|index| self.text(*index) != "*")?;
        let (shown, name) = (joined(&self.statement[index..=name]), self.text(name));
        let rust = match shown.contains('*') {
            true => format!("`{name}: &[{of}]`, or `{name}: GlobalMut<{of}>` if the kernel writes it"),
            false => format!("`{name}: {of}`"),
        };
        Some((index, format!("`{shown}` is C: write {rust}")))
    }

    /// `(float) n`
    fn cast(&self) -> Option<(usize, String)> {
        let index = self.at.checked_sub(3).filter(|index| self.text(*index) == "(" && self.text(index + 2) == ")")?;
        type_of(self.text(index + 1))?;
        let (rust, _) = in_rust(self.rest(index), &|_| false)?;
        Some((index, format!("`({})` is C: write `{}`", self.text(index + 1), short(rust)?)))
    }

    /// `let a == 3` and `let a := 3`
    fn equals(&self) -> Option<(usize, String)> {
        let before = self.at.checked_sub(1)?;
        let marks = (self.text(before), self.text(self.at));
        let is_let = self.text(0) == "let" && matches!(marks, ("=", "=") | (":", "="));
        is_let.then(|| (before, format!("write one `=` in place of `{}{}`", marks.0, marks.1)))
    }

    /// `i++`
    fn step(&self) -> Option<(usize, String)> {
        let is_step = |index: &usize| {
            matches!((self.text(*index), self.text(index + 1)), ("+", "+") | ("-", "-"))
                && self.statement[*index].touches(&self.statement[index + 1])
        };
        let index = (self.at.saturating_sub(2)..self.at + 1).find(is_step)?;
        let sign = self.text(index);
        let (start, variable) = match index {
            0 => (0, self.rest(2)),
            _ => (0, &self.statement[..index]),
        };
        let variable = short(joined(variable)).filter(|text| !text.contains('=')).unwrap_or_else(|| "i".to_owned());
        Some((start, format!("`{sign}{sign}` is C: write `{variable} {sign}= 1;`")))
    }

    fn statement_of_another_language(&self) -> Option<String> {
        let text = self.text(0);
        Some(match text {
            "elif" => "`elif` is Python: write `else if condition { … }`, behind the `}` before".to_owned(),
            "switch" => "`switch` is C: write `match value { 0 => …, _ => … }`".to_owned(),
            "do" => "`do` is C: write `loop { …; if !condition { break; } }`".to_owned(),
            "pass" => "`pass` is Python: an empty block is `{}`".to_owned(),
            "var" | "val" | "auto" => {
                format!("`{text}` is no word of Rust: write `let name = …;`, or `let mut name = …;`")
            }
            "#" if self.text(1) != "[" => "a comment begins with `//`, not with `#`".to_owned(),
            "if" | "while" | "else" | "for" if self.text(self.at) == ":" => {
                let head = short(joined(&self.statement[..self.at])).unwrap_or_else(|| text.to_owned());
                let head =
                    in_rust(&self.statement[1..self.at], &|_| false).map_or(head, |(rust, _)| format!("{text} {rust}"));
                format!("a block is in braces: write `{head} {{ … }}`")
            }
            _ => return None,
        })
    }

    /// What is missing at the token where the parser stopped.
    fn missing(&self, message: &str) -> Option<(Place, String)> {
        let stopped = self.statement.get(self.at)?;
        let before = self.at.checked_sub(1).and_then(|before| self.statement.get(before));
        let is_name = before.is_some_and(|before| matches!(&*before.text, "let" | "mut" | "fn" | "for"));
        if is_name && KEYWORDS.contains(&&*stopped.text) {
            return Some((self.place(self.at), format!("`{}` is a word of Rust: choose another name", stopped.text)));
        }
        if is_name && message.contains("expected") && !stopped.is_word() && stopped.text != "(" {
            let word = before.map_or("", |before| &before.text);
            return Some((self.place(self.at), format!("a name is missing behind `{word}`")));
        }
        if message.ends_with("expected an expression") {
            let reason = match before {
                Some(before) => format!("a value is missing between `{}` and `{}`", before.text, stopped.text),
                None => format!("a value is missing before `{}`", stopped.text),
            };
            return Some((self.place(self.at), reason));
        }
        if message.ends_with("expected curly braces") {
            let word = self.statement[..self.at]
                .iter()
                .rev()
                .find(|token| matches!(&*token.text, "if" | "else" | "while" | "for" | "loop"));
            let Some(word) = word.map(|word| &word.text) else {
                return Some((
                    self.place(self.at),
                    "a condition, or a block in braces, is missing before this".to_owned(),
                ));
            };
            let place = self.at.checked_sub(1).map_or_else(|| self.place(self.at), |before| self.behind(before));
            return Some((place, format!("the body of `{word}` is in braces: write `{{` here, and `}}` behind it")));
        }
        let expected =
            ["`;`", "`,`", "`=`", "`:`"].into_iter().find(|mark| message.ends_with(&format!("expected {mark}")))?;
        let Some(before) = before else {
            // The previous statement has no end.
            return None;
        };
        let place = self.behind(self.at - 1);
        if before.span.end().line < stopped.span.start().line || ends_statement(stopped) {
            let way_out = short(joined(&self.statement[..self.at]))
                .map_or(String::new(), |line| format!(": write `{line}{}`", mark(expected)));
            return Some((place, format!("{expected} is missing at the end of this line{way_out}")));
        }
        let [before, stopped] = [&before.text, &stopped.text];
        if expected == "`;`" && stopped == "," {
            return Some((
                self.place(self.at),
                "write a `let` of its own for each variable, with `;` between them".to_owned(),
            ));
        }
        let operator = if expected == "`;`" { " or an operator" } else { "" };
        Some((place, format!("{expected}{operator} is missing between `{before}` and `{stopped}`")))
    }
}

fn mark(expected: &str) -> &str {
    expected.trim_matches('`')
}

/// The Rust for a C expression.
fn translated(tokens: &[Token]) -> String {
    in_rust(tokens, &|_| false).map_or_else(|| joined(tokens), |(rust, _)| rust)
}
