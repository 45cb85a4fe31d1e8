//! Loads and stores.

use std::rc::Rc;

use cuda_launch::trap::{Bounded, INDEX_OUT_OF_BOUNDS, Piece, TrapReason};

use super::value::{Length, Memory, Space, Value};
use super::{Emitter, bits_of};
use crate::limits::MAX_ARRAY_BYTES;
use crate::refusal::{Checked, Place};
use crate::tree::{Comparison, Expr};
use crate::types::Type;

/// The address of an element in a thread's own array.
pub(super) type ElementPlace = (String, u64);

/// The reason for a trap at an index out of bounds of this memory.
fn beyond(memory: &Memory) -> TrapReason {
    TrapReason::OutOfBounds(match memory.space {
        Space::Global { .. } => Bounded::Buffer,
        Space::Shared => Bounded::SharedArray,
    })
}

impl Emitter<'_> {
    /// Panics if an index is not below a length. The interpreter can find the index and the length
    /// in this comparison.
    pub(super) fn check_index(&mut self, index: &str, length: &Length, reason: TrapReason) {
        let index = self.in_register(index.to_owned(), &Type::USIZE);
        let length = match length {
            Length::Register(register) => register.clone(),
            Length::Number(number) => number.to_string(),
        };
        let is_beyond = self.compared(Comparison::GreaterOrEqual, &index, &length, &Type::USIZE);
        self.trap_if(&is_beyond, true, reason);
    }

    /// The address of an element with a checked index: one index, or row and column.
    pub(super) fn address(&mut self, memory: &Memory, index: &Value, element: &Type, place: Place) -> Checked<String> {
        let index = match index {
            Value::Parts(indices) if memory.columns > 0 => {
                let Length::Number(length) = memory.length else { return place.refused("this is no array of rows") };
                let indices: Vec<String> =
                    indices.iter().map(|index| self.scalar(index.clone(), &Type::USIZE)).collect();
                let [row, column] = &indices[..] else { return place.refused("an element has two indices") };
                let reason = beyond(memory);
                self.check_index(row, &Length::Number(length / memory.columns), reason.clone());
                self.check_index(column, &Length::Number(memory.columns), reason);
                let (row_start, index) = (self.wide(), self.wide());
                self.emit(format!("mul.lo.s64 \t{row_start}, {row}, {};", memory.columns));
                self.emit(format!("add.s64 \t{index}, {row_start}, {column};"));
                index
            }
            index => {
                let index = self.scalar(index.clone(), &Type::USIZE);
                self.check_index(&index, &memory.length, beyond(memory));
                index
            }
        };
        Ok(self.offset(&memory.base, &index, element.bytes().unwrap_or(4)))
    }

    /// The address `base` plus `index` elements, as an operand in brackets.
    fn offset(&mut self, base: &str, index: &str, bytes: u64) -> String {
        if let Ok(index) = index.parse::<u64>() {
            return format!("{base}+{}", index.wrapping_mul(bytes));
        }
        let offset = match bytes {
            1 => index.to_owned(),
            _ => {
                let offset = self.wide();
                self.emit(format!("shl.b64 \t{offset}, {index}, {};", bytes.trailing_zeros()));
                offset
            }
        };
        let address = self.wide();
        self.emit(format!("add.s64 \t{address}, {base}, {offset};"));
        address
    }

    pub(super) fn load(&mut self, memory: &Memory, address: &str, of: &Type) -> Value {
        let result = self.fresh(of);
        let cached = if matches!(memory.space, Space::Global { is_constant: true }) { ".nc" } else { "" };
        let space = memory.space.name();
        self.emit(format!("ld.{space}{cached}.{} \t{result}, [{address}];", bits_of(of)));
        Value::Scalar(result)
    }

    pub(super) fn store(&mut self, memory: &Memory, address: &str, value: Value, of: &Type) {
        let value = self.scalar(value, of);
        let value = self.in_register(value, of);
        self.emit(format!("st.{}.{} \t[{address}], {value};", memory.space.name(), stored_bits_of(of)));
    }

    /// Declares an array in shared memory.
    pub(super) fn shared_array(&mut self, of: &Type, place: Place) -> Checked<Value> {
        let lengths: Vec<u64> = of
            .parts()
            .iter()
            .skip(1)
            .filter_map(|part| if let Type::Length(length) = part { Some(*length) } else { None })
            .collect();
        let (length, columns) = match (of, &lengths[..]) {
            (Type::Shared(_), [length]) => (Some(*length), 0),
            (Type::Shared2d(_), [rows, columns]) => (rows.checked_mul(*columns), *columns),
            _ => (None, 0),
        };
        let bytes = length.zip(of.parts()[0].bytes()).and_then(|(length, bytes)| length.checked_mul(bytes));
        let (Some(length), Some(bytes)) = (length, bytes.filter(|bytes| *bytes <= MAX_ARRAY_BYTES)) else {
            return place.refused("this array is too large");
        };
        if columns == 0 && matches!(of, Type::Shared2d(_)) {
            return place.refused("an array of rows has columns");
        }
        self.at(place);
        let base = self.wide();
        self.emit(format!("mov.u64 \t{base}, __shared_{:04};", self.shared.len()));
        self.shared.push(bytes);
        Ok(Value::Memory(Rc::new(Memory { base, length: Length::Number(length), columns, space: Space::Shared })))
    }

    /// The launch's dynamic shared memory.
    pub(super) fn dynamic_shared(&mut self, element: &Type, place: Place) -> Value {
        self.at(place);
        self.has_dynamic = true;
        let (base, bytes, wide, length) = (self.wide(), self.fresh(&Type::U32), self.wide(), self.wide());
        self.emit(format!("mov.u64 \t{base}, __dynamic_shared;"));
        self.emit(format!("mov.u32 \t{bytes}, %dynamic_smem_size;"));
        self.emit(format!("cvt.u64.u32 \t{wide}, {bytes};"));
        self.emit(format!("shr.u64 \t{length}, {wide}, {};", element.bytes().unwrap_or(4).trailing_zeros()));
        let length = Length::Register(length);
        Value::Memory(Rc::new(Memory { base, length, columns: 0, space: Space::Shared }))
    }

    /// Size in bytes of a value in a thread's own memory.
    pub(super) fn bytes_of(of: &Type) -> Option<u64> {
        match of {
            Type::Array(parts) => match parts[1] {
                Type::Length(length) => Self::bytes_of(&parts[0])?.checked_mul(length),
                _ => None,
            },
            _ => of.bytes(),
        }
    }

    /// A thread's own array with uninitialized elements.
    pub(super) fn new_array(&mut self, of: &Type, place: Place) -> Checked<Value> {
        let Some(bytes) = Self::bytes_of(of).filter(|bytes| *bytes <= MAX_ARRAY_BYTES) else {
            return place.refused("arrays are of numbers here, and not too large");
        };
        let start = self.local_bytes;
        self.local_bytes += bytes.next_multiple_of(8);
        Ok(Value::Array("__local".to_owned(), start))
    }

    pub(super) fn array_of(&mut self, parts: &[Expr], of: &Type, place: Place) -> Checked<Value> {
        let Type::Array(of_parts) = of else { return place.refused("this is no array") };
        let values = self.values(parts)?;
        // An element's row and column need no memory.
        if of_parts[0] == Type::USIZE && parts.len() == 2 && self.is_index {
            return Ok(Value::Parts(values));
        }
        let array = self.new_array(of, place)?;
        if let (Value::Array(base, start), Some(bytes)) = (&array, Self::bytes_of(&of_parts[0])) {
            for (index, value) in values.into_iter().enumerate() {
                self.store_element((base.clone(), start + index as u64 * bytes), value, &of_parts[0], place)?;
            }
        }
        Ok(array)
    }

    pub(super) fn repeated(&mut self, element: &Expr, of: &Type, place: Place) -> Checked<Value> {
        let value = self.expression(element)?;
        let array = self.new_array(of, place)?;
        self.at(place);
        if let (Value::Array(base, start), Type::Array(parts)) = (&array, of)
            && let (Some(bytes), Type::Length(length)) = (Self::bytes_of(&parts[0]), &parts[1])
        {
            for index in 0..*length {
                self.count(place)?;
                self.store_element((base.clone(), start + index * bytes), value.clone(), &parts[0], place)?;
            }
        }
        Ok(array)
    }

    /// The place of an element with a checked index.
    pub(super) fn element(&mut self, base: &Expr, index: &Expr, place: Place) -> Checked<ElementPlace> {
        let of = self.type_of(base);
        let array = self.expression(base)?;
        let index = self.number(index)?;
        self.at(place);
        let (Value::Array(symbol, start), Type::Array(parts)) = (array, &of) else {
            return Ok(("__local".to_owned(), 0));
        };
        let (Some(bytes), Type::Length(length)) = (Self::bytes_of(&parts[0]), &parts[1]) else {
            return place.refused("the array's size is not known");
        };
        if let Ok(index) = index.parse::<u64>() {
            if index >= *length {
                return place.refused(format!("index {index} is outside of the array, which has {length} elements"));
            }
            return Ok((symbol, start + index * bytes));
        }
        let reason = TrapReason::Panic(vec![Piece::Text(INDEX_OUT_OF_BOUNDS.to_owned())]);
        self.check_index(&index, &Length::Number(*length), reason);
        let base = match symbol.starts_with('%') {
            true => symbol,
            false => {
                let base = self.wide();
                self.emit(format!("mov.u64 \t{base}, {symbol};"));
                base
            }
        };
        let (offset, address) = (self.wide(), self.wide());
        self.emit(format!("mul.lo.s64 \t{offset}, {index}, {bytes};"));
        self.emit(format!("add.s64 \t{address}, {base}, {offset};"));
        Ok((address, start))
    }

    pub(super) fn load_element(&mut self, (base, offset): ElementPlace, of: &Type) -> Value {
        match of {
            Type::Array(_) => Value::Array(base, offset),
            _ => {
                let result = self.put(of, format_args!("ld.local.{}", bits_of(of)), format_args!("[{base}+{offset}]"));
                Value::Scalar(result)
            }
        }
    }

    pub(super) fn store_element(
        &mut self,
        (base, offset): ElementPlace,
        value: Value,
        of: &Type,
        place: Place,
    ) -> Checked<()> {
        if let (Type::Array(_), Value::Array(from, from_offset)) = (of, &value) {
            return self.copy_array((&base, offset), (from, *from_offset), of, place);
        }
        if let Value::Nothing = value {
            return Ok(());
        }
        let scalar = self.scalar(value, of);
        let scalar = self.in_register(scalar, of);
        self.emit(format!("st.local.{} \t[{base}+{offset}], {scalar};", stored_bits_of(of)));
        Ok(())
    }

    pub(super) fn copy_array(
        &mut self,
        (to, to_offset): (&str, u64),
        (from, from_offset): (&str, u64),
        of: &Type,
        place: Place,
    ) -> Checked<()> {
        let Type::Array(parts) = of else { return Ok(()) };
        if let (Some(bytes), Type::Length(length)) = (Self::bytes_of(&parts[0]), &parts[1]) {
            for index in 0..*length {
                self.count(place)?;
                let value = self.load_element((from.to_owned(), from_offset + index * bytes), &parts[0]);
                self.store_element((to.to_owned(), to_offset + index * bytes), value, &parts[0], place)?;
            }
        }
        Ok(())
    }
}

/// The PTX type for storing a number.
fn stored_bits_of(of: &Type) -> &'static str {
    match bits_of(of) {
        "s8" | "u8" => "b8",
        "s16" | "u16" => "b16",
        bits => bits,
    }
}
