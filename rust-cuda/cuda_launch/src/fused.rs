//! `fma` and `fmaf` for Windows programs that mingw-w64 links. Its own round twice, so that `f32::mul_add` would have other
//! bits than a GPU's; those of Microsoft's C library, and of every other system here, round once.

#![allow(unsafe_code, reason = "functions of the C library are defined by their names")]

// SAFETY: this is C's signature of `fma`; the linker takes this definition before the library's, for every caller.
#[unsafe(no_mangle)]
extern "C" fn fma(x: f64, y: f64, z: f64) -> f64 {
    libm::fma(x, y, z)
}

// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn fmaf(x: f32, y: f32, z: f32) -> f32 {
    libm::fmaf(x, y, z)
}
