//! NVRTC, NVIDIA's runtime compiler, under its own names: the runner substitutes this library. All
//! calls are forwarded to NVIDIA's library except those for a binary (cubin). These return the PTX
//! of the same compilation, which the emulator can run.

use std::ffi::{CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::journal;

/// `NVRTC_ERROR_INVALID_INPUT`, `NVRTC_ERROR_BUILTIN_OPERATION_FAILURE`
const INVALID_INPUT: c_int = 3;
const FAILURE: c_int = 7;

/// The names of NVIDIA's library, newest first.
const NAMES: [&str; 2] = ["libnvrtc.so.13", "libnvrtc.so.12"];

/// Defines functions that forward to NVIDIA's function of the same name. The parameters are
/// pointers and integers, which C passes alike.
macro_rules! forwarded {
    ($($name:ident($($argument:ident),*);)*) => {
        $(
            // SAFETY: this is the function of that name in nvrtc.h. Its callers pass what NVIDIA's
            // function expects.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: usize),*) -> c_int {
                match function(concat!(stringify!($name), "\0")) {
                    Ok(address) => {
                        // SAFETY: the function has these parameters and an integer result, and the
                        // caller's promise is passed on.
                        unsafe {
                            let function: unsafe extern "C" fn($(forwarded!(@type $argument)),*) -> c_int =
                                std::mem::transmute(address);
                            function($($argument),*)
                        }
                    }
                    Err(code) => code,
                }
            }
        )*
    };
    (@type $argument:ident) => { usize };
}

forwarded! {
    nvrtcVersion(major, minor);
    nvrtcGetNumSupportedArchs(count);
    nvrtcGetSupportedArchs(architectures);
    nvrtcCreateProgram(program, source, name, count, headers, names);
    nvrtcDestroyProgram(program);
    nvrtcCompileProgram(program, count, options);
    nvrtcGetPTXSize(program, bytes);
    nvrtcGetPTX(program, text);
    nvrtcGetLTOIRSize(program, bytes);
    nvrtcGetLTOIR(program, contents);
    nvrtcGetOptiXIRSize(program, bytes);
    nvrtcGetOptiXIR(program, contents);
    nvrtcGetTileIRSize(program, bytes);
    nvrtcGetTileIR(program, contents);
    nvrtcGetProgramLogSize(program, bytes);
    nvrtcGetProgramLog(program, text);
    nvrtcAddNameExpression(program, expression);
    nvrtcGetLoweredName(program, expression, name);
    nvrtcGetPCHHeapSize(bytes);
    nvrtcSetPCHHeapSize(bytes);
    nvrtcGetPCHCreateStatus(program);
    nvrtcGetPCHHeapSizeRequired(program, bytes);
    nvrtcSetFlowCallback(program, callback, data);
}

// SAFETY: this is the function of that name in nvrtc.h.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvrtcGetErrorString(code: c_int) -> *const c_char {
    match function("nvrtcGetErrorString\0") {
        Ok(address) => {
            // SAFETY: the function accepts any integer, and returns a C string that is never freed.
            unsafe {
                let function: unsafe extern "C" fn(c_int) -> *const c_char = std::mem::transmute(address);
                function(code)
            }
        }
        Err(_) => c"NVRTC is not found".as_ptr(),
    }
}

/// The size of the PTX, reported as the size of the binary.
// SAFETY: this is the function of that name in nvrtc.h. Its callers pass a program and a pointer to
// a size.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvrtcGetCUBINSize(program: usize, bytes: *mut usize) -> c_int {
    let found = function("nvrtcGetCUBINSize\0");
    let Ok(address) = found else { return FAILURE };
    // SAFETY: the function has these parameters, and the caller's promise is passed on. After a success the size has been written.
    unsafe {
        let size: unsafe extern "C" fn(usize, *mut usize) -> c_int = std::mem::transmute(address);
        match size(program, bytes) {
            0 if *bytes != 0 => nvrtcGetPTXSize(program, bytes as usize),
            code => code,
        }
    }
}

/// The PTX, returned instead of the binary.
// SAFETY: this is the function of that name in nvrtc.h. Its callers pass a program and a pointer to
// a buffer of the reported size.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvrtcGetCUBIN(program: usize, contents: usize) -> c_int {
    // SAFETY: the caller's promise is passed on: the size that it received is the PTX's size.
    unsafe { nvrtcGetPTX(program, contents) }
}

/// The address of NVIDIA's function of this name. The name ends with a zero.
fn function(name: &str) -> Result<*mut c_void, c_int> {
    let library = library().ok_or(FAILURE)?;
    // SAFETY: the handle belongs to a library that is never closed, and the name is a C string.
    let address = unsafe { libc::dlsym(library as *mut c_void, name.as_ptr().cast()) };
    if address.is_null() { Err(INVALID_INPUT) } else { Ok(address) }
}

/// The handle of NVIDIA's library.
fn library() -> Option<usize> {
    static LIBRARY: OnceLock<Option<usize>> = OnceLock::new();
    *LIBRARY.get_or_init(|| {
        let found = candidates().into_iter().find_map(|path| open(&path));
        if found.is_none() {
            journal::note(
                "NVRTC is not found: install it (`pip install nvidia-cuda-nvrtc`), or name its folder in LD_LIBRARY_PATH",
            );
        }
        found
    })
}

/// Candidates for NVIDIA's library in order of preference: on the program's search path, in the
/// packages of the running Python, and in an installed toolkit.
fn candidates() -> Vec<PathBuf> {
    let own = std::fs::canonicalize(own_path().unwrap_or_default()).unwrap_or_default();
    let listed = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let toolkits = ["CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"].into_iter().filter_map(std::env::var_os);
    let toolkits = toolkits.map(PathBuf::from).chain([PathBuf::from("/usr/local/cuda")]);
    let folders = std::env::split_paths(&listed)
        .chain(
            packages()
                .into_iter()
                .flat_map(|packages| ["cu13/lib", "cuda_nvrtc/lib"].map(|folder| packages.join("nvidia").join(folder))),
        )
        .chain(toolkits.flat_map(|toolkit| ["lib64", "lib"].map(|folder| toolkit.join(folder))));
    let files = folders.flat_map(|folder| NAMES.map(|name| folder.join(name)));
    files.filter(|file| file.is_file() && std::fs::canonicalize(file).is_ok_and(|file| file != own)).collect()
}

/// Package folders from which the process has loaded libraries, which are the Python packages in
/// use.
fn packages() -> Vec<PathBuf> {
    let maps = std::fs::read("/proc/self/maps").unwrap_or_default();
    let mut found: Vec<PathBuf> = Vec::new();
    for line in maps.split(|byte| *byte == b'\n') {
        let path = line.iter().position(|byte| *byte == b'/').map(|start| Path::new(OsStr::from_bytes(&line[start..])));
        let folder = path
            .into_iter()
            .flat_map(Path::ancestors)
            .find(|folder| folder.file_name().is_some_and(|name| name == "site-packages" || name == "dist-packages"));
        if let Some(folder) = folder.filter(|folder| !found.iter().any(|known| known == folder)) {
            found.push(folder.to_owned());
        }
    }
    found
}

/// The path of the emulator's own library.
fn own_path() -> Option<PathBuf> {
    let mut about = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the address is in this library, and the structure is writable.
    let is_found = unsafe { libc::dladdr(own_path as *const c_void, about.as_mut_ptr()) } != 0;
    // SAFETY: zeros are a valid value too.
    let name = unsafe { about.assume_init() }.dli_fname;
    if !is_found || name.is_null() {
        return None;
    }
    // SAFETY: the linker's name of a library is a C string that lives as long as the library is
    // loaded.
    let name = unsafe { std::ffi::CStr::from_ptr(name) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

/// Loads NVIDIA's library and the companion library beside it.
fn open(path: &Path) -> Option<usize> {
    let folder = path.parent()?;
    let beside = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.file_name());
    let builtins = beside.filter(|name| name.as_bytes().starts_with(b"libnvrtc-builtins.so"));
    for name in builtins {
        let _may_be_missing = open_one(&folder.join(name));
    }
    open_one(path)
}

fn open_one(path: &Path) -> Option<usize> {
    let name = CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: the name is a C string. The library is NVIDIA's, which the program itself would load.
    // It resolves symbols to its own functions first.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_DEEPBIND) };
    (!library.is_null()).then_some(library as usize)
}
