//! The linker API, with which programs join modules. PTX stays PTX: the "binary" that a link
//! produces is text.

use std::ffi::{c_int, c_void};

use ptx_interpreter::syntax::LinkError;

use crate::abi::{HostAddress, Out, Text};
use crate::driver::{in_context, state};
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::jit::JitOptions;
use crate::{host, image, journal};

/// `CUjitInputType`: cubin, PTX, fat binary, object, library.
const PTX: c_int = 1;
const LIBRARY: c_int = 4;
const MAX_INPUT_TYPE: c_int = 5;

/// PTX that replaces the device runtime, which a program may link as a library of binaries.
const DEVICE_RUNTIME: &str = include_str!("device_runtime.ptx");
const OF_THE_DEVICE_RUNTIME: [&str; 2] = ["cudaCGGetIntrinsicHandle", "cudaCGSynchronize"];

/// A driver function that NVIDIA's device runtime calls.
const OF_NVIDIAS_DEVICE_RUNTIME: &str = "__cuda_syscall_CGS_sync";

/// The modules to link.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    texts: Vec<String>,
    /// Whether a library of binaries was added.
    has_library: bool,
    /// Maximum number of registers per thread, recorded in the joined PTX as a comment.
    max_registers: Option<u32>,
}

/// Prefix of the comment with the maximum number of registers.
const MAX_REGISTERS: &str = "// maxrregcount ";

/// The maximum number of registers that linked PTX should use; None for PTX that was not linked
/// this way.
pub(crate) fn max_registers(ptx: &str) -> Option<u32> {
    ptx.strip_prefix(MAX_REGISTERS)?.lines().next()?.parse().ok()
}

/// A link in progress.
#[derive(Debug)]
pub(crate) struct Link {
    modules: Modules,
    options: JitOptions,
    /// The result with a terminating zero, once the program has asked for it.
    linked: Option<Vec<u8>>,
}

impl Modules {
    /// An empty link with an optional limit on the registers per thread.
    pub(crate) fn with_registers(max_registers: Option<u32>) -> Self {
        Self { max_registers, ..Self::default() }
    }

    /// The relocatable modules of a program. nvcc links NVIDIA's device runtime with them; the
    /// emulator's version replaces it.
    pub(crate) fn of_program(mut texts: Vec<String>) -> Self {
        texts.retain(|text| !text.contains(OF_NVIDIAS_DEVICE_RUNTIME));
        Self { texts, has_library: true, ..Self::default() }
    }

    /// Adds an input of this `CUjitInputType`.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there is no such kind; `INVALID_PTX`, `INVALID_IMAGE` or
    /// `NO_BINARY_FOR_GPU` if the input has no PTX.
    pub(crate) fn add(&mut self, kind: c_int, contents: &[u8]) -> Result {
        match kind {
            // The library with device functions such as `cudaMalloc` in kernels. A module that
            // calls a missing one reports its name when it is loaded.
            LIBRARY => self.has_library = true,
            PTX => self.texts.push(image::of_bytes(contents).map_err(|_| Error::INVALID_PTX)?),
            0..=MAX_INPUT_TYPE => self.texts.push(image::of_bytes(contents)?),
            _ => return Err(Error::INVALID_VALUE),
        }
        Ok(())
    }

    /// The joined PTX.
    ///
    /// # Errors
    /// The error code and a message.
    pub(crate) fn joined(&self) -> std::result::Result<String, (Error, String)> {
        let mut modules: Vec<&str> = self.texts.iter().map(String::as_str).collect();
        let needs = |module: &&str| OF_THE_DEVICE_RUNTIME.iter().any(|name| module.contains(name));
        if self.has_library && modules.iter().any(needs) {
            modules.push(DEVICE_RUNTIME);
        }
        let resolved = ptx_interpreter::syntax::link(&modules).map_err(|error| {
            let is_syntax = matches!(error, LinkError::Syntax(_));
            (if is_syntax { Error::INVALID_PTX } else { Error::INVALID_IMAGE }, error.to_string())
        })?;
        let resolved: Vec<&str> = resolved.iter().map(String::as_str).collect();
        let joined = join(&resolved).ok_or_else(|| (Error::INVALID_VALUE, "nothing was linked".to_owned()))?;
        let comment = self.max_registers.map(|registers| format!("{MAX_REGISTERS}{registers}\n"));
        Ok(comment.unwrap_or_default() + &joined)
    }
}

pub(crate) fn create(options: JitOptions, link: Out<Handle>) -> Result {
    let modules = Modules::with_registers(options.max_registers);
    let made = Link { modules, options, linked: None };
    let made = in_context(|state, _, _| Ok(state.links.add(made)));
    link.set(made?)
}

pub(crate) fn add_data(link: Handle, kind: c_int, data: HostAddress, bytes: usize) -> Result {
    let contents = contents_at(data, bytes)?;
    state()?.links.get_mut(link)?.modules.add(kind, &contents)
}

pub(crate) fn add_file(link: Handle, kind: c_int, path: Text) -> Result {
    let contents = contents_of(path)?;
    state()?.links.get_mut(link)?.modules.add(kind, &contents)
}

/// Reads an input from the caller's memory.
pub(crate) fn contents_at(data: HostAddress, bytes: usize) -> Result<Vec<u8>> {
    let mut contents = vec![0; bytes];
    host::read(data, &mut contents)?;
    Ok(contents)
}

/// Reads an input from a file.
pub(crate) fn contents_of(path: Text) -> Result<Vec<u8>> {
    let path = path.get()?;
    std::fs::read(&path).map_err(|error| {
        journal::note(&format!("{path}: {error}"));
        Error::FILE_NOT_FOUND
    })
}

/// The joined PTX, which is valid as long as the link.
pub(crate) fn complete(link: Handle, image: Out<*mut c_void>, bytes: Out<usize>) -> Result {
    let mut state = state()?;
    let link = state.links.get_mut(link)?;
    let joined = link.modules.joined().map_err(|(error, text)| {
        link.options.report(&text);
        error
    })?;
    let linked = link.linked.insert(joined.into_bytes());
    bytes.set_if_wanted(linked.len());
    linked.push(0);
    image.set(linked.as_ptr().cast_mut().cast())
}

pub(crate) fn destroy(link: Handle) -> Result {
    state()?.links.remove(link).map(drop)
}

/// Joins the modules' text under one header, with distinct source file numbers.
fn join(modules: &[&str]) -> Option<String> {
    let [first, others @ ..] = modules else { return None };
    let mut joined = (*first).to_owned();
    let mut files = max_file(first);
    for module in others {
        joined.push('\n');
        for line in module.lines() {
            joined.push_str(&of_later_module(line, files));
            joined.push('\n');
        }
        files += max_file(module);
    }
    Some(joined)
}

/// The highest source file number.
fn max_file(module: &str) -> u32 {
    let number = |line: &str| line.trim_start().strip_prefix(".file")?.split_whitespace().next()?.parse().ok();
    module.lines().filter_map(number).max().unwrap_or(0)
}

/// A line of a later module, without header directives and with its file numbers shifted past the
/// earlier ones.
fn of_later_module(line: &str, files: u32) -> String {
    let code = line.trim_start();
    let directive = code.split_whitespace().next().unwrap_or_default();
    match directive {
        ".version" | ".target" | ".address_size" => String::new(),
        ".file" | ".loc" => {
            let rest = code[directive.len()..].trim_start();
            let (number, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            match number.parse::<u32>() {
                Ok(number) => format!("{directive} {} {rest}", number + files),
                Err(_) => line.to_owned(),
            }
        }
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn one_module_stays_as_it_is() {
        let text = ".version 7.0\n.target sm_75\n.file 1 \"a.py\"\n";
        assert_eq!(join(&[text]).unwrap(), text);
        assert_eq!(join(&[]), None);
    }

    #[test]
    fn several_modules_have_one_header_and_files_of_their_own() {
        let first = ".version 7.0\n.target sm_75\n.address_size 64\n.file 1 \"a.py\"\n.loc 1 2 3\n";
        let second = ".version 7.0\n.target sm_75\n.address_size 64\n.file 1 \"b.cu\"\n\t.loc\t1 5 0\n\tret;\n";
        let joined = join(&[first, second]).unwrap();
        assert_eq!(joined.matches(".version").count(), 1);
        assert!(joined.contains(".file 1 \"a.py\"\n.loc 1 2 3\n"), "{joined}");
        assert!(joined.contains(".file 2 \"b.cu\"\n.loc 2 5 0\n\tret;\n"), "{joined}");
    }
}
