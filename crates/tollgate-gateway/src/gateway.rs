//! The gateway as a whole: its listeners bound, its doors served, and all of it stopped.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpSocket, lookup_host};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::sleep;
use tollgate::Clock;
use tollgate_config::ConfigErrors;
use tracing::{error, info, warn};

use crate::admin::{self, AdminRules, TokenFault};
use crate::config_file::{ConfigFile, Loaded};
use crate::door::{Door, Stop};
use crate::gate::Gate;
use crate::reload::{ReloadFault, warn_of_dangers};
use crate::watch::Watch;
use crate::{envoy, http, proxy, resp};

/// A gateway that runs, until it is stopped or dropped.
#[derive(Debug)]
pub struct Gateway {
    gate: Arc<Gate>,
    addresses: Vec<(Door, SocketAddr)>,
    /// The doors for requests, which stop first.
    doors: JoinSet<()>,
    stop_doors: Stop,
    /// The listener of operators, which stays until the others are done, so that they see the draining.
    admin: JoinSet<()>,
    stop_admin: Stop,
    /// Ends with the gateway.
    _watch: JoinSet<()>,
}

/// A [`Gateway`] in the making.
#[must_use]
pub struct GatewayBuilder {
    path: PathBuf,
    listen: Option<String>,
    admin: Option<String>,
    clock: Option<Arc<dyn Clock>>,
}

/// Why a gateway could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The config file has faults, all of which are told.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// An address cannot be listened on.
    #[error("cannot listen on {address}, the address of {option}")]
    #[non_exhaustive]
    Listen {
        /// The option that says where, on the command line or in the file.
        option: &'static str,
        /// The address.
        address: String,
        /// What the system says.
        source: io::Error,
    },
    /// Operators would be heard without a token on an address that others can reach.
    #[error(
        "operators would be heard on {address}, which others can reach, without a token; name its file in \
         `gateway.admin.tokenFile`, or listen on a loopback address"
    )]
    #[non_exhaustive]
    OpenAdmin {
        /// The address.
        address: SocketAddr,
    },
    /// The operators' token is of no use.
    #[error(transparent)]
    Token(#[from] TokenFault),
    /// The system does not tell where a listener is.
    #[error("a listener cannot be asked for its address")]
    Address(#[from] io::Error),
}

/// Why not every request under way was answered before the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CutOff {
    /// Their time was up.
    #[error("the deadline cut off requests in flight")]
    Deadline,
    /// Whoever stopped the gateway would not wait.
    #[error("a second signal cut off requests in flight")]
    Impatience,
    /// A door panicked.
    #[error("a listener broke off")]
    Door,
}

impl fmt::Debug for GatewayBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayBuilder").field("path", &self.path).finish_non_exhaustive()
    }
}

impl GatewayBuilder {
    /// Where the doors over HTTP are, instead of where the config file says. Port 0 takes a free one.
    pub fn listen(mut self, address: impl Into<String>) -> Self {
        self.listen = Some(address.into());
        self
    }

    /// Where operators are heard, instead of where the config file says.
    pub fn admin(mut self, address: impl Into<String>) -> Self {
        self.admin = Some(address.into());
        self
    }

    /// The clock of decisions, such as a [`ManualClock`](tollgate::ManualClock). Time-outs of connections are by the
    /// runtime's clock all the same.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Loads the config, binds every listener and serves, on the runtime this is called in.
    ///
    /// # Errors
    /// When the config has faults, or an address cannot be listened on. Nothing is served then.
    pub async fn start(self) -> Result<Gateway, StartError> {
        let (file, Loaded { limits, settings }) = ConfigFile::open(self.path)?;
        let admin = AdminRules::load(&settings.admin, file.path())?;
        let envoy = settings.envoy.as_ref();
        let redis = settings.redis.as_ref();
        let proxy = settings.proxy.as_ref();
        let doors = [
            (Door::Http, "--listen", Some(self.listen.as_ref().unwrap_or(&settings.listen))),
            (Door::Admin, "--admin", Some(self.admin.as_ref().unwrap_or(&settings.admin.listen))),
            (Door::Envoy, "gateway.envoy.listen", envoy.map(|envoy| &envoy.listen)),
            (Door::Redis, "gateway.redis.listen", redis.map(|redis| &redis.listen)),
            (Door::Proxy, "gateway.proxy.listen", proxy.map(|proxy| &proxy.listen)),
        ];
        let mut listeners = Vec::new();
        for (door, option, address) in doors {
            if let Some(address) = address {
                listeners.push((door, bind(option, address).await?));
            }
        }
        refuse_open_admin(&listeners, &admin)?;
        warn_of_dangers(&settings);
        let gate = Gate::new(file, limits, settings, admin, self.clock);
        Ok(Gateway::serve(gate, listeners)?)
    }
}

/// How many connections may wait until they are taken, where the system allows as many. One more is not heard, and tries
/// again a second later; of the 128 that are usual, a burst makes nothing.
const BACKLOG: u32 = 4_096;

/// Binds the listener of one door.
async fn bind(option: &'static str, address: &str) -> Result<TcpListener, StartError> {
    listen_on_any(address).await.map_err(|source| StartError::Listen {
        option,
        address: address.to_owned(),
        source,
    })
}

/// Listens on the first of a name's addresses on which that is possible.
async fn listen_on_any(address: &str) -> io::Result<TcpListener> {
    let mut refused = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in lookup_host(address).await? {
        match listen_on(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

fn listen_on(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A gateway that was stopped may be started again at once.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Operators on an address that others reach have to show a token. Here and not only where the file is read, since
/// names and options say addresses too.
fn refuse_open_admin(
    listeners: &[(Door, TcpListener)],
    admin: &AdminRules,
) -> Result<(), StartError> {
    for (_, listener) in listeners.iter().filter(|(door, _)| *door == Door::Admin) {
        let address = listener.local_addr()?;
        if !address.ip().is_loopback() && !admin.has_token() {
            return Err(StartError::OpenAdmin { address });
        }
    }
    Ok(())
}

impl Gateway {
    /// For the config file at this path.
    pub fn builder(config: impl Into<PathBuf>) -> GatewayBuilder {
        GatewayBuilder { path: config.into(), listen: None, admin: None, clock: None }
    }

    fn serve(gate: Gate, listeners: Vec<(Door, TcpListener)>) -> io::Result<Self> {
        let gate = Arc::new(gate);
        let mut gateway = Self {
            gate: Arc::clone(&gate),
            addresses: Vec::with_capacity(listeners.len()),
            doors: JoinSet::new(),
            stop_doors: Stop::new(),
            admin: JoinSet::new(),
            stop_admin: Stop::new(),
            _watch: watch(gate),
        };
        for (door, listener) in listeners {
            let address = listener.local_addr()?;
            info!(%door, %address, "listening");
            gateway.addresses.push((door, address));
            gateway.open(door, listener);
        }
        Ok(gateway)
    }

    /// Has a door served by its module.
    fn open(&mut self, door: Door, listener: TcpListener) {
        let gate = Arc::clone(&self.gate);
        let shutdown = self.stop_doors.shutdown();
        match door {
            Door::Http => drop(self.doors.spawn(http::door::serve(listener, gate, shutdown))),
            Door::Admin => {
                let shutdown = self.stop_admin.shutdown();
                drop(self.admin.spawn(admin::serve(listener, gate, shutdown)));
            }
            Door::Envoy => drop(self.doors.spawn(envoy::serve(listener, gate, shutdown))),
            Door::Redis => drop(self.doors.spawn(resp::serve(listener, gate, shutdown))),
            Door::Proxy => drop(self.doors.spawn(proxy::serve(listener, gate, shutdown))),
        }
    }

    /// Where a door is, if it is open: the port the system gave, where 0 was asked for.
    pub fn address(&self, door: Door) -> Option<SocketAddr> {
        self.addresses.iter().find_map(|(open, address)| (*open == door).then_some(*address))
    }

    /// Reads the config file again and changes the limits; where it has faults, what runs stays as it is, and the log
    /// tells. Answers go on meanwhile.
    /// It tells the new config's version.
    ///
    /// # Errors
    /// When the file has faults.
    pub async fn reload(&self) -> Result<u64, ReloadFault> {
        let gate = Arc::clone(&self.gate);
        // Reading files and moving millions of keys takes its time.
        match spawn_blocking(move || gate.reload()).await {
            Ok(reloaded) => reloaded.map(|reloaded| reloaded.version),
            Err(broken) => resume_unwind(broken.into_panic()),
        }
    }

    /// Takes no more connections, and ends when every request under way is answered; before that at the deadline, or
    /// when `impatience` ends.
    ///
    /// # Errors
    /// When requests under way were cut off.
    pub async fn stop(mut self, impatience: impl Future<Output = ()>) -> Result<(), CutOff> {
        let deadline = self.gate.settings().limits.drain_timeout;
        // Before it is said: whoever reads the line may ask at once.
        self.gate.start_draining();
        info!("stopping: requests in flight have {} s to finish", deadline.as_secs());
        self.stop_doors.start();
        tokio::select! {
            drained = self.drain() => drained,
            () = sleep(deadline) => Err(CutOff::Deadline),
            () = impatience => Err(CutOff::Impatience),
        }
    }

    async fn drain(&mut self) -> Result<(), CutOff> {
        let doors = all_ended(&mut self.doors).await;
        self.stop_admin.start();
        doors.and(all_ended(&mut self.admin).await)
    }
}

/// Has the config file watched. Where that cannot be done, a reload has to be asked for.
fn watch(gate: Arc<Gate>) -> JoinSet<()> {
    let mut task = JoinSet::new();
    match Watch::start(gate.config.path()) {
        Ok(watch) => drop(task.spawn(watch.reload_on_change(gate))),
        Err(error) => warn!("the config file is not watched: {error}; send SIGHUP after a change"),
    }
    task
}

/// Waits for each of these doors.
async fn all_ended(doors: &mut JoinSet<()>) -> Result<(), CutOff> {
    let mut ended = Ok(());
    while let Some(door) = doors.join_next().await {
        if let Err(panicked) = door {
            error!("a door broke off: {panicked}");
            ended = Err(CutOff::Door);
        }
    }
    ended
}
