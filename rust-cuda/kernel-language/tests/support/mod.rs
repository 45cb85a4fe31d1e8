//! Compiles a source and runs its kernel.

use std::collections::BTreeMap;

use cuda_launch::LaunchConfig;
use kernel_language::{Compiled, Refusal};
use ptx_interpreter::{LaunchError, Machine, Options};

/// The first line of every source.
const IMPORTS: &str =
    "use cuda_std::{Global, GlobalMut, SharedArray, dynamic_shared, kernel, math, shared_array, thread, warp};";

/// Compiles `kernel` in a file that starts with the imports.
pub(crate) fn compile(source: &str) -> Result<Compiled, Refusal> {
    let files = BTreeMap::from([("src/lib.rs".to_owned(), format!("{IMPORTS}\n{source}"))]);
    kernel_language::compile(&files, "kernel")
}

/// Launches one block of `threads` with `buffers` and a last buffer of `out_bytes`. Returns the
/// last buffer's contents.
pub(crate) fn run(source: &str, buffers: &[&[u8]], out_bytes: usize, threads: u32) -> Result<Vec<u8>, LaunchError> {
    let compiled = compile(source).unwrap_or_else(|refusal| panic!("{refusal}\n{source}"));
    let mut machine = Machine::new(&compiled.ptx).unwrap_or_else(|error| panic!("{error}\n{}", compiled.ptx));
    assert_eq!(machine.refused().map(|(_, error)| error.to_string()).next(), None, "{}", compiled.ptx);
    let element = out_bytes as u64 / u64::from(threads);
    let mut parameters = Vec::new();
    let mut add = |machine: &mut Machine, bytes: u64| {
        let address = machine.allocate(bytes).expect("there is memory");
        let length = bytes / if bytes == out_bytes as u64 { element } else { bytes / u64::from(threads) };
        parameters.extend([address.to_le_bytes(), length.to_le_bytes()]);
        address
    };
    for buffer in buffers {
        let address = add(&mut machine, buffer.len() as u64);
        machine.memory().write(address, buffer).expect("the buffer is there");
    }
    let out = add(&mut machine, out_bytes as u64);
    let parameters: Vec<&[u8]> = parameters.iter().map(|bytes| &bytes[..]).collect();
    machine.launch(Options::default(), "kernel", LaunchConfig::new(1, threads), &parameters)?;
    let mut bytes = vec![0; out_bytes];
    machine.memory().read(out, &mut bytes).expect("the buffer is there");
    Ok(bytes)
}
