//! Counts the tests that this run skipped. Cargo runs test programs in the order of package and
//! program names, and this is the workspace's last one.

fn main() {
    match test_support::of_this_run() {
        Ok(skips) => println!("\n{}\n", test_support::summary(&skips)),
        Err(error) => {
            eprintln!("cannot count the skipped tests: {error}");
            std::process::exit(1);
        }
    }
}
