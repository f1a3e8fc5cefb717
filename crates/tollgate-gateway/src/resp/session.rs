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
                self.refuse(format_args!(
                    "wrong number of arguments for '{name}'; expected {command}"
                ))
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

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use redis::Parser;
    use tollgate::ManualClock;

    use super::super::reply::Protocol;
    use super::*;
    use crate::admin::AdminRules;
    use crate::config_file::{ConfigFile, Loaded};

    /// Ten calls a client, one more a second; by tenant at another endpoint, and twenty on a plan at a third. The clock
    /// stands still.
    fn session() -> Session {
        let limits = "
            plans: [pro]
            default: { algorithm: TokenBucket, algoConfig: { capacity: 10, refill: 1/s } }
            endpoints:
              - endpoint: /plan
                algorithm: TokenBucket
                algoConfig: { capacity: 10, refill: 1/s }
                plans:
                  pro: { algorithm: TokenBucket, algoConfig: { capacity: 20, refill: 1/s } }
              - endpoint: /team
                limits:
                  - name: team
                    algorithm: TokenBucket
                    algoConfig: { capacity: 5, refill: 1/s }
                    scope: tenant
            ";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("limits.yaml");
        std::fs::write(&path, limits).unwrap();
        let (file, Loaded { limits, settings }) = ConfigFile::open(path).unwrap();
        let admin = AdminRules::load(&settings.admin, file.path()).unwrap();
        let clock = Arc::new(ManualClock::new());
        Session::new(Arc::new(Gate::new(file, limits, settings, admin, Some(clock))), 7)
    }

    /// What comes back for these bytes, which end with a whole command, and what is done then.
    fn replies(session: &Session, bytes: &[u8], replies: &mut Replies) -> (String, Next) {
        let mut all = String::new();
        let mut rest = bytes;
        loop {
            let progress = session.answer(rest, replies);
            rest = &rest[progress.taken..];
            all += str::from_utf8(replies.as_bytes()).unwrap();
            replies.clear(0);
            if progress.next != Next::Answer {
                return (all, progress.next);
            }
        }
    }

    /// Replies to lines of commands, without the ends of their lines.
    fn replies_to(session: &Session, lines: &str) -> String {
        let mut kept = Replies::default();
        replies(session, format!("{lines}\n").as_bytes(), &mut kept).0.replace("\r\n", " ")
    }

    #[test]
    fn a_decision_is_five_integers() {
        let session = session();
        for (command, figures) in [
            ("TOLLGATE.ALLOW alice /x", ":1 :10 :9 :-1 :1000"),
            ("tollgate.allow alice /x 4", ":1 :10 :5 :-1 :5000"),
            ("TOLLGATE.ALLOW alice /x 6", ":0 :10 :5 :1000 :5000"),
            ("TOLLGATE.ALLOW alice /x 11", ":0 :10 :5 :-1 :5000"),
            ("TOLLGATE.ALLOW alice /x 18446744073709551615", ":0 :10 :5 :-1 :5000"),
            ("TOLLGATE.ALLOW alice /x 0", ":1 :10 :5 :-1 :5000"),
            ("TOLLGATE.PEEK alice /x 5", ":1 :10 :5 :-1 :5000"),
            ("TOLLGATE.PEEK alice /x 6", ":0 :10 :5 :1000 :5000"),
            ("TOLLGATE.ALLOW bob /x", ":1 :10 :9 :-1 :1000"),
            ("TOLLGATE.ALLOW alice /team tenant acme", ":1 :5 :4 :-1 :1000"),
            ("TOLLGATE.ALLOW bob /team 2 TENANT acme", ":1 :5 :2 :-1 :3000"),
            ("TOLLGATE.PEEK bob /team TENANT tenant", ":1 :5 :5 :-1 :0"),
            ("TOLLGATE.ALLOW carol /plan PLAN pro", ":1 :20 :19 :-1 :1000"),
            ("TOLLGATE.PEEK carol /plan 2 plan pro tenant acme", ":1 :20 :19 :-1 :1000"),
            ("TOLLGATE.PEEK plan /plan 1 TENANT plan PLAN nobodys", ":1 :10 :10 :-1 :0"),
        ] {
            assert_eq!(replies_to(&session, command), format!("*5 {figures} "), "{command}");
        }
    }

    #[test]
    fn in_version_3_a_decision_is_a_map_of_the_names_in_json() {
        let session = session();
        let mut kept = Replies::default();
        kept.protocol = Protocol::Resp3;
        for (command, figures) in [
            (
                "alice /x",
                "%5 $7 allowed #t $9 remaining :9 $12 retryAfterMs _ $5 limit :10 \
                 $12 resetAfterMs :1000",
            ),
            (
                "alice /x 10",
                "%5 $7 allowed #f $9 remaining :9 $12 retryAfterMs :1000 $5 limit :10 \
                 $12 resetAfterMs :1000",
            ),
            (
                "alice /team 6 TENANT acme",
                "%7 $7 allowed #f $9 remaining :5 $12 retryAfterMs _ $5 limit :5 \
                 $12 resetAfterMs :0 $9 limitName $4 team $5 error $16 costExceedsLimit",
            ),
        ] {
            let command = format!("TOLLGATE.ALLOW {command}\n");
            let (replies, next) = replies(&session, command.as_bytes(), &mut kept);
            assert_eq!((replies.replace("\r\n", " "), next), (format!("{figures} "), Next::Read));
        }
    }

    #[test]
    fn a_command_that_cannot_be_understood_says_what_was_expected_and_charges_nothing() {
        let session = session();
        let usage = "wrong number of arguments for";
        let call = "client endpoint [cost] [TENANT tenant] [PLAN plan]";
        let no_cost = "is no cost; expected a whole number from 0 to 18446744073709551615";
        let no_tenant = "counts by tenant, and the call names none; give it with the call";
        let client = "CLIENT SETNAME name, CLIENT SETINFO attribute value or CLIENT ID";
        for (command, error) in [
            ("TOLLGATE.ALLOW", format!("{usage} 'TOLLGATE.ALLOW'; expected TOLLGATE.ALLOW {call}")),
            ("TOLLGATE.PEEK a", format!("{usage} 'TOLLGATE.PEEK'; expected TOLLGATE.PEEK {call}")),
            ("ECHO a b", format!("{usage} 'ECHO'; expected ECHO message")),
            (
                "tollgate.peek a b 1 2 3 4 5 6",
                format!("{usage} 'TOLLGATE.PEEK'; expected TOLLGATE.PEEK {call}"),
            ),
            ("TOLLGATE.ALLOW alice /x -1", format!("'-1' {no_cost}")),
            ("TOLLGATE.ALLOW alice /x +1", format!("'+1' {no_cost}")),
            ("TOLLGATE.ALLOW alice /x 1.5", format!("'1.5' {no_cost}")),
            (
                "TOLLGATE.ALLOW alice /x 18446744073709551616",
                format!("'18446744073709551616' {no_cost}"),
            ),
            ("TOLLGATE.ALLOW alice /x \u{e4}", format!("'\\xc3\\xa4' {no_cost}")),
            (
                "TOLLGATE.ALLOW alice /x 1 2",
                "'2' is no option; expected TENANT or PLAN and a name".to_owned(),
            ),
            ("TOLLGATE.ALLOW alice /x TENANT", "TENANT is not followed by a name".to_owned()),
            (
                "TOLLGATE.ALLOW alice /x TENANT t 1",
                "'1' is no option; expected TENANT or PLAN and a name".to_owned(),
            ),
            ("TOLLGATE.ALLOW alice /x TENANT t PLAN", "PLAN is not followed by a name".to_owned()),
            (
                "TOLLGATE.ALLOW alice /x PLAN p plan q",
                "PLAN is given twice; expected it once at most".to_owned(),
            ),
            ("TOLLGATE.ALLOW alice /team", format!("the limit \"team\" of 5 {no_tenant}")),
            (
                "TOLGATE.ALOW a b",
                "unknown command 'TOLGATE.ALOW'; did you mean TOLLGATE.ALLOW?".to_owned(),
            ),
            ("GET a", "unknown command 'GET'; COMMAND DOCS tells those there are".to_owned()),
            ("SELECT 1", "DB index is out of range; 0 is the only database".to_owned()),
            ("AUTH secret", "there are no passwords here; connect without one".to_owned()),
            ("HELLO 3 AUTH a b", "there are no passwords here; connect without one".to_owned()),
            ("HELLO 3 SETNAME", "expected HELLO [protover [SETNAME name]]".to_owned()),
            ("CLIENT KILL 1", format!("expected {client}")),
            ("COMMAND LIST", "unknown subcommand 'LIST'; expected COUNT, DOCS or INFO".to_owned()),
        ] {
            assert_eq!(replies_to(&session, command), format!("-ERR {error} "), "{command}");
        }
        let unsupported = "-NOPROTO unsupported protocol version; expected 2 or 3 ";
        assert_eq!(replies_to(&session, "HELLO 4"), unsupported);
        assert_eq!(replies_to(&session, "TOLLGATE.PEEK alice /x"), "*5 :1 :10 :10 :-1 :0 ");
    }

    #[test]
    fn names_that_are_no_text_are_refused() {
        let session = session();
        for (command, what) in [
            (&b"TOLLGATE.ALLOW \xff /x\n"[..], "client"),
            (b"TOLLGATE.ALLOW a \xff\n", "endpoint"),
            (b"TOLLGATE.ALLOW a /x 1 TENANT \xff\n", "tenant"),
            (b"TOLLGATE.ALLOW a /x PLAN \xff\n", "plan"),
        ] {
            let (reply, _) = replies(&session, command, &mut Replies::default());
            assert_eq!(reply, format!("-ERR the {what} is not UTF-8; expected text\r\n"));
        }
    }

    #[test]
    fn what_clients_ask_when_they_connect_is_answered() {
        let session = session();
        let hello = "server $8 tollgate $7 version $5 0.1.0 $5 proto :2 $2 id :7 $4 mode \
                     $10 standalone $4 role $6 master $7 modules *0 ";
        for (command, reply) in [
            ("HELLO", &*format!("*14 $6 {hello}")),
            ("HELLO 2 SETNAME worker", &*format!("*14 $6 {hello}")),
            ("HELLO 3", &*format!("%7 $6 {hello}").replace(":2", ":3")),
            ("CLIENT SETNAME worker", "+OK "),
            ("CLIENT SETINFO LIB-NAME redis-py", "+OK "),
            ("client id", ":7 "),
            ("SELECT 0", "+OK "),
            ("PING", "+PONG "),
            ("PING hello", "$5 hello "),
            ("ECHO hello", "$5 hello "),
            ("RESET", "+RESET "),
            ("COMMAND COUNT", ":12 "),
            ("COMMAND INFO nothing", "*1 *-1 "),
            ("COMMAND INFO ping", "*1 *10 $4 ping :-1 *1 +fast :0 :0 :0 *0 *0 *0 *0 "),
            ("COMMAND DOCS nothing", "*0 "),
            ("QUIT", "+OK "),
        ] {
            assert_eq!(replies_to(&session, command), reply, "{command}");
        }
        let (info, _) = replies(&session, b"INFO server\n", &mut Replies::default());
        assert!(info.contains("\r\nredis_mode:standalone\r\nloading:0\r\n"), "{info}");
    }

    #[test]
    fn the_version_is_spoken_until_it_is_changed_or_reset() {
        let session = session();
        let commands = "CLIENT ID\nHELLO 3\nCOMMAND INFO nothing\nHELLO 4\nCOMMAND INFO nothing\n\
                        RESET\nCOMMAND INFO nothing";
        let replies = replies_to(&session, commands);
        let entries = replies.split("*1 ").skip(1);
        let nulls: Vec<_> = entries.filter_map(|entry| entry.split(' ').next()).collect();
        assert_eq!(nulls, ["_", "_", "*-1"], "{replies}");
    }

    #[test]
    fn replies_come_in_the_order_of_the_commands() {
        let commands = "TOLLGATE.ALLOW a /x\nPING\nTOLLGATE.ALLOW a /x\nTOLLGATE.ALLOW a\n\
                        TOLLGATE.ALLOW a /x\nTOLLGATE.PEEK a /x\n\nTOLLGATE.ALLOW b /x\nQUIT\nPING";
        let usage = "-ERR wrong number of arguments for 'TOLLGATE.ALLOW'; \
                     expected TOLLGATE.ALLOW client endpoint [cost] [TENANT tenant] [PLAN plan] ";
        let expected = [
            "*5 :1 :10 :9 :-1 :1000 ",
            "+PONG ",
            "*5 :1 :10 :8 :-1 :2000 ",
            usage,
            "*5 :1 :10 :7 :-1 :3000 ",
            "*5 :1 :10 :7 :-1 :3000 ",
            "*5 :1 :10 :9 :-1 :1000 ",
            "+OK ",
        ];
        assert_eq!(replies_to(&session(), commands), expected.concat());
    }

    #[test]
    fn what_cannot_be_understood_is_the_last_that_is_answered() {
        let session = session();
        let mut kept = Replies::default();
        let commands = b"TOLLGATE.ALLOW a /x\n*1\r\nPING\r\nPING\n";
        let (replies, next) = replies(&session, commands, &mut kept);
        let error = "-ERR Protocol error: expected '$', got 'P'\r\n";
        assert_eq!(
            (replies, next),
            (format!("*5\r\n:1\r\n:10\r\n:9\r\n:-1\r\n:1000\r\n{error}"), Next::Close)
        );
    }

    #[test]
    fn a_client_that_asks_much_at_once_has_to_take_replies_before_more_is_decided() {
        let session = session();
        for (command, most) in
            [("COMMAND DOCS\n", 4_096), ("TOLLGATE.ALLOW a /x\n", 64 * CALLS_MAX)]
        {
            let asked = command.repeat(20_000);
            let mut replies = Replies::default();
            let progress = session.answer(asked.as_bytes(), &mut replies);
            assert_eq!(progress.next, Next::Answer);
            assert!(progress.taken < asked.len());
            let expected = REPLY_BYTES_MAX..REPLY_BYTES_MAX + most;
            assert!(expected.contains(&replies.len()), "{} bytes for {command}", replies.len());
        }
    }

    /// Lines that make a call, ask something else or break off.
    fn line() -> impl Strategy<Value = Vec<u8>> {
        let known = [
            "TOLLGATE.ALLOW a /x\n",
            "TOLLGATE.ALLOW b /x 3\r\n",
            "TOLLGATE.ALLOW a /team 2 TENANT t\n",
            "TOLLGATE.PEEK a /x\n",
            "*3\r\n$14\r\nTOLLGATE.ALLOW\r\n$1\r\n\n\r\n$0\r\n\r\n",
            "HELLO 3\n",
            "RESET\n",
            "COMMAND\n",
            "*2\r\n$4\r\nECHO\r\n$3\r\n\r\n-\r\n",
        ];
        prop_oneof![
            12 => proptest::sample::select(known.map(str::as_bytes).to_vec()).prop_map(<[u8]>::to_vec),
            1 => vec(any::<u8>(), 0..12),
        ]
    }

    proptest! {
        #[test]
        fn how_commands_are_split_makes_no_difference(
            lines in vec(line(), 0..40),
            part_length in 1_usize..50,
        ) {
            let bytes = lines.concat();
            let (whole, parts) = (session(), session());
            let (mut expected, mut got) = (Vec::new(), Vec::new());
            let mut replies = Replies::default();
            whole.answer(&bytes, &mut replies);
            expected.extend_from_slice(replies.as_bytes());

            let mut replies = Replies::default();
            let mut kept = Vec::new();
            for part in bytes.chunks(part_length) {
                kept.extend_from_slice(part);
                let progress = parts.answer(&kept, &mut replies);
                kept.drain(..progress.taken);
                if progress.next == Next::Close {
                    break;
                }
            }
            got.extend_from_slice(replies.as_bytes());
            prop_assert_eq!(got.escape_ascii().to_string(), expected.escape_ascii().to_string());
        }

        #[test]
        fn a_client_understands_every_reply(lines in vec(line(), 0..40)) {
            let mut replies = Replies::default();
            session().answer(&lines.concat(), &mut replies);
            let mut rest = replies.as_bytes();
            let mut parser = Parser::new();
            while !rest.is_empty() {
                let read = parser.parse_value(&mut rest);
                prop_assert!(read.is_ok(), "{:?} at {}", read, rest.escape_ascii());
            }
        }
    }
}
