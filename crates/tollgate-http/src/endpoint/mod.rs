//! Which endpoint a request is for.
//!
//! A server has many spellings for one resource, and who limits must know them for one. Two rules make sure of it. What
//! was judged is what is forwarded: the upstream gets the normal form and not the client's spelling. And what servers
//! read in more than one way is refused.

mod fault;
mod host;
mod listed;
mod path;

use std::borrow::Cow;

use http::{Method, Request, Uri, header};

pub use fault::{TargetFault, TargetFaultKind};
pub use host::Host;
use path::{Normal, Spelling};

/// How request targets become endpoints.
///
/// The normal form of a path, which is also what is forwarded: dot segments are gone, `//` is `/`, escapes of letters,
/// digits, `-`, `.`, `_` and `~` are decoded, once, other escapes have upper-case digits, and characters that do not
/// belong in a path are escaped. Refused are an escaped slash, a backslash and controls (raw or escaped), a broken
/// escape, a fragment, and what is not ASCII.
///
/// What is judged beyond that, the [`name`](Endpoint::name), takes a path for another's equal where servers may: a
/// slash at the end does not count, nor does the rest of a segment from `;` on (or from an escaped `;`, `?` or `#`),
/// and all escapes of characters that may stand in a path are decoded (`%40` is `@`). `HEAD` is judged as `GET`, and a
/// method in upper case. The letters of a path keep their case.
///
/// Each default has a switch, for upstreams that tell apart what others take for the same.
///
/// A config has to list endpoints as they are judged; [`name_as_judged`](Self::name_as_judged) tells how. And since a
/// slash at the end does not count, `/files/*` is for what lies below; list `/files` too where that is meant.
///
/// ```
/// use http::Method;
/// use tollgate_http::EndpointRules;
///
/// let rules = EndpointRules::new();
/// let endpoint = rules.endpoint(&Method::HEAD, b"/a/..//%6Cogin;v=1/?next=/", Some(b"Example.COM:443"))?;
/// assert_eq!(endpoint.name(), "GET /login");
/// assert_eq!(endpoint.path_and_query(), "/login;v=1/?next=/");
/// assert_eq!(endpoint.host().unwrap().name(), "example.com");
/// # Ok::<(), tollgate_http::TargetFault>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct EndpointRules {
    spelling: Spelling,
}

impl EndpointRules {
    /// The defaults: the most spellings are one endpoint.
    pub fn new() -> Self {
        Self::default()
    }

    /// `/Login` is judged as `/login`. What is forwarded keeps its case. List endpoints in lower case then.
    pub const fn fold_case(mut self) -> Self {
        self.spelling.folds_case = true;
        self
    }

    /// `//` stays two slashes, for object stores and the like.
    pub const fn keep_slashes(mut self) -> Self {
        self.spelling.keeps_slashes = true;
        self
    }

    /// `/login/` is another endpoint than `/login`.
    pub const fn keep_trailing_slash(mut self) -> Self {
        self.spelling.keeps_trailing_slash = true;
        self
    }

    /// What follows a `;` (or an escaped `;`, `?` or `#`) is part of the name.
    pub const fn keep_parameters(mut self) -> Self {
        self.spelling.keeps_parameters = true;
        self
    }

    /// `%2F` is let through and stays as it is, part of a segment: for upstreams that have names with a slash in them
    /// (`/packages/@scope%2Fname`) and never take it for a slash.
    pub const fn allow_escaped_slash(mut self) -> Self {
        self.spelling.allows_escaped_slash = true;
        self
    }

    /// The endpoint of a request, as a server read it.
    ///
    /// The host is the target's, where it has one (HTTP/2, and `http://host/path`), else the field `Host`. A fragment
    /// is gone by then: [`Uri`] keeps none, so none is forwarded either.
    ///
    /// # Errors
    /// When the target or the host is not well-formed, or could mean more than one thing: answer 400
    /// ([`Answers::bad_request`](crate::Answers::bad_request)).
    pub fn of_request<B>(self, request: &Request<B>) -> Result<Endpoint<'_>, TargetFault> {
        let mut hosts = request.headers().get_all(header::HOST).iter();
        let host = hosts.next();
        if hosts.next().is_some() {
            return Err(TargetFaultKind::HostRepeated.at(0));
        }
        let host = host.map(http::HeaderValue::as_bytes);
        self.of_uri(request.method(), request.uri(), host)
    }

    fn of_uri<'a>(
        self,
        method: &Method,
        uri: &'a Uri,
        host: Option<&'a [u8]>,
    ) -> Result<Endpoint<'a>, TargetFault> {
        let host = uri.authority().map(|authority| authority.as_str().as_bytes()).or(host);
        let target = uri.path_and_query().map(http::uri::PathAndQuery::as_str);
        match target {
            Some(target) if target.starts_with('?') => self.rooted(method, target.as_bytes(), host),
            Some(target) => self.of_path(method, target.as_bytes(), host),
            None => Err(TargetFaultKind::NoPath.at(0)),
        }
    }

    /// The endpoint of a request target as it came, such as one that a proxy reports in a field.
    ///
    /// # Errors
    /// As [`of_request`](Self::of_request). Never panics, whatever the bytes.
    pub fn endpoint<'a>(
        self,
        method: &Method,
        target: &'a [u8],
        host: Option<&'a [u8]>,
    ) -> Result<Endpoint<'a>, TargetFault> {
        match after_scheme(target) {
            None => self.of_path(method, target, host),
            Some(rest) => {
                let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#'));
                let (authority, target) = rest.split_at(end.unwrap_or(rest.len()));
                match target.first() {
                    Some(b'/') => self.of_path(method, target, Some(authority)),
                    _ => self.rooted(method, target, Some(authority)),
                }
            }
        }
    }

    /// Of an absolute target without a path, which means the root.
    fn rooted(
        self,
        method: &Method,
        query: &[u8],
        host: Option<&[u8]>,
    ) -> Result<Endpoint<'static>, TargetFault> {
        let target = [b"/", query].concat();
        let endpoint = self.of_path(method, &target, host)?.into_owned();
        Ok(Endpoint { is_rewritten: true, ..endpoint })
    }

    fn of_path<'a>(
        self,
        method: &Method,
        target: &'a [u8],
        host: Option<&'a [u8]>,
    ) -> Result<Endpoint<'a>, TargetFault> {
        let host = host.map(Host::read).transpose()?;
        if target == b"*" {
            if *method != Method::OPTIONS {
                return Err(TargetFaultKind::Asterisk.at(0));
            }
            return Ok(Endpoint::new(method, "*", Cow::Borrowed("*"), host));
        }
        let Normal { forwarded, judged } = self.spelling.normal(target)?;
        Ok(Endpoint::new(method, &judged, forwarded, host))
    }
}

/// Writes a method as it is judged, and a blank behind it.
///
/// Servers that fold a method's letters take `post` for `POST`, and many serve methods they have never heard of. All
/// that are registered are of letters and hyphens; what else one has is judged as a hyphen, so that entries for any
/// method are for that one too.
fn push_method(method: &str, name: &mut String) {
    if method.eq_ignore_ascii_case(Method::HEAD.as_str()) {
        name.push_str(Method::GET.as_str());
    } else {
        name.extend(method.chars().map(|letter| match letter {
            'a'..='z' | 'A'..='Z' => letter.to_ascii_uppercase(),
            _ => '-',
        }));
    }
    name.push(' ');
}

/// What follows `http://` or `https://`, where a target is absolute.
fn after_scheme(target: &[u8]) -> Option<&[u8]> {
    [&b"http://"[..], b"https://"].into_iter().find_map(|scheme| {
        let (start, rest) = target.split_at_checked(scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then_some(rest)
    })
}

/// Which endpoint a request is for, and what to forward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint<'a> {
    name: String,
    path_at: usize,
    path_and_query: Cow<'a, str>,
    is_rewritten: bool,
    host: Option<Host<'a>>,
}

impl<'a> Endpoint<'a> {
    fn new(
        method: &Method,
        judged: &str,
        path_and_query: Cow<'a, str>,
        host: Option<Host<'a>>,
    ) -> Self {
        let room = method.as_str().len().saturating_add(judged.len()).saturating_add(1);
        let mut name = String::with_capacity(room);
        push_method(method.as_str(), &mut name);
        let path_at = name.len();
        name.push_str(judged);
        let is_rewritten = matches!(path_and_query, Cow::Owned(_));
        Self { name, path_at, path_and_query, is_rewritten, host }
    }

    /// What the limiter is asked for: `METHOD /path`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The path as it is judged; `*` of `OPTIONS *`.
    pub fn path(&self) -> &str {
        self.name.get(self.path_at..).unwrap_or_default()
    }

    /// What is to be forwarded: the path in its normal form, and the query as it came.
    pub fn path_and_query(&self) -> &str {
        &self.path_and_query
    }

    /// What is to be forwarded, where that is not what came: `None` where the request can go on as it is. (The host may
    /// have to change even so.)
    pub fn rewritten(&self) -> Option<&str> {
        self.is_rewritten.then_some(&self.path_and_query)
    }

    /// The host that is asked for, which is also what is to be forwarded as `Host`; `None` where the request names
    /// none.
    pub const fn host(&self) -> Option<&Host<'a>> {
        self.host.as_ref()
    }

    /// The same, borrowing nothing.
    pub fn into_owned(self) -> Endpoint<'static> {
        Endpoint {
            name: self.name,
            path_at: self.path_at,
            path_and_query: Cow::Owned(self.path_and_query.into_owned()),
            is_rewritten: self.is_rewritten,
            host: self.host.map(Host::into_owned),
        }
    }
}
