//! `GET /healthz` and `GET /readyz`.

use serde_json::Value;

use crate::files::{ScratchFile, bucket};
use crate::server::Server;

#[test]
fn both_listeners_say_that_the_process_is_alive_and_ready() {
    let server = Server::start(&ScratchFile::new("limits.yaml", bucket(1)));
    for address in [&server.api, &server.admin] {
        let alive = server.get(address, "/healthz");
        assert_eq!((alive.status, alive.body.as_str()), (200, "ok\n"));
        let ready = server.get(address, "/readyz");
        assert_eq!((ready.status, ready.content_type.as_str()), (200, "application/json"));
        let detail = ready.json();
        assert_eq!((&detail["status"], &detail["config"]["version"]), (&"ready".into(), &1.into()));
        assert_eq!(detail["config"]["lastReloadError"], Value::Null);
        let loaded_at = detail["config"]["loadedAt"].as_str().unwrap();
        assert!(humantime::parse_rfc3339(loaded_at).is_ok(), "{loaded_at}");
        assert_eq!(server.get(address, "/livez").problem(404), "nothing is served under /livez");
    }
}
