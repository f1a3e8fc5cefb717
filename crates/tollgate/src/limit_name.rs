//! The names of limits, each kept once and for good, so that a result can carry one and is copied like a number.

use std::collections::BTreeMap;
use std::fmt;

use parking_lot::RwLock;

/// The name of a limit, or that it has none: a number that stands for it.
///
/// # Memory
/// A name takes its bytes once, however many results, endpoints and reloads use it, and is never given back: what is
/// kept is bounded by the distinct names a process has ever loaded.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LimitName(u32);

static NAMES: RwLock<Names> = RwLock::new(Names { texts: Vec::new(), numbers: BTreeMap::new() });

struct Names {
    texts: Vec<&'static str>,
    /// The number of each, from 1.
    numbers: BTreeMap<&'static str, u32>,
}

impl Names {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let kept: &'static str = Box::leak(text.into());
        self.texts.push(kept);
        let number = u32::try_from(self.texts.len()).unwrap_or(0);
        self.numbers.insert(kept, number);
        number
    }
}

impl LimitName {
    /// Of a limit that is alone and so has no name.
    pub(crate) const NONE: Self = Self(0);

    /// The name of this text.
    pub(crate) fn of(text: &str) -> Self {
        Self(NAMES.write().number(text))
    }

    /// The text, `None` where the limit has no name.
    pub(crate) fn text(self) -> Option<&'static str> {
        let index = usize::try_from(self.0.checked_sub(1)?).ok()?;
        NAMES.read().texts.get(index).copied()
    }
}

impl fmt::Debug for LimitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_once_and_read_back() {
        let (day, hour) = (LimitName::of("day"), LimitName::of("hour"));
        assert_eq!((day.text(), hour.text()), (Some("day"), Some("hour")));
        assert_eq!(LimitName::of("day"), day);
        assert_ne!(day, hour);
        assert_eq!(LimitName::NONE.text(), None);
        assert_eq!(LimitName::of("").text(), Some(""));
    }
}
