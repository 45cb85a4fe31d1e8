//! Writes records for kernel messages to the buffer of `cuda_launch::message`.

use cuda_launch::message::{BUFFER, MessageKind, declaration};
use cuda_launch::trap::{Piece, TrapReason};

use super::value::Value;
use super::{Emitter, width_of};
use crate::refusal::{Checked, Place};
use crate::tree::{Comparison, Expr, Message};
use crate::types::{Float, Integer, Type};

/// Words before the first record, and words in a record before its values.
const FIRST: usize = 2;
const HEADER_WORDS: usize = 10;

impl Emitter<'_> {
    /// Writes a record with the values. If the message is a panic, stops the thread.
    pub(super) fn say(&mut self, message: &Message, values: &[Expr], place: Place) -> Checked<Value> {
        let types: Vec<Type> = values.iter().map(|value| self.type_of(value)).collect();
        let found = self.values(values)?;
        let mut words = Vec::new();
        self.at(place);
        for (value, of) in found.into_iter().zip(&types) {
            self.add_words(value, of, &mut words, place)?;
        }
        // A text without values is in the trap's comment.
        if !message.panics || !values.is_empty() {
            self.record(message, &words);
        }
        if !message.panics {
            return Ok(Value::Parts(Vec::new()));
        }
        let text = message.text.replace("{{", "{").replace("}}", "}");
        self.emit(format!("trap; exit; {}", TrapReason::Panic(vec![Piece::Text(text)]).comment()));
        self.is_dead = true;
        Ok(Value::Nothing)
    }

    /// The words of a value: its type code, followed by its bits or its elements.
    fn add_words(&mut self, value: Value, of: &Type, words: &mut Vec<String>, place: Place) -> Checked<()> {
        if let (Type::Array(parts), Value::Array(base, start)) = (of, &value)
            && let (Type::Length(length), Some(bytes)) = (&parts[1], Self::bytes_of(&parts[0]))
        {
            words.push((length << 8 | u64::from(b'a')).to_string());
            for index in 0..*length {
                self.count(place)?;
                let element = self.load_element((base.clone(), start + index * bytes), &parts[0]);
                self.add_words(element, &parts[0], words, place)?;
            }
            return Ok(());
        }
        let value = self.scalar(value, of);
        let value = self.in_register(value, of);
        let code = match of {
            Type::Bool => b'B',
            Type::Float(Float::F32) => b'f',
            Type::Float(Float::F64) => b'd',
            Type::Integer(Integer::U8) => b'b',
            Type::Integer(Integer::U16) => b'h',
            Type::Integer(Integer::U32) => b'u',
            Type::Integer(Integer::U64 | Integer::Usize) => b'U',
            Type::Integer(Integer::I8) => b'c',
            Type::Integer(Integer::I16) => b'j',
            Type::Integer(Integer::I32) => b'i',
            Type::Integer(Integer::I64 | Integer::Isize) => b'I',
            _ => return place.refused("a kernel prints numbers and bools here"),
        };
        words.push(code.to_string());
        if *of == Type::Bool {
            words.push(self.put(&Type::U32, "selp.b32", format_args!("1, 0, {value}")));
        } else if width_of(of) == 64 {
            let [low, high] = [(); 2].map(|()| self.fresh(&Type::U32));
            self.emit(format!("mov.b64 \t{{{low}, {high}}}, {value};"));
            words.extend([low, high]);
        } else {
            words.push(value);
        }
        Ok(())
    }

    /// Reserves a record and writes it. Writes nothing if there is no buffer or no room in it.
    fn record(&mut self, message: &Message, words: &[String]) {
        let number = self.messages.len() as u64 + 1;
        let Place { file, line, .. } = self.place;
        let kind = if message.panics { MessageKind::Panic } else { MessageKind::Print };
        self.messages.push(declaration(number, kind, &self.program.files[file], line, &message.text));
        let end = self.label();
        let buffer = self.put(&Type::USIZE, "ld.global.u64", format_args!("[{BUFFER}]"));
        let is_none = self.compared(Comparison::Equal, &buffer, "0", &Type::USIZE);
        self.jump_if(&is_none, true, end);
        let count = HEADER_WORDS + words.len();
        let reserved = self.put(&Type::U32, "atom.global.add.u32", format_args!("[{buffer}], {count}"));
        let capacity = self.put(&Type::U32, "ld.volatile.global.u32", format_args!("[{buffer}+4]"));
        let is_small = self.compared(Comparison::Less, &capacity, &(FIRST + count).to_string(), &Type::U32);
        self.jump_if(&is_small, true, end);
        let room = self.put(&Type::U32, "sub.s32", format_args!("{capacity}, {}", FIRST + count));
        let is_full = self.compared(Comparison::Greater, &reserved, &room, &Type::U32);
        self.jump_if(&is_full, true, end);
        let offset = self.put(&Type::USIZE, "mul.wide.u32", format_args!("{reserved}, 4"));
        let start = self.put(&Type::USIZE, "add.s64", format_args!("{buffer}, {offset}"));
        let mut record = vec![count.to_string(), "0".to_owned(), number.to_string(), "0".to_owned()];
        for register in ["%ctaid", "%tid"] {
            record.extend(["x", "y", "z"].map(|axis| self.special(&format!("{register}.{axis}"))));
        }
        record.extend_from_slice(words);
        for (index, word) in record.iter().enumerate() {
            let word = self.in_register(word.clone(), &Type::U32);
            self.emit(format!("st.volatile.global.u32 \t[{start}+{}], {word};", 4 * (FIRST + index)));
        }
        // Make the record visible to the host, even if the thread stops now.
        self.emit("fence.acq_rel.sys;".to_owned());
        let complete = self.in_register("1".to_owned(), &Type::U32);
        self.emit(format!("st.volatile.global.u32 \t[{start}+{}], {complete};", 4 * (FIRST + 1)));
        self.emit("fence.acq_rel.sys;".to_owned());
        self.place_label(end);
    }
}
