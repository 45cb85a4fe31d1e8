//! The MPI library, opened at run time: its functions, and the constants that differ between
//! implementations.
//!
//! | | MPI 5's ABI | MPICH | Open MPI | MS-MPI |
//! |---|---|---|---|---|
//! | Linux | `libmpi_abi.so.1` | `libmpi.so.12` | `libmpi.so.40` | |
//! | macOS | `libmpi_abi.1.dylib` | `libmpi.12.dylib` | `libmpi.40.dylib` | |
//! | Windows | | | | `msmpi.dll` |
//! | handles | small integers | integers of 32 bits | addresses of symbols | as MPICH's |
//!
//! A handle is passed as `usize`. If it is a 32-bit integer, the calling conventions of the
//! supported processors ignore the register's upper half.

#![allow(unsafe_code, reason = "symbols of the MPI library and their calls")]

use std::error::Error as _;
use std::ffi::{CStr, OsStr, c_char, c_double, c_int, c_void};
use std::sync::OnceLock;

use libloading::Library;

use crate::element::{Kind, Operation};
use crate::error::{Error, Unavailable};
use crate::launcher::{launcher, mpiexec};

/// A handle of any kind.
pub(crate) type Handle = usize;

/// Values that the standard leaves to implementations.
#[derive(Debug)]
pub(crate) struct Constants {
    pub(crate) world: Handle,
    errors_return: Handle,
    /// The handles of `u8`, `i32`, `f32` and `f64`.
    types: [Handle; 4],
    /// The handles of sum, product, minimum and maximum.
    operations: [Handle; 4],
    pub(crate) any_source: c_int,
    pub(crate) in_place: usize,
    /// Index of the source in a status. The tag follows it.
    source_in_status: usize,
    pub(crate) thread_funneled: c_int,
}

impl Constants {
    pub(crate) fn type_of(&self, kind: Kind) -> Handle {
        self.types[match kind {
            Kind::U8 => 0,
            Kind::I32 => 1,
            Kind::F32 => 2,
            Kind::F64 => 3,
        }]
    }

    pub(crate) fn operation(&self, operation: Operation) -> Handle {
        self.operations[match operation {
            Operation::Sum => 0,
            Operation::Product => 1,
            Operation::Minimum => 2,
            Operation::Maximum => 3,
        }]
    }
}

/// `MPI_Status` of any implementation: at most 40 bytes.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Status([c_int; 16]);

impl Status {
    pub(crate) fn source(self, constants: &Constants) -> usize {
        usize::try_from(self.0[constants.source_in_status]).expect("a message has a source")
    }
}

macro_rules! functions {
    ($($field:ident: $name:literal ($($argument:ty),*);)*) => {
        /// The MPI functions used here.
        #[derive(Debug)]
        pub(crate) struct Functions {
            $(pub(crate) $field: unsafe extern "C" fn($($argument),*) -> c_int,)*
            pub(crate) wtime: unsafe extern "C" fn() -> c_double,
        }

        impl Functions {
            /// Looks up all functions.
            ///
            /// # Safety
            /// The library must be an MPI library.
            unsafe fn of(library: &Library, name: &str) -> Result<Self, Unavailable> {
                let missing = |function| Unavailable::MissingFunction { library: name.to_owned(), function };
                Ok(Self {
                    $(
                        // SAFETY: an MPI library's function of this name has this signature.
                        $field: *unsafe { library.get(concat!($name, "\0").as_bytes()) }.map_err(|_| missing($name))?,
                    )*
                    // SAFETY: as above.
                    wtime: *unsafe { library.get(b"MPI_Wtime\0") }.map_err(|_| missing("MPI_Wtime"))?,
                })
            }
        }
    };
}

functions! {
    init_thread: "MPI_Init_thread" (*mut c_int, *mut c_void, c_int, *mut c_int);
    finalize: "MPI_Finalize" ();
    abort: "MPI_Abort" (Handle, c_int);
    set_errhandler: "MPI_Comm_set_errhandler" (Handle, Handle);
    error_string: "MPI_Error_string" (c_int, *mut c_char, *mut c_int);
    get_library_version: "MPI_Get_library_version" (*mut c_char, *mut c_int);
    comm_rank: "MPI_Comm_rank" (Handle, *mut c_int);
    comm_size: "MPI_Comm_size" (Handle, *mut c_int);
    comm_split: "MPI_Comm_split" (Handle, c_int, c_int, *mut Handle);
    comm_free: "MPI_Comm_free" (*mut Handle);
    barrier: "MPI_Barrier" (Handle);
    bcast: "MPI_Bcast" (*mut c_void, c_int, Handle, c_int, Handle);
    allreduce: "MPI_Allreduce" (*const c_void, *mut c_void, c_int, Handle, Handle, Handle);
    gather: "MPI_Gather" (*const c_void, c_int, Handle, *mut c_void, c_int, Handle, c_int, Handle);
    send: "MPI_Send" (*const c_void, c_int, Handle, c_int, c_int, Handle);
    recv: "MPI_Recv" (*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut Status);
    sendrecv: "MPI_Sendrecv" (*const c_void, c_int, Handle, c_int, c_int, *mut c_void, c_int, Handle, c_int, c_int, Handle, *mut Status);
    isend: "MPI_Isend" (*const c_void, c_int, Handle, c_int, c_int, Handle, *mut Handle);
    irecv: "MPI_Irecv" (*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut Handle);
    wait: "MPI_Wait" (*mut Handle, *mut Status);
    test: "MPI_Test" (*mut Handle, *mut c_int, *mut Status);
    cancel: "MPI_Cancel" (*mut Handle);
    iprobe: "MPI_Iprobe" (c_int, c_int, Handle, *mut c_int, *mut Status);
    get_count: "MPI_Get_count" (*const Status, Handle, *mut c_int);
}

/// An opened library.
#[derive(Debug)]
pub(crate) struct Mpi {
    pub(crate) functions: Functions,
    pub(crate) constants: Constants,
    /// The library's file name or path.
    pub(crate) name: String,
    /// Keeps the functions valid.
    _library: Library,
}

/// The names of the libraries to try, in order. Under Open MPI's launcher, Open MPI comes first.
struct Names {
    open_mpi: Option<&'static str>,
    others: &'static [&'static str],
}

const NAMES: Names = if cfg!(windows) {
    Names { open_mpi: None, others: &["msmpi.dll"] }
} else if cfg!(target_os = "macos") {
    Names { open_mpi: Some("libmpi.40.dylib"), others: &["libmpi_abi.1.dylib", "libmpi.12.dylib"] }
} else {
    Names { open_mpi: Some("libmpi.so.40"), others: &["libmpi_abi.so.1", "libmpi.so.12"] }
};

impl Mpi {
    /// The library, opened at the first call. It stays open until the process ends.
    pub(crate) fn open() -> Result<&'static Self, Unavailable> {
        static LIBRARY: OnceLock<Result<Mpi, Unavailable>> = OnceLock::new();
        LIBRARY.get_or_init(Self::find).as_ref().map_err(Clone::clone)
    }

    fn find() -> Result<Self, Unavailable> {
        if let Some(named) = std::env::var_os("MPI_LIBRARY").filter(|value| !value.is_empty()) {
            let library = named.to_string_lossy().into_owned();
            let opened = open_globally(&named).map_err(|error| reason_of(&error));
            let used = opened.and_then(|opened| Self::of(opened, library.clone()).map_err(|error| error.to_string()));
            return used.map_err(|reason| Unavailable::NamedLibrary { library, reason });
        }
        let mut reason = String::new();
        for name in candidates() {
            match open_globally(name.as_ref()) {
                Ok(library) => return Self::of(library, name),
                Err(error) => reason = reason_of(&error),
            }
        }
        Err(Unavailable::NoLibrary { reason })
    }

    fn of(library: Library, name: String) -> Result<Self, Unavailable> {
        // SAFETY: the library has the name of an MPI library, or the user has named it as one.
        let functions = unsafe { Functions::of(&library, &name) }?;
        let is_open_mpi = symbol(&library, "ompi_mpi_comm_world").is_some();
        let constants = match (is_open_mpi, has_standard_abi(&library)) {
            (true, _) => Constants::of_open_mpi(&library)
                .map_err(|function| Unavailable::MissingFunction { library: name.clone(), function })?,
            (false, true) => Constants {
                world: 0x101,
                errors_return: 0x143,
                types: [0x247, 0x250, 0x210, 0x214],
                operations: [0x21, 0x24, 0x22, 0x23],
                any_source: -1,
                in_place: 1,
                source_in_status: 0,
                thread_funneled: 1024,
            },
            // MPICH, and MS-MPI, which is derived from it.
            (false, false) => Constants {
                world: 0x4400_0000,
                errors_return: 0x5400_0001,
                // MPI_INT for an `i32`: the value of MPI_INT32_T differs between MPICH and MS-MPI.
                types: [0x4c00_010d, 0x4c00_0405, 0x4c00_040a, 0x4c00_080b],
                operations: [0x5800_0003, 0x5800_0004, 0x5800_0002, 0x5800_0001],
                any_source: -2,
                in_place: usize::MAX,
                source_in_status: 2,
                thread_funneled: 1,
            },
        };
        Ok(Self { functions, constants, name, _library: library })
    }

    /// Converts a result code to a `Result`.
    pub(crate) fn check(&self, code: c_int, operation: &'static str, peer: Option<usize>) -> Result<(), Error> {
        if code == 0 {
            return Ok(());
        }
        let (mut text, mut length) = ([0 as c_char; 1024], 0);
        // SAFETY: an error's text has at most 512 bytes.
        let failed = unsafe { (self.functions.error_string)(code, text.as_mut_ptr(), &raw mut length) } != 0;
        let reason = if failed { format!("error {code}") } else { text_of(&text) };
        Err(Error { operation, peer, reason })
    }

    /// The library's version, on one line.
    pub(crate) fn version(&self) -> String {
        let (mut text, mut length) = ([0 as c_char; 8192 + 1], 0);
        // SAFETY: a version has at most 8192 bytes, and may be requested at any time.
        match unsafe { (self.functions.get_library_version)(text.as_mut_ptr(), &raw mut length) } {
            0 => text_of(&text),
            code => format!("an MPI that does not tell its version (error {code})"),
        }
    }

    /// Makes a communicator's operations return their errors.
    pub(crate) fn return_errors(&self, communicator: Handle) -> Result<(), Error> {
        // SAFETY: both handles are valid.
        let code = unsafe { (self.functions.set_errhandler)(communicator, self.constants.errors_return) };
        self.check(code, "MPI_Comm_set_errhandler", None)
    }
}

/// The libraries to try. They are found by name through the dynamic linker's search. On macOS, that
/// search does not include Homebrew's folders, so they are also tried next to `mpiexec`.
fn candidates() -> Vec<String> {
    let of_open_mpi = launcher().is_some_and(|launcher| launcher.is_open_mpi);
    let (first, last) = if of_open_mpi { (NAMES.open_mpi, None) } else { (None, NAMES.open_mpi) };
    let names: Vec<&str> = first.into_iter().chain(NAMES.others.iter().copied()).chain(last).collect();
    let mpiexec = if cfg!(target_os = "macos") { mpiexec() } else { None };
    let beside = mpiexec.and_then(|program| Some(program.parent()?.parent()?.join("lib")));
    let beside = beside.iter().flat_map(|folder| names.iter().map(|name| folder.join(name).display().to_string()));
    names.iter().map(|&name| name.to_owned()).chain(beside).collect()
}

impl Constants {
    /// Open MPI's handles, which are addresses of symbols. Fails with the name of a missing one.
    fn of_open_mpi(library: &Library) -> Result<Self, &'static str> {
        let get = |name: &'static str| symbol(library, name).ok_or(name);
        Ok(Self {
            world: get("ompi_mpi_comm_world")?,
            errors_return: get("ompi_mpi_errors_return")?,
            types: [get("ompi_mpi_byte")?, get("ompi_mpi_int32_t")?, get("ompi_mpi_float")?, get("ompi_mpi_double")?],
            operations: [
                get("ompi_mpi_op_sum")?,
                get("ompi_mpi_op_prod")?,
                get("ompi_mpi_op_min")?,
                get("ompi_mpi_op_max")?,
            ],
            any_source: -1,
            in_place: 1,
            source_in_status: 0,
            thread_funneled: 1,
        })
    }
}

/// Whether the library has the ABI of MPI 5, which it says itself: MPICH's libraries with it and without it have the same functions.
fn has_standard_abi(library: &Library) -> bool {
    type GetVersion = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
    // SAFETY: MPI 5.0's function of this name has this signature.
    let Ok(get_version) = (unsafe { library.get::<GetVersion>(b"MPI_Abi_get_version\0") }) else { return false };
    let (mut major, mut minor) = (-1, -1);
    // SAFETY: both are valid out-pointers, and the version can be asked for at any time.
    let code = unsafe { get_version(&raw mut major, &raw mut minor) };
    // It is -1 where handles are the implementation's own.
    code == 0 && major >= 0
}

/// The address of a symbol.
fn symbol(library: &Library, name: &str) -> Option<usize> {
    // SAFETY: the symbol's address is taken as a pointer and not dereferenced.
    let symbol = unsafe { library.get::<*const c_void>(format!("{name}\0").as_bytes()) };
    symbol.ok().map(|symbol| symbol.addr()).filter(|&address| address != 0)
}

/// Opens a library and makes its symbols visible to libraries loaded later. Open MPI's components
/// need them.
#[cfg(unix)]
fn open_globally(name: &OsStr) -> Result<Library, libloading::Error> {
    use libloading::os::unix;
    // SAFETY: MPI libraries may be loaded at any time, in any thread.
    unsafe { unix::Library::open(Some(name), unix::RTLD_NOW | unix::RTLD_GLOBAL) }.map(Into::into)
}

/// Opens a library. A name without a folder is looked up only in the system's folder, where MS-MPI is
/// installed. By default, Windows would also search the program's folder, the working directory and the folders
/// in `PATH`, and other users may have write access to them.
#[cfg(windows)]
fn open_globally(name: &OsStr) -> Result<Library, libloading::Error> {
    use libloading::os::windows;
    let has_folder = std::path::Path::new(name).components().count() > 1;
    let flags = if has_folder { 0 } else { windows::LOAD_LIBRARY_SEARCH_SYSTEM32 };
    // SAFETY: MPI libraries may be loaded at any time, in any thread.
    unsafe { windows::Library::load_with_flags(name, flags) }.map(Into::into)
}

/// The reason why a library could not be opened, on one line. On Windows, libloading's error only
/// names the call.
fn reason_of(error: &libloading::Error) -> String {
    one_line(&error.source().map_or_else(|| error.to_string(), ToString::to_string))
}

/// The text before the first zero.
fn text_of(text: &[c_char]) -> String {
    // SAFETY: the text was zeroed, and its last byte is not written.
    let text = unsafe { CStr::from_ptr(text.as_ptr()) };
    one_line(&text.to_string_lossy())
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

#[cfg(all(test, windows))]
mod tests {
    use super::*;

    /// The program's folder is the first in which Windows looks by itself.
    #[test]
    fn a_library_without_a_folder_is_the_systems() {
        assert!(open_globally("kernel32.dll".as_ref()).is_ok());
        let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
        let planted = folder.join(format!("planted-{}.dll", std::process::id()));
        let system = std::path::PathBuf::from(std::env::var_os("SystemRoot").unwrap());
        std::fs::copy(system.join("System32/version.dll"), &planted).unwrap();
        let [by_name, by_path] =
            [planted.file_name().unwrap(), planted.as_os_str()].map(|name| open_globally(name).is_ok());
        std::fs::remove_file(&planted).ok();
        assert_eq!((by_name, by_path), (false, true));
    }
}
