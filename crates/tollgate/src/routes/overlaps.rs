//! Patterns by their segments, so that those which may overlap with another are found without comparing all.

use std::collections::BTreeMap;

use super::pattern::{Pattern, Segment};

/// A tree of patterns. Its nodes are numbers and its branches one map: a path of any length nests nothing.
#[derive(Debug, Default)]
pub(super) struct Overlaps<'a> {
    branches: BTreeMap<(usize, Segment<'a>), usize>,
    /// The patterns that end at each node.
    ending: Ends,
    /// Those of which a rest begins there.
    resting: Ends,
}

/// Positions of patterns by node.
type Ends = BTreeMap<usize, Vec<usize>>;

const ROOT: usize = 0;

impl<'a> Overlaps<'a> {
    /// Takes a pattern in, known by its position.
    pub(super) fn insert(&mut self, pattern: &Pattern<'a>, position: usize) {
        let node = pattern.segments().iter().fold(ROOT, |node, segment| {
            let next = self.branches.len().saturating_add(1);
            *self.branches.entry((node, *segment)).or_insert(next)
        });
        let has_rest = pattern.rest_after().is_some();
        let ends = if has_rest { &mut self.resting } else { &mut self.ending };
        ends.entry(node).or_default().push(position);
    }

    /// The positions of all patterns whose paths some path shares with this one's, and of a few more, in order.
    pub(super) fn with(&self, pattern: &Pattern<'a>) -> Vec<usize> {
        let (mut found, mut nodes) = (Vec::new(), vec![ROOT]);
        let mut add = |ends: &Ends, nodes: &[usize]| {
            found.extend(nodes.iter().filter_map(|node| ends.get(node)).flatten());
        };
        for segment in pattern.segments() {
            add(&self.resting, &nodes);
            nodes = nodes.iter().flat_map(|node| self.shared(*node, *segment)).collect();
        }
        add(&self.ending, &nodes);
        while pattern.rest_after().is_some() && !nodes.is_empty() {
            add(&self.resting, &nodes);
            nodes = nodes.iter().flat_map(|node| self.below(*node)).collect();
            add(&self.ending, &nodes);
        }
        found.sort_unstable();
        found
    }

    /// The nodes behind a node that some segment of this kind leads to.
    fn shared(&self, node: usize, segment: Segment<'a>) -> Vec<usize> {
        match segment {
            Segment::Parameter => self.below(node).collect(),
            Segment::Literal(_) => {
                let branches = [segment, Segment::Parameter];
                branches
                    .iter()
                    .filter_map(|segment| self.branches.get(&(node, *segment)))
                    .copied()
                    .collect()
            }
        }
    }

    fn below(&self, node: usize) -> impl Iterator<Item = usize> {
        let branches = (node, Segment::Literal(""))..=(node, Segment::Parameter);
        self.branches.range(branches).map(|(_, next)| *next)
    }
}
