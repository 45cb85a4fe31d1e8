//! A system-call filter for seccomp, written in classic BPF: a process may start threads, but no
//! processes.
//!
//! The memory limit applies per process. With the filter it applies to the whole submission.

/// Instructions of classic BPF, from linux/bpf_common.h: load a word, jump if equal, jump if
/// greater or equal, bitwise and, return.
const LOAD: u16 = 0x20;
const IS_EQUAL: u16 = 0x15;
const IS_AT_LEAST: u16 = 0x35;
const AND: u16 = 0x54;
const RETURN: u16 = 0x06;

/// Offsets of the call's number, the processor architecture, and the lower half of the first
/// argument in `seccomp_data`, from linux/seccomp.h.
const NUMBER: u32 = 0;
const PROCESSOR: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;

/// Actions from linux/seccomp.h: allow the call, kill the process, fail with EPERM, or fail with
/// ENOSYS.
const ALLOW: u32 = 0x7fff_0000;
const KILL: u32 = 0x8000_0000;
const NOT_PERMITTED: u32 = 0x0005_0001;
const NO_SUCH_CALL: u32 = 0x0005_0026;

/// The `clone` flag that starts a thread.
const THREAD: u32 = 0x0001_0000;

/// System call numbers of a processor architecture.
struct Calls {
    /// The architecture's number in linux/audit.h.
    processor: u32,
    clone: u32,
    clone3: u32,
    /// Calls that start a process or allocate memory that belongs to no process.
    forbidden: &'static [u32],
    /// Numbers from this one on belong to another system-call interface.
    end: u32,
}

const X86_64: Calls =
    Calls { processor: 0xc000_003e, clone: 56, clone3: 435, forbidden: &[57, 58, 29], end: 0x4000_0000 };
const AARCH64: Calls = Calls { processor: 0xc000_00b7, clone: 220, clone3: 435, forbidden: &[194], end: u32::MAX };

/// Returns the filter for this processor, if its architecture is known.
pub(super) fn one_process() -> Option<Vec<u8>> {
    match std::env::consts::ARCH {
        "x86_64" => Some(X86_64.program()),
        "aarch64" => Some(AARCH64.program()),
        _ => None,
    }
}

impl Calls {
    fn program(&self) -> Vec<u8> {
        // A jump either skips the next instruction or falls through to it.
        let mut program = vec![
            (LOAD, 0, 0, PROCESSOR),
            (IS_EQUAL, 1, 0, self.processor),
            (RETURN, 0, 0, KILL),
            (LOAD, 0, 0, NUMBER),
            (IS_AT_LEAST, 0, 1, self.end),
            (RETURN, 0, 0, NOT_PERMITTED),
            // The flags of `clone3` are in memory, which a filter cannot read. If `clone3` is
            // missing, the C library calls `clone`.
            (IS_EQUAL, 0, 1, self.clone3),
            (RETURN, 0, 0, NO_SUCH_CALL),
        ];
        for call in self.forbidden {
            program.extend([(IS_EQUAL, 0, 1, *call), (RETURN, 0, 0, NOT_PERMITTED)]);
        }
        program.extend([
            (IS_EQUAL, 1, 0, self.clone),
            (RETURN, 0, 0, ALLOW),
            (LOAD, 0, 0, FIRST_ARGUMENT),
            (AND, 0, 0, THREAD),
            (IS_EQUAL, 0, 1, THREAD),
            (RETURN, 0, 0, ALLOW),
            (RETURN, 0, 0, NOT_PERMITTED),
        ]);
        let bytes = |(code, when_true, when_false, value): (u16, u8, u8, u32)| {
            let mut bytes = code.to_ne_bytes().to_vec();
            bytes.extend([when_true, when_false]);
            bytes.extend(value.to_ne_bytes());
            bytes
        };
        program.into_iter().flat_map(bytes).collect()
    }
}
