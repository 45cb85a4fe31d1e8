//! The compiler rejects invalid kernels and arguments, at their span and with a message that gives the reason.

#[test]
fn messages() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
