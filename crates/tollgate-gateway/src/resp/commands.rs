//! The commands there are: by what name, with what arguments, and how clients are told of them.

use std::fmt::{self, Display};

use super::reply::Replies;
use super::request::ARGUMENTS_MAX;

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Allow,
    Peek,
    Auth,
    Client,
    Command,
    Echo,
    Hello,
    Info,
    Ping,
    Quit,
    Reset,
    Select,
}

/// A command.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) verb: Verb,
    /// In capitals, as people write it.
    pub(super) name: &'static str,
    summary: &'static str,
    arguments: &'static [Argument],
}

/// An argument of a command, or a few that belong together.
#[derive(Debug)]
struct Argument {
    name: &'static str,
    kind: Kind,
    presence: Presence,
}

/// What an argument looks like.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Text,
    Number,
    /// A word and the text that follows it.
    After(&'static str),
}

/// How often an argument may be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    Once,
    AtMostOnce,
    AnyTimes,
}

const fn argument(name: &'static str, kind: Kind, presence: Presence) -> Argument {
    Argument { name, kind, presence }
}

/// What a decision is about.
const CALL: &[Argument] = &[
    argument("client", Kind::Text, Presence::Once),
    argument("endpoint", Kind::Text, Presence::Once),
    argument("cost", Kind::Number, Presence::AtMostOnce),
    argument("tenant", Kind::After("TENANT"), Presence::AtMostOnce),
    argument("plan", Kind::After("PLAN"), Presence::AtMostOnce),
];

const SUBCOMMAND: &[Argument] = &[
    argument("subcommand", Kind::Text, Presence::Once),
    argument("value", Kind::Text, Presence::AnyTimes),
];

/// Every command, those first that are asked most.
pub(super) const COMMANDS: &[Command] = &[
    Command {
        verb: Verb::Allow,
        name: "TOLLGATE.ALLOW",
        summary: "Decides whether a client may call an endpoint now, and charges the call if so",
        arguments: CALL,
    },
    Command {
        verb: Verb::Peek,
        name: "TOLLGATE.PEEK",
        summary: "Answers what TOLLGATE.ALLOW would, and charges nothing",
        arguments: CALL,
    },
    Command {
        verb: Verb::Ping,
        name: "PING",
        summary: "Answers PONG, or the message",
        arguments: &[argument("message", Kind::Text, Presence::AtMostOnce)],
    },
    Command {
        verb: Verb::Hello,
        name: "HELLO",
        summary: "Chooses the version of the protocol, 2 or 3, and tells what runs here",
        arguments: &[
            argument("protover", Kind::Number, Presence::AtMostOnce),
            argument("option", Kind::Text, Presence::AnyTimes),
        ],
    },
    Command {
        verb: Verb::Client,
        name: "CLIENT",
        summary: "Takes SETNAME and SETINFO, and answers ID; none of them changes anything",
        arguments: SUBCOMMAND,
    },
    Command {
        verb: Verb::Command,
        name: "COMMAND",
        summary: "Tells which commands there are",
        arguments: &[
            argument("subcommand", Kind::Text, Presence::AtMostOnce),
            argument("command-name", Kind::Text, Presence::AnyTimes),
        ],
    },
    Command {
        verb: Verb::Echo,
        name: "ECHO",
        summary: "Answers the message",
        arguments: &[argument("message", Kind::Text, Presence::Once)],
    },
    Command {
        verb: Verb::Info,
        name: "INFO",
        summary: "Tells what runs here",
        arguments: &[argument("section", Kind::Text, Presence::AnyTimes)],
    },
    Command {
        verb: Verb::Select,
        name: "SELECT",
        summary: "Takes 0, the only database",
        arguments: &[argument("index", Kind::Number, Presence::Once)],
    },
    Command {
        verb: Verb::Auth,
        name: "AUTH",
        summary: "Refused: there are no passwords here",
        arguments: &[argument("value", Kind::Text, Presence::AnyTimes)],
    },
    Command {
        verb: Verb::Reset,
        name: "RESET",
        summary: "Makes the connection as new",
        arguments: &[],
    },
    Command { verb: Verb::Quit, name: "QUIT", summary: "Closes the connection", arguments: &[] },
];

impl Command {
    /// The command of a name, in capitals or not.
    pub(super) fn named(name: &[u8]) -> Option<&'static Self> {
        COMMANDS.iter().find(|command| command.name.as_bytes().eq_ignore_ascii_case(name))
    }

    /// Whether it can be called with so many arguments, its name not counted.
    pub(super) fn takes(&self, arguments: usize) -> bool {
        (self.arguments_min()..=self.arguments_max()).contains(&arguments)
    }

    fn arguments_min(&self) -> usize {
        self.arguments.iter().filter(|argument| argument.presence == Presence::Once).count()
    }

    fn arguments_max(&self) -> usize {
        let most = self.arguments.iter().map(Argument::words_max).fold(0, usize::saturating_add);
        most.min(ARGUMENTS_MAX)
    }

    /// How many words a call has, in the form that clients know: negative where it may have more.
    fn arity(&self) -> i64 {
        let least = i64::try_from(self.arguments_min()).unwrap_or(i64::MAX).saturating_add(1);
        if self.arguments_min() == self.arguments_max() { least } else { least.saturating_neg() }
    }

    /// Its entry in what COMMAND answers. Nothing here is a key of Redis's: no client should route by one.
    pub(super) fn write_entry(&self, replies: &mut Replies) {
        replies.array(10);
        replies.string(self.name.to_ascii_lowercase());
        replies.integer(self.arity());
        replies.array(1);
        replies.word("fast");
        for _first_last_and_step_of_keys in 0..3 {
            replies.integer(0);
        }
        for _categories_tips_key_specifications_and_subcommands in 0..4 {
            replies.array(0);
        }
    }

    /// Its name and its page in what COMMAND DOCS answers.
    pub(super) fn write_page(&self, replies: &mut Replies) {
        replies.string(self.name.to_ascii_lowercase());
        replies.map(4);
        for (field, text) in
            [("summary", self.summary), ("since", env!("CARGO_PKG_VERSION")), ("group", "generic")]
        {
            replies.string(field);
            replies.string(text);
        }
        replies.string("arguments");
        replies.array(self.arguments.len());
        for argument in self.arguments {
            argument.write_page(replies);
        }
    }
}

/// How it is called.
impl Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        self.arguments.iter().try_for_each(|argument| write!(f, " {argument}"))
    }
}

impl Argument {
    fn words_max(&self) -> usize {
        match (self.presence, self.kind) {
            (Presence::AnyTimes, _) => ARGUMENTS_MAX,
            (_, Kind::After(_)) => 2,
            (_, Kind::Text | Kind::Number) => 1,
        }
    }

    fn write_page(&self, replies: &mut Replies) {
        let token = match self.kind {
            Kind::After(token) => Some(token),
            Kind::Text | Kind::Number => None,
        };
        let flags: &[_] = match self.presence {
            Presence::Once => &[],
            Presence::AtMostOnce => &["optional"],
            Presence::AnyTimes => &["optional", "multiple"],
        };
        replies.map(3_usize.saturating_add(token.iter().len()));
        replies.string("name");
        replies.string(self.name);
        replies.string("type");
        replies.string(if matches!(self.kind, Kind::Number) { "integer" } else { "string" });
        if let Some(token) = token {
            replies.string("token");
            replies.string(token);
        }
        replies.string("flags");
        replies.array(flags.len());
        for flag in flags {
            replies.word(flag);
        }
    }
}

impl Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, kind, presence } = self;
        match (presence, kind) {
            (Presence::AtMostOnce, Kind::After(word)) => write!(f, "[{word} {name}]"),
            (Presence::AtMostOnce, Kind::Text | Kind::Number) => write!(f, "[{name}]"),
            (Presence::AnyTimes, _) => write!(f, "[{name} ...]"),
            (Presence::Once, Kind::After(word)) => write!(f, "{word} {name}"),
            (Presence::Once, Kind::Text | Kind::Number) => f.write_str(name),
        }
    }
}
