//! What operators want to know: who is denied most, whom an override holds for, and what becomes of a call.

use std::time::Duration;

use hyper::{Method, StatusCode};
use serde::Serialize;
use tollgate::{Call, Matched};

use super::client::OverrideJson;
use super::config::{Limit, kind};
use super::query::Query;
use crate::gate::Gate;
use crate::http::Received;
use crate::http::answer::{self, Answer};
use crate::http::door::only;
use crate::http::problem::Problem;

/// A client that is denied often: at most `denials` times, and at least so many less `overestimate`.
#[derive(Serialize)]
struct Denied<'a> {
    client: &'a str,
    denials: u64,
    overestimate: u64,
}

pub(super) fn denied(received: &Received, gate: &Gate) -> Result<Answer, Problem> {
    only(received, &[Method::GET], "GET")?;
    let top = gate.top_denied.top();
    let clients: Vec<_> = top
        .iter()
        .map(|it| Denied { client: &it.client, denials: it.denials, overestimate: it.overestimate })
        .collect();
    Ok(answer::json(StatusCode::OK, &clients))
}

#[derive(Serialize)]
struct Overridden<'a> {
    client: &'a str,
    #[serde(flatten)]
    set: OverrideJson,
}

pub(super) fn overrides(received: &Received, gate: &Gate) -> Result<Answer, Problem> {
    only(received, &[Method::GET], "GET")?;
    let all = gate.overrides.all(gate.now());
    let clients: Vec<_> = all
        .iter()
        .map(|(client, set)| Overridden { client, set: OverrideJson::of(*set, gate) })
        .collect();
    Ok(answer::json(StatusCode::OK, &clients))
}

/// What becomes of a call, by the config alone.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Explained<'a> {
    /// How the entry that answers was found.
    matched: &'static str,
    /// The entry that answers; `null` for the default.
    entry: Option<&'a str>,
    kind: &'static str,
    is_exempt: bool,
    cost: u64,
    limits: Vec<Limit<'a>>,
    /// The most of such calls that the client can get, whatever others do; `null` where no limit tells.
    most_in: MostIn,
}

#[derive(Serialize)]
struct MostIn {
    second: Option<u64>,
    minute: Option<u64>,
    hour: Option<u64>,
    day: Option<u64>,
}

pub(super) fn explain(received: &Received, gate: &Gate) -> Result<Answer, Problem> {
    only(received, &[Method::GET], "GET")?;
    let query = received.request.uri().query();
    let query = Query::read(query, &["client", "endpoint", "tenant", "cost"])?;
    let call = Call::new(query.required("client")?, query.required("endpoint")?);
    let call = query.get("tenant").map_or(call, |tenant| call.tenant(tenant));
    let call = query.whole("cost")?.map_or(call, |cost| call.cost(cost));
    let config = gate.limiter().config();
    let explanation = config.explain(&call);
    let (matched, entry) = match explanation.matched {
        Matched::Exactly(name) => ("exactly", Some(name)),
        Matched::ByPath(name) => ("byPath", Some(name)),
        Matched::ByPattern(name) => ("byPattern", Some(name)),
        Matched::ByDefault | _ => ("byDefault", None),
    };
    let most = |seconds| explanation.most_in(Duration::from_secs(seconds));
    let explained = Explained {
        matched,
        entry,
        kind: kind(&explanation.policy),
        is_exempt: explanation.is_exempt,
        cost: explanation.cost,
        limits: explanation.limits.iter().map(|it| Limit::of(&it.limit)).collect(),
        most_in: MostIn { second: most(1), minute: most(60), hour: most(3_600), day: most(86_400) },
    };
    Ok(answer::json(StatusCode::OK, &explained))
}
