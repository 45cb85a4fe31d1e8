//! `vprintf` and `__assertfail`, which a GPU's driver provides to kernels.

use super::context::Context;
use super::fault::{Access, Failure, FaultKind};
use super::format::{Directive, Number};
use super::lanes::lanes_of;
use super::printed::Printed;
use super::warp::Warp;
use crate::limits::MAX_TEXT_BYTES;
use crate::memory::{AccessError, from_generic, space_of};
use crate::program::instruction::{EffectiveAddress, FailAssertion, Print};
use crate::syntax::Space;

impl Warp {
    pub(super) fn print(&mut self, print: &Print, active: u32, context: &mut Context<'_>) -> Result<(), Failure> {
        for lane in lanes_of(active) {
            let fail = |error| Failure::at(lane, FaultKind::Access { access: Access::Read, error });
            let format = self.parameter(lane, &print.format, 8, context).map_err(fail)?;
            let arguments = self.parameter(lane, &print.arguments, 8, context).map_err(fail)?;
            let format = self.text(lane, format, context).map_err(fail)?;
            let (text, count) = self.formatted(lane, &format, arguments, context).map_err(fail)?;
            if let Some(result) = print.result {
                let result = self.addresses(&result)[lane];
                let (memory, offset) = context.resolve(self, Space::Local, lane, result, 4).map_err(fail)?;
                context.region(memory, self).store(offset, 4, count);
            }
            if let Some(buffer) = context.launch.printed {
                let thread = context.thread_index(self.first_thread() + lane as u32);
                let _has_room =
                    buffer.add(Printed { block: context.block, thread, text, number: context.state.number });
            }
        }
        Ok(())
    }

    /// The failed assertion of the first lane.
    pub(super) fn failed_assertion(
        &self,
        assertion: &FailAssertion,
        active: u32,
        context: &mut Context<'_>,
    ) -> Failure {
        let lane = active.trailing_zeros() as usize;
        let mut text = |parameter: &EffectiveAddress| match self.parameter(lane, parameter, 8, context) {
            Ok(0) => Ok(String::new()),
            Ok(pointer) => self.text(lane, pointer, context),
            Err(error) => Err(error),
        };
        let message = text(&assertion.message);
        let file = text(&assertion.file);
        let line = self.parameter(lane, &assertion.line, 4, context);
        match (message, file, line) {
            (Ok(message), Ok(file), Ok(line)) => {
                Failure::at(lane, FaultKind::AssertionFailed { message, file, line: line as u32 })
            }
            (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => {
                Failure::at(lane, FaultKind::Access { access: Access::Read, error })
            }
        }
    }

    /// A parameter of a call, from local memory.
    pub(super) fn parameter(
        &self,
        lane: usize,
        address: &EffectiveAddress,
        bytes: usize,
        context: &mut Context<'_>,
    ) -> Result<u64, AccessError> {
        let address = self.addresses(address)[lane];
        let (memory, offset) = context.resolve(self, Space::Local, lane, address, bytes)?;
        Ok(context.region(memory, self).load(offset, bytes))
    }

    /// A value at a generic address.
    fn value(&self, lane: usize, address: u64, bytes: usize, context: &mut Context<'_>) -> Result<u64, AccessError> {
        let space = space_of(address);
        let within = from_generic(space, address);
        AccessError::check_aligned(space, within, bytes)?;
        let (memory, offset) = context.resolve(self, space, lane, within, bytes)?;
        self.check((memory, offset), within, bytes, Access::Read, context)?;
        Ok(context.region(memory, self).load(offset, bytes))
    }

    /// The text at a generic address, up to its terminating zero or to [`MAX_TEXT_BYTES`].
    fn text(&self, lane: usize, address: u64, context: &mut Context<'_>) -> Result<String, AccessError> {
        let mut bytes = Vec::new();
        while bytes.len() < MAX_TEXT_BYTES {
            match self.value(lane, address.wrapping_add(bytes.len() as u64), 1, context)? {
                0 => break,
                byte => bytes.push(byte as u8),
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A text formatted like C's `printf`, and the number of its arguments. They start at `next`,
    /// each at a multiple of its size. A directive that C does not define stays unchanged.
    fn formatted(
        &self,
        lane: usize,
        format: &str,
        mut next: u64,
        context: &mut Context<'_>,
    ) -> Result<(String, u64), AccessError> {
        let mut argument = |bytes: usize, context: &mut Context<'_>| {
            next = next.next_multiple_of(bytes as u64);
            let value = self.value(lane, next, bytes, context)?;
            next += bytes as u64;
            Ok::<_, AccessError>(value)
        };
        let (mut text, mut count, mut rest) = (String::new(), 0, format);
        while let Some(start) = rest.find('%') {
            text.push_str(&rest[..start]);
            let Some(directive) = Directive::first(&rest[start..]) else {
                text.push('%');
                rest = &rest[start + 1..];
                continue;
            };
            rest = &rest[start + directive.text.len()..];
            if directive.conversion == '%' {
                text.push('%');
                continue;
            }
            let mut directive = directive;
            for number in [&mut directive.width, &mut directive.precision] {
                if *number == Number::Argument {
                    *number = Number::of(argument(4, context)? as i32);
                    count += 1;
                }
            }
            count += 1;
            let shown = match directive.conversion {
                'd' | 'i' | 'u' | 'x' | 'X' | 'o' => {
                    directive.integer(argument(if directive.is_long() { 8 } else { 4 }, context)?)
                }
                'c' => directive.padded("", &char::from(argument(4, context)? as u8).to_string(), false),
                's' => {
                    let pointer = argument(8, context)?;
                    let string = if pointer == 0 { "(null)".to_owned() } else { self.text(lane, pointer, context)? };
                    directive.string(&string)
                }
                'p' => directive.padded("0x", &format!("{:x}", argument(8, context)?), false),
                _ => directive.float(f64::from_bits(argument(8, context)?)),
            };
            text.push_str(&shown);
        }
        text.push_str(rest);
        Ok((text, count))
    }
}
