//! Kernels in PTX, and helpers that run the program.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

const HEADER: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// Each thread stores its number to its own element.
pub(crate) const CLEAN: &str = "
.visible .entry clean(.param .u64 clean_out)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [clean_out];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r1;
    ret;
}
";

/// All threads store their numbers to the first element, at line 4 of `src/sum.cu`.
pub(crate) const RACY: &str = "
.visible .entry racy(.param .u64 racy_out)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    .loc 1 3 5
    ld.param.u64 %rd1, [racy_out];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r1, %tid.x;
    .loc 1 4 9
    st.global.u32 [%rd1], %r1;
    ret;
}
.file 1 \"src/sum.cu\"
";

/// All threads store 1 to the first element.
pub(crate) const SAME_VALUE: &str = "
.visible .entry same_value(.param .u64 same_value_out)
{
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [same_value_out];
    st.global.u32 [%rd1], 1;
    ret;
}
";

/// Threads from `early_count` on return before a barrier. The others store an unwritten word of
/// shared memory, or a value computed from it.
pub(crate) const EARLY: &str = "
.visible .entry early(.param .u64 early_out, .param .u32 early_count, .param .u32 early_factor)
{
    .shared .align 4 .b8 room[4];
    .reg .pred %p<3>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [early_out];
    ld.param.u32 %r1, [early_count];
    ld.param.u32 %r2, [early_factor];
    mov.u32 %r3, %tid.x;
    setp.ge.u32 %p1, %r3, %r1;
    @%p1 ret;
    bar.sync 0;
    ld.shared.u32 %r4, [room];
    setp.ne.u32 %p2, %r3, 0;
    @%p2 ret;
    setp.eq.u32 %p2, %r2, 1;
    @!%p2 mul.lo.u32 %r4, %r4, %r2;
    st.global.u32 [%rd1], %r4;
    ret;
}
";

/// Block 0 writes data and sets a flag. Block 1 reads the data if it finds the flag set; otherwise
/// it writes the data too.
pub(crate) const DESCENDING: &str = "
.visible .entry publish(.param .u64 publish_data, .param .u64 publish_flag)
{
    .reg .pred %p<3>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [publish_data];
    ld.param.u64 %rd2, [publish_flag];
    mov.u32 %r1, %ctaid.x;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra $publish;
    ld.acquire.gpu.global.u32 %r2, [%rd2];
    setp.eq.u32 %p2, %r2, 1;
    @%p2 bra $read;
    st.global.u32 [%rd1], 7;
    ret;
$read:
    ld.global.u32 %r3, [%rd1];
    ret;
$publish:
    st.global.u32 [%rd1], 1;
    st.release.gpu.global.u32 [%rd2], 1;
    ret;
}
";

/// A thread waits for a flag that is never set.
pub(crate) const WAITS: &str = "
.visible .entry waits(.param .u64 waits_flag)
{
    .reg .pred %p<2>;
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [waits_flag];
$again:
    ld.acquire.gpu.global.u32 %r1, [%rd1];
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra $again;
    ret;
}
";

/// One block sets a flag with a volatile store; the other reads it with a volatile load.
pub(crate) const VOLATILE: &str = "
.visible .entry poll(.param .u64 poll_flag)
{
    .reg .pred %p<2>;
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [poll_flag];
    mov.u32 %r1, %ctaid.x;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra $set;
    ld.volatile.global.u32 %r2, [%rd1];
    ret;
$set:
    st.volatile.global.u32 [%rd1], 1;
    ret;
}
";

/// Each thread prints an escape character between two letters.
pub(crate) const PRINTS: &str = "
.extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 values);
.global .align 1 .b8 text[5] = {97, 27, 98, 10, 0};
.visible .entry prints()
{
    .reg .b64 %rd<3>;
    mov.u64 %rd1, text;
    cvta.global.u64 %rd1, %rd1;
    mov.u64 %rd2, 0;
    {
    .param .b64 a;
    .param .b64 b;
    .param .b32 count;
    st.param.b64 [a], %rd1;
    st.param.b64 [b], %rd2;
    call.uni (count), vprintf, (a, b);
    }
    ret;
}
";

/// An unsupported kernel.
pub(crate) const REFUSED: &str = "
.visible .entry refused()
{
    .reg .b32 %r<2>;
    bogus.u32 %r1, %r1;
    ret;
}
";

/// A folder with a PTX file `kernels.ptx`.
pub(crate) struct Folder(TempDir);

/// Output and exit code of a run of the program.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Folder {
    pub(crate) fn of(kernels: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("kernels.ptx"), HEADER.to_owned() + &kernels.concat()).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// Runs the program in the folder.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        let output = Command::new(env!("CARGO_BIN_EXE_kernel-check"))
            .args(arguments)
            .current_dir(self.path())
            .output()
            .expect("kernel-check must start");
        Run {
            code: output.status.code().expect("kernel-check must not crash"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs a kernel of `kernels.ptx`, passing these words after grid and block.
    pub(crate) fn check(&self, kernel: &str, (grid, block): (&str, &str), words: &str) -> Run {
        let mut arguments = vec!["kernels.ptx", "--kernel", kernel, "--grid", grid, "--block", block];
        arguments.extend(words.split_whitespace());
        self.run(&arguments)
    }
}
