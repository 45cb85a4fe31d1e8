//! PTX with a subset of the kernels.

use std::collections::BTreeSet;

use crate::fingerprint::digest_of;
use crate::header::Header;
use crate::ptx_items::{Kind, items};

/// The text with only the entries for which `is_kept` holds, and everything else: functions,
/// variables, source files. Text without the builder's header stays unchanged, such as one that
/// explains why there is no PTX.
pub(crate) fn with_kernels(text: &str, is_kept: impl Fn(&str) -> bool) -> String {
    let Ok((header, body)) = Header::split(text) else { return text.to_owned() };
    let body = body_with(&body, is_kept);
    format!("{}{body}", Header { text: digest_of(&body), ..header })
}

fn body_with(body: &str, is_kept: impl Fn(&str) -> bool) -> String {
    let items = items(body);
    let entries = || items.iter().filter(|item| item.kind == Kind::Entry).filter_map(|item| item.function);
    let left_out: BTreeSet<&str> = entries().filter(|entry| !is_kept(entry)).collect();
    let mut kept = String::with_capacity(body.len());
    for item in &items {
        match item.function {
            Some(name) if item.kind == Kind::Entry && left_out.contains(name) => {}
            Some(_) => kept.push_str(item.text),
            None => {
                let lines = item.text.split_inclusive('\n');
                let is_of_left_out =
                    |line: &&str| entry_of_signature(line).is_some_and(|entry| left_out.contains(entry));
                kept.extend(lines.filter(|line| !is_of_left_out(line)));
            }
        }
    }
    kept
}

/// The name of the entry with its signature on this line.
fn entry_of_signature(line: &str) -> Option<&str> {
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
