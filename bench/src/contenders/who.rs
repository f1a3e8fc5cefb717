//! Contenders by name.

use std::fmt;

use super::{Contender, Setting, baselines, floor, governor, peers, tollgate};

/// A contender by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Null,
    Floor,
    FloorPassed,
    Limiter,
    LimiterFoldhash,
    LimiterPassed,
    RateLimiter,
    AllowMany,
    Governor,
    GovernorFoldhash,
    GovernorPassed,
    RateNet,
    Throttlecrab,
    TokioRateLimit,
    Limitador,
    MapOfMutexes,
    MutexOfMap,
}

impl Who {
    pub const ALL: [Self; 17] = [
        Self::Null,
        Self::Floor,
        Self::FloorPassed,
        Self::Limiter,
        Self::LimiterFoldhash,
        Self::LimiterPassed,
        Self::RateLimiter,
        Self::AllowMany,
        Self::Governor,
        Self::GovernorFoldhash,
        Self::GovernorPassed,
        Self::RateNet,
        Self::Throttlecrab,
        Self::TokioRateLimit,
        Self::Limitador,
        Self::MapOfMutexes,
        Self::MutexOfMap,
    ];

    /// The governor with the same hash and clock.
    pub fn like_governor(self) -> Self {
        match self {
            Self::FloorPassed | Self::LimiterPassed | Self::GovernorPassed => Self::GovernorPassed,
            Self::LimiterFoldhash | Self::GovernorFoldhash => Self::GovernorFoldhash,
            _ => Self::Governor,
        }
    }

    /// The floor with the same hash and clock, where there is one.
    pub fn like_floor(self) -> Option<Self> {
        match self {
            Self::FloorPassed | Self::LimiterPassed | Self::GovernorPassed => {
                Some(Self::FloorPassed)
            }
            Self::LimiterFoldhash | Self::GovernorFoldhash => None,
            _ => Some(Self::Floor),
        }
    }

    /// Whether a call takes microseconds, so that fewer tell as much.
    pub fn is_slow(self) -> bool {
        self == Self::Limitador
    }

    /// A contender with no key in it yet.
    pub fn make(self, setting: &Setting) -> Box<dyn Contender> {
        match self {
            Self::Null => Box::new(floor::Null::new()),
            Self::Floor => Box::new(floor::Floor::own_clock(setting)),
            Self::FloorPassed => Box::new(floor::Floor::now_passed(setting)),
            Self::Limiter => Box::new(tollgate::Allow::new(setting)),
            Self::LimiterFoldhash => Box::new(tollgate::Allow::foldhash(setting)),
            Self::LimiterPassed => Box::new(tollgate::NowPassed::new(setting)),
            Self::RateLimiter => Box::new(tollgate::FourEndpoints::new(setting)),
            Self::AllowMany => Box::new(tollgate::Batches::new(setting)),
            Self::Governor => Box::new(governor::keyed(setting.quota)),
            Self::GovernorFoldhash => Box::new(governor::foldhash(setting.quota)),
            Self::GovernorPassed => Box::new(governor::now_passed(setting.quota)),
            Self::RateNet => Box::new(peers::RateNet::new(setting)),
            Self::Throttlecrab => Box::new(peers::Throttlecrab::new(setting)),
            Self::TokioRateLimit => Box::new(peers::TokioRateLimit::new(setting.quota)),
            Self::Limitador => Box::new(peers::Limitador::new(setting)),
            Self::MapOfMutexes => Box::new(baselines::MapOfMutexes::new(setting.quota)),
            Self::MutexOfMap => Box::new(baselines::MutexOfMap::new(setting.quota)),
        }
    }

    /// A contender with room for all keys, and none in it yet; `None` for those who cannot make room.
    pub fn make_presized(self, setting: &Setting) -> Option<Box<dyn Contender>> {
        match self {
            Self::Limiter => Some(Box::new(tollgate::Allow::emptied(setting))),
            Self::Governor => Some(Box::new(governor::presized(setting))),
            Self::MapOfMutexes => Some(Box::new(baselines::MapOfMutexes::presized(setting))),
            _ => None,
        }
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null: read and hash the name",
            Self::Floor => "floor: one line, one CAS",
            Self::FloorPassed => "floor, foldhash, `now` passed",
            Self::Limiter => "tollgate `Limiter::allow`",
            Self::LimiterFoldhash => "tollgate, foldhash",
            Self::LimiterPassed => "tollgate, foldhash, `now` passed",
            Self::RateLimiter => "tollgate `RateLimiter::allow`, four endpoints",
            Self::AllowMany => "tollgate `allow_many`, batches of 32",
            Self::Governor => "governor",
            Self::GovernorFoldhash => "governor, foldhash",
            Self::GovernorPassed => "governor, foldhash, `now` passed",
            Self::RateNet => "rate-net",
            Self::Throttlecrab => "throttlecrab in a Mutex",
            Self::TokioRateLimit => "tokio-rate-limit",
            Self::Limitador => "limitador in memory (fixed window)",
            Self::MapOfMutexes => "own bucket in `DashMap<String, Mutex<_>>`",
            Self::MutexOfMap => "own bucket in `Mutex<HashMap<String, _>>`",
        })
    }
}
