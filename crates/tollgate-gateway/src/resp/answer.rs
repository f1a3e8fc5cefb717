//! What a decision is in the protocol.

use tollgate::{CallError, Decided};
use tollgate_json::{ResultError, ResultJson};

use super::reply::{Protocol, Replies};

/// The wait where none will do, in the version of the protocol that is all integers.
const NO_WAIT: i64 = -1;

/// Replies with a decision: the figures in a fixed order, or where the protocol has maps by their names in JSON.
pub(super) fn write(decided: &Decided, replies: &mut Replies) {
    if let Err(error @ CallError::TenantMissing(_)) = decided {
        return replies.error(format_args!("ERR {error}"));
    }
    let result = ResultJson::from(decided);
    match replies.protocol {
        Protocol::Resp2 => write_array(&result, replies),
        Protocol::Resp3 => write_map(&result, replies),
    }
}

fn write_array(result: &ResultJson, replies: &mut Replies) {
    replies.array(5);
    replies.integer(u8::from(result.allowed));
    replies.integer(result.limit);
    replies.integer(result.remaining);
    match result.retry_after_ms {
        Some(wait_ms) => replies.integer(wait_ms),
        None => replies.integer(NO_WAIT),
    }
    replies.integer(result.reset_after_ms);
}

fn write_map(result: &ResultJson, replies: &mut Replies) {
    let named = [("limitName", result.limit_name), ("error", result.error.map(ResultError::name))];
    let named = named.into_iter().filter_map(|(name, value)| Some((name, value?)));
    replies.map(5_usize.saturating_add(named.clone().count()));
    replies.string("allowed");
    replies.boolean(result.allowed);
    replies.string("remaining");
    replies.integer(result.remaining);
    replies.string("retryAfterMs");
    match result.retry_after_ms {
        Some(wait_ms) => replies.integer(wait_ms),
        None => replies.null(),
    }
    replies.string("limit");
    replies.integer(result.limit);
    replies.string("resetAfterMs");
    replies.integer(result.reset_after_ms);
    for (name, value) in named {
        replies.string(name);
        replies.string(value);
    }
}
