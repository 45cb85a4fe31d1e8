//! A kernel uses the imports of the macros that its body calls, however a module imports them.

#![deny(unused_imports)]

use cuda_std::LaunchConfig;
use cuda_std::simulator::{self, SimulatorBuffer};

mod by_name {
    use cuda_std::{GlobalMut, assert, assert_eq, assert_ne, kernel, panic, println, thread};

    #[kernel]
    pub fn named(out: GlobalMut<u32>) {
        let i = thread::index_1d();
        println!("{i}");
        assert!(i < 2);
        assert_eq!(i, i, "equal");
        assert_ne!(i, i + 1);
        if i > 2 {
            panic!();
        }
        out[i as usize] = i;
    }
}

mod by_glob {
    use cuda_std::*;

    #[kernel]
    pub fn all(out: GlobalMut<u32>) {
        let i = thread::index_1d();
        println!("{i}");
        if i > 2 {
            panic!();
        }
        out[i as usize] = i;
    }
}

mod by_prelude {
    use cuda_std::prelude::*;

    #[kernel(u32)]
    pub fn of_prelude<T: Element>(out: GlobalMut<T>, x: T) {
        out[thread::index_1d() as usize] = x;
        checked(thread::index_1d());
        println!("{}", thread::index_1d());
    }

    /// Not of a kernel: `core`'s, which the prelude leaves alone.
    fn checked(i: u32) {
        assert!(i < 2);
        if i > 2 {
            panic!("{i}");
        }
    }
}

mod without {
    #[cuda_std::kernel]
    pub fn unnamed(out: cuda_std::GlobalMut<u32>) {
        let i = cuda_std::thread::index_1d();
        println!("{i}");
        assert!(i < 2);
        out[i as usize] = i;
    }
}

#[test]
fn kernels_speak_by_any_import() {
    let mut out = SimulatorBuffer::uninitialized(2);
    simulator::launch(&by_name::named, LaunchConfig::new(1, 2), (&mut out,)).unwrap();
    simulator::launch(&by_glob::all, LaunchConfig::new(1, 2), (&mut out,)).unwrap();
    simulator::launch(&without::unnamed, LaunchConfig::new(1, 2), (&mut out,)).unwrap();
    assert_eq!(out.to_vec(), [0, 1]);
    simulator::launch(&by_prelude::of_prelude, LaunchConfig::new(1, 2), (&mut out, 5)).unwrap();
    assert_eq!(out.to_vec(), [5, 5]);
}
