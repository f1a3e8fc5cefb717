//! One client: how it stands, its quota given back, and what an operator says of it for a while.

use std::time::Duration;

use hyper::{Method, StatusCode};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use tollgate::Call;
use tollgate_json::ResultJson;

use super::query::Query;
use crate::audit::{Audit, shown};
use crate::gate::{Gate, Mode, Override};
use crate::http::answer::{self, Answer};
use crate::http::door::only;
use crate::http::problem::Problem;
use crate::http::{Received, body};

/// What stands before a client's name, which is escaped as one segment of a path.
pub(super) const PREFIX: &str = "/v1/clients/";

const OVERRIDE: &str = "/override";

/// How long an override may hold.
const OVERRIDE_MAX: Duration = Duration::from_secs(366 * 24 * 3_600);

pub(super) async fn route(received: Received, gate: &Gate) -> Result<Answer, Problem> {
    let path = received.request.uri().path();
    let rest = path.strip_prefix(PREFIX).unwrap_or_default();
    let (name, of_override) = match rest.strip_suffix(OVERRIDE) {
        Some(name) => (name, true),
        None => (rest, false),
    };
    if name.contains('/') {
        return Err(Problem::not_found(path));
    }
    let client = decoded(name)?;
    match (of_override, received.request.method()) {
        (false, &Method::GET) => show(&received, &client, gate),
        (false, &Method::DELETE) => reset(&received, &client, gate),
        (false, _) => only(&received, &[], "GET, DELETE").map(|()| answer::empty(StatusCode::OK)),
        (true, &Method::PUT) => set_override(received, &client, gate).await,
        (true, &Method::DELETE) => remove_override(&received, &client, gate),
        (true, _) => only(&received, &[], "PUT, DELETE").map(|()| answer::empty(StatusCode::OK)),
    }
}

fn decoded(name: &str) -> Result<String, Problem> {
    let decoded = percent_decode_str(name).decode_utf8();
    decoded.map(Into::into).map_err(|_invalid| {
        Problem::bad_request("the client's name is not UTF-8; escape it as one segment of the path")
    })
}

/// How a client stands.
#[derive(Serialize)]
struct State<'a> {
    client: &'a str,
    endpoint: &'a str,
    /// The entry of the config that answers for the endpoint; `null` for the default.
    entry: Option<&'a str>,
    /// What a call would be answered now.
    result: ResultJson,
    r#override: Option<OverrideJson>,
}

/// What an operator says of a client.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OverrideJson {
    mode: &'static str,
    lapses_after_ms: u64,
}

impl OverrideJson {
    pub(super) fn of(set: Override, gate: &Gate) -> Self {
        let left = set.left(gate.now()).as_nanos().div_ceil(1_000_000);
        Self { mode: set.mode.word(), lapses_after_ms: u64::try_from(left).unwrap_or(u64::MAX) }
    }
}

fn show(received: &Received, client: &str, gate: &Gate) -> Result<Answer, Problem> {
    let query = Query::read(received.request.uri().query(), &["endpoint", "tenant", "cost"])?;
    let endpoint = query.required("endpoint")?;
    let call = Call::new(client, endpoint);
    let call = query.get("tenant").map_or(call, |tenant| call.tenant(tenant));
    let call = query.whole("cost")?.map_or(call, |cost| call.cost(cost));
    let entry = gate.limiter().entry(endpoint);
    let state = State {
        client,
        endpoint,
        entry: entry.as_deref(),
        result: (&gate.look(&call)).into(),
        r#override: gate.override_of(client).map(|set| OverrideJson::of(set, gate)),
    };
    Ok(answer::json(StatusCode::OK, &state))
}

/// What became of a client's state.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Reset {
    /// Whether it had used anything.
    had_state: bool,
    /// Whether it starts with debt of keys that had to leave.
    inherits_debt: bool,
}

fn reset(received: &Received, client: &str, gate: &Gate) -> Result<Answer, Problem> {
    let query = Query::read(received.request.uri().query(), &["endpoint"])?;
    let endpoint = query.required("endpoint")?;
    let report = gate.limiter().reset(client, endpoint);
    Audit::of(received)
        .record("reset", &format!("client={} endpoint={}", shown(client), shown(endpoint)));
    let reset = Reset { had_state: report.had_state, inherits_debt: report.inherits_debt };
    Ok(answer::json(StatusCode::OK, &reset))
}

/// What a body says of a client.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    mode: WantedMode,
    r#for: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum WantedMode {
    Block,
    Unlimited,
}

async fn set_override(
    mut received: Received,
    client: &str,
    gate: &Gate,
) -> Result<Answer, Problem> {
    let body = body::read(received.request.body_mut(), gate, received.door).await?;
    let wanted: Wanted = serde_json::from_slice(&body).map_err(|error| {
        let expected = r#"expected such as {"mode": "block", "for": "10m"}"#;
        Problem::bad_request(format!("the body cannot be read: {error}; {expected}"))
    })?;
    let time = humantime::parse_duration(&wanted.r#for).ok();
    let time = time.filter(|time| !time.is_zero() && *time <= OVERRIDE_MAX).ok_or_else(|| {
        let expected = "expected a time with its unit, such as 10m, up to 366 days";
        Problem::bad_request(format!("`for` is {:?}; {expected}", wanted.r#for))
    })?;
    let mode = match wanted.mode {
        WantedMode::Block => Mode::Block,
        WantedMode::Unlimited => Mode::Unlimited,
    };
    let now = gate.now();
    let set = Override::lasting(mode, now, time);
    gate.overrides
        .set(client, set, now)
        .map_err(|error| Problem::new(StatusCode::CONFLICT, error.to_string()))?;
    let what = format!("client={} mode={} for={time:?}", shown(client), mode.word());
    Audit::of(&received).record("override", &what);
    Ok(answer::json(StatusCode::OK, &OverrideJson::of(set, gate)))
}

fn remove_override(received: &Received, client: &str, gate: &Gate) -> Result<Answer, Problem> {
    if !gate.overrides.remove(client, gate.now()) {
        return Err(Problem::new(StatusCode::NOT_FOUND, "this client has no override"));
    }
    Audit::of(received).record("override removed", &format!("client={}", shown(client)));
    Ok(answer::empty(StatusCode::NO_CONTENT))
}
