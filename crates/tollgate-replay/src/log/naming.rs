//! What of a logged request names its client and its endpoint.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;
use tollgate::nearest_name;

use super::LoggedRequest;
use crate::event::Event;
use crate::json::Fields;
use crate::line_fault::LineFault;

const FIELD_PREFIX: &str = "field:";

/// What a log writes where it has nothing to say.
const NOTHING: &str = "-";

/// What of a logged request names its client. Event lines name theirs themselves.
///
/// As text: `address`, `user`, `user-agent`, or `field:NAME`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientFrom {
    /// The address the request came from. The default.
    #[default]
    Address,
    /// The authenticated user; the address where a request has none.
    User,
    /// The user agent; requests that sent none, or whose log leaves it out, are one client named `-`.
    UserAgent,
    /// The string or number in this field of a JSON log; dots lead into objects, as in
    /// `field:request.headers.X-Api-Key`, and of a list the first counts. A line without it cannot be read.
    Field(String),
}

/// What of a logged request names its endpoint. Event lines name theirs themselves.
///
/// As text: `method-path`, `path`, or `*`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndpointFrom {
    /// Method and path without the query, such as `GET /search`. The default.
    #[default]
    MethodPath,
    /// The path without the query, such as `/search`.
    Path,
    /// Nothing: every request goes to one endpoint, named `*`.
    Nothing,
}

/// A text that names none of the choices.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown choice `{given}`; {hint}expected {expected}")]
pub struct UnknownChoice {
    given: String,
    hint: String,
    expected: &'static str,
}

impl UnknownChoice {
    fn new(given: &str, known: &[&str], expected: &'static str) -> Self {
        let nearest = nearest_name(given, known.iter().copied());
        let hint = nearest.map_or_else(String::new, |name| format!("did you mean `{name}`? "));
        Self { given: given.to_owned(), hint, expected }
    }
}

impl FromStr for ClientFrom {
    type Err = UnknownChoice;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "address" => Ok(Self::Address),
            "user" => Ok(Self::User),
            "user-agent" => Ok(Self::UserAgent),
            _ => match text.strip_prefix(FIELD_PREFIX).filter(|name| !name.is_empty()) {
                Some(name) => Ok(Self::Field(name.to_owned())),
                None => Err(UnknownChoice::new(
                    text,
                    &["address", "user", "user-agent"],
                    "address, user, user-agent or field:NAME",
                )),
            },
        }
    }
}

impl fmt::Display for ClientFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address => f.write_str("address"),
            Self::User => f.write_str("user"),
            Self::UserAgent => f.write_str("user-agent"),
            Self::Field(name) => write!(f, "{FIELD_PREFIX}{name}"),
        }
    }
}

impl FromStr for EndpointFrom {
    type Err = UnknownChoice;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "method-path" => Ok(Self::MethodPath),
            "path" => Ok(Self::Path),
            "*" => Ok(Self::Nothing),
            _ => Err(UnknownChoice::new(
                text,
                &["method-path", "path"],
                "method-path, path or * (one endpoint for all)",
            )),
        }
    }
}

impl fmt::Display for EndpointFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MethodPath => "method-path",
            Self::Path => "path",
            Self::Nothing => "*",
        })
    }
}

/// How logged requests become events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Naming {
    pub(crate) client: ClientFrom,
    pub(crate) endpoint: EndpointFrom,
}

impl Naming {
    /// The event that a logged request is. `fields` are those of its line, where the log is JSON.
    pub(super) fn event(
        &self,
        request: &LoggedRequest<'_>,
        fields: Option<&Fields<'_>>,
    ) -> Result<Event, LineFault> {
        Ok(Event::new(request.start, self.client(request, fields)?, self.endpoint(request)))
    }

    fn client(
        &self,
        request: &LoggedRequest<'_>,
        fields: Option<&Fields<'_>>,
    ) -> Result<String, LineFault> {
        let said = |text: &&str| !text.is_empty() && *text != NOTHING;
        Ok(match &self.client {
            ClientFrom::Address => request.address.to_string(),
            ClientFrom::User => {
                request.user.as_deref().filter(said).unwrap_or(&request.address).to_owned()
            }
            ClientFrom::UserAgent => {
                request.user_agent.as_deref().filter(said).unwrap_or(NOTHING).to_owned()
            }
            ClientFrom::Field(name) => {
                let value = fields.and_then(|fields| fields.scalar_at(name));
                let missing = || {
                    LineFault::missing(
                        format!("`{name}`"),
                        "the client, a string or number in a JSON log",
                    )
                };
                value.ok_or_else(missing)?.into_owned()
            }
        })
    }

    fn endpoint(&self, request: &LoggedRequest<'_>) -> String {
        let path = path(&request.target);
        match self.endpoint {
            EndpointFrom::MethodPath => format!("{} {path}", request.method),
            EndpointFrom::Path => path.to_owned(),
            EndpointFrom::Nothing => "*".to_owned(),
        }
    }
}

/// The path of a request's target: without its query, and without the host that requests to a proxy begin with.
fn path(target: &str) -> &str {
    let target = target.split_once('?').map_or(target, |(path, _query)| path);
    let after_scheme = target.strip_prefix("http://").or_else(|| target.strip_prefix("https://"));
    match after_scheme {
        Some(host_and_path) => {
            host_and_path.find('/').and_then(|at| host_and_path.get(at..)).unwrap_or("/")
        }
        None => target,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_back_from_their_text() {
        for text in ["address", "user", "user-agent", "field:request.headers.X-Api-Key"] {
            assert_eq!(text.parse::<ClientFrom>().unwrap().to_string(), text);
        }
        for text in ["method-path", "path", "*"] {
            assert_eq!(text.parse::<EndpointFrom>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn an_unknown_choice_is_refused_with_the_nearest_and_all_that_are_known() {
        for (text, message) in [
            (
                "adress",
                "unknown choice `adress`; did you mean `address`? expected address, user, user-agent or field:NAME",
            ),
            ("field:", "unknown choice `field:`; expected address, user, user-agent or field:NAME"),
        ] {
            assert_eq!(text.parse::<ClientFrom>().unwrap_err().to_string(), message);
        }
        assert_eq!(
            "Path".parse::<EndpointFrom>().unwrap_err().to_string(),
            "unknown choice `Path`; did you mean `path`? expected method-path, path or * (one endpoint for all)",
        );
    }

    #[test]
    fn a_path_has_neither_query_nor_host() {
        for (target, expected) in [
            ("/a%20b?q=1?2", "/a%20b"),
            ("/?", "/"),
            ("http://example.com/a/b?q", "/a/b"),
            ("https://example.com", "/"),
            ("example.com:443", "example.com:443"),
            ("*", "*"),
        ] {
            assert_eq!(path(target), expected, "{target}");
        }
    }
}
