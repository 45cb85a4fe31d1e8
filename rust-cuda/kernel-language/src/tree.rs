//! A function with resolved names and types.

use std::rc::Rc;

use crate::inference::Inference;
use crate::refusal::Place;
use crate::types::Type;

/// An expression.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) kind: Kind,
    pub(crate) r#type: Type,
    pub(crate) place: Place,
    /// Whether evaluating it may assign to a variable.
    pub(crate) assigns: bool,
}

impl Expr {
    pub(crate) fn new(kind: Kind, r#type: Type, place: Place) -> Self {
        let any = |parts: &[Self]| parts.iter().any(|part| part.assigns);
        let assigns = match &kind {
            Kind::Assign(..) | Kind::AssignBinary(..) | Kind::Loop(..) | Kind::For(..) => true,
            Kind::Reference(inner) => inner.assigns || matches!(r#type, Type::Reference(_, true)),
            Kind::Repeat(inner) | Kind::Field(inner, _) | Kind::Unary(_, inner) => inner.assigns,
            Kind::Cast(inner) | Kind::Dereference(inner) => inner.assigns,
            Kind::Element(left, right) | Kind::Binary(_, left, right) | Kind::Compare(_, left, right) => {
                left.assigns || right.assigns
            }
            Kind::And(left, right) | Kind::Or(left, right) => left.assigns || right.assigns,
            Kind::If(condition, then, otherwise) => {
                condition.assigns || then.assigns || otherwise.as_ref().is_some_and(|otherwise| otherwise.assigns)
            }
            Kind::Tuple(parts) | Kind::Array(parts) | Kind::Operation(_, parts) | Kind::Say(_, parts) => any(parts),
            Kind::Call(_, _, parts) | Kind::CallClosure(_, parts) => any(parts),
            Kind::Block(statements, tail) => {
                let parts = statements.iter().map(|(Statement::Let(_, part) | Statement::Expr(part))| part);
                parts.chain(tail.as_deref()).any(|part| part.assigns)
            }
            _ => false,
        };
        Self { kind, r#type, place, assigns }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Integer(i128),
    /// The digits of a float.
    Float(String),
    Bool(bool),
    /// A constant in the sources.
    Constant(usize),
    Local(usize),
    Tuple(Vec<Expr>),
    Array(Vec<Expr>),
    Repeat(Box<Expr>),
    Field(Box<Expr>, usize),
    /// An element of a thread's own array.
    Element(Box<Expr>, Box<Expr>),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    Compare(Comparison, Box<Expr>, Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Assign(Box<Expr>, Box<Expr>),
    AssignBinary(Binary, Box<Expr>, Box<Expr>),
    Cast(Box<Expr>),
    If(Box<Expr>, Box<Expr>, Option<Box<Expr>>),
    Block(Vec<Statement>, Option<Box<Expr>>),
    /// A loop, with its number.
    Loop(usize, Option<Box<Expr>>, Box<Expr>),
    For(usize, Box<Range>, Box<Expr>),
    Break(usize, Option<Box<Expr>>),
    Continue(usize),
    Return(Option<Box<Expr>>),
    Call(usize, Vec<Type>, Vec<Expr>),
    CallClosure(Box<Expr>, Vec<Expr>),
    Closure(usize),
    /// A value that also serves as a reference to itself.
    Reference(Box<Expr>),
    Dereference(Box<Expr>),
    /// A line to print or a panic, with its values.
    Say(Rc<Message>, Vec<Expr>),
    /// A function of the language, `core` or `cuda_std`.
    Operation(Operation, Vec<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Negate,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A message from a kernel.
#[derive(Debug)]
pub(crate) struct Message {
    /// Whether it stops the thread.
    pub(crate) panics: bool,
    /// The text, with numbered values.
    pub(crate) text: String,
}

/// The values of a `for` loop's variable.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    pub(crate) variable: Pattern,
    pub(crate) from: Expr,
    pub(crate) to: Expr,
    pub(crate) is_inclusive: bool,
    pub(crate) is_reversed: bool,
    pub(crate) step: Option<Expr>,
}

/// Functions that the emitter implements directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A special register.
    Register(&'static str),
    /// The thread's index in the grid along an axis.
    GridIndex(&'static str),
    Barrier,
    /// The grid-wide barrier. Its state is in global memory.
    GridBarrier,
    /// A barrier with a reduction: `popc`, `and`, `or`.
    BarrierVote(&'static str),
    Fence(&'static str),
    Shared,
    DynamicShared,
    Length,
    Get,
    Set,
    Atomic,
    /// An atomic operation, by its PTX name.
    Update(&'static str),
    AtomicLoad,
    AtomicStore,
    /// `compare_exchange(…).is_ok()`
    Exchange,
    /// The value inside a `None`, which does not exist.
    NoValue,
    /// An array with uninitialized elements.
    NewArray,
    Shuffle(&'static str),
    /// A reduction over all lanes: `add`, `min`, `max`, `and`, `or`, `xor`.
    Reduce(&'static str),
    /// The prefix sum over the lanes, including or excluding this lane's value.
    Scan(bool),
    /// A vote of the warp: `ballot`, `any`, `all`.
    Vote(&'static str),
    MatchAny,
    ActiveMask,
    SyncWarp,
    /// A numeric method.
    Number(&'static str),
    /// Indices along two or three axes.
    Indices(&'static str),
    /// A float's bits, or a float from its bits.
    Bits,
}

#[derive(Clone, Debug)]
pub(crate) enum Pattern {
    Ignore,
    Local(usize),
    Tuple(Vec<Pattern>),
}

#[derive(Clone, Debug)]
pub(crate) enum Statement {
    Let(Pattern, Expr),
    Expr(Expr),
}

/// A variable.
#[derive(Clone, Debug)]
pub(crate) struct Local {
    pub(crate) name: String,
    pub(crate) r#type: Type,
    pub(crate) is_mutable: bool,
    /// The place of its `let`; the line is 0 if it has none.
    pub(crate) place: Place,
    /// The number of closures around its declaration.
    pub(crate) closures: usize,
}

/// A closure. It is inlined at each call.
#[derive(Clone, Debug)]
pub(crate) struct Closure {
    pub(crate) parameters: Vec<Pattern>,
    pub(crate) types: Vec<Type>,
    pub(crate) result: Type,
    pub(crate) body: Option<Expr>,
    /// Whether it contains a `return`.
    pub(crate) returns: bool,
}

/// A function's body for specific types.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) parameters: Vec<Pattern>,
    pub(crate) types: Vec<Type>,
    pub(crate) result: Type,
    pub(crate) locals: Vec<Local>,
    pub(crate) closures: Vec<Closure>,
    pub(crate) expr: Expr,
    /// Whether it contains a `return`.
    pub(crate) returns: bool,
    pub(crate) inference: Inference,
}
