//! The real servers and clients that tests run against, each as `target/peers/bin/NAME`.
//!
//! What the machine has is taken. The rest is unpacked from Debian's packages and Python's wheels below `target/peers`:
//! nothing is installed, nothing is started, and no rights are needed.

use std::env;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::ROOT;

/// Where everything lies, from the project's root.
const PEERS: &str = "target/peers";

/// What pip installs, with digests.
const WHEELS: &str = "xtask/peers.txt";

/// A program that tests start.
struct Peer {
    name: &'static str,
    from: Source,
}

enum Source {
    /// A package, with those it needs that the machine lacks.
    Debian(&'static str),
    /// A package whose program needs none of the others that it names.
    DebianAlone(&'static str),
    /// Where a wheel puts it, below the environment's root or its `site-packages`.
    Wheel(&'static str),
}

const ALL: [Peer; 9] = [
    Peer { name: "nginx", from: Source::Debian("nginx") },
    Peer { name: "haproxy", from: Source::Debian("haproxy") },
    Peer { name: "redis-cli", from: Source::Debian("redis-tools") },
    Peer { name: "redis-benchmark", from: Source::Debian("redis-tools") },
    Peer { name: "promtool", from: Source::DebianAlone("prometheus") },
    Peer { name: "caddy", from: Source::Wheel("bin/caddy") },
    Peer { name: "envoy", from: Source::Wheel("envoy/_bin/envoy") },
    Peer { name: "hadolint", from: Source::Wheel("bin/hadolint") },
    Peer { name: "traefik", from: Source::Wheel("bin/traefik") },
];

/// Sees to it that every peer is there.
///
/// # Errors
/// When one cannot be had; says what to install by hand.
pub(crate) fn find_peers() -> Result<(), String> {
    let missing = || ALL.iter().filter(|peer| !place_of(peer.name).exists());
    make_folder(&root().join("bin"))?;
    for peer in missing() {
        if let Some(found) = on_machine(peer) {
            link(&found, peer.name)?;
        }
    }
    unpack_packages(&missing().collect::<Vec<_>>())?;
    unpack_wheels(&missing().collect::<Vec<_>>())?;
    let lacking: Vec<_> = missing().map(|peer| peer.name).collect();
    if lacking.is_empty() {
        return Ok(());
    }
    let places = format!("on the PATH, or as {PEERS}/bin/NAME");
    Err(format!("the tests need {}; put them {places}", lacking.join(", ")))
}

/// A program of the machine's own. Wheels are not looked for: tests are written for their versions.
fn on_machine(peer: &Peer) -> Option<PathBuf> {
    if matches!(peer.from, Source::Wheel(_)) {
        return None;
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    folders.map(|folder| folder.join(peer.name)).find(|place| place.is_file())
}

/// Unpacks the Debian packages of peers.
fn unpack_packages(peers: &[&Peer]) -> Result<(), String> {
    let (mut whole, mut alone) = (Vec::new(), Vec::new());
    for peer in peers {
        match peer.from {
            Source::Debian(package) => whole.push(package),
            Source::DebianAlone(package) => alone.push(package),
            Source::Wheel(_) => {}
        }
    }
    if whole.is_empty() && alone.is_empty() {
        return Ok(());
    }
    let debian = root().join("debian");
    for folder in ["lists/partial", "cache/archives/partial", "packages", "root"] {
        make_folder(&debian.join(folder))?;
    }
    output(apt(&debian).args(["--quiet=2", "update"]))?;
    if !whole.is_empty() {
        // What an installation would fetch: the packages and what they need that is not here yet.
        let would = ["--yes", "--quiet=2", "--no-install-recommends", "--print-uris", "install"];
        let fetched = output(apt(&debian).args(would).args(&whole))?;
        alone.extend(fetched.lines().filter_map(package_of));
        output(apt(&debian).current_dir(debian.join("packages")).arg("download").args(&alone))?;
    }
    unpack_all(&debian)?;
    for peer in peers {
        let folders = ["usr/sbin", "usr/bin"].map(|folder| debian.join("root").join(folder));
        let found = folders.map(|folder| folder.join(peer.name)).into_iter().find(|p| p.exists());
        if let Some(program) = found {
            start_with_libraries(&debian, &program, peer.name)?;
        }
    }
    Ok(())
}

/// The package of a line such as `'http://…/nginx_1.22.1-9_amd64.deb' nginx_1.22.1-9_amd64.deb 532468`.
fn package_of(line: &str) -> Option<&str> {
    let file = line.split_whitespace().nth(1)?;
    file.split_once('_').map(|(package, _)| package)
}

/// `apt-get` with lists and a cache of its own, so that it needs no rights.
fn apt(debian: &Path) -> Command {
    let mut apt = Command::new("apt-get");
    let own = |setting: &str, folder: &str| format!("{setting}={}", debian.join(folder).display());
    apt.args(["-o", &own("Dir::State::Lists", "lists"), "-o", &own("Dir::Cache", "cache")]);
    apt.args(["-o", "Debug::NoLocking=1"]);
    apt
}

fn unpack_all(debian: &Path) -> Result<(), String> {
    for package in entries(&debian.join("packages"))? {
        output(Command::new("dpkg-deb").arg("-x").arg(&package).arg(debian.join("root")))?;
    }
    Ok(())
}

/// A script that starts a program with the libraries that were unpacked with it.
fn start_with_libraries(debian: &Path, program: &Path, name: &str) -> Result<(), String> {
    let root = debian.join("root/usr/lib").display().to_string();
    let triple = format!("{root}/{}-linux-gnu", env::consts::ARCH);
    let script = format!(
        "#!/bin/sh\nLD_LIBRARY_PATH='{triple}:{root}' exec '{}' \"$@\"\n",
        program.display()
    );
    let place = place_of(name);
    let written = fs::write(&place, script)
        .and_then(|()| fs::set_permissions(&place, fs::Permissions::from_mode(0o755)));
    written.map_err(|error| format!("{} cannot be written: {error}", place.display()))
}

/// Installs the wheels of peers in a Python environment of their own.
fn unpack_wheels(peers: &[&Peer]) -> Result<(), String> {
    let places = peers.iter().filter_map(|peer| match peer.from {
        Source::Wheel(place) => Some((peer.name, place)),
        Source::Debian(_) | Source::DebianAlone(_) => None,
    });
    let places: Vec<_> = places.collect();
    if places.is_empty() {
        return Ok(());
    }
    let python = root().join("python");
    output(Command::new("python3").args(["-m", "venv"]).arg(&python))?;
    let pip = ["install", "--quiet", "--require-hashes", "--no-deps", "--requirement", WHEELS];
    output(Command::new(python.join("bin/pip")).current_dir(ROOT).args(pip))?;
    let mut folders = vec![python.clone()];
    for version in entries(&python.join("lib"))? {
        folders.push(version.join("site-packages"));
    }
    for (name, place) in places {
        let found = folders.iter().map(|folder| folder.join(place)).find(|place| place.exists());
        if let Some(program) = found {
            link(&program, name)?;
        }
    }
    Ok(())
}

/// All of it lies here. An absolute path: programs are started from elsewhere.
fn root() -> PathBuf {
    let root = fs::canonicalize(ROOT).unwrap_or_else(|_| ROOT.into());
    root.join(PEERS)
}

fn place_of(name: &str) -> PathBuf {
    root().join("bin").join(name)
}

fn link(program: &Path, name: &str) -> Result<(), String> {
    let place = place_of(name);
    // One that led to a program which is gone since.
    drop(fs::remove_file(&place));
    symlink(program, &place).map_err(|error| format!("{} cannot be made: {error}", place.display()))
}

fn make_folder(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder)
        .map_err(|error| format!("{} cannot be made: {error}", folder.display()))
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let unreadable = |error| format!("{} cannot be read: {error}", folder.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        paths.push(entry.map_err(unreadable)?.path());
    }
    Ok(paths)
}

/// What a command prints.
fn output(command: &mut Command) -> Result<String, String> {
    let named = format!("{command:?}");
    let output = command.output().map_err(|error| format!("{named} cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let printed = String::from_utf8_lossy(&output.stderr);
    Err(format!("{named} ended with {}: {}", output.status, printed.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_read_from_the_line_that_would_fetch_it() {
        let line = "'http://deb.debian.org/n/nginx_1.22.1-9%2bdeb12u11_amd64.deb' \
                    nginx_1.22.1-9+deb12u11_amd64.deb 532468 ";
        assert_eq!(package_of(line), Some("nginx"));
        assert_eq!(package_of("Reading package lists..."), None);
    }
}
