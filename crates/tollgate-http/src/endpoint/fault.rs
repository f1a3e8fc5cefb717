//! What is wrong with a request target or a host.

use thiserror::Error;

/// Why a request target names no endpoint: it is not well-formed, or servers read it in more than one way. Answer 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the {} {kind}, at byte {at}", .kind.subject())]
pub struct TargetFault {
    kind: TargetFaultKind,
    at: usize,
}

impl TargetFault {
    /// The endpoint under which a request may be charged that is refused: no config lists it, so the default answers,
    /// and who sends nothing but such requests is limited too.
    pub const ENDPOINT: &'static str = "(refused)";

    /// What is wrong.
    pub const fn kind(&self) -> TargetFaultKind {
        self.kind
    }

    /// Where: the byte of the target or of the host, counted from 0.
    pub const fn at(&self) -> usize {
        self.at
    }
}

/// What can be wrong with a request target or a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum TargetFaultKind {
    /// The path has no slash at its start, or there is none at all, as in `CONNECT`.
    #[error("has no path; expected `/path`, `http://host/path`, or `*` with OPTIONS")]
    NoPath,
    /// `*` stands for the server as a whole, which only `OPTIONS` can ask about.
    #[error("is `*`, which goes with OPTIONS alone; expected a path")]
    Asterisk,
    /// `%2F`: some servers take it for a slash, and others do not.
    #[error(
        "has an escaped slash (%2F), which servers read in two ways; send `/`, or a name without it"
    )]
    EscapedSlash,
    /// A backslash, raw or as `%5C`: some servers take it for a slash.
    #[error("has a backslash, which some servers take for a slash; send `/`, or a name without it")]
    Backslash,
    /// A control character, raw or escaped, such as `%00`.
    #[error("has a control character; send it without")]
    Control,
    /// `%` without two hexadecimal digits behind it.
    #[error("has a `%` without two hexadecimal digits behind it; send the character `%` as %25")]
    BrokenEscape,
    /// `#`: what follows is never sent.
    #[error(
        "has a fragment (`#`), which is not for servers; send it without, or the character `#` as %23"
    )]
    Fragment,
    /// A byte that is not ASCII, or a space.
    #[error("has a character that must be escaped; send its bytes as %XX")]
    NotEscaped,
    /// `..` with parameters, or behind an empty segment: servers differ in which segment it takes away.
    #[error(
        "has a dot segment that servers resolve in more than one way; send the path without it"
    )]
    DotSegment,
    /// A segment begins with `;`: some servers take it for parameters of nothing, others for a name.
    #[error(
        "has a segment of nothing but parameters, which servers read in two ways; send it without"
    )]
    ParametersAlone,
    /// The host has characters that no host has, or no name, or a port that is none.
    #[error("is not well-formed; expected `name`, `name:port`, an address or `[address]:port`")]
    HostMalformed,
    /// The request has several fields `Host`.
    #[error("is named more than once; send one field `Host`")]
    HostRepeated,
}

impl TargetFaultKind {
    pub(super) const fn at(self, at: usize) -> TargetFault {
        TargetFault { kind: self, at }
    }

    const fn subject(self) -> &'static str {
        match self {
            Self::HostMalformed | Self::HostRepeated => "host",
            Self::NoPath
            | Self::Asterisk
            | Self::EscapedSlash
            | Self::Backslash
            | Self::Control
            | Self::BrokenEscape
            | Self::Fragment
            | Self::NotEscaped
            | Self::DotSegment
            | Self::ParametersAlone => "request target",
        }
    }
}
