//! `fma` and `fmaf` for Windows programs linked by mingw-w64. Its own versions round twice, so
//! `f32::mul_add` would give other bits than a GPU. Microsoft's C library, and every other system
//! here, rounds once.

#![allow(unsafe_code, reason = "functions of the C library are defined by their names")]

// SAFETY: this is C's signature of `fma`; the linker prefers this definition to the library's, for
// every caller.
#[unsafe(no_mangle)]
extern "C" fn fma(x: f64, y: f64, z: f64) -> f64 {
    libm::fma(x, y, z)
}

// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn fmaf(x: f32, y: f32, z: f32) -> f32 {
    libm::fmaf(x, y, z)
}
