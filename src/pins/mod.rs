//! Pins that outlive a gate: one readable file, or the same text in memory.
//!
//! A store is read strictly and never taken for an empty one when it can't be:
//! whoever destroys it must not get a first use in return. It is replaced whole
//! and in one move, under a lock, and kept on disk before anybody relies on it.

mod book;
mod compare;
mod file;
mod model;
mod text;

pub use book::{Book, BookError, Entry, Kept, SCHEMA, escaped, visible};
pub use compare::{Difference, Field, Shown, compare, pretty};
pub use file::{FileStore, Step};
pub use text::TextStore;
