//! Real clients: redis-cli, redis-benchmark and redis-rs.

use std::path::Path;
use std::process::{Command, Output};

use redis::{Client, Connection, RedisResult, cmd, pipe};
use tokio::task::spawn_blocking;

use crate::Served;

/// Where the programs of others are.
const PEERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/peers/bin");

/// Runs one of Redis's own programs against the door.
async fn run(served: &Served, program: &str, arguments: &str) -> String {
    let program = Path::new(PEERS).join(program);
    assert!(program.exists(), "{} is missing; run: cargo xtask peers", program.display());
    let mut command = Command::new(program);
    command.args(["-p", &served.address.port().to_string()]).args(arguments.split(' '));
    let running = spawn_blocking(move || command.output());
    let Output { status, stdout, stderr } = running.await.unwrap().unwrap();
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

/// What people read, and what they see: the session of the guide, under its own config.
#[tokio::test]
async fn the_guide_shows_what_redis_cli_shows() {
    let guide = include_str!("../../../../docs/guide/redis-protocol.md");
    let block = |language: &str| {
        let (_, after) = guide.split_once(&format!("```{language}\n")).unwrap();
        after.split_once("```").unwrap().0
    };
    let served = Served::start_on(&block("yaml").replace(":6380", ":0")).await;
    let mut steps = block("console").split("$ redis-cli -p 6380 ");
    assert_eq!(steps.next(), Some(""));
    for step in steps {
        let (arguments, shown) = step.split_once('\n').unwrap();
        let printed = run(&served, "redis-cli", &format!("--no-raw {arguments}")).await;
        assert_eq!(printed.trim_end(), shown.trim_end(), "{arguments}");
    }
}

#[tokio::test]
async fn redis_benchmark_can_ask() {
    let served = Served::start().await;
    let ask = "-q -c 20 -P 64 -n 20000 TOLLGATE.ALLOW alice /x";
    let printed = run(&served, "redis-benchmark", ask).await;
    assert!(printed.contains(" requests per second"), "{printed}");
    assert_eq!(
        run(&served, "redis-cli", "TOLLGATE.PEEK alice /x").await,
        "0\n10\n0\n1000\n10000\n"
    );
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
