//! Who is heard as an operator.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hyper::header::{AUTHORIZATION, HOST, HeaderValue};
use hyper::{Request, StatusCode};
use subtle::ConstantTimeEq;
use tollgate_config::AdminConfig;
use tollgate_http::Host;

use crate::http::problem::Problem;

/// How few bytes of a token are refused: it can be guessed.
const TOKEN_BYTES_MIN: usize = 16;

/// Who is heard as an operator: whoever shows the token.
#[derive(Debug)]
pub(crate) struct AdminRules {
    token: Option<Token>,
    hosts: Vec<String>,
}

/// A secret that operators show. It is never shown to anybody.
struct Token(Vec<u8>);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}

/// Why the file of the token is of no use.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenFault {
    /// It cannot be read.
    #[error("{path}: cannot be read, as `gateway.admin.tokenFile` of the config file")]
    #[non_exhaustive]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It can be guessed.
    #[error("{path}: the token is {length} bytes long; expected at least {TOKEN_BYTES_MIN}")]
    #[non_exhaustive]
    Short {
        /// The file.
        path: PathBuf,
        /// How long it is.
        length: usize,
    },
}

impl AdminRules {
    /// As the config has them. A token file is looked for from the config file's folder on.
    ///
    /// # Errors
    /// When the token cannot be read, or is too short.
    pub(crate) fn load(config: &AdminConfig, config_file: &Path) -> Result<Self, TokenFault> {
        let token = match &config.token_file {
            Some(file) => Some(Token::read(config_file.with_file_name("").join(file))?),
            None => None,
        };
        let hosts = config.hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        Ok(Self { token, hosts })
    }

    /// Whether there is a token to show.
    pub(crate) const fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Refuses whoever does not show the token.
    ///
    /// # Errors
    /// 401 without the right one; 403 where there is none to show.
    pub(crate) fn require_token<B>(&self, request: &Request<B>) -> Result<(), Problem> {
        let Some(token) = &self.token else {
            let detail =
                "operators are heard by a token; name its file in `gateway.admin.tokenFile`";
            return Err(Problem::new(StatusCode::FORBIDDEN, detail));
        };
        let shown = request.headers().get(AUTHORIZATION).and_then(bearer);
        if shown.is_some_and(|shown| bool::from(shown.ct_eq(&token.0))) {
            return Ok(());
        }
        Err(Problem::unauthorized("send the operators' token as `Authorization: Bearer TOKEN`"))
    }

    /// Refuses requests that were sent by another name than is this machine's, by a page of another site whose name
    /// was made to lead here ("DNS rebinding"). Addresses are nobody's name.
    ///
    /// # Errors
    /// 403 for any other name, and for none.
    pub(crate) fn require_known_host<B>(&self, request: &Request<B>) -> Result<(), Problem> {
        let of_target = request.uri().authority().map(|authority| authority.as_str().as_bytes());
        let mut hosts =
            request.headers().get_all(HOST).iter().map(HeaderValue::as_bytes).chain(of_target);
        let (first, mut others) = (hosts.next(), hosts);
        if first.is_some_and(|host| self.knows(host)) && others.all(|host| self.knows(host)) {
            return Ok(());
        }
        let detail = "ask by address or as localhost, or list the name in `gateway.admin.hosts`";
        Err(Problem::new(StatusCode::FORBIDDEN, detail))
    }

    fn knows(&self, host: &[u8]) -> bool {
        let Ok(host) = Host::read(host) else { return false };
        let name = host.name();
        let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
        bare.parse::<std::net::IpAddr>().is_ok()
            || name == "localhost"
            || self.hosts.iter().any(|known| known == name)
    }
}

impl Token {
    fn read(path: PathBuf) -> Result<Self, TokenFault> {
        let token = match fs::read(&path) {
            Ok(bytes) => bytes.trim_ascii().to_vec(),
            Err(source) => return Err(TokenFault::Unreadable { path, source }),
        };
        if token.len() < TOKEN_BYTES_MIN {
            return Err(TokenFault::Short { path, length: token.len() });
        }
        Ok(Self(token))
    }
}

/// The token of `Bearer TOKEN`.
fn bearer(value: &HeaderValue) -> Option<&[u8]> {
    let (scheme, token) = value.as_bytes().split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| token.trim_ascii())
}
