//! From the words of a command to the call it asks about.

use std::str;

use tollgate::Call;

use super::word::{Shown, is};

/// The word before a tenant's name.
const TENANT: &str = "TENANT";

/// Why the words of a command make no call. Nothing was charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum QuestionError<'a> {
    #[error("expected a client and an endpoint")]
    NoCall,
    #[error("the {0} is not UTF-8; expected text")]
    NotText(&'static str),
    #[error("'{}' is no cost; expected a whole number from 0 to {max}", Shown(.0), max = u64::MAX)]
    NoCost(&'a [u8]),
    #[error("'{}' is no option; expected TENANT and a name", Shown(.0))]
    NoOption(&'a [u8]),
    #[error("TENANT is not followed by a name")]
    NoTenant,
    #[error("'{}' is not expected after the tenant", Shown(.0))]
    Surplus(&'a [u8]),
}

/// Reads `client endpoint [cost] [TENANT tenant]`.
pub(super) fn call<'a>(arguments: &[&'a [u8]]) -> Result<Call<'a>, QuestionError<'a>> {
    let [client, endpoint, options @ ..] = arguments else {
        return Err(QuestionError::NoCall);
    };
    let call = Call::new(text(client, "client")?, text(endpoint, "endpoint")?);
    match options {
        [] => Ok(call),
        [cost, options @ ..] if !is(cost, TENANT) => with_tenant(call.cost(number(cost)?), options),
        options => with_tenant(call, options),
    }
}

fn with_tenant<'a>(call: Call<'a>, options: &[&'a [u8]]) -> Result<Call<'a>, QuestionError<'a>> {
    match options {
        [] => Ok(call),
        [word, ..] if !is(word, TENANT) => Err(QuestionError::NoOption(word)),
        [_] => Err(QuestionError::NoTenant),
        [_, tenant] => Ok(call.tenant(text(tenant, "tenant")?)),
        [_, _, surplus, ..] => Err(QuestionError::Surplus(surplus)),
    }
}

fn text<'a>(bytes: &'a [u8], what: &'static str) -> Result<&'a str, QuestionError<'a>> {
    str::from_utf8(bytes).map_err(|_invalid| QuestionError::NotText(what))
}

fn number(bytes: &[u8]) -> Result<u64, QuestionError<'_>> {
    let digits = Some(bytes).filter(|bytes| bytes.iter().all(u8::is_ascii_digit));
    let number = digits.and_then(|digits| str::from_utf8(digits).ok()?.parse().ok());
    number.ok_or(QuestionError::NoCost(bytes))
}
