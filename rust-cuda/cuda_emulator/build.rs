//! Names the library as programs look for it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        // A program that was linked with libcuda names this file; calls within the library stay there.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
        println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic");
        // Under the address sanitizer, the library takes the sanitizer's functions from the test that loads it.
        if std::env::var("CARGO_CFG_SANITIZE").is_ok_and(|sanitizers| sanitizers.contains("address")) {
            println!("cargo::rustc-link-arg-tests=-rdynamic");
        }
    }
}
