//! The corpus.
/// Corpus.
#[derive(Debug)]
pub struct Corpus;
/// Corpus error.
#[derive(Debug)]
pub struct CorpusError;
