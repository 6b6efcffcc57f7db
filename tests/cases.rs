//! Every case in every arm as a test of its own, named `<case id>::<arm>`, on
//! every transport that the case means something on, in its home revision; under
//! `naive` and `guarded` on its cheapest transport in every other revision as well.
//!
//! Under `direct` and `naive` an attack must succeed and an honest case must be
//! served: a case that can't fail is a defect. Under `guarded` each must pass.

#![expect(clippy::print_stderr, reason = "a test program without its harness says so itself")]

use std::{path::Path, process::ExitCode, sync::Arc};

use gateproof::{
    case::Level,
    plan::{Arm, Prepared, Suite, Trial},
    runner::{Ended, Settings, play},
    score::{Record, Standing},
};
use libtest_mimic::{Arguments, Failed, Trial as Test};

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Most trials wait: for a process, a socket, or a deadline.
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    arguments.test_threads.get_or_insert(processors * 4);
    let suite = match Suite::load(Path::new(env!("CARGO_MANIFEST_DIR"))) {
        Ok(suite) => suite,
        Err(error) => {
            eprintln!("the corpus can't be loaded: {error}; `gateproof lint` shows where");
            return ExitCode::FAILURE;
        }
    };
    if suite.cases.is_empty() {
        eprintln!("there are no cases: nothing was tested");
        return ExitCode::FAILURE;
    }
    let tests = suite
        .cases
        .iter()
        .flat_map(|prepared| {
            [Arm::Direct, Arm::Naive, Arm::Guarded].map(|arm| {
                let prepared = Arc::clone(prepared);
                Test::test(format!("{}::{arm}", prepared.case.id), move || check(&prepared, arm))
            })
        })
        .collect();
    libtest_mimic::run(&arguments, tests).exit_code()
}

fn check(prepared: &Arc<Prepared>, arm: Arm) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let settings = Settings { program: Some(env!("CARGO_BIN_EXE_gateproof").into()), ..Settings::default() };
    for &transport in &prepared.case.body.transports {
        let case = &prepared.case;
        let home = [case.home_revision()];
        let everywhere = arm != Arm::Direct && transport == case.home();
        for &revision in if everywhere { &case.body.revisions[..] } else { &home } {
            let trial = Trial { prepared: Arc::clone(prepared), arm, transport, revision };
            let played = runtime.block_on(play(&trial, &settings));
            let record = Record::new(&trial, Ended::Played(played));
            // What isn't a must is reported by the scorecard; here it must only
            // not break, and under the open arms it must still mean something.
            let binding = prepared.case.body.level == Level::Must || arm.is_open();
            if binding && record.standing() != Standing::AsExpected {
                let reasons = record.verdict.map(|verdict| verdict.reasons).unwrap_or_default();
                let how = if arm.is_open() { "an attack must succeed here" } else { "must pass" };
                return Err(format!(
                    "{} over {transport} in {revision} ({how}): {}: {}",
                    trial.prepared.case.id,
                    if reasons.is_empty() { "no harm was done" } else { "see" },
                    reasons.join("; ")
                )
                .into());
            }
        }
    }
    Ok(())
}
