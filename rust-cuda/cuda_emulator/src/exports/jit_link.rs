//! nvJitLink under its own names: the runner substitutes this library. It links PTX and returns
//! PTX, even for a cubin.
//!
//! It reports version 12.0, which predates link-time optimization, so programs compile to PTX and
//! not to NVVM IR.

use std::ffi::{c_char, c_int, c_uint};
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::abi::{HostAddress, In, Out, Text};
use crate::driver::link::{Modules, contents_at, contents_of};
use crate::error::{Error, Result};
use crate::handles::{Handle, Kind, Table};
use crate::{host, journal};

/// `nvJitLinkResult`
const INVALID_INPUT: c_int = 3;
const PTX_COMPILE: c_int = 4;
const INTERNAL: c_int = 6;
const UNRECOGNIZED_INPUT: c_int = 8;
const NULL_INPUT: c_int = 10;

/// A link in progress.
#[derive(Debug, Default)]
struct Link {
    modules: Modules,
    linked: String,
    errors: String,
}

static LINKS: LazyLock<Mutex<Table<Link>>> = LazyLock::new(|| Mutex::new(Table::new(Kind::JitLink)));

/// Calls `work` with a link. Errors are written to the link's log.
fn with(link: Handle, work: impl FnOnce(&mut Link) -> Result) -> Result {
    work(LINKS.lock().unwrap_or_else(PoisonError::into_inner).get_mut(link)?)
}

/// The `CUjitInputType` of an `nvJitLinkInputType`.
fn kind_of(kind: c_int, contents: &[u8]) -> Result<c_int> {
    Ok(match kind {
        1 => 0,
        2 => 1,
        4 => 2,
        5 => 3,
        6 => 4,
        10 if contents.starts_with(b"!<arch>") => 4,
        10 => 2,
        3 => {
            journal::unsupported("nvJitLink of code for link-time optimisation (LTO-IR)");
            return Err(Error::NO_BINARY_FOR_GPU);
        }
        _ => return Err(Error::INVALID_VALUE),
    })
}

fn add(link: Handle, kind: c_int, contents: &[u8]) -> Result {
    with(link, |link| {
        let added = kind_of(kind, contents).and_then(|kind| link.modules.add(kind, contents));
        added.inspect_err(|error| link.errors += &format!("an input: {}\n", error.name()))
    })
}

fn complete(link: Handle) -> Result {
    with(link, |link| match link.modules.joined() {
        Ok(joined) => {
            link.linked = joined + "\0";
            Ok(())
        }
        Err((error, text)) => {
            link.errors += &(text + "\n");
            Err(error)
        }
    })
}

/// Writes the size of a text including its terminating zero.
fn size(link: Handle, bytes: Out<usize>, text: impl FnOnce(&Link) -> usize) -> Result {
    with(link, |link| bytes.set(text(link)))
}

fn write(link: Handle, to: HostAddress, text: impl FnOnce(&Link) -> String) -> Result {
    with(link, |link| host::write(to, text(link).as_bytes()))
}

/// Converts a result to nvJitLink's code.
fn code(name: &str, body: impl FnOnce() -> Result) -> c_int {
    let mut failed = None;
    let code = super::returned(name, || body().inspect_err(|error| failed = Some(*error)));
    match failed {
        None if code == 0 => 0,
        Some(Error::INVALID_PTX | Error::INVALID_IMAGE) => PTX_COMPILE,
        Some(Error::NO_BINARY_FOR_GPU) => UNRECOGNIZED_INPUT,
        Some(Error::INVALID_HANDLE) => NULL_INPUT,
        Some(_) => INVALID_INPUT,
        None => INTERNAL,
    }
}

/// Defines exported functions.
macro_rules! exported {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) => $body:expr;)*) => {
        $(
            // SAFETY: this is the function of that name in nvJitLink.h. Its callers pass pointers
            // that are null or valid.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
                code(stringify!($name), || $body)
            }
        )*
    };
}

exported! {
    fn nvJitLinkVersion(major: Out<c_uint>, minor: Out<c_uint>) => {
        major.set(12)?;
        minor.set(0)
    };
    fn nvJitLinkCreate(link: Out<Handle>, count: c_uint, options: In<Text>) => {
        let options = options.all(count as usize)?.into_iter().map(Text::get).collect::<Result<Vec<_>>>()?;
        let registers = options.iter().find_map(|option| option.strip_prefix("-maxrregcount=")?.parse().ok());
        let modules = Modules::with_registers(registers);
        link.set(LINKS.lock().unwrap_or_else(PoisonError::into_inner).add(Link { modules, ..Link::default() }))
    };
    fn nvJitLinkDestroy(link: Out<Handle>) => {
        let handle = link.get()?;
        LINKS.lock().unwrap_or_else(PoisonError::into_inner).remove(handle)?;
        link.set(0)
    };
    fn nvJitLinkAddData(link: Handle, kind: c_int, data: HostAddress, bytes: usize, _name: *const c_char) =>
        add(link, kind, &contents_at(data, bytes)?);
    fn nvJitLinkAddFile(link: Handle, kind: c_int, path: Text) => add(link, kind, &contents_of(path)?);
    fn nvJitLinkComplete(link: Handle) => complete(link);
    fn nvJitLinkGetLinkedCubinSize(link: Handle, bytes: Out<usize>) => size(link, bytes, |link| link.linked.len());
    fn nvJitLinkGetLinkedCubin(link: Handle, to: HostAddress) => write(link, to, |link| link.linked.clone());
    fn nvJitLinkGetLinkedPtxSize(link: Handle, bytes: Out<usize>) => size(link, bytes, |link| link.linked.len());
    fn nvJitLinkGetLinkedPtx(link: Handle, to: HostAddress) => write(link, to, |link| link.linked.clone());
    fn nvJitLinkGetErrorLogSize(link: Handle, bytes: Out<usize>) => size(link, bytes, |link| link.errors.len() + 1);
    fn nvJitLinkGetErrorLog(link: Handle, to: HostAddress) => write(link, to, |link| link.errors.clone() + "\0");
    fn nvJitLinkGetInfoLogSize(link: Handle, bytes: Out<usize>) => size(link, bytes, |_| 1);
    fn nvJitLinkGetInfoLog(link: Handle, to: HostAddress) => write(link, to, |_| "\0".to_owned());
}
