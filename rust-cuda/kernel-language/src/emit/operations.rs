//! The functions of `cuda_std`.

use super::value::{Length, Value};
use super::{Emitter, width_of};
use crate::refusal::{Checked, Place};
use crate::tree::{Binary, Expr, Operation};
use crate::types::{Float, Type};

impl Emitter<'_> {
    pub(super) fn operation(
        &mut self,
        operation: Operation,
        arguments: &[Expr],
        of: &Type,
        place: Place,
    ) -> Checked<Value> {
        match operation {
            Operation::Shared => return self.shared_array(of, place),
            Operation::NoValue => return Ok(Value::Nothing),
            Operation::NewArray => return self.new_array(of, place),
            Operation::DynamicShared => return Ok(self.dynamic_shared(&of.parts()[0].clone(), place)),
            Operation::Get | Operation::Set | Operation::Atomic => return self.access(operation, arguments, of, place),
            _ => {}
        }
        let types: Vec<Type> = arguments.iter().map(|argument| self.type_of(argument)).collect();
        let values = self.values(arguments)?;
        self.at(place);
        let nothing = Value::Parts(Vec::new());
        let is_shared = matches!(types.first(), Some(Type::Atomic(_, true)));
        match operation {
            Operation::Length => Ok(match (values.into_iter().next(), types.first()) {
                (Some(Value::Memory(memory)), _) => Value::Scalar(match &memory.length {
                    Length::Register(register) => register.clone(),
                    Length::Number(number) => number.to_string(),
                }),
                (_, Some(Type::Array(parts))) => Value::Scalar(parts[1].to_string()),
                _ => Value::Nothing,
            }),
            Operation::Register(register) => Ok(Value::Scalar(self.special(register))),
            Operation::GridIndex(axis) => Ok(Value::Scalar(self.grid_index(axis))),
            Operation::Indices(register) => {
                let count = if let Type::Indices(count) = of { *count } else { 3 };
                let axes = &["x", "y", "z"][..count];
                Ok(Value::Parts(
                    axes.iter()
                        .map(|axis| match register {
                            "" => self.grid_index(axis),
                            _ => self.special(&format!("{register}.{axis}")),
                        })
                        .map(Value::Scalar)
                        .collect(),
                ))
            }
            Operation::Barrier => {
                self.emit("bar.sync \t0;".to_owned());
                Ok(nothing)
            }
            Operation::GridBarrier => {
                if let Some(Value::Memory(state)) = values.into_iter().next() {
                    self.grid_barrier(&state);
                }
                Ok(nothing)
            }
            Operation::BarrierVote(vote) => {
                let predicate = self.scalars(values, &types)?.swap_remove(0);
                let predicate = self.in_register(predicate, &Type::Bool);
                let kind = if vote == "popc" { "u32" } else { "pred" };
                let vote = format!("bar.red.{vote}.{kind}");
                Ok(Value::Scalar(self.put(of, vote, format_args!("0, {predicate}"))))
            }
            Operation::Fence(scope) => {
                self.emit(format!("fence.acq_rel.{scope};"));
                Ok(nothing)
            }
            Operation::Update(_) | Operation::AtomicLoad | Operation::AtomicStore | Operation::Exchange => {
                let mut values = values.into_iter();
                let Some(Value::Atomic(address)) = values.next() else { return Ok(Value::Nothing) };
                let scalars = self.scalars(values.collect(), &types[1..])?;
                let element = types[0].parts()[0].clone();
                let operands: Vec<String> =
                    scalars.into_iter().map(|scalar| self.in_register(scalar, &element)).collect();
                self.of_element(operation, (&address, space(is_shared)), &operands, &element)
            }
            Operation::Bits => {
                let value = self.scalars(values, &types)?.swap_remove(0);
                let result = self.fresh(of);
                self.mov(&result, &value, of);
                Ok(Value::Scalar(result))
            }
            Operation::Number(name) => {
                let values = self.scalars(values, &types)?;
                if let (Some(name), Type::Integer(integer)) = (name.strip_prefix("checked_"), &types[0]) {
                    return self.checked(name, &values, *integer);
                }
                Ok(Value::Scalar(self.method(name, &values, &types[0], of)?))
            }
            _ => {
                let values = self.scalars(values, &types)?;
                self.of_warp(operation, values, types.first().unwrap_or(&Type::U32), of, place)
            }
        }
    }

    /// Converts values to numbers.
    fn scalars(&mut self, values: Vec<Value>, types: &[Type]) -> Checked<Vec<String>> {
        Ok(values.into_iter().zip(types).map(|(value, of)| self.scalar(value, of)).collect())
    }

    pub(super) fn special(&mut self, register: &str) -> String {
        self.put(&Type::U32, "mov.u32", register)
    }

    /// The thread's index in the grid along an axis.
    fn grid_index(&mut self, axis: &str) -> String {
        let [block, threads, thread] =
            ["%ctaid", "%ntid", "%tid"].map(|register| self.special(&format!("{register}.{axis}")));
        self.put(&Type::U32, "mad.lo.s32", format_args!("{block}, {threads}, {thread}"))
    }

    /// `get`, `set` and `atomic`: the index is checked after all arguments have been evaluated.
    fn access(&mut self, operation: Operation, arguments: &[Expr], of: &Type, place: Place) -> Checked<Value> {
        let memory_type = self.type_of(&arguments[0]);
        let element = memory_type.parts().first().cloned().unwrap_or(Type::U32);
        let outer = std::mem::replace(&mut self.is_index, true);
        let values = self.values(arguments);
        self.is_index = outer;
        let values = values?;
        self.at(place);
        let [Value::Memory(memory), index, ..] = &values[..] else { return Ok(Value::Nothing) };
        let address = self.address(memory, index, &element, place)?;
        match (operation, values.get(2)) {
            (Operation::Get, _) => Ok(self.load(memory, &address, of)),
            (Operation::Set, Some(value)) => {
                self.store(memory, &address, value.clone(), &element);
                Ok(Value::Parts(Vec::new()))
            }
            _ => Ok(Value::Atomic(address)),
        }
    }

    /// An atomic operation on an element.
    fn of_element(
        &mut self,
        operation: Operation,
        (address, space): (&str, &str),
        operands: &[String],
        of: &Type,
    ) -> Checked<Value> {
        let bits = width_of(of);
        let name = match operation {
            Operation::Update(name) => name,
            Operation::AtomicLoad => {
                let load = format!("ld.relaxed.gpu.{space}.b{bits}");
                return Ok(Value::Scalar(self.put(of, load, format_args!("[{address}]"))));
            }
            Operation::AtomicStore => {
                self.emit(format!("st.relaxed.gpu.{space}.b{bits} \t[{address}], {};", operands[0]));
                return Ok(Value::Parts(Vec::new()));
            }
            _ => {
                let (swap, current) = (format!("atom.{space}.cas.b{bits}"), &operands[0]);
                let old = self.put(of, swap, format_args!("[{address}], {current}, {}", operands[1]));
                let equals = format!("setp.eq.b{bits}");
                return Ok(Value::Scalar(self.put(&Type::Bool, equals, format_args!("{old}, {current}"))));
            }
        };
        let mut operand = operands[0].clone();
        let instruction = match (name, of) {
            ("sub", _) => {
                operand = self.put(of, format_args!("neg.{}", signed(of)), operand);
                format!("add.{}", added(of))
            }
            ("add", _) => format!("add.{}", added(of)),
            ("min" | "max", Type::Float(_)) => {
                return self.place.refused("atomic minima and maxima are of integers here");
            }
            ("min" | "max", _) => format!("{name}.{}", super::kind_of(of)),
            (name, _) => format!("{name}.b{bits}"),
        };
        let update = format!("atom.{space}.{instruction}");
        Ok(Value::Scalar(self.put(of, update, format_args!("[{address}], {operand}"))))
    }

    /// A binary operator on two numbers of one type.
    pub(super) fn combined(&mut self, operator: Binary, left: String, right: String, of: &Type) -> Checked<String> {
        self.binary(operator, left, (right, of), of)
    }
}

fn space(is_shared: bool) -> &'static str {
    if is_shared { "shared" } else { "global" }
}

/// The PTX type of an atomic addition.
fn added(of: &Type) -> &'static str {
    match of {
        Type::Float(Float::F32) => "f32",
        Type::Float(Float::F64) => "f64",
        _ if width_of(of) == 64 => "u64",
        _ => "u32",
    }
}

fn signed(of: &Type) -> &'static str {
    match of {
        Type::Float(_) => super::kind_of(of),
        _ if width_of(of) == 64 => "s64",
        _ => "s32",
    }
}
