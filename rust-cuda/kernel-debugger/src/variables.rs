//! Rust variables and inlined functions in a stopped launch.

use std::num::NonZeroU32;

use kernel_launch::{
    Argument, ElementType, SharedVariable,
    debug_information::{Bytes, Variable, slice},
};
use ptx_interpreter::StoppedWarp;
use ptx_interpreter::memory::{from_generic, space_of};
use ptx_interpreter::semantics::LANES;
use ptx_interpreter::syntax::Space;

use crate::names::listed;
use crate::query::{Query, QueryError};
use crate::stopped::Stopped;

/// A Rust variable, or a part of one, in each lane of a warp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its name. The name of a part is an expression such as `x.rows` or `sums[2]`.
    pub name: String,
    /// Index of its type in the debug information.
    r#type: usize,
    lanes: Box<[Bytes; LANES]>,
}

/// A function active in a warp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFrame {
    /// Its index in the debug information; 0 for the kernel.
    pub index: usize,
    /// The function's name.
    pub function: String,
    /// File, line and column of its next instruction, or of its call to the inner function. `None`
    /// if unknown.
    pub place: Option<(String, u32, u32)>,
}

/// The error for an unknown field or element of a variable or of a part of one. `known` lists the
/// existing ones.
pub(crate) fn no_part(name: &str, part: &str, known: Vec<String>) -> QueryError {
    let known = match known.is_empty() {
        true => "it is a single value".to_owned(),
        false => format!("its parts are {}", listed(known.into_iter())),
    };
    QueryError::NoPart { name: name.to_owned(), part: part.to_owned(), known }
}

impl Stopped<'_> {
    /// The active functions of a warp's path, innermost first and the kernel last.
    pub fn frames(&self, pc: usize) -> Vec<CallFrame> {
        let information = self.lines.information();
        let source = self.lines.place(pc).source.as_ref().filter(|source| source.line > 0);
        let column = source.map_or(0, |source| source.column);
        let mut place = self.lines.source(pc).map(|(file, line)| (file.to_owned(), line, column));
        let mut frames = Vec::new();
        for index in information.with_callers(self.lines.frame(pc)) {
            let frame = information.frame(index);
            let next = Some(frame.call.clone()).filter(|(_, line, _)| *line > 0);
            frames.push(CallFrame {
                index,
                function: frame.function.clone(),
                place: std::mem::replace(&mut place, next),
            });
        }
        if !frames.is_empty() {
            return frames;
        }
        // PTX from other compilers names at most the outermost call.
        if let Some(call) = source.and_then(|source| source.inlined_at.as_deref()) {
            let call = Some((call.file.to_string(), call.line, call.column));
            let inner = std::mem::replace(&mut place, call);
            frames.push(CallFrame { index: 0, function: "inlined".to_owned(), place: inner });
        }
        frames.push(CallFrame { index: 0, function: self.launch.kernel().to_owned(), place });
        frames
    }

    /// The variables of a frame that are visible at the warp's position, in declaration order.
    pub fn variables(&self, warp: &StoppedWarp<'_>, frame: usize) -> Vec<Named> {
        self.variables_that(warp, frame, |_| true)
    }

    /// Like `variables`, restricted to wanted names.
    fn variables_that(&self, warp: &StoppedWarp<'_>, frame: usize, is_wanted: impl Fn(&str) -> bool) -> Vec<Named> {
        let Some(path) = self.path(warp) else { return Vec::new() };
        let (information, line) = (self.lines.information(), self.lines.place(path.pc).line);
        let named = |variable: &Variable| Named {
            name: variable.name.clone(),
            r#type: variable.r#type,
            lanes: Box::new(information.bytes(variable, line, |name| warp.register(name))),
        };
        let visible = information.variables(frame, line).into_iter();
        visible.filter(|variable| is_wanted(&variable.name)).map(named).collect()
    }

    /// The variable, or part of one, that an expression names, in a frame or the nearest of its
    /// callers. `None` if there is no such variable.
    pub(crate) fn variable(
        &self,
        query: &Query,
        warp: &StoppedWarp<'_>,
        frame: usize,
    ) -> Result<Option<Named>, QueryError> {
        let mut words = query.name.split('.');
        let name = words.next().unwrap_or_default();
        let frames = self.lines.information().with_callers(frame);
        let mut found = frames.flat_map(|frame| self.variables_that(warp, frame, |other| other == name));
        let Some(mut named) = found.next() else { return Ok(None) };
        let fields = words.map(str::to_owned);
        let indices = query.slices.iter().map(|slice| slice.to_string());
        for part in fields.chain(indices) {
            let parts = self.parts(&named);
            let known: Vec<String> = parts.iter().map(|(name, _)| name.clone()).collect();
            let found = parts.into_iter().find(|(name, _)| *name == part);
            named = found.ok_or_else(|| no_part(&named.name, &part, known))?.1;
        }
        Ok(Some(named))
    }

    /// Whether a name refers to a variable that accesses shared memory, in the frame or the nearest
    /// of its callers with such a variable.
    pub(crate) fn is_shared_memory(&self, name: &str, warp: &StoppedWarp<'_>, frame: usize) -> bool {
        let information = self.lines.information();
        let mut frames = information.with_callers(frame);
        let named = frames.find_map(|frame| self.variables_that(warp, frame, |other| other == name).pop());
        named.is_some_and(|named| information.is_shared_memory(named.r#type))
            && self.launch.shared().iter().any(|variable| variable.name == name)
    }

    /// The members of a structure or the elements of an array, with their names. Empty for other
    /// types.
    pub fn parts(&self, of: &Named) -> Vec<(String, Named)> {
        let information = self.lines.information();
        let part = |(name, offset, r#type): (String, usize, usize)| {
            let length = information.type_of(r#type).bytes;
            let lanes = std::array::from_fn(|lane| slice(&of.lanes[lane], offset, length).to_vec());
            let dot = if name.starts_with('[') { "" } else { "." };
            let whole = Named { name: format!("{}{dot}{name}", of.name), r#type, lanes: Box::new(lanes) };
            (name, whole)
        };
        information.parts(of.r#type).into_iter().map(part).collect()
    }

    /// Whether the compiler has removed a variable: no lane holds any of its bytes.
    pub(crate) fn is_removed(&self, named: &Named) -> bool {
        named.lanes.iter().flatten().all(Option::is_none)
    }

    /// The name of a variable's type in Rust.
    pub fn type_name(&self, of: &Named) -> &str {
        &self.lines.information().type_of(of.r#type).name
    }

    /// A variable's value in a lane as text.
    ///
    /// # Panics
    /// If `lane` is 32 or more.
    pub fn show(&self, named: &Named, lane: usize) -> String {
        let address = |address| self.place_name(space_of(address), from_generic(space_of(address), address), None);
        self.lines.information().show(named.r#type, &named.lanes[lane], &address)
    }

    /// A variable's bits in a lane with its type, if it is a number or a boolean. `None` otherwise,
    /// or if the compiler has removed it.
    pub(crate) fn number(&self, named: &Named, lane: usize) -> Option<(Option<ElementType>, u64)> {
        let of = self.lines.information().type_of(named.r#type);
        let bytes: Vec<u8> = named.lanes[lane].iter().copied().collect::<Option<_>>()?;
        let mut word = [0; 8];
        word.get_mut(..bytes.len())?.copy_from_slice(&bytes);
        (of.element().is_some() || of.is_bool()).then(|| (of.element(), u64::from_le_bytes(word)))
    }

    /// The element of a buffer or shared variable at an address of global or shared memory. A
    /// shared variable of unknown type has elements of the given size, or bytes.
    pub(crate) fn place_name(&self, space: Space, address: u64, element: Option<NonZeroU32>) -> Option<String> {
        let holds = |range: &ptx_interpreter::MemoryRange<'_>| {
            let offset = address.wrapping_sub(range.extent.start);
            (range.extent.space == space && offset < range.extent.bytes).then_some(offset as usize)
        };
        let buffer = self.launch.arguments().iter().find_map(|argument| {
            let Argument::Buffer { name, element, shape, address, .. } = argument else { return None };
            let range = self.block.global().find(|range| range.extent.start == *address)?;
            let index = holds(&range)? / element.bytes();
            Some(match shape[..] {
                [.., columns] if shape.len() > 1 => format!("{name}[{}][{}]", index / columns, index % columns),
                _ => format!("{name}[{index}]"),
            })
        });
        let mut shared = self.launch.shared().iter().zip(self.block.shared());
        let in_shared = |(variable, range): (&SharedVariable, _)| {
            let (name, offset) = (&variable.name, holds(&range)?);
            let known = variable.element.map(ElementType::bytes).or(element.map(|bytes| bytes.get() as usize));
            Some(known.map_or_else(|| format!("{name}, byte {offset}"), |bytes| format!("{name}[{}]", offset / bytes)))
        };
        buffer.or_else(|| shared.find_map(in_shared))
    }
}
