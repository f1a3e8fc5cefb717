//! From the words of a command to the call it asks about.

use std::str;

use tollgate::Call;

use super::word::{Shown, is};

/// The word before a tenant's name.
const TENANT: &str = "TENANT";

/// The word before a plan's name.
const PLAN: &str = "PLAN";

/// Why the words of a command make no call. Nothing was charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum QuestionError<'a> {
    #[error("expected a client and an endpoint")]
    NoCall,
    #[error("the {0} is not UTF-8; expected text")]
    NotText(&'static str),
    #[error("'{}' is no cost; expected a whole number from 0 to {max}", Shown(.0), max = u64::MAX)]
    NoCost(&'a [u8]),
    #[error("'{}' is no option; expected TENANT or PLAN and a name", Shown(.0))]
    NoOption(&'a [u8]),
    #[error("{0} is not followed by a name")]
    NoName(&'static str),
    #[error("{0} is given twice; expected it once at most")]
    Twice(&'static str),
}

/// Reads `client endpoint [cost] [TENANT tenant] [PLAN plan]`, the last two in either order.
pub(super) fn call<'a>(arguments: &[&'a [u8]]) -> Result<Call<'a>, QuestionError<'a>> {
    let [client, endpoint, options @ ..] = arguments else {
        return Err(QuestionError::NoCall);
    };
    let call = Call::new(text(client, "client")?, text(endpoint, "endpoint")?);
    match options {
        [cost, options @ ..] if option(cost).is_none() => {
            with_options(call.cost(number(cost)?), options)
        }
        options => with_options(call, options),
    }
}

/// The option that a word begins.
fn option(word: &[u8]) -> Option<&'static str> {
    [TENANT, PLAN].into_iter().find(|option| is(word, option))
}

fn with_options<'a>(
    mut call: Call<'a>,
    mut options: &[&'a [u8]],
) -> Result<Call<'a>, QuestionError<'a>> {
    let (mut has_tenant, mut has_plan) = (false, false);
    while let [word, rest @ ..] = options {
        let option = option(word).ok_or(QuestionError::NoOption(word))?;
        let [name, rest @ ..] = rest else { return Err(QuestionError::NoName(option)) };
        let is_tenant = option == TENANT;
        let is_given = if is_tenant { &mut has_tenant } else { &mut has_plan };
        if std::mem::replace(is_given, true) {
            return Err(QuestionError::Twice(option));
        }
        call = if is_tenant {
            call.tenant(text(name, "tenant")?)
        } else {
            call.plan(text(name, "plan")?)
        };
        options = rest;
    }
    Ok(call)
}

fn text<'a>(bytes: &'a [u8], what: &'static str) -> Result<&'a str, QuestionError<'a>> {
    str::from_utf8(bytes).map_err(|_invalid| QuestionError::NotText(what))
}

fn number(bytes: &[u8]) -> Result<u64, QuestionError<'_>> {
    let digits = Some(bytes).filter(|bytes| bytes.iter().all(u8::is_ascii_digit));
    let number = digits.and_then(|digits| str::from_utf8(digits).ok()?.parse().ok());
    number.ok_or(QuestionError::NoCost(bytes))
}
