//! The kinds of faults and their names in JSON and SARIF.

/// A kind of fault.
#[derive(Debug)]
pub struct Rule {
    /// Name in JSON and SARIF.
    pub id: &'static str,
    /// One-sentence description.
    pub description: &'static str,
}

const fn rule(id: &'static str, description: &'static str) -> Rule {
    Rule { id, description }
}

/// All kinds. `docs/checking.md` lists them.
pub const RULES: [Rule; 32] = [
    rule("race", "Two threads access the same bytes without synchronisation, and at least one of them writes."),
    rule(
        "same-value-race",
        "Two threads access the same bytes without synchronisation, and memory has the same value in any order.",
    ),
    rule("out-of-bounds", "An access or an index is outside of the memory that it is meant for."),
    rule("use-after-free", "An access to memory that has been freed."),
    rule("uninitialised-read", "A load of memory that nothing has written."),
    rule("misaligned", "An address is no multiple of the size of the access."),
    rule("wrong-space", "An address of one state space is used in another."),
    rule("read-only", "A store to memory that kernels cannot write."),
    rule(
        "image-object",
        "A texture or surface instruction gets a handle of no such object, or of one with other dimensions.",
    ),
    rule("tensor-map", "A copy of a tensor gets no tensor map, or one with other dimensions or another type."),
    rule(
        "wgmma",
        "A result of a warpgroup's matrix product is used before it has been waited for, or its threads or descriptors are wrong.",
    ),
    rule("barrier-divergence", "Not all threads of a block reach a barrier."),
    rule("barrier-of-some-lanes", "Lanes of a warp wait at a barrier, and its other lanes have exited: a note."),
    rule("barrier-in-two-arms", "Warps wait at barrier 0 at different instructions: a note."),
    rule("barrier-operands", "A barrier's number or thread count is wrong, or differs within a warp."),
    rule(
        "cluster-barrier",
        "Not all threads of a cluster reach its barrier, or its arrivals and waits do not alternate.",
    ),
    rule(
        "cluster-memory",
        "An access to shared memory of a block that does not exist, may not have started or has ended.",
    ),
    rule("mbarrier", "An mbarrier is not initialised, or counts arrivals or bytes that its phase does not expect."),
    rule("missing-lanes", "Not all member lanes reach a warp-level operation."),
    rule("member-mask", "The member mask of a warp-level operation excludes its lane, or differs between lanes."),
    rule("shuffle-source", "A shuffle reads from a lane that does not participate in it."),
    rule("branch-table", "An index is out of bounds of a branch table."),
    rule("no-function", "A call through a pointer that is the address of no function with its parameters."),
    rule("trap", "The kernel executes a trap: in Rust, it panics."),
    rule("assertion", "An assertion of the kernel fails."),
    rule("bad-free", "The kernel frees what malloc has not returned, or twice."),
    rule("panic", "The kernel panics."),
    rule("overflow", "An integer overflows, in a kernel that was compiled with overflow checks."),
    rule("recursion", "A function calls itself, which the interpreter does not support."),
    rule("waits-forever", "A loop waits for memory to change, and no thread that can run changes it."),
    rule("endless", "A loop does not end."),
    rule("no-progress", "A block issues instructions without a store, a barrier or an end, up to the limit."),
];

/// Index of a kind in [`RULES`].
pub fn index(id: &str) -> Option<usize> {
    RULES.iter().position(|rule| rule.id == id)
}

#[cfg(test)]
mod tests {
    use super::RULES;

    #[test]
    fn the_page_lists_all_kinds() {
        let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/checking.md");
        let page = std::fs::read_to_string(page).unwrap();
        for rule in &RULES {
            assert!(page.contains(&format!("| `{}` |", rule.id)), "{}", rule.id);
        }
    }
}
