//! `tollgate test`: scenario files on a virtual clock.

use std::io::Write;
use std::process::ExitCode;

use tollgate_replay::Scenario;

use crate::args::TestArgs;

/// Runs each scenario. Failures go to standard output, scenarios that cannot be read to standard error; the last line
/// counts both.
pub(crate) fn run(args: &TestArgs) -> anyhow::Result<ExitCode> {
    let mut stdout = anstream::stdout().lock();
    let (mut passed, mut failed) = (0_usize, 0_usize);
    for file in &args.scenarios {
        let success = match Scenario::load(file).map(|scenario| scenario.run()) {
            Ok(Ok(())) => true,
            Ok(Err(failure)) => {
                writeln!(stdout, "{failure}")?;
                false
            }
            Err(faults) => {
                writeln!(anstream::stderr(), "{faults}")?;
                false
            }
        };
        let count = if success { &mut passed } else { &mut failed };
        *count = count.saturating_add(1);
    }
    writeln!(stdout, "{passed} passed, {failed} failed")?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
