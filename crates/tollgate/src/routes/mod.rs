//! From an endpoint to the entry whose pattern matches it.
//!
//! A pattern is a path, with or without a method, in which a segment `{name}` stands for any one segment, and `*` at
//! the end for any rest. Of the patterns that match an endpoint the most specific answers: the one whose paths the
//! others match too, and of two with the same paths the one that names the method. Where that is not settled, because
//! each of two matches what the other does not, they are refused together, unless an entry settles what both match. So
//! an answer never depends on the order of entries.

mod overlaps;
mod pattern;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;

use foldhash::fast::RandomState;
use matchit::Router;

use overlaps::Overlaps;
use pattern::{Pattern, method_and_path};

/// What is wrong with the name of an endpoint as a pattern. Shown without the name itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointFault {
    index: usize,
    other: Option<usize>,
    message: String,
}

impl EndpointFault {
    /// Which of the names it is, counted from 0.
    pub const fn index(&self) -> usize {
        self.index
    }

    /// The earlier name that it does not go together with, counted from 0; `None` where it is wrong by itself.
    pub const fn other(&self) -> Option<usize> {
        self.other
    }
}

impl fmt::Display for EndpointFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Checks the names of the endpoints of one config: patterns that cannot be read, and pairs of which neither is more
/// specific. [`ConfigBuilder::build`](crate::ConfigBuilder::build) does this too; here each fault says which name it is
/// of, for those who know where that stands.
///
/// ```
/// let faults = tollgate::endpoint_faults(&["/{a}/x", "GET /y", "/y/{b}"]);
/// assert_eq!((faults[0].index(), faults[0].other()), (2, Some(0)));
/// ```
pub fn endpoint_faults(names: &[&str]) -> Vec<EndpointFault> {
    let (patterns, mut faults) = read_patterns(names);
    let plain = names.iter().copied().filter(|name| !is_pattern(name)).map(str::to_owned);
    let settled = plain.chain(patterns.iter().map(|(_, pattern)| pattern.to_string())).collect();
    let (mut seen, mut overlaps) = (BTreeSet::new(), Overlaps::default());
    for (position, (index, pattern)) in patterns.iter().enumerate() {
        // A name given twice is a fault of its own.
        if !seen.insert(names.get(*index)) {
            continue;
        }
        let clash = overlaps.with(pattern).into_iter().find_map(|earlier| {
            let (other, earlier) = patterns.get(earlier)?;
            let message = clash((earlier, names.get(*other)?), pattern, &settled)?;
            Some(EndpointFault { index: *index, other: Some(*other), message })
        });
        faults.extend(clash);
        overlaps.insert(pattern, position);
    }
    faults
}

/// Whether a name, of those that were checked, is a pattern.
pub(crate) fn is_pattern(name: &str) -> bool {
    matches!(Pattern::read(name), Ok(Some(_)))
}

/// An endpoint's method, where it has one, and the rest.
pub(crate) fn apart(endpoint: &str) -> (Option<&str>, &str) {
    match method_and_path(endpoint) {
        Some((method, path)) => (Some(method), path),
        None => (None, endpoint),
    }
}

/// The patterns among some names, each with the index of its name.
fn read_patterns<'a>(names: &[&'a str]) -> (Vec<(usize, Pattern<'a>)>, Vec<EndpointFault>) {
    let (mut patterns, mut faults) = (Vec::new(), Vec::new());
    for (index, name) in names.iter().enumerate() {
        match Pattern::read(name) {
            Ok(pattern) => patterns.extend(pattern.map(|pattern| (index, pattern))),
            Err(message) => faults.push(EndpointFault { index, other: None, message }),
        }
    }
    (patterns, faults)
}

/// Why two patterns cannot stand together, if they cannot. What both match may be settled by an entry of its own, for
/// its method or for all.
fn clash(
    (earlier, earlier_name): (&Pattern<'_>, &str),
    later: &Pattern<'_>,
    settled: &HashSet<String, RandomState>,
) -> Option<String> {
    if !earlier.overlaps(later) {
        return None;
    }
    match (earlier.covers(later), later.covers(earlier)) {
        (true, true) if earlier.method == later.method => {
            Some(format!("matches the same as {earlier_name:?}; keep one"))
        }
        (true, _) | (_, true) => None,
        (false, false) => {
            let meet = earlier.meet(later);
            let message = || {
                format!(
                    "matches {:?}, as {earlier_name:?} does, and neither is more specific; list \
                     that too, or change one",
                    meet.to_string()
                )
            };
            let is_settled = settled.contains(&meet.to_string()) || settled.contains(&meet.path());
            (!is_settled).then(message)
        }
    }
}

/// Finds the entry of an endpoint by its pattern. An entry is known by its index among the names given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes {
    /// For methods that no pattern names, and for endpoints without one.
    of_any_method: Paths,
    /// With the patterns for any method among them, so that one search is enough.
    by_method: HashMap<Box<str>, Paths, RandomState>,
}

impl Routes {
    /// The routes of all patterns among the names of a config's endpoints.
    ///
    /// # Errors
    /// As [`endpoint_faults`] finds them.
    pub(crate) fn new(names: &[&str]) -> Result<Self, Vec<EndpointFault>> {
        let faults = endpoint_faults(names);
        if !faults.is_empty() {
            return Err(faults);
        }
        let (patterns, _) = read_patterns(names);
        let methods: BTreeSet<_> = patterns.iter().filter_map(|(_, read)| read.method).collect();
        let of_method = |method| (Box::from(method), Paths::of(&patterns, Some(method)));
        Ok(Self {
            of_any_method: Paths::of(&patterns, None),
            by_method: methods.into_iter().map(of_method).collect(),
        })
    }

    /// The entry of the most specific pattern that matches.
    pub(crate) fn find(&self, method: Option<&str>, path: &str) -> Option<usize> {
        if !path.starts_with('/') {
            return None;
        }
        let of_method = method.and_then(|method| self.by_method.get(method));
        of_method.unwrap_or(&self.of_any_method).find(path)
    }
}

/// Patterns by their paths alone, in routers that are asked one after another.
///
/// One is enough unless a parameter and a rest stand in the same place, which the router does not take. Then the first
/// holds the patterns without a rest, each of which is more specific than any with a rest that matches the same path,
/// and the others those with a rest, by how many segments come before it, the most first.
#[derive(Clone, Debug, Default)]
struct Paths(Vec<Router<usize>>);

impl Paths {
    /// The paths of the patterns for a method and for any.
    fn of(patterns: &[(usize, Pattern<'_>)], method: Option<&str>) -> Self {
        let is_for = |pattern: &Pattern<'_>| pattern.method.is_none() || pattern.method == method;
        let mut patterns: Vec<_> = patterns.iter().filter(|(_, read)| is_for(read)).collect();
        // Where two have one route, as /a/ is one of /a/*, the first takes it. The paths of the one without a rest are
        // fewer, so it comes first; with the same paths, it is the method's own.
        patterns.sort_by_key(|(_, read)| (read.rest_after().is_some(), read.method.is_none()));
        let mut taken = BTreeSet::new();
        let mut routes = Vec::new();
        for (index, pattern) in patterns {
            let untaken = pattern.routes().into_iter().filter(|route| taken.insert(route.clone()));
            routes.extend(untaken.map(|route| (pattern.rest_after(), route, *index)));
        }
        Self::in_one(&routes).unwrap_or_else(|| Self::apart(routes))
    }

    fn in_one(routes: &[(Option<usize>, String, usize)]) -> Option<Self> {
        let mut tree = Router::new();
        let mut all = routes.iter();
        let fits = all.all(|(_, route, index)| tree.insert(route.as_str(), *index).is_ok());
        fits.then(|| Self(vec![tree]))
    }

    fn apart(routes: Vec<(Option<usize>, String, usize)>) -> Self {
        let mut trees = BTreeMap::<_, Router<usize>>::new();
        for (rest_after, route, index) in routes {
            let tree = trees.entry(rest_after.map(Reverse)).or_default();
            let inserted = tree.insert(route, index);
            debug_assert!(inserted.is_ok(), "what the router refuses was refused before");
        }
        Self(trees.into_values().collect())
    }

    fn find(&self, path: &str) -> Option<usize> {
        self.0.iter().find_map(|tree| tree.at(path).ok()).map(|found| *found.value)
    }
}
