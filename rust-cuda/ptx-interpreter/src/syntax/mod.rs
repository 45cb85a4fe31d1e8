//! Parser: from the text of a PTX module to a syntax tree.

mod body;
mod debug;
mod error;
mod function;
mod initializer;
mod instruction;
mod link;
mod module;
mod number;
mod parser;
mod scalar_type;
mod token;
mod tree;
mod variable;

pub use error::SyntaxError;
pub use link::{LinkError, link};
pub use module::parse;
pub(crate) use module::parse_keeping_errors;
pub use parser::printable;
pub use scalar_type::ScalarType;
pub use tree::{
    Address, AddressBase, Element, Function, Guard, Immediate, Initializer, Instruction, Linkage, Location, Module,
    Operand, Performance, SourceFile, Space, Statement, Texel, Variable,
};
