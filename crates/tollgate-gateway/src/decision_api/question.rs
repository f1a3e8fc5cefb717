//! What the decision API is asked: one question, or a list of them.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use tollgate::Call;

/// The most questions in a list.
const QUESTIONS_MAX: usize = 10_000;

/// All that one body asks.
pub(super) enum Asked<'a> {
    One(Question<'a>),
    List(Vec<Question<'a>>),
}

impl<'a> Asked<'a> {
    /// Reads a body in JSON, whole or not at all. The error names the field and what was expected.
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, String> {
        if !body.trim_ascii_start().starts_with(b"[") {
            return parse(body).map(Self::One);
        }
        let questions: Vec<_> = parse(body)?;
        if questions.len() > QUESTIONS_MAX {
            let length = questions.len();
            return Err(format!(
                "the list has {length} elements; expected at most {QUESTIONS_MAX}"
            ));
        }
        Ok(Self::List(questions))
    }
}

fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, String> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let parsed = serde_path_to_error::deserialize(&mut json).map_err(|error| error.to_string())?;
    json.end().map_err(|error| error.to_string())?;
    Ok(parsed)
}

/// Whether this client may call this endpoint now, at this cost.
#[derive(Deserialize)]
#[serde(remote = "Self", deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Question<'a> {
    #[serde(borrow)]
    client_id: Cow<'a, str>,
    #[serde(borrow)]
    tenant: Option<Cow<'a, str>>,
    #[serde(borrow)]
    plan: Option<Cow<'a, str>>,
    #[serde(borrow)]
    endpoint: Cow<'a, str>,
    cost: Option<Cost>,
}

impl Question<'_> {
    pub(super) fn call(&self) -> Call<'_> {
        let call = Call::new(&self.client_id, &self.endpoint);
        let call = self.tenant.iter().fold(call, |call, tenant| call.tenant(tenant));
        let call = self.plan.iter().fold(call, |call, plan| call.plan(plan));
        match self.cost {
            Some(Cost(cost)) => call.cost(cost),
            None => call,
        }
    }
}

/// Takes an object only; what is derived takes a list of the fields' values too.
impl<'de: 'a, 'a> Deserialize<'de> for Question<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(QuestionVisitor)
    }
}

struct QuestionVisitor;

impl<'de> Visitor<'de> for QuestionVisitor {
    type Value = Question<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "an object with `clientId`, `endpoint` and optionally `tenant`, `plan` and `cost`",
        )
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Question<'de>, A::Error> {
        Question::deserialize(MapAccessDeserializer::new(map))
    }
}

/// A cost, whose errors say what it should be.
#[derive(Clone, Copy)]
struct Cost(u64);

impl<'de> Deserialize<'de> for Cost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_u64(CostVisitor)
    }
}

struct CostVisitor;

impl Visitor<'_> for CostVisitor {
    type Value = Cost;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from 0 to {}", u64::MAX)
    }

    fn visit_u64<E: de::Error>(self, cost: u64) -> Result<Cost, E> {
        Ok(Cost(cost))
    }
}
