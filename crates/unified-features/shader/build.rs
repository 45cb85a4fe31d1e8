//! Empty: Cargo reads `build-dependencies` only beside a build script.
fn main() {}
