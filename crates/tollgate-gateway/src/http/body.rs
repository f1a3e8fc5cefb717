//! The body of a request, read whole and never more than is allowed.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::{Body, Incoming};
use tokio::time::timeout;

use super::problem::Problem;
use crate::door::Door;
use crate::gate::Gate;
use crate::metrics::LimitHit;

/// How many times the most bytes of a body that is too large are taken in and thrown away before the answer: a
/// connection closed on a client that still sends loses the answer.
const DISCARDED_TIMES: u64 = 16;

/// Takes in a whole body.
///
/// # Errors
/// When it is too large, comes too slowly or breaks off.
pub(crate) async fn read(body: &mut Incoming, gate: &Gate, door: Door) -> Result<Bytes, Problem> {
    let limits = &gate.settings().limits;
    let (most, time) = (limits.body_bytes, limits.body_timeout);
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    let mut length = 0_u64;
    while !body.is_end_stream() {
        let Ok(frame) = timeout(time, body.frame()).await else {
            gate.metrics.record_limit(door, LimitHit::BodyTime);
            let detail = format!("nothing of the body came for {} s", time.as_secs());
            return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, detail));
        };
        let Some(frame) = frame else { break };
        let frame =
            frame.map_err(|error| Problem::bad_request(format!("the body broke off: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        length = length.saturating_add(u64::try_from(data.len()).unwrap_or(u64::MAX));
        if length > most {
            rest = BytesMut::new();
            if length > most.saturating_mul(DISCARDED_TIMES) {
                break;
            }
        } else if first.is_empty() {
            first = data;
        } else {
            rest.extend_from_slice(&data);
        }
    }
    if length > most {
        gate.metrics.record_limit(door, LimitHit::BodyBytes);
        let detail = format!("the body is above {most} bytes; send a shorter list");
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail));
    }
    Ok(joined(first, &rest))
}

/// Nearly all bodies come in one piece, which is not copied.
fn joined(first: Bytes, rest: &BytesMut) -> Bytes {
    if rest.is_empty() {
        return first;
    }
    let mut whole = BytesMut::with_capacity(first.len().saturating_add(rest.len()));
    whole.extend_from_slice(&first);
    whole.extend_from_slice(rest);
    whole.freeze()
}
