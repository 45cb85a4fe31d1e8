//! What cannot be a kernel, or an argument of one, is refused at its place with a message that says why.

#[test]
fn messages() {
    trybuild::TestCases::new().compile_fail("tests/refused/*.rs");
}
