//! Prints the PTX of a random program: `cargo run -p ptx-random-programs --example random_program -- 7 sm_90`.

use ptx_random_programs::{Program, Target};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let seed = arguments.next().unwrap_or_else(|| "0".to_owned()).parse()?;
    let target = match arguments.next().as_deref() {
        None | Some("sm_75") => Target::Sm75,
        Some("sm_90") => Target::Sm90,
        Some(other) => return Err(format!("no target {other}: it is sm_75 or sm_90").into()),
    };
    print!("{}", Program::new(seed, target).ptx());
    Ok(())
}
