//! A request as it came, checked: what is asked of each descriptor.
//!
//! What is refused here is what Envoy's config decides and no client can. Envoy lets a request through when its
//! question is refused (unless `failure_mode_deny` is set), so nothing that a client may send is.

use std::time::Duration;

use thiserror::Error;
use tollgate::FixedWindow;

use super::wire::rate_limit_descriptor::{Entry, RateLimitOverride};
use super::wire::{RateLimitDescriptor, RateLimitRequest, Unit};

/// The most descriptors of a request.
pub(super) const DESCRIPTORS_MAX: usize = 100;

/// The most entries of a descriptor.
pub(super) const ENTRIES_MAX: usize = 64;

/// One descriptor.
#[derive(Debug)]
pub(super) struct Question<'a> {
    /// In the order of their keys, each of its own.
    pub(super) entries: Vec<&'a Entry>,
    /// What it costs; `None` for what the endpoint costs.
    pub(super) hits: Option<u64>,
    /// The limit to go by instead of the endpoint's.
    pub(super) limit: Option<OwnLimit>,
}

/// A limit that comes with the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnLimit {
    /// Of no request at all in a unit of time.
    Nothing(Unit),
    /// Of so many in a unit of time.
    Window(FixedWindow, Unit),
}

/// Why a request cannot be judged.
#[derive(Debug, PartialEq, Eq, Error)]
pub(super) enum QuestionFault {
    #[error("domain is empty; expected the one of Envoy's rate limit filter")]
    NoDomain,
    #[error("descriptors is empty; expected one or more")]
    NoDescriptors,
    #[error("descriptors has {0} elements; expected at most {DESCRIPTORS_MAX}")]
    ManyDescriptors(usize),
    #[error("descriptors[{descriptor}].{fault}")]
    Descriptor { descriptor: usize, fault: DescriptorFault },
}

/// What is wrong with a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum DescriptorFault {
    #[error("entries is empty; expected one or more")]
    NoEntries,
    #[error("entries has {0} elements; expected at most {ENTRIES_MAX}")]
    ManyEntries(usize),
    #[error("entries has an empty key; expected a name")]
    EmptyKey,
    #[error("entries has the same key twice; give each entry one of its own, in `descriptor_key`")]
    KeyTwice,
    #[error("limit.unit is {0}; expected 1 (SECOND) to 7 (WEEK)")]
    Unit(i32),
    #[error("is_negative_hits is true; hits cannot be given back here, so leave it out")]
    NegativeHits,
}

/// What a request asks of each of its descriptors, in their order.
pub(super) fn read(request: &RateLimitRequest) -> Result<Vec<Question<'_>>, QuestionFault> {
    let descriptors = &request.descriptors;
    if request.domain.is_empty() {
        return Err(QuestionFault::NoDomain);
    }
    if descriptors.is_empty() {
        return Err(QuestionFault::NoDescriptors);
    }
    if descriptors.len() > DESCRIPTORS_MAX {
        return Err(QuestionFault::ManyDescriptors(descriptors.len()));
    }
    let hits = Some(u64::from(request.hits_addend)).filter(|hits| *hits > 0);
    let numbered = descriptors.iter().enumerate();
    numbered
        .map(|(descriptor, asked)| {
            Question::read(asked, hits)
                .map_err(|fault| QuestionFault::Descriptor { descriptor, fault })
        })
        .collect()
}

impl<'a> Question<'a> {
    fn read(
        descriptor: &'a RateLimitDescriptor,
        hits: Option<u64>,
    ) -> Result<Self, DescriptorFault> {
        if descriptor.is_negative_hits {
            return Err(DescriptorFault::NegativeHits);
        }
        let entries = in_order(&descriptor.entries)?;
        let limit = descriptor.limit.map(OwnLimit::read).transpose()?;
        Ok(Self { entries, hits: descriptor.hits_addend.or(hits), limit })
    }
}

/// Entries in the order of their keys.
fn in_order(entries: &[Entry]) -> Result<Vec<&Entry>, DescriptorFault> {
    if entries.is_empty() {
        return Err(DescriptorFault::NoEntries);
    }
    if entries.len() > ENTRIES_MAX {
        return Err(DescriptorFault::ManyEntries(entries.len()));
    }
    if entries.iter().any(|entry| entry.key.is_empty()) {
        return Err(DescriptorFault::EmptyKey);
    }
    let mut ordered: Vec<_> = entries.iter().collect();
    ordered.sort_unstable_by_key(|entry| &entry.key);
    let mut pairs = ordered.iter().zip(ordered.iter().skip(1));
    if pairs.any(|(one, next)| one.key == next.key) {
        return Err(DescriptorFault::KeyTwice);
    }
    Ok(ordered)
}

impl OwnLimit {
    fn read(limit: RateLimitOverride) -> Result<Self, DescriptorFault> {
        let unknown = DescriptorFault::Unit(limit.unit);
        let unit = Unit::try_from(limit.unit).map_err(|_unknown_number| unknown)?;
        let days = |days: u64| Duration::from_secs(days.saturating_mul(86_400));
        let window = match unit {
            Unit::Unknown => return Err(unknown),
            Unit::Second => Duration::from_secs(1),
            Unit::Minute => Duration::from_secs(60),
            Unit::Hour => Duration::from_secs(3_600),
            Unit::Day => days(1),
            Unit::Week => days(7),
            Unit::Month => days(30),
            Unit::Year => days(365),
        };
        // Of the windows above, only one of no requests is none.
        Ok(match FixedWindow::new(limit.requests_per_unit, window) {
            Ok(window) => Self::Window(window, unit),
            Err(_no_requests) => Self::Nothing(unit),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(key: &str, value: &str) -> Entry {
        Entry { key: key.to_owned(), value: value.to_owned() }
    }

    fn descriptor(keys: &[&str]) -> RateLimitDescriptor {
        let entries = keys.iter().map(|key| entry(key, "value")).collect();
        RateLimitDescriptor { entries, ..RateLimitDescriptor::default() }
    }

    fn request(descriptors: Vec<RateLimitDescriptor>) -> RateLimitRequest {
        RateLimitRequest { domain: "api".to_owned(), descriptors, hits_addend: 0 }
    }

    #[test]
    fn what_cannot_be_judged_is_told_with_its_place() {
        let limit = |unit| Some(RateLimitOverride { requests_per_unit: 5, unit });
        let many = |count: usize| (0..count).map(|number| number.to_string()).collect::<Vec<_>>();
        let many_keys = many(ENTRIES_MAX + 1);
        let many_keys: Vec<_> = many_keys.iter().map(String::as_str).collect();
        let good = descriptor(&["path"]);
        for (asked, fault) in [
            (
                RateLimitRequest { domain: String::new(), ..request(vec![good.clone()]) },
                "domain is empty; expected the one of Envoy's rate limit filter",
            ),
            (request(Vec::new()), "descriptors is empty; expected one or more"),
            (
                request(vec![good.clone(); 10_000]),
                "descriptors has 10000 elements; expected at most 100",
            ),
            (
                request(vec![good.clone(), descriptor(&[])]),
                "descriptors[1].entries is empty; expected one or more",
            ),
            (
                request(vec![descriptor(&many_keys)]),
                "descriptors[0].entries has 65 elements; expected at most 64",
            ),
            (
                request(vec![descriptor(&["path", ""])]),
                "descriptors[0].entries has an empty key; expected a name",
            ),
            (
                request(vec![descriptor(&["path", "method", "path"])]),
                "descriptors[0].entries has the same key twice; give each entry one of its own, \
                 in `descriptor_key`",
            ),
            (
                request(vec![RateLimitDescriptor { limit: limit(0), ..good.clone() }]),
                "descriptors[0].limit.unit is 0; expected 1 (SECOND) to 7 (WEEK)",
            ),
            (
                request(vec![RateLimitDescriptor { limit: limit(-8), ..good.clone() }]),
                "descriptors[0].limit.unit is -8; expected 1 (SECOND) to 7 (WEEK)",
            ),
            (
                request(vec![RateLimitDescriptor { is_negative_hits: true, ..good }]),
                "descriptors[0].is_negative_hits is true; hits cannot be given back here, so \
                 leave it out",
            ),
        ] {
            assert_eq!(read(&asked).unwrap_err().to_string(), fault);
        }
    }

    #[test]
    fn entries_are_put_in_the_order_of_their_keys() {
        let asked = request(vec![descriptor(&["path", "method", "client"])]);
        let read = read(&asked).unwrap();
        let keys: Vec<_> = read[0].entries.iter().map(|entry| &*entry.key).collect();
        assert_eq!(keys, ["client", "method", "path"]);
    }

    #[test]
    fn hits_are_the_descriptors_or_else_the_requests_or_else_not_said() {
        for (of_request, of_descriptor, hits) in
            [(0, None, None), (3, None, Some(3)), (3, Some(5), Some(5)), (3, Some(0), Some(0))]
        {
            let hits_addend = of_descriptor;
            let asked = RateLimitDescriptor { hits_addend, ..descriptor(&["path"]) };
            let asked = RateLimitRequest { hits_addend: of_request, ..request(vec![asked]) };
            assert_eq!(read(&asked).unwrap()[0].hits, hits);
        }
    }

    #[test]
    fn each_unit_of_time_has_its_length() {
        for (unit, seconds) in [
            (Unit::Second, 1),
            (Unit::Minute, 60),
            (Unit::Hour, 3_600),
            (Unit::Day, 86_400),
            (Unit::Week, 604_800),
            (Unit::Month, 2_592_000),
            (Unit::Year, 31_536_000),
        ] {
            let limit = |requests_per_unit| {
                OwnLimit::read(RateLimitOverride { requests_per_unit, unit: unit.into() }).unwrap()
            };
            let window = FixedWindow::new(7, Duration::from_secs(seconds)).unwrap();
            assert_eq!(limit(7), OwnLimit::Window(window, unit));
            assert_eq!(limit(0), OwnLimit::Nothing(unit));
        }
    }
}
