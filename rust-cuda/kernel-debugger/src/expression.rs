//! Expressions over a lane's values, in Rust's syntax: `lane == 5 && (block.x < 3 || !found)`,
//! `out[2 * i + 1] % 2 != 0`.

use crate::query::Query;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    Integer(i128),
    Float(f64),
    Bool(bool),
    /// A register, a variable, an argument or a part of a lane's position.
    Name(String),
    /// A memory with an explicit type or shape, and constant indices.
    View(Query),
    /// An element of a memory or of a variable.
    Element(String, Vec<Expression>),
    Unary(Unary, Box<Expression>),
    Binary(Binary, Box<[Expression; 2]>),
    Cast(Box<Expression>, Cast),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Negate,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
    BitOr,
    BitXor,
    BitAnd,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// The type of a cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cast {
    Integer { bits: u32, is_signed: bool },
    F32,
    F64,
}

/// Operators with their precedence: a higher one binds tighter, as in Rust. No operator comes after
/// its own prefix.
const OPERATORS: [(&str, Binary, u8); 18] = [
    ("||", Binary::Or, 1),
    ("&&", Binary::And, 2),
    ("==", Binary::Equal, 3),
    ("!=", Binary::Unequal, 3),
    ("<=", Binary::AtMost, 3),
    (">=", Binary::AtLeast, 3),
    ("<<", Binary::ShiftLeft, 7),
    (">>", Binary::ShiftRight, 7),
    ("<", Binary::Less, 3),
    (">", Binary::Greater, 3),
    ("|", Binary::BitOr, 4),
    ("^", Binary::BitXor, 5),
    ("&", Binary::BitAnd, 6),
    ("+", Binary::Add, 8),
    ("-", Binary::Subtract, 8),
    ("*", Binary::Multiply, 9),
    ("/", Binary::Divide, 9),
    ("%", Binary::Remainder, 9),
];

/// Maximum nesting depth.
const MAX_DEPTH: u32 = 64;

impl Expression {
    /// Parses an expression. `None` if the text is not one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parser = Parser { rest: text.trim(), depth: 0 };
        let expression = parser.binary(0)?;
        parser.rest.is_empty().then_some(expression)
    }
}

struct Parser<'t> {
    rest: &'t str,
    depth: u32,
}

impl Parser<'_> {
    fn eat(&mut self, text: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(text)?.trim_start();
        Some(())
    }

    fn binary(&mut self, min: u8) -> Option<Expression> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let mut left = self.cast()?;
        while let Some((text, operator, precedence)) = OPERATORS
            .into_iter()
            .find(|(text, ..)| self.rest.starts_with(text))
            .filter(|(.., precedence)| *precedence > min)
        {
            self.eat(text)?;
            let right = self.binary(precedence)?;
            // As in Rust, comparisons cannot be chained.
            let is_comparison =
                |expression: &Expression| matches!(expression, Expression::Binary(operator, _) if operator.compares());
            if operator.compares() && is_comparison(&left) {
                return None;
            }
            left = Expression::Binary(operator, Box::new([left, right]));
        }
        self.depth -= 1;
        Some(left)
    }

    /// An operand with its prefix operators, which bind tighter than a following `as`.
    fn cast(&mut self) -> Option<Expression> {
        let mut operand = self.unary()?;
        while let Some(rest) = self.rest.strip_prefix("as ") {
            let rest = rest.trim_start();
            let (name, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len()));
            operand = Expression::Cast(Box::new(operand), Cast::named(name)?);
            self.rest = after.trim_start();
        }
        Some(operand)
    }

    fn unary(&mut self) -> Option<Expression> {
        for (text, operator) in [("-", Unary::Negate), ("!", Unary::Not)] {
            if self.rest.starts_with(text) {
                self.eat(text)?;
                self.depth += 1;
                let inner = if self.depth > MAX_DEPTH { None } else { self.unary() }?;
                self.depth -= 1;
                return Some(Expression::Unary(operator, Box::new(inner)));
            }
        }
        self.operand()
    }

    fn operand(&mut self) -> Option<Expression> {
        if self.rest.starts_with('(') {
            self.eat("(")?;
            let inner = self.binary(0)?;
            self.eat(")")?;
            return Some(inner);
        }
        if self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            return self.number();
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '%' | '$' | '.');
        let end = self.rest.find(|c| !is_name(c)).unwrap_or(self.rest.len());
        // A register's name begins with %, which elsewhere is an operator.
        let first = self.rest.chars().next()?.len_utf8();
        let end = self.rest[first..].find('%').map_or(end, |percent| end.min(percent + first));
        let (name, after) = self.rest.split_at_checked(end).filter(|(name, _)| !name.is_empty())?;
        if name.starts_with('.') || name == "%" {
            return None;
        }
        let after = after.trim_start();
        if let Some(view) = view(name, after) {
            let (query, after) = view;
            self.rest = after;
            return Some(Expression::View(query));
        }
        self.rest = after;
        let mut indices = Vec::new();
        while self.rest.starts_with('[') {
            self.eat("[")?;
            indices.push(self.binary(0)?);
            self.eat("]")?;
        }
        Some(match name {
            "true" => Expression::Bool(true),
            "false" => Expression::Bool(false),
            _ if indices.is_empty() => Expression::Name(name.to_owned()),
            _ => Expression::Element(name.to_owned(), indices),
        })
    }

    fn number(&mut self) -> Option<Expression> {
        let text = self.rest;
        let is_part = |(index, c): (usize, char)| {
            let follows_exponent =
                || matches!(c, '+' | '-') && text[..index].ends_with(['e', 'E']) && !text.starts_with("0x");
            c.is_ascii_alphanumeric() || matches!(c, '_' | '.') || follows_exponent()
        };
        let end = text.char_indices().find(|at| !is_part(*at)).map_or(text.len(), |(index, _)| index);
        let (number, after) = text.split_at(end);
        self.rest = after.trim_start();
        let number = number.replace('_', "");
        for (prefix, radix) in [("0x", 16), ("0b", 2), ("0o", 8)] {
            if let Some(digits) = number.strip_prefix(prefix) {
                let digits = without_suffix(digits, radix == 16);
                return i128::from_str_radix(digits, radix).ok().map(Expression::Integer);
            }
        }
        let digits = without_suffix(&number, false);
        let is_float = number.ends_with("f32") || number.ends_with("f64");
        match digits.parse().ok().filter(|_| !is_float) {
            Some(integer) => Some(Expression::Integer(integer)),
            None => digits.parse().ok().map(Expression::Float),
        }
    }
}

/// A number without its type suffix. A hexadecimal number has no float suffix: those letters are
/// digits.
fn without_suffix(digits: &str, is_hexadecimal: bool) -> &str {
    let integers = ["u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize"];
    let floats = if is_hexadecimal { &[][..] } else { &["f32", "f64"] };
    integers.iter().chain(floats).find_map(|suffix| digits.strip_suffix(suffix)).unwrap_or(digits)
}

/// `NAME as TYPE SHAPE[…]…`, as in an expression for memory, and the text after it.
fn view<'t>(name: &str, after: &'t str) -> Option<(Query, &'t str)> {
    after.strip_prefix("as ")?;
    let mut end = after.find('[')?;
    while after[end..].trim_start().starts_with('[') {
        end += after[end..].find(']')? + 1;
    }
    let query: Query = format!("{name} {}", &after[..end]).parse().ok()?;
    Some((query, after[end..].trim_start()))
}

impl Binary {
    /// Whether the operator's value is never a boolean.
    pub(crate) fn is_arithmetic(self) -> bool {
        let is_logic = matches!(self, Self::Or | Self::And | Self::BitOr | Self::BitXor | Self::BitAnd);
        !is_logic && !self.compares()
    }

    /// The comparison with its sides exchanged. Other operators stay the same.
    pub(crate) fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::AtMost => Self::AtLeast,
            Self::Greater => Self::Less,
            Self::AtLeast => Self::AtMost,
            other => other,
        }
    }

    pub(crate) fn compares(self) -> bool {
        matches!(self, Self::Equal | Self::Unequal | Self::Less | Self::AtMost | Self::Greater | Self::AtLeast)
    }
}

impl Cast {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "f32" => Self::F32,
            "f64" => Self::F64,
            "usize" => Self::Integer { bits: 64, is_signed: false },
            "isize" => Self::Integer { bits: 64, is_signed: true },
            _ => {
                let is_signed = name.starts_with('i');
                let bits =
                    name.strip_prefix(['i', 'u'])?.parse().ok().filter(|bits| matches!(bits, 8 | 16 | 32 | 64))?;
                Self::Integer { bits, is_signed }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        fn show(expression: &Expression) -> String {
            match expression {
                Expression::Integer(value) => value.to_string(),
                Expression::Float(value) => format!("{value:?}"),
                Expression::Bool(value) => value.to_string(),
                Expression::Name(name) => name.clone(),
                Expression::View(query) => format!("view of {}", query.name),
                Expression::Element(name, indices) => {
                    format!("{name}{}", indices.iter().map(|index| format!("[{}]", show(index))).collect::<String>())
                }
                Expression::Unary(operator, inner) => format!("({operator:?} {})", show(inner)),
                Expression::Binary(operator, sides) => {
                    format!("({} {operator:?} {})", show(&sides[0]), show(&sides[1]))
                }
                Expression::Cast(inner, cast) => format!("({} as {cast:?})", show(inner)),
            }
        }
        Expression::parse(text).map_or_else(|| "none".to_owned(), |expression| show(&expression))
    }

    #[test]
    fn operators_bind_as_in_rust() {
        for (text, expected) in [
            ("1 + 2 * 3", "(1 Add (2 Multiply 3))"),
            ("1 - 2 - 3", "((1 Subtract 2) Subtract 3)"),
            ("a < 3 && b || !c", "(((a Less 3) And b) Or (Not c))"),
            ("x & 1 == 0", "((x BitAnd 1) Equal 0)"),
            ("x << 1 | 2 ^ 3 & 4", "((x ShiftLeft 1) BitOr (2 BitXor (3 BitAnd 4)))"),
            ("-x as i32 % 7", "(((Negate x) as Integer { bits: 32, is_signed: true }) Remainder 7)"),
            ("(a || b) && c", "((a Or b) And c)"),
            ("i%2==1", "((i Remainder 2) Equal 1)"),
            ("%r5 % %r6 >= 0", "((%r5 Remainder %r6) AtLeast 0)"),
            ("out[2 * i + 1][lane]", "out[((2 Multiply i) Add 1)][lane]"),
            ("threadIdx.x", "threadIdx.x"),
            ("0x7 + 0b11 + 1_000usize + 7u8", "(((7 Add 3) Add 1000) Add 7)"),
            ("1e-3 + 2.5f32 + 3f64", "((0.001 Add 2.5) Add 3.0)"),
            ("0xffu8", "255"),
            ("shared0 as f32 8x8[3][5] != 0", "(view of shared0 Unequal 0)"),
            ("true == found", "(true Equal found)"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for text in [
            "",
            "==",
            "== 5",
            "lane ==",
            "lane = 5",
            "a == b == c",
            "(1",
            "1)",
            "x[",
            "x[]",
            "x as y",
            "1 2",
            "0x",
            "%",
            "a &&",
        ] {
            assert_eq!(shown(text), "none", "{text}");
        }
        assert_eq!(shown(&"(".repeat(100_000)), "none");
        assert_eq!(shown(&"-".repeat(100_000)), "none");
    }
}
