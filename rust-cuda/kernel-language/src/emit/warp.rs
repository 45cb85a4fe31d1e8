//! Warp operations.

use super::value::{Memory, Value};
use super::{Emitter, width_of};
use crate::refusal::{Checked, Place};
use crate::tree::{Binary, Comparison, Operation};
use crate::types::{Integer, Type};
use cuda_launch::trap::{Bounded, TrapReason};

const ALL_LANES: &str = "-1";

impl Emitter<'_> {
    pub(super) fn of_warp(
        &mut self,
        operation: Operation,
        values: Vec<String>,
        of: &Type,
        to: &Type,
        place: Place,
    ) -> Checked<Value> {
        let mut values = values.into_iter();
        let mut next = || values.next().unwrap_or_default();
        let is_exchanged =
            matches!(of, Type::Float(_) | Type::Integer(Integer::U32 | Integer::I32 | Integer::U64 | Integer::I64));
        let needs = matches!(
            operation,
            Operation::Shuffle(_) | Operation::Reduce(_) | Operation::Scan(_) | Operation::MatchAny
        );
        if needs && !is_exchanged {
            return place.refused("lanes exchange u32, i32, u64, i64, f32 and f64 here");
        }
        Ok(Value::Scalar(match operation {
            Operation::Shuffle(mode) => {
                let (value, other) = (next(), next());
                self.shuffled(mode, value, &other, of)
            }
            Operation::Reduce(name) => {
                let mut all = next();
                for distance in [16, 8, 4, 2, 1] {
                    let other = self.shuffled("bfly", all.clone(), &distance.to_string(), of);
                    all = self.combined_by(name, all, other, of)?;
                }
                all
            }
            Operation::Scan(is_inclusive) => {
                let (value, zero) = (next(), next());
                let lane = self.special("%laneid");
                let mut sum = value;
                for distance in [1, 2, 4, 8, 16] {
                    let below = self.shuffled("up", sum.clone(), &distance.to_string(), of);
                    let has_one = self.compared(Comparison::GreaterOrEqual, &lane, &distance.to_string(), &Type::U32);
                    let both = self.combined(Binary::Add, below, sum.clone(), of)?;
                    let result =
                        self.put(of, format_args!("selp.b{}", width_of(of)), format_args!("{both}, {sum}, {has_one}"));
                    sum = result;
                }
                if !is_inclusive {
                    let below = self.shuffled("up", sum, "1", of);
                    let is_first = self.compared(Comparison::Equal, &lane, "0", &Type::U32);
                    sum = self.fresh(of);
                    self.emit(format!("selp.b{} \t{sum}, {zero}, {below}, {is_first};", width_of(of)));
                }
                sum
            }
            Operation::Vote(vote) => {
                let predicate = self.in_register(next(), &Type::Bool);
                let kind = if vote == "ballot" { "b32" } else { "pred" };
                self.put(to, format_args!("vote.sync.{vote}.{kind}"), format_args!("{predicate}, {ALL_LANES}"))
            }
            Operation::MatchAny => {
                let value = self.in_register(next(), of);
                if width_of(of) == 64 {
                    return place.refused("`match_any` is of 32 bits here");
                }
                self.put(&Type::U32, "match.any.sync.b32", format_args!("{value}, {ALL_LANES}"))
            }
            Operation::ActiveMask => {
                let result = self.fresh(&Type::U32);
                self.emit(format!("activemask.b32 \t{result};"));
                result
            }
            Operation::SyncWarp => {
                self.emit(format!("bar.warp.sync \t{ALL_LANES};"));
                return Ok(Value::Parts(Vec::new()));
            }
            _ => return place.refused("this function is not known here"),
        }))
    }

    /// The grid-wide barrier, as in `cuda_std::grid::sync`: when all blocks have added to the
    /// state, its highest bit flips.
    pub(super) fn grid_barrier(&mut self, state: &Memory) {
        let any = |emitter: &mut Self, name: &str| {
            let [x, y, z] = ["x", "y", "z"].map(|axis| emitter.special(&format!("{name}.{axis}")));
            let both = emitter.put(&Type::U32, "or.b32", format_args!("{x}, {y}"));
            emitter.put(&Type::U32, "or.b32", format_args!("{both}, {z}"))
        };
        let (end, again) = (self.label(), self.label());
        self.emit("bar.sync \t0;".to_owned());
        let thread = any(self, "%tid");
        let is_other = self.compared(Comparison::NotEqual, &thread, "0", &Type::U32);
        self.jump_if(&is_other, true, end);
        self.check_index("0", &state.length, TrapReason::OutOfBounds(Bounded::Buffer));
        let [x, y, z] = ["x", "y", "z"].map(|axis| self.special(&format!("%nctaid.{axis}")));
        let [plane, blocks, rest, arrival, before, now, changed] = [(); 7].map(|()| self.fresh(&Type::U32));
        self.emit(format!("mul.lo.s32 \t{plane}, {x}, {y};"));
        self.emit(format!("mul.lo.s32 \t{blocks}, {plane}, {z};"));
        let block = any(self, "%ctaid");
        let is_first = self.compared(Comparison::Equal, &block, "0", &Type::U32);
        self.emit(format!("sub.s32 \t{rest}, -2147483647, {blocks};"));
        self.emit(format!("selp.b32 \t{arrival}, {rest}, 1, {is_first};"));
        // The comment marks the kernel as needing a cooperative launch.
        self.emit("// grid barrier".to_owned());
        self.emit("fence.acq_rel.gpu;".to_owned());
        self.emit(format!("atom.relaxed.gpu.global.add.u32 \t{before}, [{}], {arrival};", state.base));
        self.place_label(again);
        self.emit(format!("ld.acquire.gpu.global.u32 \t{now}, [{}];", state.base));
        self.emit(format!("xor.b32 \t{changed}, {now}, {before};"));
        let waits = self.compared(Comparison::GreaterOrEqual, &changed, "0", &Type::Integer(Integer::I32));
        self.jump_if(&waits, true, again);
        self.place_label(end);
        self.emit("bar.sync \t0;".to_owned());
    }

    fn combined_by(&mut self, name: &str, left: String, right: String, of: &Type) -> Checked<String> {
        let operator = match name {
            "add" => Binary::Add,
            "and" => Binary::And,
            "or" => Binary::Or,
            "xor" => Binary::Xor,
            _ => return self.method(name, &[left, right], of, of),
        };
        if matches!(of, Type::Float(_)) && operator != Binary::Add {
            return self.place.refused("bits are combined of integers");
        }
        self.combined(operator, left, right, of)
    }

    /// The value of another lane. 64-bit values are exchanged in halves, the low one first.
    fn shuffled(&mut self, mode: &str, value: String, lane: &str, of: &Type) -> String {
        let value = self.in_register(value, of);
        let end = if mode == "up" { 0 } else { 31 };
        let exchange = |emitter: &mut Self, word: &str| {
            let result = emitter.fresh(&Type::U32);
            emitter.emit(format!("shfl.sync.{mode}.b32 \t{result}, {word}, {lane}, {end}, {ALL_LANES};"));
            result
        };
        if width_of(of) == 32 {
            return exchange(self, &value);
        }
        let [low, high] = [(); 2].map(|()| self.fresh(&Type::U32));
        self.emit(format!("mov.b64 \t{{{low}, {high}}}, {value};"));
        let (low, high) = (exchange(self, &low), exchange(self, &high));
        self.put(of, "mov.b64", format_args!("{{{low}, {high}}}"))
    }
}
