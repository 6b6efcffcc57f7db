//! Says what is wrong with authored files: file, line, column, caret.

use std::path::Path;

use miette::{GraphicalReportHandler, GraphicalTheme};

use super::{
    args::Chosen,
    exit,
    screen::{self, Screen},
};
use crate::{
    case::CorpusError,
    fixture::SourceError,
    plan::{PlanError, Suite},
};

/// Loads a corpus, or says everything that is wrong with it.
pub(super) fn load(root: &Path, screen: &Screen) -> Result<Suite, u8> {
    Suite::load(root).map_err(|PlanError::Corpus(error)| {
        match error {
            CorpusError::Files(errors) => {
                for error in &errors {
                    screen::note(&graphical(error, screen));
                }
                screen::note(&format!("{} with errors; nothing was run", count(errors.len(), "file")));
            }
            folder @ CorpusError::Folder { .. } => screen::note(&format!("error: {folder}")),
        }
        exit::USAGE
    })
}

/// Loads a corpus of which some cases are meant, or says what is wrong with it or
/// with what was named.
pub(super) fn load_chosen(root: &Path, chosen: &Chosen, screen: &Screen) -> Result<Suite, u8> {
    let suite = load(root, screen)?;
    match chosen.filter().unknown(&suite.cases) {
        None => Ok(suite),
        Some(unknown) => {
            screen::note(&format!("error: {unknown}"));
            Err(exit::USAGE)
        }
    }
}

/// One error with its place.
pub(super) fn graphical(error: &SourceError, screen: &Screen) -> String {
    let theme = if screen.err.is_coloured() { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let mut text = String::new();
    let handler = GraphicalReportHandler::new_themed(theme).with_width(screen.err.width()).with_links(false);
    if handler.render_report(&mut text, error).is_err() {
        return format!("{}: {error}", error.file());
    }
    text
}

/// A number with its noun.
pub(super) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
