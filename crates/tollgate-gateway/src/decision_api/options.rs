//! What may stand behind the `?`.

use super::Asks;

/// What a client wants otherwise than usual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    /// Whether a denial shows in the status (`status=1`).
    pub(super) denials_show: bool,
    /// Whether what each limit says is told as well (`limits=1`).
    pub(super) with_limits: bool,
}

impl Options {
    /// Reads what stands behind the `?`. The error says what was expected.
    pub(super) fn parse(query: Option<&str>, asks: Asks) -> Result<Self, String> {
        let (mut denials_show, mut with_limits) = (None, None);
        let pairs = query.into_iter().flat_map(|query| query.split('&'));
        for pair in pairs.filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let option = match (name, asks) {
                ("status", _) => &mut denials_show,
                ("limits", Asks::ToAllow) => &mut with_limits,
                (_, Asks::ToAllow) => {
                    return Err(format!("unknown option `{name}`; expected `status` or `limits`"));
                }
                (_, Asks::ToPeek) => {
                    return Err(format!("unknown option `{name}`; expected `status`"));
                }
            };
            if option.replace(flag(name, value)?).is_some() {
                return Err(format!("`{name}` is given twice; expected it once"));
            }
        }
        Ok(Self {
            denials_show: denials_show.unwrap_or_default(),
            with_limits: with_limits.unwrap_or_default(),
        })
    }
}

fn flag(name: &str, value: &str) -> Result<bool, String> {
    match value {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(format!("`{name}` is {value:?}; expected 0 or 1")),
    }
}
