//! Where words go: standard output for results, standard error for the rest.

use std::io::{IsTerminal as _, Write as _};

use super::args::When;
use crate::report::style::Style;

/// The widest that tables and transcripts get, in columns.
const WIDEST: usize = 140;

/// The two streams, and how each may look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Screen {
    /// How standard output may look.
    pub(super) out: Style,
    /// How standard error may look.
    pub(super) err: Style,
    /// Whether standard error is a terminal, where a progress bar makes sense.
    pub(super) err_is_terminal: bool,
}

impl Screen {
    /// Looks at the environment.
    pub(super) fn new(when: When) -> Self {
        let width = width();
        let style = |terminal: bool| {
            let colour = match when {
                When::Always => true,
                When::Never => false,
                When::Auto => {
                    terminal && !is_set("NO_COLOR") && std::env::var("TERM").map_or(true, |term| term != "dumb")
                }
            };
            Style::new(colour, width)
        };
        let err_is_terminal = std::io::stderr().is_terminal();
        Self { out: style(std::io::stdout().is_terminal()), err: style(err_is_terminal), err_is_terminal }
    }
}

/// A result. A reader that went away (`| head`) is no trouble of ours.
pub(super) fn say(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{}", text.trim_end_matches('\n'));
}

/// Anything else.
pub(super) fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", text.trim_end_matches('\n'));
}

/// Set, and to something: an empty `NO_COLOR` doesn't count (no-color.org).
fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let terminal = comfy_table::Table::new().width().map(usize::from);
    columns.or(terminal).unwrap_or(100).clamp(60, WIDEST)
}
