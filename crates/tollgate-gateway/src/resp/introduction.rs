//! What clients ask before they come to the point: who is there, and what it understands.

use super::commands::{COMMANDS, Command};
use super::reply::{Protocol, Replies};
use super::word::{Shown, is};

/// What INFO answers. Clients wait until it says that nothing is being loaded.
const INFO: &str = concat!(
    "# Server\r\nserver_name:tollgate\r\ntollgate_version:",
    env!("CARGO_PKG_VERSION"),
    "\r\nredis_mode:standalone\r\nloading:0\r\n"
);

/// Answers HELLO: from here on the version it asks for is spoken.
pub(super) fn hello(id: u64, arguments: &[&[u8]], replies: &mut Replies) {
    let (protocol, options) = match arguments {
        [] => (replies.protocol, arguments),
        [b"2", options @ ..] => (Protocol::Resp2, options),
        [b"3", options @ ..] => (Protocol::Resp3, options),
        _ => return replies.error("NOPROTO unsupported protocol version; expected 2 or 3"),
    };
    match options {
        [] => {}
        [option, _] if is(option, "SETNAME") => {}
        [option, ..] if is(option, "AUTH") => return refuse_password(replies),
        _ => return replies.error("ERR expected HELLO [protover [SETNAME name]]"),
    }
    replies.protocol = protocol;
    greet(id, replies);
}

fn greet(id: u64, replies: &mut Replies) {
    let version = replies.protocol.version();
    replies.map(7);
    replies.string("server");
    replies.string("tollgate");
    replies.string("version");
    replies.string(env!("CARGO_PKG_VERSION"));
    replies.string("proto");
    replies.integer(version);
    replies.string("id");
    replies.integer(id);
    replies.string("mode");
    replies.string("standalone");
    replies.string("role");
    replies.string("master");
    replies.string("modules");
    replies.array(0);
}

/// Answers AUTH, and HELLO with AUTH.
pub(super) fn refuse_password(replies: &mut Replies) {
    replies.error("ERR there are no passwords here; connect without one");
}

/// Answers INFO, whatever the section.
pub(super) fn info(replies: &mut Replies) {
    replies.string(INFO);
}

/// Answers RESET.
pub(super) fn reset(replies: &mut Replies) {
    replies.protocol = Protocol::default();
    replies.word("RESET");
}

/// Answers ECHO, and PING, which may have no message.
pub(super) fn echo(arguments: &[&[u8]], replies: &mut Replies) {
    match arguments.first() {
        None => replies.word("PONG"),
        Some(message) => replies.string(message),
    }
}

/// Answers SELECT.
pub(super) fn select(arguments: &[&[u8]], replies: &mut Replies) {
    match arguments {
        [b"0"] => replies.word("OK"),
        _ => replies.error("ERR DB index is out of range; 0 is the only database"),
    }
}

/// Answers CLIENT on the connection of this number.
pub(super) fn client(id: u64, arguments: &[&[u8]], replies: &mut Replies) {
    match arguments {
        [name, _] if is(name, "SETNAME") => replies.word("OK"),
        [name, _, _] if is(name, "SETINFO") => replies.word("OK"),
        [name] if is(name, "ID") => replies.integer(id),
        _ => replies
            .error("ERR expected CLIENT SETNAME name, CLIENT SETINFO attribute value or CLIENT ID"),
    }
}

/// Answers COMMAND and what may follow it.
pub(super) fn command(arguments: &[&[u8]], replies: &mut Replies) {
    match arguments {
        [] => write_entries(&[], replies),
        [count] if is(count, "COUNT") => replies.integer(COMMANDS.len()),
        [docs, names @ ..] if is(docs, "DOCS") => write_pages(names, replies),
        [info, names @ ..] if is(info, "INFO") => write_entries(names, replies),
        [other, ..] => replies.error(format_args!(
            "ERR unknown subcommand '{}'; expected COUNT, DOCS or INFO",
            Shown(other)
        )),
    }
}

/// The entries of the commands named, of all where none is; nothing where a name is unknown.
fn write_entries(names: &[&[u8]], replies: &mut Replies) {
    if names.is_empty() {
        replies.array(COMMANDS.len());
        return COMMANDS.iter().for_each(|command| command.write_entry(replies));
    }
    replies.array(names.len());
    for name in names {
        match Command::named(name) {
            Some(command) => command.write_entry(replies),
            None => replies.null_array(),
        }
    }
}

/// The pages of the commands named, of all where none is.
fn write_pages(names: &[&[u8]], replies: &mut Replies) {
    let is_asked =
        |command: &&Command| names.is_empty() || names.iter().any(|name| is(name, command.name));
    replies.map(COMMANDS.iter().filter(is_asked).count());
    COMMANDS.iter().filter(is_asked).for_each(|command| command.write_page(replies));
}
