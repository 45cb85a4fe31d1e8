//! The library's functions, under the same names as in NVIDIA's.
//!
//! Each calls a function in the rest of the crate, where only [`crate::abi`] and [`crate::host`]
//! handle raw pointers. A panic is caught at the boundary and becomes `CUDA_ERROR_UNKNOWN`.

#![allow(unsafe_code, reason = "functions that C programs call by their names, as cuda.h declares them")]
#![allow(non_snake_case, reason = "the names are those of cuda.h")]
#![allow(clippy::too_many_arguments, reason = "the parameters are those of cuda.h")]

mod arrays;
mod contexts;
mod faults;
mod images;
mod jit_link;
mod launches;
mod lookup;
mod memory;
mod modules;
#[cfg(target_os = "linux")]
mod nvrtc;
mod runtime;
mod streams;
mod unsupported;

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::driver::driver;
use crate::error::{Error, Result};
use crate::journal;

pub use lookup::{IMPLEMENTED, address_of};
pub use runtime::{RUNTIME_IMPLEMENTED, RUNTIME_UNSUPPORTED};
pub use unsupported::UNSUPPORTED;

/// Runs `body`, the body of the function `name`, and converts its result to the integer that C gets.
fn returned(name: &str, body: impl FnOnce() -> Result) -> c_int {
    if let Ok(driver) = driver() {
        driver.journal.called(name);
    }
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        journal::note(&format!("{name} has failed because of an error of the emulator itself; please report it"));
        Err(Error::UNKNOWN)
    });
    result.map_or_else(Error::code, |()| 0)
}

/// Defines an exported function for each name in brackets. It calls the function in front of them.
macro_rules! named {
    ($target:ident [] $arguments:tt) => {};
    ($target:ident [$name:ident $($others:ident)*] ($($argument:ident: $type:ty),*)) => {
        // SAFETY: this is the function of that name in cuda.h. Its callers pass pointers that are
        // null or valid.
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C" fn $name($($argument: $type),*) -> std::ffi::c_int {
            // SAFETY: the caller's promise is passed on.
            unsafe { super::$target($($argument),*) }
        }

        crate::exports::named! { $target [$($others)*] ($($argument: $type),*) }
    };
}

/// Defines exported functions. Names in brackets have the same parameters: they are older names, or
/// differ in the default stream, which here is ordered with all others.
///
/// Programs get the addresses of functions that are not exported themselves. So a function of the
/// same name, in the program or in another library, cannot take their place.
///
/// `through` names the function that calls a body and converts its result to an integer.
macro_rules! export {
    (fn $($functions:tt)*) => {
        crate::exports::export! { through crate::exports::returned; fn $($functions)* }
    };
    (through $returned:path; $($(#[$attribute:meta])* fn $name:ident $([$($alias:ident),+])? ($($argument:ident: $type:ty),* $(,)?) => $body:expr;)*) => {
        mod exported {
            use super::*;

            $(crate::exports::named! { $name [$name $($($alias)+)?] ($($argument: $type),*) })*
        }

        $(
            $(#[$attribute])*
            unsafe extern "C" fn $name($($argument: $type),*) -> std::ffi::c_int {
                $returned(stringify!($name), || $body)
            }
        )*

        /// Names of the functions.
        pub(super) const NAMES: &[&str] = &[$(stringify!($name), $($(stringify!($alias),)+)?)*];

        /// Address of the function of this name.
        #[allow(dead_code, reason = "programs look up functions of the driver alone")]
        pub(super) fn address(name: &str) -> Option<*const std::ffi::c_void> {
            match name {
                $(stringify!($name) $($(| stringify!($alias))+)? => Some($name as *const std::ffi::c_void),)*
                _ => None,
            }
        }

        /// The functions with their parameters.
        pub(super) fn functions() -> Vec<crate::exports::Exported> {
            vec![$(crate::exports::Exported {
                name: stringify!($name),
                parameters: &[$((stringify!($argument), stringify!($type))),*],
                address: $name as *const std::ffi::c_void,
            }),*]
        }
    };
}

/// A function, for tests that call all of them.
#[derive(Clone, Copy, Debug)]
pub struct Exported {
    /// Its name.
    pub name: &'static str,
    /// Names and types of its parameters, as in the source.
    pub parameters: &'static [(&'static str, &'static str)],
    /// Its address.
    pub address: *const std::ffi::c_void,
}

/// All functions of the driver and the runtime library that are implemented, each under one of its
/// names.
pub fn exported() -> Vec<Exported> {
    let of_driver: [fn() -> Vec<Exported>; 8] = [
        arrays::functions,
        contexts::functions,
        images::functions,
        launches::functions,
        lookup::functions,
        memory::functions,
        modules::functions,
        streams::functions,
    ];
    of_driver.into_iter().chain(runtime::FUNCTIONS).flat_map(|functions| functions()).collect()
}

use {export, named};
