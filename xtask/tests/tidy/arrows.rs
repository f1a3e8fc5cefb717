//! Which crate may use which, and that every foreign crate has its reason.

use crate::offence::{Offence, assert_none, listed};
use crate::project::{Dependency, File, Package, files, packages};

/// Each package of the workspace, and what it may use of it.
const ARROWS: &[(&str, &[&str])] = &[
    ("tollgate", &[]),
    ("tollgate-config", &["tollgate"]),
    ("tollgate-json", &["tollgate"]),
    ("tollgate-replay", &["tollgate", "tollgate-config", "tollgate-json"]),
    ("tollgate-tokio", &["tollgate"]),
    ("tollgate-http", &["tollgate"]),
    ("tollgate-tower", &["tollgate", "tollgate-http"]),
    ("tollgate-gateway", &["tollgate", "tollgate-config", "tollgate-http", "tollgate-json"]),
    ("tollgate-cli", &["tollgate", "tollgate-config", "tollgate-gateway", "tollgate-replay"]),
    ("xtask", &[]),
];

/// The file whose comments say why each foreign crate is used.
const REASONS: &str = "deny.toml";

#[test]
fn crates_use_only_what_stands_above_them() {
    assert_none(
        &wrong_arrows(&packages(), &files()),
        "take the dependency out, or move what is shared to the crate that both may use \
         (the arrows are in xtask/tests/tidy/arrows.rs)",
    );
}

#[test]
fn every_foreign_crate_has_a_reason() {
    assert_none(
        &without_reason(&packages(), &files()),
        "give each direct dependency one line `# name: why it is here` in deny.toml, and take out those of crates \
         that are gone",
    );
}

fn wrong_arrows(packages: &[Package], files: &[File]) -> Vec<Offence> {
    let mut offences = Vec::new();
    for package in packages {
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| package.name == *name) else {
            let what = format!("package `{}` has no entry in ARROWS", package.name);
            offences.push(Offence::new(&package.manifest(), 1, what));
            continue;
        };
        for Dependency { name } in &package.dependencies {
            let ours = packages.iter().any(|other| other.name == *name);
            if ours && !allowed.contains(&name.as_str()) {
                let what = format!("`{}` may not use `{name}`", package.name);
                offences.push(at_dependency(package, name, files, what));
            }
        }
    }
    offences
}

fn without_reason(packages: &[Package], files: &[File]) -> Vec<Offence> {
    let reasons: Vec<_> = files
        .iter()
        .filter(|file| file.path == REASONS)
        .flat_map(File::lines)
        .filter_map(|(line, text)| Some((line, text.strip_prefix("# ")?.split_once(": ")?.0)))
        .collect();
    let ours = |name: &str| packages.iter().any(|package| package.name == name);
    let mut offences = Vec::new();
    for package in packages {
        for Dependency { name } in &package.dependencies {
            if !ours(name) && !reasons.iter().any(|(_, known)| known == name) {
                let what = format!("`{name}` has no reason in {REASONS}");
                offences.push(at_dependency(package, name, files, what));
            }
        }
    }
    for (line, known) in reasons {
        let used = |package: &Package| package.dependencies.iter().any(|used| used.name == known);
        if !packages.iter().any(used) {
            offences.push(Offence::new(REASONS, line, format!("`{known}` is used no longer")));
        }
    }
    offences
}

/// An offence at the line of a package's manifest that names the dependency.
fn at_dependency(package: &Package, name: &str, files: &[File], what: String) -> Offence {
    let manifest = package.manifest();
    let names_it =
        |line: &str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '.', '=']));
    let line = files
        .iter()
        .filter(|file| file.path == manifest)
        .flat_map(File::lines)
        .find_map(|(number, line)| names_it(line).then_some(number));
    Offence::new(&manifest, line.unwrap_or(1), what)
}

fn package(name: &str, uses: &[&str]) -> Package {
    Package {
        name: name.to_owned(),
        manifest_path: format!("{name}/Cargo.toml").into(),
        dependencies: uses.iter().map(|name| Dependency { name: (*name).to_owned() }).collect(),
        targets: Vec::new(),
    }
}

#[test]
fn an_arrow_that_goes_down_is_found() {
    let packages = [package("tollgate", &["tollgate-config"]), package("tollgate-config", &[])];
    let manifest =
        "[dependencies]\ntollgate-config-other = \"1\"\ntollgate-config.workspace = true";
    let offences = wrong_arrows(&packages, &[File::new("tollgate/Cargo.toml", manifest)]);
    assert_eq!(
        listed(&offences),
        "tollgate/Cargo.toml:3: `tollgate` may not use `tollgate-config`"
    );
}

#[test]
fn a_package_nobody_placed_is_found() {
    let offences = wrong_arrows(&[package("tollgate-new", &[])], &[]);
    assert_eq!(
        listed(&offences),
        "tollgate-new/Cargo.toml:1: package `tollgate-new` has no entry in ARROWS"
    );
}

#[test]
fn a_crate_without_a_reason_and_a_reason_without_a_crate_are_found() {
    let packages = [package("tollgate", &["strsim", "quanta"])];
    let reasons = File::new("deny.toml", "# strsim: the nearest name\n# serde: gone");
    assert_eq!(
        listed(&without_reason(&packages, &[reasons])),
        "tollgate/Cargo.toml:1: `quanta` has no reason in deny.toml\n\
         deny.toml:2: `serde` is used no longer"
    );
}
