//! An event: one call, who made it, where, at what cost and when; and its form as a line of JSON.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use tollgate::{Call, RateLimiter, Time};

use crate::decimal::{self, TIME_EXPECTED};
use crate::json::{Fields, Value};
use crate::line_fault::LineFault;

const KNOWN_FIELDS: [&str; 6] = ["atMs", "client", "tenant", "plan", "endpoint", "cost"];

/// One call to a rate limiter, recorded or made up.
///
/// As a line of JSON it reads `{"atMs": 12.5, "client": "alice", "endpoint": "GET /x", "cost": 1}`; the cost may be
/// left out, and a `tenant` and a `plan` may stand beside the client.
///
/// ```
/// use tollgate::Time;
/// use tollgate_replay::Event;
///
/// let event = Event::parse(r#"{"atMs": 12.5, "client": "alice", "endpoint": "GET /x"}"#)?;
/// assert_eq!(event, Event::new(Time::from_nanos(12_500_000), "alice", "GET /x"));
/// # Ok::<(), tollgate_replay::LineFault>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Event {
    /// When, since the origin of the recording: its start for event lines, 1970 for access logs.
    #[serde(rename = "atMs", serialize_with = "serialize_millis")]
    pub at: Time,
    /// Who.
    pub client: String,
    /// On whose behalf, where limits count by tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The plan that the call names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Where.
    pub endpoint: String,
    /// How many requests it counts as; 0 only looks. Where it does not say, it is what the endpoint costs: 1, unless
    /// the config says otherwise.
    #[serde(serialize_with = "serialize_cost")]
    pub cost: Option<u64>,
}

impl Event {
    /// A call that does not say what it costs.
    pub fn new(at: Time, client: impl Into<String>, endpoint: impl Into<String>) -> Self {
        let (client, endpoint) = (client.into(), endpoint.into());
        Self { at, client, tenant: None, plan: None, endpoint, cost: None }
    }

    /// With another cost.
    #[must_use]
    pub fn cost(self, cost: u64) -> Self {
        Self { cost: Some(cost), ..self }
    }

    /// On behalf of a tenant.
    #[must_use]
    pub fn tenant(self, tenant: impl Into<String>) -> Self {
        Self { tenant: Some(tenant.into()), ..self }
    }

    /// Of a client on a plan.
    #[must_use]
    pub fn plan(self, plan: impl Into<String>) -> Self {
        Self { plan: Some(plan.into()), ..self }
    }

    /// Reads an event line. `atMs` is taken as the decimal it is written as, exact to the nanosecond.
    ///
    /// # Errors
    /// Where the line is no JSON object, a field is missing, wrong, unknown or given twice, or a time is finer than a
    /// nanosecond.
    pub fn parse(line: &str) -> Result<Self, LineFault> {
        Self::from_fields(&Fields::parse(line)?)
    }

    pub(crate) fn from_fields(fields: &Fields<'_>) -> Result<Self, LineFault> {
        check_names(fields)?;
        let at = required(fields, "atMs", TIME_EXPECTED, read_time)?;
        let client = required(fields, "client", "a string", string)?;
        let optional = |name| match fields.value(name) {
            Some(_) => required(fields, name, "a string", string).map(Some),
            None => Ok(None),
        };
        let (tenant, plan) = (optional("tenant")?, optional("plan")?);
        let endpoint = required(fields, "endpoint", "a string", string)?;
        let cost = match fields.value("cost") {
            Some(_) => Some(required(fields, "cost", COST_EXPECTED, read_cost)?),
            None => None,
        };
        Ok(Self { at, client, tenant, plan, endpoint, cost })
    }

    /// Has it say what it costs, where it does not.
    pub(crate) fn price_by(&mut self, limiter: &RateLimiter) {
        let cost = limiter.cost_of(&self.call());
        self.cost = Some(cost);
    }

    /// The call to decide.
    pub fn call(&self) -> Call<'_> {
        let call = Call::new(&self.client, &self.endpoint).at(self.at);
        let call = self.cost.into_iter().fold(call, Call::cost);
        let call = self.tenant.iter().fold(call, |call, tenant| call.tenant(tenant));
        self.plan.iter().fold(call, |call, plan| call.plan(plan))
    }
}

/// What a cost may be, for error messages.
pub(crate) const COST_EXPECTED: &str = "a whole number from 0 to 18446744073709551615";

fn check_names(fields: &Fields<'_>) -> Result<(), LineFault> {
    for (index, (name, _)) in fields.iter().enumerate() {
        if !KNOWN_FIELDS.contains(&name) {
            return Err(LineFault::unknown_field(name, &KNOWN_FIELDS));
        }
        if fields.iter().take(index).any(|(before, _)| before == name) {
            return Err(LineFault::Twice(name.to_owned()));
        }
    }
    Ok(())
}

fn required<T>(
    fields: &Fields<'_>,
    name: &str,
    expected: &'static str,
    read: impl Fn(Value<'_>) -> Option<T>,
) -> Result<T, LineFault> {
    let field = || format!("`{name}`");
    let value = fields.value(name).ok_or_else(|| LineFault::missing(field(), expected))?;
    read(value).ok_or_else(|| LineFault::wrong(field(), value.raw(), expected))
}

fn string(value: Value<'_>) -> Option<String> {
    value.string().map(Into::into)
}

fn read_time(value: Value<'_>) -> Option<Time> {
    decimal::time_from_millis(value.number()?).ok()
}

fn read_cost(value: Value<'_>) -> Option<u64> {
    decimal::scaled(value.number()?, 0).ok()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields on by reference")]
fn serialize_millis<S: Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    let millis = RawValue::from_string(decimal::millis_of_time(*time));
    millis.map_err(serde::ser::Error::custom)?.serialize(serializer)
}

/// A cost that was not said is written as the 1 it is for any limiter that knows no other.
#[expect(clippy::ref_option, reason = "serde hands fields on by reference")]
fn serialize_cost<S: Serializer>(cost: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(cost.unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fault(line: &str) -> String {
        Event::parse(line).unwrap_err().to_string()
    }

    #[test]
    fn an_event_line_is_read_exactly() {
        let alice = |nanos| Event::new(Time::from_nanos(nanos), "alice", "GET /x");
        for (line, event) in [
            (
                r#"{"atMs": 12.5, "client": "alice", "endpoint": "GET /x", "cost": 1}"#,
                alice(12_500_000).cost(1),
            ),
            (r#"{"endpoint":"GET /x","client":"\u0061lice","atMs":1e-6}"#, alice(1)),
            (r#" {"atMs":0,"client":"alice","endpoint":"GET /x","cost":0} "#, alice(0).cost(0)),
            (
                r#"{"atMs":0,"client":"alice","endpoint":"GET /x","cost":18446744073709551615}"#,
                alice(0).cost(u64::MAX),
            ),
            (
                r#"{"atMs":0,"client":"alice","tenant":"acme","endpoint":"GET /x"}"#,
                alice(0).tenant("acme"),
            ),
            (
                r#"{"atMs":0,"client":"alice","plan":"pro","endpoint":"GET /x"}"#,
                alice(0).plan("pro"),
            ),
            (
                r#"{"atMs":0,"client":"","endpoint":"","cost":2.0}"#,
                Event::new(Time::ZERO, "", "").cost(2),
            ),
        ] {
            assert_eq!(Event::parse(line).unwrap(), event, "{line}");
        }
    }

    #[test]
    fn a_faulty_event_line_is_refused_with_what_is_wrong_and_what_was_expected() {
        for (line, message) in [
            (
                r#"{"atMs":1,"client":"a","endpiont":"/x"}"#,
                "unknown field `endpiont`; did you mean `endpoint`?",
            ),
            (
                r#"{"atMs":1,"client":"a","endpoint":"/x","allowed":true}"#,
                "unknown field `allowed`; known here: atMs, client, tenant, plan, endpoint, cost",
            ),
            (
                r#"{"atMs":1,"atMs":2,"client":"a","endpoint":"/x"}"#,
                "`atMs` is given twice; keep one",
            ),
            (r#"{"atMs":1,"endpoint":"/x"}"#, "missing `client`; expected a string"),
            (r#"{"atMs":1,"client":7,"endpoint":"/x"}"#, "`client` is 7; expected a string"),
            (
                r#"{"atMs":1,"client":"a","tenant":7,"endpoint":"/x"}"#,
                "`tenant` is 7; expected a string",
            ),
            (
                r#"{"atMs":1,"client":"a","plan":["pro"],"endpoint":"/x"}"#,
                "`plan` is [\"pro\"]; expected a string",
            ),
            (
                r#"{"atMs":0.0000001,"client":"a","endpoint":"/x"}"#,
                "`atMs` is 0.0000001; expected milliseconds, a number from 0 to 18446744073709.551615 with at most 6 \
                 decimals (nanoseconds)",
            ),
            (
                r#"{"atMs":1,"client":"a","endpoint":"/x","cost":1.5}"#,
                "`cost` is 1.5; expected a whole number from 0 to 18446744073709551615",
            ),
            (r#"{"atMs":1,"client":"a""#, "no JSON: EOF while parsing an object at column 22"),
            ("[1]", "no JSON: invalid type: sequence, expected an object at column 0"),
        ] {
            assert_eq!(fault(line), message, "{line}");
        }
        for time in ["-1", "\"1\"", "null", "true", "1e999", "[]"] {
            let line = format!(r#"{{"atMs":{time},"client":"a","endpoint":"/x"}}"#);
            assert!(fault(&line).contains("`atMs`"), "{line}");
        }
    }

    proptest! {
        #[test]
        fn an_event_is_read_back_from_its_line(
            nanos: u64, client: String, tenant: Option<String>, plan: Option<String>, endpoint: String, cost: u64,
        ) {
            let event = Event::new(Time::from_nanos(nanos), client, endpoint).cost(cost);
            let event = Event { tenant, plan, ..event };
            let line = serde_json::to_string(&event).unwrap();
            prop_assert_eq!(Event::parse(&line).unwrap(), event);
        }

        #[test]
        fn any_text_is_an_event_or_a_fault(line: String, cut in 0_usize..80) {
            let sample = r#"{"atMs": 12.5, "client": "alice", "endpoint": "GET /x", "cost": 1}"#;
            let (head, tail) = (sample.chars().take(cut), sample.chars().skip(cut));
            for text in [line.clone(), head.chain(line.chars()).chain(tail).collect()] {
                if let Ok(event) = Event::parse(&text) {
                    prop_assert_eq!(Event::parse(&serde_json::to_string(&event).unwrap()), Ok(event));
                }
            }
        }
    }
}
