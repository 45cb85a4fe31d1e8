//! Concurrent updates of a region by many threads are not lost.

use std::thread::scope;

use ptx_interpreter::memory::Region;

const THREADS: u64 = 8;
const TIMES: u64 = 5000;

fn on_all_threads(work: impl Fn(u64) + Sync) {
    scope(|threads| {
        for thread in 0..THREADS {
            let work = &work;
            threads.spawn(move || work(thread));
        }
    });
}

#[test]
fn sums_of_many_threads_are_complete() {
    for bytes in [1, 2, 4, 8] {
        let region = Region::from_bytes(&[0; 16]);
        let ones = |_| {
            for _ in 0..TIMES {
                region.update(8, bytes, |old| old.wrapping_add(1));
            }
        };
        on_all_threads(ones);
        let all = u64::MAX >> (64 - 8 * bytes);
        assert_eq!(region.load(8, bytes), (THREADS * TIMES) & all, "{bytes} bytes");
        assert_eq!(region.load(0, 8), 0);
    }
}

#[test]
fn sums_of_16_bytes_are_complete() {
    let region = Region::from_bytes(&[0xff; 16]);
    on_all_threads(|_| {
        for _ in 0..TIMES {
            region.update_wide(0, |old| old.wrapping_add(1 << 60));
        }
    });
    let mut bytes = [0; 16];
    region.read(0, &mut bytes);
    assert_eq!(u128::from_le_bytes(bytes), u128::MAX.wrapping_add(u128::from(THREADS * TIMES) << 60));
}

#[test]
fn each_old_value_is_returned_once() {
    let region = Region::from_bytes(&[0; 8]);
    let taken = Region::from_bytes(&vec![0; (THREADS * TIMES) as usize]);
    on_all_threads(|_| {
        for _ in 0..TIMES {
            let ticket = region.update(0, 4, |old| old + 1);
            taken.update(ticket as usize, 1, |old| old + 1);
        }
    });
    let mut counts = vec![0; (THREADS * TIMES) as usize];
    taken.read(0, &mut counts);
    assert!(counts.iter().all(|count| *count == 1));
}

#[test]
fn neighbouring_bytes_are_stored_concurrently() {
    let region = Region::new(THREADS as usize);
    on_all_threads(|thread| {
        for value in 0..TIMES {
            region.store(thread as usize, 1, value);
            assert_eq!(region.load(thread as usize, 1), value & 0xff);
        }
    });
    assert!(region.is_initialised(0, THREADS as usize));
}

#[test]
fn whole_accesses_of_8_bytes_do_not_tear() {
    let region = Region::from_bytes(&[0; 8]);
    on_all_threads(|thread| {
        for value in 0..TIMES {
            match thread % 3 {
                0 => region.store_whole(0, 8, value << 32 | value),
                1 => _ = region.update(0, 8, |_| value << 32 | value),
                _ => {
                    let seen = region.load_whole(0, 8);
                    assert_eq!(seen >> 32, seen & 0xffff_ffff);
                }
            }
        }
    });
}

#[test]
fn bytes_written_by_many_threads_are_all_initialised() {
    for _ in 0..20 {
        let region = Region::new(4096 + 3);
        on_all_threads(|thread| {
            for offset in (0..4096 + 3).filter(|offset| offset % THREADS == thread) {
                region.store(offset as usize, 1, 1);
            }
        });
        assert_eq!(region.first_uninitialised(0, 4096 + 3), None);
        assert!(region.is_initialised(0, 4096 + 3));
    }
}
