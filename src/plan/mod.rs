//! What is played: cases × arms × transports × revisions, filtered and sharded.

mod arm;
mod filter;
mod live;
pub mod outside;
mod prepare;
mod selection;

pub use arm::{Arm, UnknownArm};
pub use filter::{Filter, FilterError, Partition};
pub use live::{Live, in_folder};
pub use outside::Outside;
pub use prepare::{PlanError, Prepared, Suite, load_policy};
pub use selection::{Selection, Trial};
