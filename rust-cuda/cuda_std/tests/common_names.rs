//! A kernel, its parameter and its variable may have any common name, also that of a module, a type or a keyword.

use cuda_std::LaunchConfig;
use cuda_std::simulator::{self, SimulatorBuffer};

include!("common_names/kernels.rs");

#[test]
fn no_name_meets_one_of_the_macro() {
    let mut names = 0;
    macro_rules! check {
        ($name:ident) => {
            let x = SimulatorBuffer::from_slice(&[4_u32, 7, 1]);
            let mut out = SimulatorBuffer::uninitialized(3);
            simulator::launch(&named::$name::$name, LaunchConfig::new(1, 3), (&x, &mut out)).unwrap();
            assert_eq!(out.to_vec(), [5, 8, 2], "{}", stringify!($name));
            names += 1;
        };
    }
    for_each_name!(check);
    assert!(names >= 200, "{names}");
}
