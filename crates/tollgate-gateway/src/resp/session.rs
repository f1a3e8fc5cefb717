//! One connection's commands and their replies, without the connection.

use std::fmt::Display;
use std::str;
use std::sync::Arc;

use tollgate::{Call, nearest_name};

use super::commands::{COMMANDS, Command, Verb};
use super::reply::Replies;
use super::word::Shown;
use super::{answer, introduction, question, request};
use crate::gate::Gate;

/// Replies are sent once there are so many bytes of them, before more is decided: who asks without reading the answers
/// waits, and takes no more memory meanwhile.
const REPLY_BYTES_MAX: usize = 64 * 1024;

/// The most calls that are decided at once, for the same reason.
const CALLS_MAX: usize = 256;

/// The longest name that is looked for among those that are similar.
const COMPARED_BYTES_MAX: usize = 32;

/// What answers the commands of one connection.
#[derive(Debug)]
pub(super) struct Session {
    gate: Arc<Gate>,
    /// The connection's number, by which its client may know it.
    id: u64,
}

/// How far the commands at the beginning of some bytes are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Progress {
    /// The bytes of the commands that were answered.
    pub(super) taken: usize,
    pub(super) next: Next,
}

/// What is to be done once the replies are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Read: what is left is no whole command.
    Read,
    /// Go on: there may be more whole commands.
    Answer,
    /// Close: nothing more is to be read.
    Close,
}

impl Session {
    pub(super) const fn new(gate: Arc<Gate>, id: u64) -> Self {
        Self { gate, id }
    }

    /// Answers the whole commands at the beginning of `bytes`, in order.
    ///
    /// Decisions that follow each other are made together, by one reading of the clock.
    pub(super) fn answer(&self, bytes: &[u8], replies: &mut Replies) -> Progress {
        let mut answers = Answers { session: self, calls: Vec::new(), replies };
        let mut words = Vec::new();
        let mut rest = bytes;
        let next = loop {
            if answers.replies.len() >= REPLY_BYTES_MAX {
                break Next::Answer;
            }
            match request::parse(rest, &mut words) {
                Ok(None) => break Next::Read,
                Ok(Some(length)) => {
                    rest = rest.get(length..).unwrap_or_default();
                    if answers.take(&words) == Next::Close {
                        break Next::Close;
                    }
                }
                Err(error) => {
                    answers.replies().error(format_args!("ERR Protocol error: {error}"));
                    break Next::Close;
                }
            }
        };
        answers.decide();
        Progress { taken: bytes.len().saturating_sub(rest.len()), next }
    }
}

/// The replies so far, and the calls that are decided next.
struct Answers<'a, 'b> {
    session: &'b Session,
    calls: Vec<Call<'a>>,
    replies: &'b mut Replies,
}

impl<'a> Answers<'a, '_> {
    /// Takes the words of one command. A call waits for those that may follow it.
    fn take(&mut self, words: &[&'a [u8]]) -> Next {
        let [name, arguments @ ..] = words else {
            return Next::Answer;
        };
        match Command::named(name) {
            Some(command) if command.takes(arguments.len()) => self.run(command.verb, arguments),
            Some(command) => {
                let name = command.name;
                self.refuse(format_args!("wrong number of arguments for '{name}'; expected {command}"))
            }
            None => self.refuse_unknown(name),
        }
    }

    fn run(&mut self, verb: Verb, arguments: &[&'a [u8]]) -> Next {
        let id = self.session.id;
        match verb {
            Verb::Allow => self.allow(arguments),
            Verb::Peek => self.peek(arguments),
            Verb::Auth => introduction::refuse_password(self.replies()),
            Verb::Client => introduction::client(id, arguments, self.replies()),
            Verb::Command => introduction::command(arguments, self.replies()),
            Verb::Echo | Verb::Ping => introduction::echo(arguments, self.replies()),
            Verb::Hello => introduction::hello(id, arguments, self.replies()),
            Verb::Info => introduction::info(self.replies()),
            Verb::Reset => introduction::reset(self.replies()),
            Verb::Select => introduction::select(arguments, self.replies()),
            Verb::Quit => {
                self.replies().word("OK");
                return Next::Close;
            }
        }
        Next::Answer
    }

    fn allow(&mut self, arguments: &[&'a [u8]]) {
        match question::call(arguments) {
            Ok(call) => self.calls.push(call),
            Err(error) => self.replies().error(format_args!("ERR {error}")),
        }
        if self.calls.len() >= CALLS_MAX {
            self.decide();
        }
    }

    fn peek(&mut self, arguments: &[&[u8]]) {
        match question::call(arguments) {
            Ok(call) => {
                // What was asked before is charged before.
                self.decide();
                answer::write(&self.session.gate.look(&call), self.replies);
            }
            Err(error) => self.replies().error(format_args!("ERR {error}")),
        }
    }

    /// Decides the calls that wait.
    fn decide(&mut self) {
        if self.calls.is_empty() {
            return;
        }
        for decided in self.session.gate.decide_many(&self.calls) {
            answer::write(&decided, self.replies);
        }
        self.calls.clear();
    }

    /// Where the reply goes of what is no call: behind those of the calls that wait.
    fn replies(&mut self) -> &mut Replies {
        self.decide();
        self.replies
    }

    fn refuse_unknown(&mut self, name: &[u8]) -> Next {
        let shown = Shown(name);
        match nearest_command(name) {
            Some(nearest) => {
                self.refuse(format_args!("unknown command '{shown}'; did you mean {nearest}?"))
            }
            None => self.refuse(format_args!(
                "unknown command '{shown}'; COMMAND DOCS tells those there are"
            )),
        }
    }

    fn refuse(&mut self, why: impl Display) -> Next {
        self.replies().error(format_args!("ERR {why}"));
        Next::Answer
    }
}

/// What an unknown name was probably meant to be. Long names are not compared, which would take long.
fn nearest_command(name: &[u8]) -> Option<&'static str> {
    let name = str::from_utf8(name).ok().filter(|name| name.len() <= COMPARED_BYTES_MAX)?;
    nearest_name(name, COMMANDS.iter().map(|command| command.name))
}
