//! What lets scripts of other origins read an answer.

use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS,
    VARY,
};
use http::{HeaderMap, HeaderValue};

/// Which origins' scripts may read the fields of answers, and the answers to denied requests. Without it a browser
/// shows them a network error in place of a 429.
#[derive(Clone, Debug)]
#[must_use]
pub struct Cors {
    /// `None`: all of them.
    origins: Option<Vec<HeaderValue>>,
    with_credentials: bool,
}

impl Cors {
    /// Those of any origin, without credentials.
    pub const fn any() -> Self {
        Self { origins: None, with_credentials: false }
    }

    /// Those of these origins, such as `https://app.example.com`.
    pub fn origins(origins: impl IntoIterator<Item = HeaderValue>) -> Self {
        Self { origins: Some(origins.into_iter().collect()), with_credentials: false }
    }

    /// Also for requests that browsers send cookies with. It has no effect for [`any`](Self::any) origin, which
    /// browsers do not take with credentials.
    pub const fn with_credentials(mut self) -> Self {
        self.with_credentials = true;
        self
    }

    /// Has scripts see these fields.
    pub(super) fn expose(exposed: &'static str, fields: &mut HeaderMap) {
        fields.append(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(exposed));
    }

    /// Lets a script of this origin read an answer that is made here.
    pub(super) fn allow(&self, origin: &HeaderValue, fields: &mut HeaderMap) {
        let Some(origins) = &self.origins else {
            fields.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
            return;
        };
        fields.append(VARY, HeaderValue::from_static("Origin"));
        if !origins.contains(origin) {
            return;
        }
        fields.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        if self.with_credentials {
            fields.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        }
    }
}
