//! Formats message texts with the grammar of `std::fmt`: numbered arguments with constant widths.

use std::fmt::{Binary, Debug, Display, LowerExp, LowerHex, Octal, UpperExp, UpperHex};

use super::value::Value;

/// A part of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    Literal(String),
    /// A value, by its number.
    Value(usize, Spec),
}

impl Piece {
    /// The piece's text. A value that is missing or does not support the form is shown as `{?}`.
    pub(super) fn text(&self, values: &[Value]) -> String {
        match self {
            Self::Literal(text) => text.clone(),
            Self::Value(number, spec) => {
                values.get(*number).and_then(|value| value.text(spec)).unwrap_or_else(|| "{?}".to_owned())
            }
        }
    }
}

/// The part of an argument after the colon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Spec {
    fill: Option<char>,
    align: Option<char>,
    plus: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    form: String,
}

/// The parts of a text; None if it does not follow the grammar.
pub(super) fn pieces(text: &str) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(brace) = rest.find(['{', '}']) {
        literal.push_str(&rest[..brace]);
        let (open, behind) = (&rest[brace..=brace], &rest[brace + 1..]);
        if let Some(behind) = behind.strip_prefix(open) {
            literal.push_str(open);
            rest = behind;
            continue;
        }
        let (argument, behind) = behind.split_once('}').filter(|_| open == "{")?;
        let (number, spec) = argument.split_once(':').unwrap_or((argument, ""));
        pieces.push(Piece::Literal(std::mem::take(&mut literal)));
        pieces.push(Piece::Value(number.trim().parse().ok()?, Spec::parse(spec.trim_end())?));
        rest = behind;
    }
    literal.push_str(rest);
    pieces.push(Piece::Literal(literal));
    Some(pieces)
}

/// Formats a value for each combination of flags, with the form as a literal.
macro_rules! combinations {
    ($spec:expr, $value:expr, $form:literal) => {
        combinations!(@plus $spec, $value, $form, $spec.plus, $spec.alternate, $spec.zero, $spec.precision)
    };
    (@plus $spec:expr, $value:expr, $form:literal, $plus:expr, $alternate:expr, $zero:expr, $precision:expr) => {{
        let (value, width) = ($value, $spec.width);
        match ($plus, $alternate, $zero, $precision) {
            (false, false, false, None) => format!(concat!("{:", $form, "}"), value),
            (false, false, true, None) => format!(concat!("{:0width$", $form, "}"), value, width = width),
            (false, true, false, None) => format!(concat!("{:#", $form, "}"), value),
            (false, true, true, None) => format!(concat!("{:#0width$", $form, "}"), value, width = width),
            (true, false, false, None) => format!(concat!("{:+", $form, "}"), value),
            (true, false, true, None) => format!(concat!("{:+0width$", $form, "}"), value, width = width),
            (true, true, false, None) => format!(concat!("{:+#", $form, "}"), value),
            (true, true, true, None) => format!(concat!("{:+#0width$", $form, "}"), value, width = width),
            (false, false, false, Some(p)) => format!(concat!("{:.p$", $form, "}"), value, p = p),
            (false, false, true, Some(p)) => format!(concat!("{:0width$.p$", $form, "}"), value, p = p, width = width),
            (false, true, false, Some(p)) => format!(concat!("{:#.p$", $form, "}"), value, p = p),
            (false, true, true, Some(p)) => format!(concat!("{:#0width$.p$", $form, "}"), value, p = p, width = width),
            (true, false, false, Some(p)) => format!(concat!("{:+.p$", $form, "}"), value, p = p),
            (true, false, true, Some(p)) => format!(concat!("{:+0width$.p$", $form, "}"), value, p = p, width = width),
            (true, true, false, Some(p)) => format!(concat!("{:+#.p$", $form, "}"), value, p = p),
            (true, true, true, Some(p)) => format!(concat!("{:+#0width$.p$", $form, "}"), value, p = p, width = width),
        }
    }};
}

impl Spec {
    /// Parses `[[fill]align][sign]['#']['0'][width]['.' precision]type`.
    fn parse(text: &str) -> Option<Self> {
        let mut spec = Self::default();
        let mut rest = text;
        let is_align = |character: char| matches!(character, '<' | '^' | '>');
        let mut characters = rest.chars();
        match (characters.next(), characters.next()) {
            (Some(fill), Some(align)) if is_align(align) => {
                (spec.fill, spec.align) = (Some(fill), Some(align));
                rest = &rest[fill.len_utf8() + 1..];
            }
            (Some(align), _) if is_align(align) => {
                spec.align = Some(align);
                rest = &rest[1..];
            }
            _ => {}
        }
        let mut flag = |character| {
            let behind = rest.strip_prefix(character);
            rest = behind.unwrap_or(rest);
            behind.is_some()
        };
        spec.plus = flag('+');
        // It has no meaning yet.
        flag('-');
        spec.alternate = flag('#');
        spec.zero = flag('0');
        let digits = |text: &str| text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
        let width = digits(rest);
        if width > 0 {
            spec.width = rest[..width].parse().ok().filter(|&width: &u16| width < u16::MAX)?.into();
            rest = &rest[width..];
        }
        if let Some(behind) = rest.strip_prefix('.') {
            let precision = digits(behind);
            spec.precision = Some(behind[..precision].parse().ok().filter(|&digits: &u16| digits < u16::MAX)?.into());
            rest = &behind[precision..];
        }
        spec.form = rest.to_owned();
        matches!(rest, "" | "?" | "x?" | "X?" | "x" | "X" | "o" | "b" | "e" | "E").then_some(spec)
    }

    /// Pads a text to the width in the specification. `align` is the default alignment.
    fn padded(&self, text: String, align: char) -> String {
        let missing = self.width.saturating_sub(text.chars().count());
        let (fill, align) = (self.fill.unwrap_or(' '), self.align.unwrap_or(align));
        let before = match align {
            '<' => 0,
            '^' => missing / 2,
            _ => missing,
        };
        let fills = |count: usize| std::iter::repeat_n(fill, count).collect::<String>();
        fills(before) + &text + &fills(missing - before)
    }

    /// A bool or a character. Number flags have no effect on it, and its precision is a maximum
    /// length.
    pub(super) fn shown(&self, value: &(impl Display + Debug)) -> Option<String> {
        let text = match &*self.form {
            "" => value.to_string(),
            "?" | "x?" | "X?" => format!("{value:?}"),
            _ => return None,
        };
        let length = self.precision.filter(|_| self.form.is_empty()).unwrap_or(usize::MAX);
        Some(self.padded(text.chars().take(length).collect(), '<'))
    }

    pub(super) fn number(
        &self,
        value: &(impl Display + Debug + LowerHex + UpperHex + Octal + Binary + LowerExp + UpperExp),
    ) -> Option<String> {
        let text = match &*self.form {
            "" => combinations!(self, value, ""),
            "?" => combinations!(self, value, "?"),
            "x?" => combinations!(self, value, "x?"),
            "X?" => combinations!(self, value, "X?"),
            "x" => combinations!(self, value, "x"),
            "X" => combinations!(self, value, "X"),
            "o" => combinations!(self, value, "o"),
            "b" => combinations!(self, value, "b"),
            "e" => combinations!(self, value, "e"),
            _ => combinations!(self, value, "E"),
        };
        Some(self.padded(text, '>'))
    }

    pub(super) fn float(&self, value: &(impl Display + Debug + LowerExp + UpperExp)) -> Option<String> {
        let text = match &*self.form {
            "" => combinations!(self, value, ""),
            "?" => combinations!(self, value, "?"),
            "e" => combinations!(self, value, "e"),
            "E" => combinations!(self, value, "E"),
            _ => return None,
        };
        Some(self.padded(text, '>'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares each specification with the result of `format!`.
    macro_rules! as_by_format {
        ($value:expr, $variant:ident: $($spec:literal)*) => {$(
            let spec = Spec::parse($spec).expect($spec);
            let expected = format!(concat!("{:", $spec, "}"), $value);
            assert_eq!(Value::$variant($value).text(&spec).as_ref(), Some(&expected), $spec);
        )*};
    }

    #[test]
    fn values_are_formatted_as_by_std() {
        for value in [0, 7, -7, i32::MIN] {
            as_by_format!(value, I32: "" "?" "5" "<5" "^5" "*^7" "+" "+5" "05" "+06" "#x" "#010x" "X" "o" "#o" "b" "#b" "020b" "e" "E" ".2" "x?");
        }
        as_by_format!(u128::MAX, U128: "" "x" "#X" "45" "<45" "e");
        as_by_format!(-1_i8, I8: "x" "b" "o" "5");
        for value in [0.0, -0.0, 1.5, -2.25e-9, 1e30, f32::NAN, f32::INFINITY, 0.1] {
            as_by_format!(value, F32: "" "?" ".3" "10.3" "<10" "^+12.1" "012.2" "+" "e" ".2e" "E" "010" "#?" ".0");
        }
        as_by_format!(1.0 / 3.0, F64: "" "?" ".20" "30" "-^30.3");
        as_by_format!(true, Bool: "" "?" "6" ">6" "_^9" ".2");
        as_by_format!('ä', Char: "" "?" "3" ">3" "+3");
        let array = Value::Array(vec![Value::F32(1.0), Value::F32(2.5)]);
        assert_eq!(array.text(&Spec::parse("?").unwrap()).unwrap(), format!("{:?}", [1.0_f32, 2.5]));
        assert_eq!(array.text(&Spec::parse("6.2?").unwrap()).unwrap(), format!("{:6.2?}", [1.0_f32, 2.5]));
    }

    #[test]
    fn what_is_no_text_is_rejected() {
        for text in ["{", "}", "{}", "{x}", "{0", "{0:w$}", "{0:.*}", "{0:99999}", "{0:y}"] {
            assert_eq!(pieces(text), None, "{text}");
        }
        assert_eq!(Value::F32(1.0).text(&Spec::parse("x").unwrap()), None);
    }
}
