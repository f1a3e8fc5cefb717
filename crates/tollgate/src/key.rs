//! Who a limit is kept for: a client's name, as the 64-bit keyed hash under which its state is stored.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

use foldhash::quality::RandomState as FoldState;
use siphasher::sip::SipHasher13;

/// A client's identity: the 64-bit hash of its name under a secret key.
///
/// Make it once with [`RateLimiter::key`](crate::RateLimiter::key) or [`Limiter::key`](crate::Limiter::key)
/// to ask several limiters about one client. Keys made under one [`KeyHasher`] mean nothing under another.
///
/// Names are not kept: state takes a fraction of the memory, and no client id lies in it. With ten million live
/// keys the chance that any two share a hash is 3 in a million; two that do share one quota, so they may be
/// denied too early, never admitted too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub(crate) u64);

/// Sixteen digits, for logs and listings: under one [`KeyHasher`] a name is always shown as the same ones.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Turns names into [`Key`]s, under a secret that is drawn anew for each hasher.
///
/// The hash is a security decision: who can make two names collide can make one client use up another's
/// quota. [`KeyHasher::secure`] resists that; [`KeyHasher::fast`] is for names that clients cannot choose.
#[derive(Clone, Debug)]
pub struct KeyHasher(Function);

#[derive(Clone)]
enum Function {
    Sip(SipHasher13),
    Fold(FoldState),
}

impl KeyHasher {
    /// SipHash-1-3 under a random key: for names that come from outside. The default.
    pub fn secure() -> Self {
        Self(Function::Sip(SipHasher13::new_with_keys(random(), random())))
    }

    /// SipHash-1-3 under a secret of yours, so that a run with a full table can be repeated exactly.
    pub fn with_secret(secret: [u8; 16]) -> Self {
        Self(Function::Sip(SipHasher13::new_with_key(&secret)))
    }

    /// foldhash under a random seed: some nanoseconds faster, and only for names that clients cannot choose,
    /// since its resistance to chosen names is weak.
    pub fn fast() -> Self {
        Self(Function::Fold(FoldState::default()))
    }

    /// The key of a name; any text has one, the empty one included.
    #[inline]
    pub fn key(&self, name: &str) -> Key {
        Key(match &self.0 {
            Function::Sip(hasher) => hasher.hash(name.as_bytes()),
            Function::Fold(state) => state.hash_one(name),
        })
    }
}

impl Default for KeyHasher {
    fn default() -> Self {
        Self::secure()
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            // The secret stays one.
            Self::Sip(_) => "SipHash-1-3",
            Self::Fold(_) => "foldhash",
        })
    }
}

/// 64 random bits from the operating system's source, by way of the standard library's hash keys.
fn random() -> u64 {
    RandomState::new().hash_one("tollgate")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_key_under_a_hasher_and_another_under_another() {
        for hasher in [KeyHasher::secure(), KeyHasher::fast()] {
            assert_eq!(hasher.key("alice"), hasher.clone().key("alice"));
            assert_ne!(hasher.key("alice"), hasher.key("alic"));
            assert_ne!(hasher.key(""), hasher.key("\0"));
        }
        assert_ne!(KeyHasher::secure().key("alice"), KeyHasher::secure().key("alice"));
        assert_ne!(KeyHasher::fast().key("alice"), KeyHasher::fast().key("alice"));
    }

    #[test]
    fn hashers_of_one_secret_agree() {
        let key = |secret| KeyHasher::with_secret([secret; 16]).key("alice");
        assert_eq!(key(1), key(1));
        assert_ne!(key(1), key(2));
    }

    #[test]
    fn a_hasher_does_not_show_its_secret() {
        assert_eq!(format!("{:?}", KeyHasher::secure()), "KeyHasher(SipHash-1-3)");
    }
}
