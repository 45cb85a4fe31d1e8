//! Gives the library the name under which programs look for it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        // Programs linked with libcuda look for this file name. Calls within the library stay
        // there.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
        println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic");
        // Under the address sanitizer, the test that loads the library provides the sanitizer's
        // functions.
        if std::env::var("CARGO_CFG_SANITIZE").is_ok_and(|sanitizers| sanitizers.contains("address")) {
            println!("cargo::rustc-link-arg-tests=-rdynamic");
        }
    }
}
