//! Conditions of breakpoints: `lane == 5 && block.x < 3`, `%r5 >= 2.5 || rows != 48`.

use std::cmp::Ordering;

use cuda_std::Dim3;
use ptx_interpreter::StoppedWarp;
use ptx_interpreter::semantics::LANES;
use thiserror::Error;

use crate::launch::ElementType;
use crate::query::{Query, QueryError};
use crate::stopped::Stopped;
use crate::values::Value;

/// A condition on a lane: comparisons, joined by `&&`, which binds tighter, and `||`.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// One alternative per element, all of whose comparisons must hold.
    alternatives: Vec<Vec<Comparison>>,
}

#[derive(Clone, Debug, PartialEq)]
struct Comparison {
    left: Operand,
    relation: Relation,
    right: Operand,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// All relations as they are written; none comes after its own prefix.
const RELATIONS: [(&str, Relation); 6] = [
    ("==", Relation::Equal),
    ("!=", Relation::Unequal),
    ("<=", Relation::AtMost),
    (">=", Relation::AtLeast),
    ("<", Relation::Less),
    (">", Relation::Greater),
];

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Number(Number),
    /// A lane's position, by its index in [`POSITIONS`].
    Position(usize),
    /// A register, an argument or an element of a memory.
    Query(Query),
}

/// A part of a lane's position.
type Position = fn(&Lane<'_>) -> u64;

/// Names of the parts of a lane's position.
const POSITIONS: [(&str, Position); 10] = [
    ("lane", |lane| lane.index as u64),
    ("warp", |lane| lane.warp.number().into()),
    ("block", |lane| lane.stopped.block.number().into()),
    ("thread", |lane| lane.thread()),
    ("block.x", |lane| lane.stopped.block.index().x.into()),
    ("block.y", |lane| lane.stopped.block.index().y.into()),
    ("block.z", |lane| lane.stopped.block.index().z.into()),
    ("thread.x", |lane| lane.thread_index().x.into()),
    ("thread.y", |lane| lane.thread_index().y.into()),
    ("thread.z", |lane| lane.thread_index().z.into()),
];

/// A lane of a stopped warp.
struct Lane<'s> {
    stopped: &'s Stopped<'s>,
    warp: &'s StoppedWarp<'s>,
    index: usize,
}

impl Lane<'_> {
    /// The thread's number in its block, where x varies fastest.
    fn thread(&self) -> u64 {
        u64::from(self.warp.number()) * LANES as u64 + self.index as u64
    }

    fn thread_index(&self) -> Dim3 {
        self.stopped.block.config().block.index_of(self.thread())
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Integer(i128),
    Float(f64),
    /// A register's bits and their number: PTX's registers have no types.
    Bits(u64, usize),
}

/// Why a condition cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ConditionError {
    /// It is not a condition.
    #[error("`{0}`: write comparisons, as in `lane == 5 && block.x < 3`, `%r5 >= 2.5` or `out[3][5] != 0`")]
    Syntax(String),
    /// An operand has no value.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The compiler has removed a variable where the condition is evaluated, or it is no number.
    #[error("`{0}` is no number here, or is optimised out")]
    Removed(String),
    /// An operand is no single number.
    #[error("`{0}` is not one number")]
    NoNumber(String),
}

impl std::str::FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        let alternative = |text: &str| text.split("&&").map(comparison).collect::<Option<_>>();
        let alternatives = text.split("||").map(alternative).collect::<Option<_>>();
        Ok(Self { alternatives: alternatives.ok_or_else(|| ConditionError::Syntax(text.to_owned()))? })
    }
}

fn comparison(text: &str) -> Option<Comparison> {
    let (left, rest) = text.split_at(text.find(['=', '!', '<', '>'])?);
    let (right, relation) =
        RELATIONS.into_iter().find_map(|(name, relation)| Some((rest.strip_prefix(name)?, relation)))?;
    Some(Comparison { left: operand(left)?, relation, right: operand(right)? })
}

fn operand(text: &str) -> Option<Operand> {
    let text = text.trim();
    if let Some(number) = number(text) {
        return Some(Operand::Number(number));
    }
    match POSITIONS.iter().position(|(name, _)| *name == text) {
        Some(position) => Some(Operand::Position(position)),
        None => text.parse().ok().map(Operand::Query),
    }
}

fn number(text: &str) -> Option<Number> {
    let integer = || text.parse().ok().map(Number::Integer);
    integer().or_else(|| text.parse().ok().map(Number::Float))
}

impl Operand {
    fn value(&self, lane: &Lane<'_>) -> Result<Option<Number>, ConditionError> {
        match self {
            Self::Number(number) => Ok(Some(*number)),
            Self::Position(index) => {
                let (_, position) = POSITIONS[*index];
                Ok(Some(Number::Integer(position(lane).into())))
            }
            Self::Query(query) => {
                let no_number = || ConditionError::NoNumber(query.name.clone());
                let text = match lane.stopped.evaluate(query, lane.warp, None)? {
                    Value::Variable(variable) => {
                        let removed = || ConditionError::Removed(query.name.clone());
                        let (element, bits) = lane.stopped.number(&variable, lane.index).ok_or_else(removed)?;
                        return Ok(Some(Number::of(element, bits)));
                    }
                    Value::Register(register) => {
                        return Ok(Some(Number::Bits(register.lanes[lane.index], register.bits)));
                    }
                    Value::Scalar(text) => Some(text),
                    Value::Matrix(matrix) => match <[_; 1]>::try_from(matrix.cells) {
                        Ok([Some(text)]) if matches!(matrix.element, ElementType::F32 | ElementType::F64) => {
                            return Ok(Some(Number::Float(text.parse().map_err(|_| no_number())?)));
                        }
                        Ok([cell]) => cell,
                        Err(_) => return Err(no_number()),
                    },
                };
                text.map(|text| number(&text).ok_or_else(no_number)).transpose()
            }
        }
    }
}

impl Number {
    /// A variable's value; one without an element's type is a truth value.
    fn of(element: Option<ElementType>, bits: u64) -> Self {
        match element {
            Some(ElementType::F32) => Self::Float(f32::from_bits(bits as u32).into()),
            Some(ElementType::F64) => Self::Float(f64::from_bits(bits)),
            Some(ElementType::I32) => Self::Integer((bits as u32).cast_signed().into()),
            Some(ElementType::I64) => Self::Integer(bits.cast_signed().into()),
            _ => Self::Integer(bits.into()),
        }
    }

    fn as_float(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Float(value) => value,
            Self::Bits(bits, 32) => f32::from_bits(bits as u32).into(),
            Self::Bits(bits, 64) => f64::from_bits(bits),
            Self::Bits(bits, _) => bits as f64,
        }
    }

    /// The integer. Bits are signed where they are compared with a negative number.
    fn as_integer(self, is_signed: bool) -> i128 {
        match self {
            Self::Integer(value) => value,
            Self::Float(value) => value as i128,
            Self::Bits(bits, 32) if is_signed => i128::from((bits as u32).cast_signed()),
            Self::Bits(bits, _) if is_signed => i128::from(bits.cast_signed()),
            Self::Bits(bits, _) => bits.into(),
        }
    }

    /// None if one of them is not a number.
    fn compare(self, other: Self) -> Option<Ordering> {
        if matches!(self, Self::Float(_)) || matches!(other, Self::Float(_)) {
            return self.as_float().partial_cmp(&other.as_float());
        }
        let is_negative = |number| matches!(number, Self::Integer(..=-1));
        let is_signed = is_negative(self) || is_negative(other);
        Some(self.as_integer(is_signed).cmp(&other.as_integer(is_signed)))
    }
}

impl Comparison {
    /// Whether it holds; an element that was never written fulfils no comparison.
    fn holds(&self, lane: &Lane<'_>) -> Result<bool, ConditionError> {
        let (Some(left), Some(right)) = (self.left.value(lane)?, self.right.value(lane)?) else { return Ok(false) };
        let order = left.compare(right);
        Ok(match self.relation {
            Relation::Equal => order == Some(Ordering::Equal),
            Relation::Unequal => order != Some(Ordering::Equal),
            Relation::Less => order == Some(Ordering::Less),
            Relation::AtMost => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Relation::Greater => order == Some(Ordering::Greater),
            Relation::AtLeast => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        })
    }
}

impl Condition {
    /// The first of the lanes at the instruction that fulfils the condition.
    ///
    /// # Errors
    /// If an operand has no value, or more than one.
    pub(crate) fn lane(&self, stopped: &Stopped<'_>) -> Result<Option<usize>, ConditionError> {
        let step = stopped.stop.step;
        let Some(warp) = stopped.block.warps().find(|warp| warp.number() == step.warp) else { return Ok(None) };
        for index in (0..LANES).filter(|index| step.path >> index & 1 == 1) {
            let lane = Lane { stopped, warp: &warp, index };
            for alternative in &self.alternatives {
                let mut all = true;
                for comparison in alternative {
                    all = all && comparison.holds(&lane)?;
                }
                if all {
                    return Ok(Some(index));
                }
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read() {
        for text in ["lane == 5", "lane==5&&block.x<3", "%r5 >= 2.5 || rows != -48", "out[3][5] > 1e-3", "3 <= warp"] {
            assert!(text.parse::<Condition>().is_ok(), "{text}");
        }
        let read: Condition = "lane <= 5 && x > 2 || 1 != 2".parse().unwrap();
        assert_eq!(read.alternatives.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(read.alternatives[0][0].relation, Relation::AtMost);
        for text in
            ["", "lane", "lane = 5", "lane ==", "== 5", "lane == 5 &&", "a == b == c", "x + 1 == 2", "|| lane < 1"]
        {
            assert_eq!(text.parse::<Condition>(), Err(ConditionError::Syntax(text.to_owned())), "{text}");
        }
    }

    #[test]
    fn bits_take_the_type_of_the_other_side() {
        use Number::{Bits, Float, Integer};
        use Ordering::{Equal, Greater, Less};
        let one_half = 0.5_f32.to_bits().into();
        assert_eq!(Bits(7, 32).compare(Integer(7)), Some(Equal));
        assert_eq!(Bits(one_half, 32).compare(Float(0.5)), Some(Equal));
        assert_eq!(Bits(0.5_f64.to_bits(), 64).compare(Float(0.75)), Some(Less));
        assert_eq!(Bits(u32::MAX.into(), 32).compare(Integer(-1)), Some(Equal));
        assert_eq!(Bits(u64::MAX, 64).compare(Integer(-1)), Some(Equal));
        assert_eq!(Bits(u32::MAX.into(), 32).compare(Integer(1)), Some(Greater));
        assert_eq!(Bits(1, 32).compare(Bits(2, 64)), Some(Less));
        assert_eq!(Integer(3).compare(Float(f64::NAN)), None);
    }
}
