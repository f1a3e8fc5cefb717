//! The Redis door: decisions in the protocol of Redis, so that any Redis client is a client.
//!
//! ```text
//! bytes ─► request ─► session ─► question ─► the gate        many connections, each: connection
//!          words      commands   a call        │
//! bytes ◄─ reply  ◄────────────── answer  ◄────┘
//! ```
//!
//! Commands may be pipelined without end: what was read is answered before more is read. A connection holds at most one
//! command that is not whole, of 64 KiB, and about as many bytes of replies.

mod answer;
mod commands;
mod connection;
mod introduction;
mod question;
mod reply;
mod request;
mod session;
mod word;
