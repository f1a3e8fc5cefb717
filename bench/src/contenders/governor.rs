//! governor, keyed: by default, under Tollgate's fast hash, and at a time that is passed.

use std::num::NonZeroU32;

use foldhash::quality::RandomState as Foldhash;
use governor::clock::{Clock, DefaultClock, FakeRelativeClock};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::{DashMapStateStore, KeyedStateStore};
use governor::{Quota as Rate, RateLimiter};

use super::{Contender, Setting};
use crate::quota::Quota;

struct Governor<S, C>(RateLimiter<String, S, C, NoOpMiddleware<C::Instant>>)
where
    S: KeyedStateStore<String>,
    C: Clock;

pub(super) fn keyed(quota: Quota) -> impl Contender {
    Governor(RateLimiter::keyed(rate(quota)))
}

pub(super) fn foldhash(quota: Quota) -> impl Contender {
    Governor(RateLimiter::dashmap_with_hasher(rate(quota), Foldhash::default()))
}

/// Under a clock that stands still: the nearest to a time that the caller passes.
pub(super) fn now_passed(quota: Quota) -> impl Contender {
    let clock = FakeRelativeClock::default();
    Governor(RateLimiter::dashmap_with_clock_and_hasher(rate(quota), clock, Foldhash::default()))
}

pub(super) fn presized(setting: &Setting) -> impl Contender + use<> {
    let room: DashMapStateStore<String> = DashMapStateStore::with_capacity(setting.keys);
    Governor(RateLimiter::new(rate(setting.quota), room, DefaultClock::default()))
}

impl<S, C> Contender for Governor<S, C>
where
    S: KeyedStateStore<String> + Sync,
    C: Clock<Instant: Sync> + Sync,
{
    /// governor looks keys up by `&String`: a caller that keeps one in a buffer pays a copy, and no allocation.
    fn allow(&self, name: &str, buffer: &mut String) -> bool {
        buffer.clear();
        buffer.push_str(name);
        self.0.check_key(buffer).is_ok()
    }
}

fn rate(quota: Quota) -> Rate {
    let burst = NonZeroU32::new(quota.burst).expect("a burst is above 0");
    Rate::with_period(quota.interval()).expect("an interval is above 0").allow_burst(burst)
}
