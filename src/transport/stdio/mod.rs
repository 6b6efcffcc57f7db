//! One message a line, over any pair of byte streams, and over a child's.

mod child;
mod lines;
mod tail;

pub use child::{Child, Process};
pub use lines::{LINE_CAP, over};
