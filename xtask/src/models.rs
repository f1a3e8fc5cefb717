//! The line store under the model checker, and the proof that the models would notice.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cargo::{ROOT, cargo, run_command};

/// Where the models are built: with other flags than everything else.
const TARGET: &str = "target/models";

/// Where the copy lies that is broken on purpose.
const COPY: &str = "target/models/broken";

/// What of the project the copy holds.
const COPIED: [&str; 4] = ["Cargo.toml", "Cargo.lock", "crates", "xtask"];

/// The store with one rule broken, and the model that must fail then.
struct Mutant {
    rule: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
    model: &'static str,
}

const MUTANTS: [Mutant; 9] = [
    Mutant {
        rule: "who writes to a line holds its lock",
        file: "line.rs",
        from: "        taken.ok()?;\n",
        to: "        drop(taken);\n",
        model: "of_two_hits_at_once_each_is_charged",
    },
    Mutant {
        rule: "a read is good only if the head has not changed",
        file: "line.rs",
        from: "        self.0[0].load(Ordering::Relaxed) == head.0\n",
        to: "        self.0[0].load(Ordering::Relaxed) == head.0 || true\n",
        model: "who_looks_while_another_writes_sees_a_state_from_before_or_after",
    },
    Mutant {
        rule: "every change is counted in the head",
        file: "line.rs",
        from: ".wrapping_add(CHANGE)",
        to: ".wrapping_add(0)",
        model: "who_looks_while_another_writes_sees_a_state_from_before_or_after",
    },
    Mutant {
        rule: "a key not found is searched again under the mutex",
        file: "section.rs",
        from: "match self.decide_present(hash, now, cost) {",
        to: "match Search::Missed {",
        model: "a_key_that_two_create_at_once_is_one_key",
    },
    Mutant {
        rule: "the time is read again under the mutex",
        file: "section.rs",
        from: "        let now = self.shared.mark.advance(now);\n        self.bear_home",
        to: "        self.bear_home",
        model: "an_older_time_does_not_see_as_absent_what_a_newer_one_has_forgotten",
    },
    Mutant {
        rule: "a slot is taken over only if its key is whole under the lock",
        file: "admission.rs",
        from: "self.rules.algorithm.debt(&before, self.shared.mark.get()) == 0;",
        to: "true;",
        model: "a_hit_on_a_whole_key_is_not_lost_when_a_newcomer_takes_its_slot",
    },
    Mutant {
        rule: "what a leaver owes is read under the lock",
        file: "admission.rs",
        from: "        let locked = self.line(number, place).lock();\n        \
               let leaver = Self::unpack(locked.words(place.slot));\n",
        to: "        let leaver = Self::unpack(self.slot(number, place).1);\n        \
             let locked = self.line(number, place).lock();\n",
        model: "a_key_that_must_leave_takes_along_what_a_hit_charges_at_that_moment",
    },
    Mutant {
        rule: "what moves to a new home is read under the lock",
        file: "growth.rs",
        from: "        let source = self.line(number, from).lock();\n        \
               let words = source.words(from.slot);\n",
        to: "        let words = self.slot(number, from).1;\n        \
             let source = self.line(number, from).lock();\n",
        model: "a_hit_is_not_lost_when_its_key_moves_to_a_new_home",
    },
    Mutant {
        rule: "what moves to other parameters is read under the lock",
        file: "moving.rs",
        from: "                let locked = self.line(number, place).lock();\n                \
               let mut state = Self::unpack(locked.words(slot));\n",
        to: "                let mut state = Self::unpack(self.slot(number, place).1);\n                \
             let locked = self.line(number, place).lock();\n",
        model: "a_reload_loses_no_charge_of_a_key_that_is_held",
    },
];

/// Runs the models, and then each mutant's, which must fail.
///
/// # Errors
/// When a model fails, a mutant passes, or a mutant no longer fits the code.
pub(crate) fn run_models() -> Result<(), String> {
    models_in(Path::new(ROOT), "models::")?;
    let copy = Path::new(ROOT).join(COPY);
    fs::create_dir_all(&copy).map_err(|error| format!("{COPY} cannot be made: {error}"))?;
    for part in COPIED {
        copy_all(&Path::new(ROOT).join(part), &copy.join(part))?;
    }
    MUTANTS.iter().try_for_each(|mutant| mutant.must_be_caught(&copy))
}

impl Mutant {
    fn must_be_caught(&self, copy: &Path) -> Result<(), String> {
        let path = copy.join("crates/tollgate/src/store/lines").join(self.file);
        let sound = read(&path)?;
        if sound.matches(self.from).count() != 1 {
            let Self { rule, file, from, .. } = self;
            return Err(format!("`{rule}`: {file} should hold once, to be broken:\n{from}"));
        }
        write(&path, &sound.replace(self.from, self.to))?;
        let outcome = models_in(copy, self.model);
        write(&path, &sound)?;
        match outcome {
            Ok(()) => Err(format!("without the rule that {}, {} passes", self.rule, self.model)),
            Err(_caught) => Ok(()),
        }
    }
}

/// Runs the models of a copy of the project whose names contain `filter`.
fn models_in(root: &Path, filter: &str) -> Result<(), String> {
    let words = format!("test --quiet --locked --profile models --package tollgate --lib {filter}");
    let mut command = cargo(&words);
    command.current_dir(root);
    command.env("RUSTFLAGS", "--cfg loom --allow warnings");
    command.env("CARGO_TARGET_DIR", Path::new(ROOT).join(TARGET));
    run_command(&mut command, &format!("{words}, with RUSTFLAGS=\"--cfg loom\""))
}

fn copy_all(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |error| format!("{} cannot be copied: {error}", from.display());
    if from.is_file() {
        return fs::copy(from, to).map(drop).map_err(failed);
    }
    fs::create_dir_all(to).map_err(failed)?;
    let entries: Result<Vec<_>, _> = fs::read_dir(from).map_err(failed)?.collect();
    let names: Vec<PathBuf> =
        entries.map_err(failed)?.iter().map(|entry| entry.file_name().into()).collect();
    names.iter().try_for_each(|name| copy_all(&from.join(name), &to.join(name)))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{} cannot be written: {error}", path.display()))
}
