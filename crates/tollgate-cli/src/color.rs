//! When output is coloured: asked of the terminal and `NO_COLOR`, unless the command line says.

use std::ffi::OsString;

use anstream::ColorChoice;

/// Follows the `--color` of a command line for everything printed from now on.
///
/// Help and usage errors are printed while arguments are parsed, so this looks before that; what is no choice is left
/// for the parser to refuse.
pub(crate) fn choose_from(args: impl Iterator<Item = OsString>) {
    choice_in(args).unwrap_or(ColorChoice::Auto).write_global();
}

fn choice_in(args: impl Iterator<Item = OsString>) -> Option<ColorChoice> {
    let mut args = args.skip(1).map_while(|arg| arg.into_string().ok());
    let mut choice = None;
    while let Some(arg) = args.next() {
        let value = match arg.strip_prefix("--color") {
            Some("") => args.next(),
            Some(value) => value.strip_prefix('=').map(str::to_owned),
            None => None,
        };
        choice = match value.as_deref() {
            Some("always") => Some(ColorChoice::Always),
            Some("never") => Some(ColorChoice::Never),
            Some("auto") => Some(ColorChoice::Auto),
            Some(_) | None => choice,
        };
    }
    choice
}
