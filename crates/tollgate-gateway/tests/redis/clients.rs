//! Real clients: redis-cli, redis-benchmark and redis-rs.

use std::process::{Command, Output};

use redis::{Client, Connection, RedisResult, cmd, pipe};
use tokio::task::spawn_blocking;

use crate::Served;

/// Runs one of Redis's own programs against the door.
async fn run(served: &Served, program: &'static str, arguments: &str) -> String {
    let mut command = Command::new(program);
    command.args(["-p", &served.address.port().to_string()]).args(arguments.split(' '));
    let Output { status, stdout, stderr } =
        spawn_blocking(move || command.output()).await.unwrap().unwrap_or_else(|error| {
            panic!(
                "{program} cannot be run ({error}); install it with: apt-get install redis-tools"
            )
        });
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

/// Has redis-rs ask over a connection of its own.
async fn ask<T: Send + 'static>(
    served: &Served,
    version: &str,
    ask: impl FnOnce(&mut Connection) -> RedisResult<T> + Send + 'static,
) -> RedisResult<T> {
    let url = format!("redis://{}/?protocol={version}", served.address);
    let asking = move || ask(&mut Client::open(url)?.get_connection()?);
    spawn_blocking(asking).await.unwrap()
}

#[tokio::test]
async fn redis_cli_shows_a_decision() {
    let served = Served::start().await;
    for (arguments, shown) in [
        (
            "--no-raw TOLLGATE.ALLOW alice /x",
            "1) (integer) 1\n2) (integer) 10\n3) (integer) 9\n4) (integer) -1\n5) (integer) 1000\n",
        ),
        (
            "--no-raw -3 TOLLGATE.ALLOW alice /x 10",
            "1# \"allowed\" => (false)\n2# \"remaining\" => (integer) 9\n\
             3# \"retryAfterMs\" => (integer) 1000\n4# \"limit\" => (integer) 10\n\
             5# \"resetAfterMs\" => (integer) 1000\n",
        ),
        ("TOLLGATE.ALLOW alice /team 1 TENANT acme", "1\n5\n4\n-1\n1000\n"),
        (
            "--no-raw TOLLGATE.ALLOW alice /x -1",
            "(error) ERR '-1' is no cost; expected a whole number from 0 to 18446744073709551615\n",
        ),
        ("-n 0 --no-raw PING", "PONG\n"),
    ] {
        assert_eq!(run(&served, "redis-cli", arguments).await, shown, "{arguments}");
    }
}

#[tokio::test]
async fn redis_benchmark_can_ask() {
    let served = Served::start().await;
    let ask = "-q -c 20 -P 64 -n 20000 -r 1000 TOLLGATE.ALLOW client:__rand_int__ /x";
    let printed = run(&served, "redis-benchmark", ask).await;
    assert!(printed.contains(" requests per second"), "{printed}");
}

#[tokio::test]
async fn redis_rs_reads_a_decision_in_either_version() {
    let served = Served::start().await;
    let allow = || cmd("TOLLGATE.ALLOW").arg("alice").arg("/x").arg(4).to_owned();
    let old = ask(&served, "resp2", move |connection| allow().query(connection)).await;
    assert_eq!(old, Ok([1, 10, 6, -1, 4_000]));

    let new: RedisResult<Vec<(String, redis::Value)>> =
        ask(&served, "resp3", move |connection| allow().query(connection)).await;
    let names: Vec<_> = new.unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["allowed", "remaining", "retryAfterMs", "limit", "resetAfterMs"]);

    let error = ask(&served, "resp2", |connection| cmd("TOLLGATE.ALLOW").query::<()>(connection));
    assert!(error.await.unwrap_err().to_string().contains("wrong number of arguments"));
}

#[tokio::test]
async fn redis_rs_pipelines_and_what_is_allowed_in_all_is_the_quota() {
    let served = Served::start().await;
    let asked = |connection: &mut Connection| {
        let mut calls = pipe();
        for _ in 0..1_000 {
            calls.cmd("TOLLGATE.ALLOW").arg("alice").arg("/x");
        }
        calls.query::<Vec<[i64; 5]>>(connection)
    };
    let (one, other) = tokio::join!(ask(&served, "resp2", asked), ask(&served, "resp2", asked));
    let decisions = [one.unwrap(), other.unwrap()].concat();
    assert_eq!(decisions.len(), 2_000);
    assert_eq!(decisions.iter().filter(|[allowed, ..]| *allowed == 1).count(), 10);
}
