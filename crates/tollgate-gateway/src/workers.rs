//! Threads that serve, each on a runtime of its own.
//!
//! A connection stays on the thread that took it, and so does the connection to the upstream that its requests go on:
//! nothing of a request moves between processors or wakes another thread. All threads take connections from the same
//! queue, so one that is idle takes the next. (A queue for each, by `SO_REUSEPORT`, would deal connections out blindly,
//! and let a second gateway listen on the same port unnoticed.)

use std::io;
use std::thread;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// Where doors are served: on threads of their own, or on the runtime of whoever started the gateway.
#[derive(Debug)]
pub(crate) struct Workers {
    runtimes: Vec<Handle>,
    /// A thread ends, and cuts off whatever it still serves, when its end of one of these is dropped.
    _stops: Vec<oneshot::Sender<()>>,
}

impl Workers {
    /// So many threads; for none, the runtime this is called in.
    pub(crate) fn start(threads: usize) -> io::Result<Self> {
        if threads == 0 {
            return Ok(Self { runtimes: vec![Handle::current()], _stops: Vec::new() });
        }
        let (mut runtimes, mut stops) = (Vec::new(), Vec::new());
        for index in 0..threads {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let (stop, stopped) = oneshot::channel();
            runtimes.push(runtime.handle().clone());
            stops.push(stop);
            let name = format!("tollgate-{index}");
            let serve = move || {
                // It says nothing but that the other end is gone.
                drop(runtime.block_on(stopped));
                runtime.shutdown_background();
            };
            drop(thread::Builder::new().name(name).spawn(serve)?);
        }
        Ok(Self { runtimes, _stops: stops })
    }

    /// Has a listener's connections taken on every thread.
    ///
    /// # Errors
    /// When the system has no more file descriptors.
    pub(crate) fn serve<F>(
        &self,
        tasks: &mut JoinSet<()>,
        listener: TcpListener,
        serve: impl Fn(TcpListener) -> F + Clone + Send + 'static,
    ) -> io::Result<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = listener.into_std()?;
        for runtime in &self.runtimes {
            let (listener, serve) = (listener.try_clone()?, serve.clone());
            let served = async move {
                match TcpListener::from_std(listener) {
                    Ok(listener) => serve(listener).await,
                    Err(error) => tracing::error!("a listener cannot be served: {error}"),
                }
            };
            drop(tasks.spawn_on(served, runtime));
        }
        Ok(())
    }
}
