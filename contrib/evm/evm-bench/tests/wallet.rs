//! The example runs, and the page shows what runs.

#[path = "../examples/wallet.rs"]
#[allow(dead_code)]
mod wallet;

#[test]
fn runs() {
    wallet::run().unwrap();
}

#[test]
fn the_page_shows_it() {
    let page = include_str!("../../README.md");
    let code = include_str!("../examples/wallet.rs");
    let (_, flow) = code.split_once("// BEGIN\n").unwrap();
    let (flow, _) = flow.split_once("    // END").unwrap();
    let flow: String = flow
        .lines()
        .map(|line| line.strip_prefix("    ").unwrap().to_owned() + "\n")
        .collect();
    assert!(page.contains(&format!("```rust\n{flow}```")), "{flow}");
}
