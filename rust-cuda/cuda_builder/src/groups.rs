//! PTX of some of a text's kernels.

use std::collections::HashMap;

use crate::fingerprint::digest_of;
use crate::header::Header;

/// The text with only those entries that `is_kept` says, and all else: functions, variables, source files. A text
/// without the builder's header, such as one that says why there is no PTX, stays as it is.
pub(crate) fn with_kernels(text: &str, is_kept: impl Fn(&str) -> bool) -> String {
    let Ok((header, body)) = Header::split(text) else { return text.to_owned() };
    let body = body_with(&body, is_kept);
    format!("{}{body}", Header { text: digest_of(&body), ..header })
}

fn body_with(body: &str, is_kept: impl Fn(&str) -> bool) -> String {
    let entries: HashMap<&str, bool> =
        body.lines().filter_map(entry_name).map(|entry| (entry, is_kept(entry))).collect();
    let is_left_out = |name: &str| entries.get(name) == Some(&false);
    let mut kept = String::with_capacity(body.len());
    let mut lines = body.split_inclusive('\n');
    while let Some(line) = lines.next() {
        if entry_name(line).is_some_and(is_left_out) {
            // One without parameters and directives may be in one line.
            let _ = line.contains('}') || lines.any(|line| line.trim_end() == "}");
        } else if !belongs_to_entry(line).is_some_and(is_left_out) {
            kept.push_str(line);
        }
    }
    kept
}

/// The name of the entry that begins in a line.
fn entry_name(line: &str) -> Option<&str> {
    let after = line.split_once(".entry ")?.1;
    after.split(['(', ' ', '\n']).next()
}

/// The name of the entry whose signature or comment a line is.
fn belongs_to_entry(line: &str) -> Option<&str> {
    if let Some(name) = line.strip_prefix("\t// .globl\t") {
        return Some(name.trim_end());
    }
    let (before, _) = line.split_once("__signature[")?;
    before.rsplit(' ').next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arch;

    const BODY: &str = "\
.version 7.0
.file\t1 \"kernels/src/lib.rs\"
.visible .global .align 1 .b8 sum__signature[1] = {41};
.visible .global .align 1 .b8 max__signature[1] = {41};
\t// .globl\tsum
.visible .entry sum(
\t.param .u64 x // {
)
{
\t{ // callseq 0
\tcall helper, (x);
\t}
\tret;
}
.func helper(.param .u64 x)
{
\tret;
}
\t// .globl\tmax
.visible .entry max()
.maxntid 32, 1, 1
{
\tret;
}
";

    #[test]
    fn other_entries_are_left_out_with_their_signatures() {
        let kept = body_with(BODY, |kernel| kernel == "max");
        let expected = "\
.version 7.0
.file\t1 \"kernels/src/lib.rs\"
.visible .global .align 1 .b8 max__signature[1] = {41};
.func helper(.param .u64 x)
{
\tret;
}
\t// .globl\tmax
.visible .entry max()
.maxntid 32, 1, 1
{
\tret;
}
";
        assert_eq!(kept, expected);
        assert_eq!(body_with(BODY, |_| true), BODY);
    }

    #[test]
    fn the_header_is_of_the_shorter_text() {
        let header = Header::new("kernels", Arch::Sm75, digest_of("sources"), "rustc", BODY);
        let text = with_kernels(&format!("{header}{BODY}"), |kernel| kernel == "sum");
        assert_eq!(Header::staleness(&text, &digest_of("sources")), None);
        assert!(text.contains("sum__signature") && !text.contains("max"));
        let stale = "// stale: the sources have changed\n";
        assert_eq!(with_kernels(stale, |_| false), stale);
    }
}
