//! The contents of a launch's buffers after the launch.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use kernel_launch::{Argument, Launch};
use ptx_interpreter::memory::MemoryError;
use serde::Serialize;

/// A buffer after a launch.
#[derive(Debug, Serialize)]
pub(crate) struct Contents<'a> {
    name: &'a str,
    r#type: &'static str,
    shape: &'a [usize],
    /// Its little-endian bytes in base64.
    bytes: String,
    /// Ranges of elements with bytes that have never been written: the first element, and the one
    /// after the last.
    unwritten: Vec<[usize; 2]>,
}

/// The buffers of a launch, in argument order.
///
/// # Errors
/// If a buffer is not in memory, which a launch cannot cause.
pub(crate) fn contents(launch: &Launch) -> Result<Vec<Contents<'_>>, MemoryError> {
    let memory = launch.machine().memory();
    let mut all = Vec::new();
    for argument in launch.arguments() {
        let Argument::Buffer { name, element, shape, address, .. } = argument else { continue };
        let (count, size) = (shape.iter().product::<usize>(), element.bytes());
        let mut bytes = vec![0; count * size];
        memory.read(*address, &mut bytes)?;
        let mut unwritten: Vec<[usize; 2]> = Vec::new();
        // Most buffers are completely written, so first check all elements at once.
        let first = memory.first_uninitialised(*address, bytes.len())?.map_or(count, |offset| offset / size);
        for index in first..count {
            if memory.first_uninitialised(*address + (index * size) as u64, size)?.is_some() {
                match unwritten.last_mut() {
                    Some([_, end]) if *end == index => *end += 1,
                    _ => unwritten.push([index, index + 1]),
                }
            }
        }
        let bytes = BASE64_STANDARD.encode(bytes);
        all.push(Contents { name, r#type: element.name(), shape, bytes, unwritten });
    }
    Ok(all)
}
