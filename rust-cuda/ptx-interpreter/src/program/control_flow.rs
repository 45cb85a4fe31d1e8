//! Reconvergence points: immediate postdominators of the control-flow graph.

/// The control-flow successors of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Successors<'a> {
    /// The next instruction.
    Next,
    /// One of these, including the next instruction if it is a successor. Empty for a trap; paths
    /// to it do not count.
    Jump(&'a [usize]),
    /// None: the thread ends.
    Exit,
}

/// The immediate postdominator of each instruction: the first instruction on all paths from it to
/// the end. `None` if the paths share no instruction.
///
/// Uses the algorithm of Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001),
/// on the reversed graph with a virtual end node that all exits lead to.
pub(crate) fn immediate_postdominators(successors: &[Successors<'_>]) -> Vec<Option<usize>> {
    let count = successors.len();
    let end = count;
    let successors_of = |index: usize| -> Vec<usize> {
        match successors[index] {
            Successors::Next => vec![(index + 1).min(end)],
            Successors::Jump(targets) => targets.to_vec(),
            Successors::Exit => vec![end],
        }
    };
    let mut predecessors = vec![Vec::new(); count + 1];
    for index in 0..count {
        for next in successors_of(index) {
            predecessors[next].push(index);
        }
    }

    let order = postorder_from(end, &predecessors);
    let mut rank = vec![usize::MAX; count + 1];
    for (position, &node) in order.iter().enumerate() {
        rank[node] = position;
    }

    let mut dominator = vec![usize::MAX; count + 1];
    dominator[end] = end;
    let mut changed = true;
    while changed {
        changed = false;
        for &node in order.iter().rev().filter(|&&node| node != end) {
            let known = successors_of(node).into_iter().filter(|&next| dominator[next] != usize::MAX);
            let common = known.reduce(|a, b| common_dominator(a, b, &dominator, &rank));
            if let Some(common) = common
                && dominator[node] != common
            {
                dominator[node] = common;
                changed = true;
            }
        }
    }
    (0..count).map(|node| Some(dominator[node]).filter(|&dominator| dominator < end)).collect()
}

/// The nodes that reach `end`, in postorder of the reversed graph.
fn postorder_from(end: usize, predecessors: &[Vec<usize>]) -> Vec<usize> {
    let mut order = Vec::with_capacity(predecessors.len());
    let mut seen = vec![false; predecessors.len()];
    let mut stack = vec![(end, 0)];
    seen[end] = true;
    while let Some((node, position)) = stack.pop() {
        match predecessors[node].get(position) {
            Some(&next) => {
                stack.push((node, position + 1));
                if !seen[next] {
                    seen[next] = true;
                    stack.push((next, 0));
                }
            }
            None => order.push(node),
        }
    }
    order
}

fn common_dominator(mut a: usize, mut b: usize, dominator: &[usize], rank: &[usize]) -> usize {
    while a != b {
        while rank[a] < rank[b] {
            a = dominator[a];
        }
        while rank[b] < rank[a] {
            b = dominator[b];
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use super::Successors::{Exit, Jump, Next};
    use super::*;

    #[test]
    fn both_paths_of_a_branch_reconverge_after_it() {
        // 0: branch to 3; 1: then; 2: jump to 4; 3: else; 4: exit
        let graph = [Jump(&[1, 3]), Next, Jump(&[4]), Next, Exit];
        assert_eq!(immediate_postdominators(&graph), [Some(4), Some(2), Some(4), Some(4), None]);
    }

    #[test]
    fn a_loop_reconverges_at_its_exit() {
        // 0; 1: body; 2: branch to 1; 3: exit
        let graph = [Next, Next, Jump(&[1, 3]), Exit];
        assert_eq!(immediate_postdominators(&graph), [Some(1), Some(2), Some(3), None]);
    }

    #[test]
    fn paths_with_separate_exits_do_not_reconverge() {
        // 0: branch to 2; 1: exit; 2: exit
        assert_eq!(immediate_postdominators(&[Jump(&[1, 2]), Exit, Exit]), [None, None, None]);
    }

    #[test]
    fn paths_that_end_in_a_trap_are_not_waited_for() {
        // 0: branch to 2; 1: branch to 3; 2: trap; 3: exit
        assert_eq!(immediate_postdominators(&[Jump(&[1, 2]), Jump(&[2, 3]), Jump(&[]), Exit])[..2], [Some(1), Some(3)]);
    }

    #[test]
    fn an_endless_loop_has_no_postdominator() {
        assert_eq!(immediate_postdominators(&[Jump(&[0])]), [None]);
        // 0: branch to 2; 1: exit; 2: jump to itself. Every path to the end leads through 1.
        assert_eq!(immediate_postdominators(&[Jump(&[1, 2]), Exit, Jump(&[2])]), [Some(1), None, None]);
    }

    /// The definition: a candidate postdominates a node if every path from the node to the end
    /// contains it.
    fn postdominators_by_definition(successors: &[Successors<'_>]) -> Vec<Option<usize>> {
        let count = successors.len();
        let reaches_end = |from: usize, without: usize| {
            let (mut seen, mut stack) = (vec![false; count], vec![from]);
            while let Some(node) = stack.pop() {
                if node == count {
                    return true;
                }
                if node == without || std::mem::replace(&mut seen[node], true) {
                    continue;
                }
                match successors[node] {
                    Next => stack.push(node + 1),
                    Jump(targets) => stack.extend(targets),
                    Exit => return true,
                }
            }
            false
        };
        let postdominators = |node: usize| -> Vec<usize> {
            (0..count)
                .filter(|&other| other != node && reaches_end(node, usize::MAX) && !reaches_end(node, other))
                .collect()
        };
        // The immediate postdominator is postdominated by all the others.
        let immediate = |node: usize| {
            let all = postdominators(node);
            all.iter().copied().find(|&one| {
                let own = postdominators(one);
                all.iter().all(|other| *other == one || own.contains(other))
            })
        };
        (0..count).map(immediate).collect()
    }

    proptest::proptest! {
        #[test]
        fn random_graphs_agree_with_the_definition(
            kinds in proptest::collection::vec((0..4_u8, 0..1000_usize, 0..1000_usize), 1..14)
        ) {
            let count = kinds.len();
            let targets: Vec<Vec<usize>> = kinds.iter().enumerate().map(|(index, &(kind, a, b))| match kind {
                0 => vec![],
                1 => vec![a % count],
                2 if index + 1 < count => vec![index + 1, a % count],
                _ => vec![a % count, b % count],
            }).collect();
            let graph: Vec<Successors<'_>> = targets.iter().enumerate().map(|(index, targets)| {
                match targets.is_empty() {
                    true if index + 1 < count && kinds[index].1 % 2 == 0 => Next,
                    true => Exit,
                    false => Jump(targets),
                }
            }).collect();
            proptest::prop_assert_eq!(immediate_postdominators(&graph), postdominators_by_definition(&graph));
        }
    }
}
