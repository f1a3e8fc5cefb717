//! Who is denied most, in bounded memory.
//!
//! The space-saving sketch of Metwally, Agrawal and El Abbadi (2005): so many clients are counted; one that is not
//! among
//! them takes the place of the one counted least and goes on from its count, which is how much its own may be too high.
//! Whoever is denied more often than once in so many denials is among them for sure.

use std::collections::HashMap;

use parking_lot::Mutex;

/// How many clients are counted.
const COUNTED: usize = 100;

/// How long a name may be that is kept as it is, in bytes.
const NAME_BYTES_MAX: usize = 256;

/// Counts denials by client.
#[derive(Debug, Default)]
pub(crate) struct TopDenied(Mutex<Counts>);

/// A client and its denials: at most `denials`, and at least so many less `overestimate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Denied {
    pub(crate) client: Box<str>,
    pub(crate) denials: u64,
    pub(crate) overestimate: u64,
}

#[derive(Debug, Default)]
struct Counts {
    places: HashMap<Box<str>, usize>,
    counted: Vec<Denied>,
}

impl TopDenied {
    /// Counts a denial. `hide` makes what is kept of a name that is a secret, or too long.
    pub(crate) fn record(&self, client: &str, hide: impl FnOnce() -> String) {
        if client.len() > NAME_BYTES_MAX || is_secret(client) {
            self.0.lock().record(&hide());
        } else {
            self.0.lock().record(client);
        }
    }

    /// The clients counted, those denied most often first.
    pub(crate) fn top(&self) -> Vec<Denied> {
        let mut counted = self.0.lock().counted.clone();
        counted.sort_by(|one, other| {
            other.denials.cmp(&one.denials).then_with(|| one.client.cmp(&other.client))
        });
        counted
    }
}

/// Whether a client is told by the value of a header, such as an API key.
fn is_secret(client: &str) -> bool {
    client.starts_with("header ")
}

impl Counts {
    fn record(&mut self, client: &str) {
        if let Some(counted) =
            self.places.get(client).and_then(|place| self.counted.get_mut(*place))
        {
            counted.denials = counted.denials.saturating_add(1);
            return;
        }
        let mut new = Denied { client: client.into(), denials: 1, overestimate: 0 };
        if self.counted.len() < COUNTED {
            self.places.insert(client.into(), self.counted.len());
            self.counted.push(new);
            return;
        }
        let least = self.counted.iter_mut().enumerate().min_by_key(|(_, counted)| counted.denials);
        let Some((place, least)) = least else { return };
        new.overestimate = least.denials;
        new.denials = least.denials.saturating_add(1);
        self.places.remove(&least.client);
        self.places.insert(client.into(), place);
        *least = new;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden() -> String {
        "hidden".to_owned()
    }

    #[test]
    fn whoever_is_denied_most_is_found_among_any_number_of_others() {
        let denied = TopDenied::default();
        for round in 0..5_000 {
            denied.record(&format!("passer-by {round}"), hidden);
            if round % 10 == 0 {
                denied.record("mallory", hidden);
            }
        }
        let top = denied.top();
        assert_eq!((top.len(), &*top[0].client), (COUNTED, "mallory"));
        let (denials, overestimate) = (top[0].denials, top[0].overestimate);
        assert!(denials >= 500 && denials - overestimate <= 500, "{denials} {overestimate}");
        let Counts { places, counted } = denied.0.into_inner();
        assert_eq!(places.len(), COUNTED);
        assert!(places.iter().all(|(client, place)| counted[*place].client == *client));
    }

    #[test]
    fn few_clients_are_counted_exactly_and_sorted() {
        let denied = TopDenied::default();
        for client in ["b", "a", "b", "c", "a", "b"] {
            denied.record(client, hidden);
        }
        let top: Vec<_> =
            denied.top().iter().map(|it| (it.client.to_string(), it.denials)).collect();
        assert_eq!(top, [("b".into(), 3), ("a".into(), 2), ("c".into(), 1)]);
    }

    #[test]
    fn s49_neither_secrets_nor_long_names_are_kept() {
        let denied = TopDenied::default();
        denied.record("header x-api-key/6:canary", hidden);
        denied.record(&"x".repeat(NAME_BYTES_MAX + 1), hidden);
        let top = denied.top();
        assert_eq!((top.len(), &*top[0].client, top[0].denials), (1, "hidden", 2));
    }
}
