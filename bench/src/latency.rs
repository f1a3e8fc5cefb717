//! How long single calls take: wall time by the processor's counter, some 20 ns of it the reading itself.

use hdrhistogram::Histogram;

use crate::contenders::{Contender, Setting, Who};
use crate::keys::{Calls, Order};
use crate::quota::Quota;
use crate::stage::{fill, median};

/// The contenders whose latency is of interest, the one that does nothing for scale.
const WHOS: [Who; 6] =
    [Who::Null, Who::Limiter, Who::RateLimiter, Who::Governor, Who::RateNet, Who::MapOfMutexes];

/// What state a contender is in when it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It holds all keys.
    Steady,
    /// It holds none, and each call brings a new one.
    Filling,
    /// The same, with room made before.
    FillingPresized,
}

impl Phase {
    pub const ALL: [Self; 3] = [Self::Steady, Self::Filling, Self::FillingPresized];

    pub fn title(self) -> &'static str {
        match self {
            Self::Steady => "all keys held",
            Self::Filling => "filling from empty",
            Self::FillingPresized => "filling from empty, presized",
        }
    }

    /// A contender in this phase, where there is one.
    fn contender(self, who: Who, setting: &Setting) -> Option<Box<dyn Contender>> {
        match self {
            Self::Steady => {
                let contender = who.make(setting);
                fill(&*contender, setting);
                Some(contender)
            }
            Self::Filling => Some(who.make(setting)),
            Self::FillingPresized => who.make_presized(setting),
        }
    }

    fn calls(self, keys: usize) -> Calls {
        match self {
            Self::Steady => Calls::drawn(Order::Uniform, keys, keys, 0),
            Self::Filling | Self::FillingPresized => Calls::once_each(keys),
        }
    }
}

/// Nanoseconds that half of the calls, all but one in a hundred and all but one in a thousand stay within.
#[derive(Clone, Copy)]
pub struct Latency {
    pub who: Who,
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
}

/// The medians of several interleaved rounds, with a contender made anew for each.
pub fn measure(phase: Phase, keys: usize, rounds: usize) -> Vec<Latency> {
    let setting = Setting::new(keys, Quota::SLOW);
    let calls = phase.calls(keys);
    let clock = quanta::Clock::new();
    let mut turns = WHOS.map(|who| (who, Vec::new()));
    for _ in 0..rounds {
        for (who, histograms) in &mut turns {
            if let Some(contender) = phase.contender(*who, &setting) {
                let mut nanos = Histogram::new(3).expect("three digits are a valid precision");
                contender.record(&calls, &clock, &mut nanos);
                histograms.push(nanos);
            }
        }
    }
    let measured = turns.into_iter().filter(|(_, histograms)| !histograms.is_empty());
    measured.map(|(who, histograms)| Latency::of(who, &histograms)).collect()
}

impl Latency {
    fn of(who: Who, rounds: &[Histogram<u64>]) -> Self {
        let within = |share| {
            median(rounds.iter().map(|nanos| nanos.value_at_quantile(share) as f64).collect())
        };
        Self { who, p50: within(0.5), p99: within(0.99), p999: within(0.999) }
    }
}
