//! A module may have another macro under the name of one that its kernels call: kernels call that of `cuda_std`.

use cuda_std::LaunchConfig;
use cuda_std::simulator::{self, SimulatorBuffer};

/// A module with a macro of its own under such a name.
mod with_its_own {
    macro_rules! checked_equality {
        ($($argument:tt)*) => { ::core::assert_eq!($($argument)*) };
    }

    #[allow(clippy::single_component_path_imports, reason = "a macro has no path of its own")]
    mod macros {
        pub(super) use checked_equality;
    }

    use cuda_std::{GlobalMut, kernel, thread};
    use macros::checked_equality as assert_ne;

    #[kernel]
    pub fn of_its_own(out: GlobalMut<u32>) {
        assert_ne!(thread::index_1d(), 9);
        out[thread::index_1d() as usize] = 3;
    }

    pub(super) fn of_the_host() {
        assert_ne!([1].len(), 1);
    }
}

#[test]
fn a_macro_of_the_modules_own_is_not_in_the_way() {
    with_its_own::of_the_host();
    let mut out = SimulatorBuffer::uninitialized(2);
    simulator::launch(&with_its_own::of_its_own, LaunchConfig::new(1, 2), (&mut out,)).unwrap();
    assert_eq!(out.to_vec(), [3, 3]);
}
