//! Conditions of breakpoints, and other expressions over a lane's values: `lane == 5 && (block.x <
//! 3 || !found)`, `out[2 * i + 1] % 2 != 0`.

use std::cmp::Ordering;

use cuda_launch::{Dim3, LaunchConfig};
use kernel_launch::{Argument, ElementType, debug_information::RegisterKind};
use ptx_interpreter::StoppedWarp;
use ptx_interpreter::semantics::LANES;
use thiserror::Error;

use crate::expression::{Binary, Cast, Expression, Unary};
use crate::names::{Meaning, Scope};
use crate::query::{Query, QueryError, Slice};
use crate::register_kind::sign_extended;
use crate::stopped::Stopped;
use crate::values::{Register, Value, rows_and_columns};
use crate::variables::no_part;

/// A condition on a lane: a boolean expression in Rust's syntax.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition(Expression);

/// Returns one component of a lane's position.
type Position = fn(&Lane<'_>) -> u64;

/// Returns the minimum and maximum of a component in a launch.
type Bounds = fn(LaunchConfig) -> (u64, u64);

const LANE: Bounds = |config| (0, config.block.count().saturating_sub(1).min(LANES as u64 - 1));
const WARP: Bounds = |config| (0, config.block.count().saturating_sub(1) / LANES as u64);
const BLOCK: Bounds = |config| (0, config.grid.count().saturating_sub(1));
const THREAD: Bounds = |config| (0, config.block.count().saturating_sub(1));
const WARP_SIZE: Bounds = |_| (LANES as u64, LANES as u64);

const fn below(extent: u32) -> (u64, u64) {
    (0, extent.saturating_sub(1) as u64)
}

const fn exactly(extent: u32) -> (u64, u64) {
    (extent as u64, extent as u64)
}

/// Names of the components of a lane's position. Messages list the first ten.
const POSITIONS: [(&str, Position, Bounds); 28] = [
    ("lane", |lane| lane.index as u64, LANE),
    ("warp", |lane| lane.warp.number().into(), WARP),
    ("block", |lane| lane.stopped.block.number().into(), BLOCK),
    ("thread", |lane| lane.thread(), THREAD),
    ("block.x", |lane| lane.stopped.block.index().x.into(), |config| below(config.grid.x)),
    ("block.y", |lane| lane.stopped.block.index().y.into(), |config| below(config.grid.y)),
    ("block.z", |lane| lane.stopped.block.index().z.into(), |config| below(config.grid.z)),
    ("thread.x", |lane| lane.thread_index().x.into(), |config| below(config.block.x)),
    ("thread.y", |lane| lane.thread_index().y.into(), |config| below(config.block.y)),
    ("thread.z", |lane| lane.thread_index().z.into(), |config| below(config.block.z)),
    // CUDA's names.
    ("laneId", |lane| lane.index as u64, LANE),
    ("laneid", |lane| lane.index as u64, LANE),
    ("warpId", |lane| lane.warp.number().into(), WARP),
    ("warpid", |lane| lane.warp.number().into(), WARP),
    ("threadIdx.x", |lane| lane.thread_index().x.into(), |config| below(config.block.x)),
    ("threadIdx.y", |lane| lane.thread_index().y.into(), |config| below(config.block.y)),
    ("threadIdx.z", |lane| lane.thread_index().z.into(), |config| below(config.block.z)),
    ("blockIdx.x", |lane| lane.stopped.block.index().x.into(), |config| below(config.grid.x)),
    ("blockIdx.y", |lane| lane.stopped.block.index().y.into(), |config| below(config.grid.y)),
    ("blockIdx.z", |lane| lane.stopped.block.index().z.into(), |config| below(config.grid.z)),
    ("blockDim.x", |lane| lane.stopped.block.config().block.x.into(), |config| exactly(config.block.x)),
    ("blockDim.y", |lane| lane.stopped.block.config().block.y.into(), |config| exactly(config.block.y)),
    ("blockDim.z", |lane| lane.stopped.block.config().block.z.into(), |config| exactly(config.block.z)),
    ("gridDim.x", |lane| lane.stopped.block.config().grid.x.into(), |config| exactly(config.grid.x)),
    ("gridDim.y", |lane| lane.stopped.block.config().grid.y.into(), |config| exactly(config.grid.y)),
    ("gridDim.z", |lane| lane.stopped.block.config().grid.z.into(), |config| exactly(config.grid.z)),
    ("warpSize", |_| LANES as u64, WARP_SIZE),
    ("WARP_SZ", |_| LANES as u64, WARP_SIZE),
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

/// A value of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Integer(i128),
    Float(f64),
    Bool(bool),
}

/// The reason why a condition cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ConditionError {
    /// It is not a condition.
    #[error(
        "`{0}`: write a condition as in Rust, such as `lane == 5 && block.x < 3`, `%r5 >= 2.5` or `out[3][5] % 2 != 0`"
    )]
    Syntax(String),
    /// An operand has no value.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// An operand's name is unknown.
    #[error("nothing is called `{name}`; there are {known}, and the positions {}", positions())]
    Unknown {
        /// The name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// An operand is not a single value.
    #[error(
        "`{0}` is not one number: compare an element, a field or a register, as in `x[0][0] == 1`, `x.rows == 1` or `%r1 == 1`"
    )]
    NoNumber(String),
    /// No lane of the launch satisfies the condition.
    #[error("the condition never holds: {0}")]
    Never(String),
    /// An operator's operands have the wrong types.
    #[error("{0}")]
    Types(&'static str),
    /// The value is neither true nor false.
    #[error("a condition is true or false: compare the value, as in `… != 0`")]
    NotBool,
}

impl std::str::FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        let expression = Expression::parse(text).ok_or_else(|| ConditionError::Syntax(text.to_owned()))?;
        match expression {
            Expression::Integer(_) | Expression::Float(_) | Expression::Name(_) if !is_bool_name(&expression) => {
                Err(ConditionError::Syntax(text.to_owned()))
            }
            Expression::Cast(..) | Expression::Unary(Unary::Negate, _) => Err(ConditionError::NotBool),
            Expression::Binary(operator, _) if operator.is_arithmetic() => Err(ConditionError::NotBool),
            expression => Ok(Self(expression)),
        }
    }
}

/// Whether a name alone may be a boolean: any name except a position's.
fn is_bool_name(expression: &Expression) -> bool {
    matches!(expression, Expression::Name(name) if bounds_of(name).is_none())
}

/// The bounds of a component of a lane's position. `None` for other names.
fn bounds_of(name: &str) -> Option<Bounds> {
    POSITIONS.iter().find(|(position, ..)| *position == name).map(|(.., bounds)| *bounds)
}

/// The positions that messages list.
fn positions() -> String {
    POSITIONS.map(|(position, ..)| position)[..10].join(", ")
}

/// The value of an expression in a lane. `None` if it depends on an element that was never written.
///
/// # Errors
/// If an operand has no value, or a value of the wrong type.
fn value(expression: &Expression, lane: &Lane<'_>) -> Result<Option<Number>, ConditionError> {
    Ok(match expression {
        Expression::Integer(value) => Some(Number::Integer(*value)),
        Expression::Float(value) => Some(Number::Float(*value)),
        Expression::Bool(value) => Some(Number::Bool(*value)),
        Expression::Name(name) => match POSITIONS.iter().find(|(position, ..)| position == name) {
            Some((_, position, _)) => Some(Number::Integer(position(lane).into())),
            None => lane.ask(&Query::of_name(name.clone(), Vec::new()))?,
        },
        Expression::View(query) => lane.ask(query)?,
        Expression::Element(name, indices) => {
            let mut slices = Vec::new();
            for index in indices {
                match value(index, lane)? {
                    None => return Ok(None),
                    Some(Number::Integer(index)) => slices.push(
                        Slice::of_index(index).ok_or_else(|| ConditionError::NoNumber(format!("{name}[{index}]")))?,
                    ),
                    Some(_) => return Err(ConditionError::Types("an index is an integer")),
                }
            }
            lane.ask(&Query::of_name(name.clone(), slices))?
        }
        Expression::Unary(operator, inner) => {
            let Some(inner) = value(inner, lane)? else { return Ok(None) };
            Some(match (operator, inner) {
                (Unary::Negate, Number::Integer(value)) => Number::Integer(value.wrapping_neg()),
                (Unary::Negate, Number::Float(value)) => Number::Float(-value),
                (Unary::Not, Number::Bool(value)) => Number::Bool(!value),
                (Unary::Not, Number::Integer(value)) => Number::Integer(!value),
                (Unary::Negate, Number::Bool(_)) => return Err(ConditionError::Types("a truth value has no sign")),
                (Unary::Not, Number::Float(_)) => {
                    return Err(ConditionError::Types("`!` is of truth values and integers"));
                }
            })
        }
        Expression::Binary(operator @ (Binary::And | Binary::Or), sides) => {
            let is_or = *operator == Binary::Or;
            // As in Rust, the right side is not evaluated if the left one decides. A never-written
            // element decides nothing.
            match value(&sides[0], lane)?.map(Number::as_bool).transpose()? {
                Some(left) if left == is_or => Some(Number::Bool(is_or)),
                left => {
                    let right = value(&sides[1], lane)?.map(Number::as_bool).transpose()?;
                    right.map(|right| Number::Bool(right && (is_or || left.is_some())))
                }
            }
        }
        Expression::Binary(operator, sides) => {
            let [left, right] = &**sides;
            let (Some(left), Some(right)) = (value(left, lane)?, value(right, lane)?) else { return Ok(None) };
            Some(computed(*operator, left, right)?)
        }
        Expression::Cast(inner, cast) => value(inner, lane)?.map(|inner| inner.cast(*cast)),
    })
}

/// Checks that the operands of an expression exist and are numbers.
fn check(expression: &Expression, scope: &Scope<'_>) -> Result<(), ConditionError> {
    match expression {
        Expression::Integer(_) | Expression::Float(_) | Expression::Bool(_) => Ok(()),
        Expression::Name(name) if bounds_of(name).is_some() => Ok(()),
        Expression::Name(name) => check_operand(&Query::of_name(name.clone(), Vec::new()), 0, scope),
        Expression::View(query) => check_operand(query, query.slices.len(), scope),
        Expression::Element(name, indices) => {
            indices.iter().try_for_each(|index| check(index, scope))?;
            let slice = |index: &Expression| match index {
                Expression::Integer(index) => Slice::of_index(*index),
                _ => None,
            };
            // Indices before a computed one have no meaning without it.
            let slices: Vec<Slice> = indices.iter().map(slice).collect::<Option<_>>().unwrap_or_default();
            check_operand(&Query::of_name(name.clone(), slices), indices.len(), scope)
        }
        Expression::Unary(_, inner) | Expression::Cast(inner, _) => check(inner, scope),
        Expression::Binary(_, sides) => sides.iter().try_for_each(|side| check(side, scope)),
    }
}

/// Checks an operand with `indices` indices; `query` holds the constant ones.
fn check_operand(query: &Query, indices: usize, scope: &Scope<'_>) -> Result<(), ConditionError> {
    let no_number = || ConditionError::NoNumber(query.name.clone());
    let meaning = scope.find(&query.name).map_err(|error| match error {
        QueryError::Unknown { name, known } => ConditionError::Unknown { name, known },
        other => other.into(),
    })?;
    match meaning {
        Meaning::Argument(Argument::Buffer { shape, .. }) if query.slices.len() == indices => {
            let shape = query.shape.as_ref().unwrap_or(shape);
            let (_, rows, columns) = rows_and_columns(query, shape)?;
            if (rows.len(), columns.len()) == (1, 1) { Ok(()) } else { Err(no_number()) }
        }
        Meaning::Variable(variable) => {
            let information = scope.lines().information();
            let (mut r#type, mut name) = (variable.r#type, variable.name.clone());
            let fields = query.name.split('.').skip(1).map(|field| (format!(".{field}"), field.to_owned()));
            let elements = query.slices.iter().map(|slice| (slice.to_string(), slice.to_string()));
            for (shown, part) in fields.chain(elements) {
                let parts = information.parts(r#type);
                let known: Vec<String> = parts.iter().map(|(name, ..)| name.clone()).collect();
                let found = parts.into_iter().find(|(name, ..)| *name == part);
                r#type = found.ok_or_else(|| no_part(&name, &part, known))?.2;
                name.push_str(&shown);
            }
            let of = information.type_of(r#type);
            let is_number = of.element().is_some() || of.is_bool() || query.slices.len() < indices;
            if is_number { Ok(()) } else { Err(no_number()) }
        }
        Meaning::Shared if indices == 0 => Err(no_number()),
        Meaning::Argument(Argument::Structure { .. }) => Err(no_number()),
        Meaning::Register | Meaning::Argument(Argument::Value { .. }) if indices > 0 => Err(no_number()),
        Meaning::Argument(_) | Meaning::Register | Meaning::Shared => Ok(()),
    }
}

/// The reason why no lane of a launch satisfies a condition: it compares a position with a number
/// that no lane has. `None` if some lane may satisfy it.
fn never(expression: &Expression, config: LaunchConfig) -> Option<String> {
    let Expression::Binary(operator, sides) = expression else { return None };
    match (operator, &**sides) {
        (Binary::And, [left, right]) => never(left, config).or_else(|| never(right, config)),
        (Binary::Or, [left, right]) => never(left, config).filter(|_| never(right, config).is_some()),
        (_, [Expression::Name(name), Expression::Integer(number)]) => out_of_bounds(name, *operator, *number, config),
        (_, [Expression::Integer(number), Expression::Name(name)]) => {
            out_of_bounds(name, operator.mirrored(), *number, config)
        }
        _ => None,
    }
}

/// The reason why `name relation number` never holds in a launch. `None` if it holds in some lane,
/// or if the name is not a position.
fn out_of_bounds(name: &str, relation: Binary, number: i128, config: LaunchConfig) -> Option<String> {
    let (least, greatest) = bounds_of(name)?(config);
    let holds = match relation {
        Binary::Equal => (least.into()..=greatest.into()).contains(&number),
        Binary::Unequal => least != greatest || number != least.into(),
        Binary::Less => i128::from(least) < number,
        Binary::AtMost => i128::from(least) <= number,
        Binary::Greater => i128::from(greatest) > number,
        Binary::AtLeast => i128::from(greatest) >= number,
        _ => true,
    };
    let range = if least == greatest { least.to_string() } else { format!("{least} to {greatest}") };
    (!holds).then(|| format!("{name} is {range} in this launch"))
}

fn computed(operator: Binary, left: Number, right: Number) -> Result<Number, ConditionError> {
    if operator.compares() {
        return Ok(Number::Bool(left.is_related(operator, right)?));
    }
    match (left, right) {
        (Number::Integer(a), Number::Integer(b)) => {
            let shift = || u32::try_from(b).ok().filter(|shift| *shift < 128);
            let result = match operator {
                Binary::BitOr => Some(a | b),
                Binary::BitXor => Some(a ^ b),
                Binary::BitAnd => Some(a & b),
                Binary::ShiftLeft => shift().and_then(|shift| a.checked_shl(shift)),
                Binary::ShiftRight => shift().and_then(|shift| a.checked_shr(shift)),
                Binary::Add => a.checked_add(b),
                Binary::Subtract => a.checked_sub(b),
                Binary::Multiply => a.checked_mul(b),
                Binary::Divide => a.checked_div(b),
                _ => a.checked_rem(b),
            };
            result
                .map(Number::Integer)
                .ok_or(ConditionError::Types("a division by zero, or a result of more than 128 bits"))
        }
        (Number::Bool(a), Number::Bool(b)) => match operator {
            Binary::BitOr => Ok(Number::Bool(a | b)),
            Binary::BitXor => Ok(Number::Bool(a ^ b)),
            Binary::BitAnd => Ok(Number::Bool(a & b)),
            _ => Err(ConditionError::Types("truth values are not added")),
        },
        (Number::Bool(_), _) | (_, Number::Bool(_)) => {
            Err(ConditionError::Types("a truth value and a number: compare the number first"))
        }
        _ => {
            let [a, b] = [left, right].map(Number::as_float);
            Ok(Number::Float(match operator {
                Binary::Add => a + b,
                Binary::Subtract => a - b,
                Binary::Multiply => a * b,
                Binary::Divide => a / b,
                Binary::Remainder => a % b,
                _ => return Err(ConditionError::Types("bits are of integers")),
            }))
        }
    }
}

impl Lane<'_> {
    /// The value of a register, a variable, an argument or an element. `None` if it was never
    /// written.
    fn ask(&self, query: &Query) -> Result<Option<Number>, ConditionError> {
        let no_number = || ConditionError::NoNumber(query.name.clone());
        let number = |text: &str| {
            let integer = || text.parse().ok().map(Number::Integer);
            integer().or_else(|| text.parse().ok().map(Number::Float)).or_else(|| text.parse().ok().map(Number::Bool))
        };
        let text = match self.stopped.evaluate(query, self.warp, None)? {
            Value::Variable(variable) => {
                if self.stopped.is_removed(&variable) {
                    return Err(self.stopped.scope(self.warp, None).removed(&query.name).into());
                }
                let of = self.stopped.number(&variable, self.index).ok_or_else(no_number)?;
                return Ok(Some(Number::of(of)));
            }
            Value::Register(register) => {
                return Ok(Some(Number::of_register(&register, self.index)));
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

impl Number {
    /// A variable's value. Without an element type it is a boolean.
    fn of((element, bits): (Option<ElementType>, u64)) -> Self {
        match element {
            None => Self::Bool(bits != 0),
            Some(ElementType::F32) => Self::Float(f32::from_bits(bits as u32).into()),
            Some(ElementType::F64) => Self::Float(f64::from_bits(bits)),
            Some(ElementType::I32) => Self::Integer((bits as u32).cast_signed().into()),
            Some(ElementType::I64) => Self::Integer(bits.cast_signed().into()),
            Some(_) => Self::Integer(bits.into()),
        }
    }

    /// A register's value in a lane, as an integer if its type is unknown.
    fn of_register(register: &Register, lane: usize) -> Self {
        let (bits, width) = (register.lanes[lane], register.bits as u32);
        match (register.kind.unwrap_or(RegisterKind::Signed), width) {
            (_, 1) => Self::Bool(bits & 1 == 1),
            (RegisterKind::Bool, _) => Self::Bool(bits != 0),
            (RegisterKind::Float, 32) => Self::Float(f32::from_bits(bits as u32).into()),
            (RegisterKind::Float, 64) => Self::Float(f64::from_bits(bits)),
            (RegisterKind::Signed, _) => Self::Integer(sign_extended(bits, width).into()),
            _ => Self::Integer(bits.into()),
        }
    }

    fn as_float(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Float(value) => value,
            Self::Bool(value) => value.into(),
        }
    }

    fn as_bool(self) -> Result<bool, ConditionError> {
        match self {
            Self::Bool(value) => Ok(value),
            Self::Integer(_) | Self::Float(_) => Err(ConditionError::NotBool),
        }
    }

    /// Converts like Rust's `as`.
    fn cast(self, cast: Cast) -> Self {
        match (cast, self) {
            (Cast::F32, number) => Self::Float((number.as_float() as f32).into()),
            (Cast::F64, number) => Self::Float(number.as_float()),
            (Cast::Integer { bits, is_signed }, Self::Float(value)) => {
                let (min, max) =
                    if is_signed { (-1_i128 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
                Self::Integer((value as i128).clamp(min, max))
            }
            (Cast::Integer { bits, is_signed }, number) => {
                let value = match number {
                    Self::Integer(value) => value,
                    other => i128::from(other == Self::Bool(true)),
                };
                let low = value << (128 - bits);
                Self::Integer(if is_signed { low >> (128 - bits) } else { ((low as u128) >> (128 - bits)) as i128 })
            }
        }
    }

    fn is_related(self, relation: Binary, other: Self) -> Result<bool, ConditionError> {
        let order = match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => Some(a.cmp(&b)),
            (Self::Bool(a), Self::Bool(b)) => Some(a.cmp(&b)),
            // A boolean compared with 0 or 1.
            (Self::Bool(a), Self::Integer(b)) => Some(i128::from(a).cmp(&b)),
            (Self::Integer(a), Self::Bool(b)) => Some(a.cmp(&i128::from(b))),
            (Self::Bool(_), Self::Float(_)) | (Self::Float(_), Self::Bool(_)) => {
                return Err(ConditionError::Types("a truth value is compared with `true` or `false`"));
            }
            _ => self.as_float().partial_cmp(&other.as_float()),
        };
        Ok(match relation {
            Binary::Equal => order == Some(Ordering::Equal),
            Binary::Unequal => order != Some(Ordering::Equal),
            Binary::Less => order == Some(Ordering::Less),
            Binary::AtMost => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Binary::Greater => order == Some(Ordering::Greater),
            _ => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        })
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Integer(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Bool(value) => write!(f, "{value}"),
        }
    }
}

impl Condition {
    /// Checks a condition before the launch reaches it: its operands must exist at one of the
    /// place's instructions, and the condition must be able to hold. Computed indices and values
    /// are checked on evaluation.
    ///
    /// # Errors
    /// If an operand has no value there, or no lane of the launch has the position.
    pub(crate) fn check(&self, scope: &Scope<'_>) -> Result<(), ConditionError> {
        check(&self.0, scope)?;
        never(&self.0, scope.launch().config()).map_or(Ok(()), |reason| Err(ConditionError::Never(reason)))
    }

    /// The first lane at the instruction that satisfies the condition. A condition that depends on
    /// a never-written element does not hold.
    ///
    /// # Errors
    /// If an operand has no value, or more than one.
    pub(crate) fn lane(&self, stopped: &Stopped<'_>) -> Result<Option<usize>, ConditionError> {
        let step = stopped.stop.step;
        let Some(warp) = stopped.block.warps().find(|warp| warp.number() == step.warp) else { return Ok(None) };
        for index in (0..LANES).filter(|index| step.path >> index & 1 == 1) {
            let lane = Lane { stopped, warp: &warp, index };
            if value(&self.0, &lane)?.map(Number::as_bool).transpose()? == Some(true) {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }
}

/// The values of an expression in each of a warp's lanes, as text. `None` for a lane without a
/// value.
///
/// # Errors
/// If it is not an expression, or has no value in any lane.
#[cfg(feature = "fronts")]
pub(crate) fn in_all_lanes(
    text: &str,
    stopped: &Stopped<'_>,
    warp: &StoppedWarp<'_>,
) -> Result<Vec<Option<String>>, ConditionError> {
    let expression = Expression::parse(text).ok_or_else(|| ConditionError::Syntax(text.to_owned()))?;
    let mut error = None;
    let values: Vec<Option<String>> = (0..LANES)
        .map(|index| match value(&expression, &Lane { stopped, warp, index }) {
            Ok(value) => value.map(|value| value.to_string()),
            Err(found) => {
                error.get_or_insert(found);
                None
            }
        })
        .collect();
    match error {
        Some(error) if values.iter().all(Option::is_none) => Err(error),
        _ => Ok(values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read() {
        for text in [
            "lane == 5",
            "lane==5&&block.x<3",
            "%r5 >= 2.5 || rows != -48",
            "out[3][5] > 1e-3",
            "3 <= warp",
            "found",
            "!found",
            "%p1",
        ] {
            assert!(text.parse::<Condition>().is_ok(), "{text}");
        }
        for text in ["", "lane", "5", "2.5", "lane = 5", "lane ==", "a == b == c", "|| lane < 1"] {
            assert_eq!(text.parse::<Condition>(), Err(ConditionError::Syntax(text.to_owned())), "{text}");
        }
        for text in ["lane + 1", "-lane", "lane as f32", "x[0] * 2", "1 << lane"] {
            assert_eq!(text.parse::<Condition>(), Err(ConditionError::NotBool), "{text}");
        }
    }

    #[test]
    fn positions_that_no_lane_has_are_found() {
        // 6 blocks of 250 threads.
        let config = LaunchConfig::new((3, 2), (50, 5));
        let reason = |text: &str| never(&text.parse::<Condition>().unwrap().0, config);
        for (text, expected) in [
            ("lane == 32", "lane is 0 to 31 in this launch"),
            ("warp >= 8", "warp is 0 to 7 in this launch"),
            ("6 == block", "block is 0 to 5 in this launch"),
            ("250 <= thread", "thread is 0 to 249 in this launch"),
            ("threadIdx.x == 50 && lane == 3", "threadIdx.x is 0 to 49 in this launch"),
            ("lane == 3 && blockIdx.y > 1", "blockIdx.y is 0 to 1 in this launch"),
            ("block.x == 3 || block.y == 2", "block.x is 0 to 2 in this launch"),
            ("blockDim.y != 5", "blockDim.y is 5 in this launch"),
            ("lane < 0", "lane is 0 to 31 in this launch"),
        ] {
            assert_eq!(reason(text).as_deref(), Some(expected), "{text}");
        }
        for text in
            ["lane == 31", "thread > 248", "block.x == 3 || lane == 1", "!(lane == 32)", "!(5 < block)", "x == 99"]
        {
            assert_eq!(reason(text), None, "{text}");
        }
    }

    #[test]
    fn a_register_is_a_number_of_its_kind() {
        let number = |kind, bits, value| {
            let register = Register { name: "%r1".to_owned(), lanes: [value; LANES], bits, kind };
            Number::of_register(&register, 3)
        };
        assert_eq!(number(None, 32, 0xffff_fffd), Number::Integer(-3));
        assert_eq!(number(Some(RegisterKind::Signed), 16, 0xfffd), Number::Integer(-3));
        assert_eq!(number(Some(RegisterKind::Unsigned), 32, 0xffff_fffd), Number::Integer(0xffff_fffd));
        assert_eq!(number(Some(RegisterKind::Float), 32, (-0.75_f32).to_bits().into()), Number::Float(-0.75));
        assert_eq!(number(None, 1, 1), Number::Bool(true));
        assert_eq!(number(Some(RegisterKind::Bool), 16, 1), Number::Bool(true));
    }

    #[test]
    fn numbers_are_computed_as_in_rust() {
        use Number::{Bool, Float, Integer};
        let cast = |bits, is_signed| Cast::Integer { bits, is_signed };
        assert_eq!(computed(Binary::Remainder, Integer(-7), Integer(3)), Ok(Integer(-1)));
        assert_eq!(computed(Binary::Divide, Float(1.0), Integer(4)), Ok(Float(0.25)));
        assert!(computed(Binary::Divide, Integer(1), Integer(0)).is_err());
        assert!(computed(Binary::Add, Bool(true), Integer(1)).is_err());
        assert_eq!(computed(Binary::BitXor, Bool(true), Bool(true)), Ok(Bool(false)));
        assert_eq!(Integer(-1).cast(cast(8, false)), Integer(255));
        assert_eq!(Integer(200).cast(cast(8, true)), Integer(-56));
        assert_eq!(Float(-3.7).cast(cast(32, true)), Integer(-3));
        assert_eq!(Float(1e30).cast(cast(16, false)), Integer(65_535));
        assert_eq!(Float(f64::NAN).cast(cast(32, true)), Integer(0));
        assert_eq!(Integer(3).is_related(Binary::Less, Float(f64::NAN)), Ok(false));
        assert_eq!(Integer(3).is_related(Binary::Unequal, Float(f64::NAN)), Ok(true));
        assert_eq!(Bool(true).is_related(Binary::Equal, Integer(1)), Ok(true));
    }
}
