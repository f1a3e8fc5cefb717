//! What may stand behind the `?`.

/// What a client wants otherwise than usual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    /// Whether a denial shows in the status (`status=1`).
    pub(super) denials_show: bool,
}

impl Options {
    /// Reads what stands behind the `?`. The error says what was expected.
    pub(super) fn parse(query: Option<&str>) -> Result<Self, String> {
        let mut denials_show = None;
        for pair in query.into_iter().flat_map(|query| query.split('&')).filter(|it| !it.is_empty())
        {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let option = match name {
                "status" => &mut denials_show,
                _ => return Err(format!("unknown option `{name}`; expected `status`")),
            };
            if option.replace(flag(name, value)?).is_some() {
                return Err(format!("`{name}` is given twice; expected it once"));
            }
        }
        Ok(Self { denials_show: denials_show.unwrap_or_default() })
    }
}

fn flag(name: &str, value: &str) -> Result<bool, String> {
    match value {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(format!("`{name}` is {value:?}; expected 0 or 1")),
    }
}
