//! From the words of the command line to an exit code.

use std::process::ExitCode;

use clap::Parser as _;

use super::{
    args::{Cli, Verb},
    bridge, doctor, exit, explain, fidelity, gates, guard, lint, list, live, new, pins, qualify, replay, run,
    screen::{self, Screen},
};

/// Everything that the program does. A panic that nobody caught is a bug of
/// gateproof and exits as one.
pub fn main() -> ExitCode {
    let code = match Cli::try_parse() {
        Ok(cli) => caught(|| verb(&cli)),
        Err(error) => {
            // Help and version are printed the same way, and are no mistake.
            let _ = error.print();
            if error.use_stderr() { exit::USAGE } else { exit::FINE }
        }
    };
    ExitCode::from(code)
}

fn caught(verb: impl FnOnce() -> u8) -> u8 {
    // What a panic left half done is not looked at again.
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(verb)).unwrap_or_else(|_| {
        screen::note("this is a bug of gateproof; nothing that it printed can be relied on");
        exit::BUG
    })
}

fn verb(cli: &Cli) -> u8 {
    if let Verb::Bridge(args) = &cli.verb {
        return bridge::run(args);
    }
    let screen = Screen::new(cli.common.color);
    trace(cli.common.verbose, &screen);
    match &cli.verb {
        Verb::Run(args) => run::run(args, &cli.common, &screen),
        Verb::Qualify(args) => qualify::qualify(args, &cli.common, &screen),
        Verb::Replay(args) => replay::replay(args, &cli.common, &screen),
        Verb::List(args) => list::list(args, &cli.common, &screen),
        Verb::Explain(args) => explain::explain(args, &cli.common, &screen),
        Verb::Lint(args) => lint::lint(args, &cli.common, &screen),
        Verb::Doctor(args) => doctor::doctor(args, &cli.common, &screen),
        Verb::Fidelity(args) => fidelity::fidelity(args, &cli.common, &screen),
        Verb::New(args) => new::new(args, &cli.common, &screen),
        Verb::Pins(args) => pins::pins(args, &cli.common, &screen),
        Verb::Guard(args) => guard::guard(args, &cli.common, &screen),
        Verb::Gates(args) => gates::gates(args, &cli.common, &screen),
        Verb::Live(args) => live::live(args, &cli.common, &screen),
        Verb::Bridge(args) => bridge::run(args),
    }
}

fn trace(verbose: u8, screen: &Screen) {
    let level = match verbose {
        0 => return,
        1 => "gateproof=debug,info",
        _ => "gateproof=trace,debug",
    };
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(screen.err.is_coloured())
        .with_env_filter(tracing_subscriber::EnvFilter::new(level))
        .init();
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_words_fit_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_panic_is_a_bug_and_no_success() {
        assert_eq!(caught(|| exit::FINE), exit::FINE);
        assert_eq!(caught(|| panic!("on purpose")), exit::BUG);
    }
}
