//! Empty: Cargo reads `build-dependencies` only if there is a build script.
fn main() {}
