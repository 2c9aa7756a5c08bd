//! Programs that would accept a forgery, or combine what does not belong together, do not
//! compile. `TRYBUILD=overwrite` writes the expected messages.

#[test]
fn programs_that_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/forbidden/*.rs");
}
