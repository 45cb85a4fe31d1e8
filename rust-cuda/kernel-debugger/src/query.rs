//! Expressions that ask for values: `x[0..4][8..16]`, `shared0 as f32 32x33`, `%r5`.

use std::fmt;
use std::ops::Range;

use kernel_launch::ElementType;
use thiserror::Error;

/// An expression: a name and, for memory, how to view it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    pub(crate) name: String,
    pub(crate) element: Option<ElementType>,
    /// The extents, slowest-varying first.
    pub(crate) shape: Option<Vec<usize>>,
    pub(crate) slices: Vec<Slice>,
}

/// The indices of one dimension. `None` for a bound that is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    start: usize,
    end: Option<usize>,
}

impl Slice {
    /// A slice of one index. `None` if the index is negative or too large.
    pub(crate) fn of_index(index: i128) -> Option<Self> {
        let start = usize::try_from(index).ok()?;
        Some(Self { start, end: Some(start.checked_add(1)?) })
    }

    /// The index, if it is a single one.
    pub(crate) fn index(self) -> Option<usize> {
        (self.end == self.start.checked_add(1)).then_some(self.start)
    }

    /// The indices within a dimension of this extent.
    pub(crate) fn within(self, name: &str, extent: usize) -> Result<Range<usize>, QueryError> {
        let end = self.end.unwrap_or(extent);
        if self.start > end || end > extent {
            return Err(QueryError::OutOfBounds { name: name.to_owned(), slice: self.to_string(), extent });
        }
        Ok(self.start..end)
    }
}

impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.index(), self.end) {
            (Some(index), _) => write!(f, "[{index}]"),
            (None, Some(end)) => write!(f, "[{}..{end}]", self.start),
            (None, None) => write!(f, "[{}..]", self.start),
        }
    }
}

/// The reason why an expression has no value.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum QueryError {
    /// It is not an expression.
    #[error("`{0}`: write a name, as in `x`, `x[0..4][8..16]`, `x as 28x28`, `shared0 as f32 32x33` or `%r5`")]
    Syntax(String),
    /// The name is unknown.
    #[error("nothing is called `{name}`; there are {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// A variable that is visible only elsewhere.
    #[error("there is no variable `{name}` {place}; there is one at {lines}")]
    OutOfScope {
        /// The name.
        name: String,
        /// The place of the lookup.
        place: String,
        /// The source lines at which it has a value.
        lines: String,
    },
    /// A variable that the compiler has removed at this place.
    #[error("`{name}` is optimized out {place}: {way_out}")]
    Removed {
        /// The name.
        name: String,
        /// The place of the lookup.
        place: String,
        /// The places where it has a value, or an alternative if there are none.
        way_out: String,
    },
    /// A field or an element that a variable does not have.
    #[error("`{name}` has no part `{part}`: {known}")]
    NoPart {
        /// The variable, or the part of one.
        name: String,
        /// The field or the element.
        part: String,
        /// The fields or elements that exist.
        known: String,
    },
    /// A value or a register where memory is expected.
    #[error("`{name}` is not in memory: ask for it without a type, a shape and indices, or for an element of {known}")]
    NotMemory {
        /// The name.
        name: String,
        /// The names of the memories, or a note that there are none.
        known: String,
    },
    /// A slice beyond the end of its dimension.
    #[error("{name} has no {slice}: this dimension is 0..{extent}")]
    OutOfBounds {
        /// The name.
        name: String,
        /// The indices, in brackets.
        slice: String,
        /// Extent of the dimension.
        extent: usize,
    },
    /// A shape or type that needs more bytes than the memory has.
    #[error("{asked} elements of {element} need more than the {bytes} bytes of {name}")]
    TooLarge {
        /// The name.
        name: String,
        /// The number of elements that the shape has.
        asked: usize,
        /// Their type.
        element: &'static str,
        /// Size of the memory in bytes.
        bytes: u64,
    },
    /// Too many elements.
    #[error("more than {limit} elements; ask for a part of them, as in `x[0..100]`")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// More slices than dimensions.
    #[error("{slices} slices of the {dimensions} dimensions of {name}; give the shape, as in `{name} as 28x28`")]
    Dimensions {
        /// The name.
        name: String,
        /// Number of slices.
        slices: usize,
        /// Number of dimensions.
        dimensions: usize,
    },
}

impl Query {
    /// The expression with another name.
    pub(crate) fn renamed(&self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self.clone() }
    }

    /// The query for a name with indices.
    pub(crate) fn of_name(name: String, slices: Vec<Slice>) -> Self {
        Self { name, element: None, shape: None, slices }
    }
}

impl std::str::FromStr for Query {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Self, QueryError> {
        parse(text.trim()).ok_or_else(|| QueryError::Syntax(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<Query> {
    let is_name = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '%' | '$' | '.');
    let (name, mut rest) = text.split_at(text.find(|character| !is_name(character)).unwrap_or(text.len()));
    if name.is_empty() {
        return None;
    }
    let mut query = Query { name: name.to_owned(), element: None, shape: None, slices: Vec::new() };
    rest = rest.trim_start();
    if let Some(view) = rest.strip_prefix("as ") {
        let (view, slices) = view.split_at(view.find('[').unwrap_or(view.len()));
        rest = slices;
        for word in view.split_whitespace() {
            match ElementType::ALL.into_iter().find(|element| element.name() == word) {
                Some(element) if query.element.is_none() && query.shape.is_none() => query.element = Some(element),
                None if query.shape.is_none() => {
                    let extents = word.split(['x', '×']).map(|extent| extent.parse().ok());
                    query.shape = Some(extents.collect::<Option<_>>()?);
                }
                _ => return None,
            }
        }
        if query.element.is_none() && query.shape.is_none() {
            return None;
        }
    }
    while !rest.is_empty() {
        let (slice, after) = rest.strip_prefix('[')?.split_once(']')?;
        query.slices.push(parse_slice(slice)?);
        rest = after.trim_start();
    }
    Some(query)
}

fn parse_slice(text: &str) -> Option<Slice> {
    let number = |text: &str| text.trim().parse::<usize>().ok();
    match text.split_once("..") {
        None => {
            let index = number(text)?;
            Some(Slice { start: index, end: Some(index.checked_add(1)?) })
        }
        Some((start, end)) => Some(Slice {
            start: if start.trim().is_empty() { 0 } else { number(start)? },
            end: if end.trim().is_empty() { None } else { Some(number(end)?) },
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(start: usize, end: impl Into<Option<usize>>) -> Slice {
        Slice { start, end: end.into() }
    }

    #[test]
    fn expressions_are_read() {
        let query = |name: &str, element, shape: Option<&[usize]>, slices: &[Slice]| {
            Ok(Query { name: name.to_owned(), element, shape: shape.map(<[_]>::to_vec), slices: slices.to_vec() })
        };
        assert_eq!("x".parse(), query("x", None, None, &[]));
        assert_eq!(" %r5 ".parse(), query("%r5", None, None, &[]));
        assert_eq!("x[0..4][8..16]".parse(), query("x", None, None, &[slice(0, 4), slice(8, 16)]));
        assert_eq!("x[..][3] ".parse(), query("x", None, None, &[slice(0, None), slice(3, 4)]));
        assert_eq!("x as 28x28 [2..]".parse(), query("x", None, Some(&[28, 28]), &[slice(2, None)]));
        assert_eq!("s as f32".parse(), query("s", Some(ElementType::F32), None, &[]));
        assert_eq!("s as u8 2x3x4".parse(), query("s", Some(ElementType::U8), Some(&[2, 3, 4]), &[]));
    }

    #[test]
    fn other_text_is_refused() {
        for text in
            ["", "[3]", "x[", "x[a]", "x[1..b]", "x as ", "x as f32 f32", "x as 3y4", "x + y", "x[1]]", "x as 2x2 f32"]
        {
            assert_eq!(text.parse::<Query>(), Err(QueryError::Syntax(text.to_owned())), "{text}");
        }
        let error = |slice: Slice| slice.within("x", 4).unwrap_err().to_string();
        assert_eq!(error(slice(2, 5)), "x has no [2..5]: this dimension is 0..4");
        assert_eq!(error(slice(4, 5)), "x has no [4]: this dimension is 0..4");
        assert!(slice(3, 2).within("x", 4).is_err());
        assert_eq!(slice(2, None).within("x", 4), Ok(2..4));
    }
}
