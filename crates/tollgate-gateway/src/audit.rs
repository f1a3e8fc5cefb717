//! The log of what operators change: the target `tollgate::audit`.
//!
//! Names come from callers, who may have put into them what forges lines or commands terminals: so they are escaped and
//! cut short before they are logged.

use std::net::SocketAddr;

use tracing::info;

use crate::http::Received;

/// The most characters of a name that are logged.
const SHOWN_CHARACTERS_MAX: usize = 256;

/// What an operator did, and from where.
#[derive(Debug)]
pub(crate) struct Audit {
    peer: SocketAddr,
}

impl Audit {
    pub(crate) const fn of(received: &Received) -> Self {
        Self { peer: received.peer }
    }

    /// Logs a change.
    pub(crate) fn record(&self, action: &str, what: &str) {
        info!(target: "tollgate::audit", action, what, peer = %self.peer, "an operator changed something");
    }
}

/// A name as it may be logged: in quotes, without control or direction characters, cut short, and no secret.
pub(crate) fn shown(name: &str) -> String {
    if let Some((header, _secret)) =
        name.strip_prefix("header ").and_then(|rest| rest.split_once('/'))
    {
        return format!("{:?}", format!("header {header}/***"));
    }
    let cut: String = name.chars().take(SHOWN_CHARACTERS_MAX).collect();
    let rest = if cut.len() < name.len() { "…" } else { "" };
    format!("{cut:?}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s85_a_name_cannot_forge_a_line() {
        for (name, logged) in [
            ("alice", r#""alice""#),
            ("a\r\nERROR b", r#""a\r\nERROR b""#),
            ("\u{1b}[31m", r#""\u{1b}[31m""#),
            ("\",\"level\":\"error", r#""\",\"level\":\"error""#),
            ("\u{2028}\u{202e}", r#""\u{2028}\u{202e}""#),
        ] {
            assert_eq!(shown(name), logged);
        }
        let long = shown(&"é".repeat(1 << 20));
        assert_eq!(long.chars().count(), SHOWN_CHARACTERS_MAX + 3);
    }

    #[test]
    fn s86_a_secret_is_not_logged() {
        assert_eq!(shown("header x-api-key/6:canary"), r#""header x-api-key/***""#);
    }
}
