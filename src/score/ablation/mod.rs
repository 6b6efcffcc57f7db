//! What each check is worth: leave it out, leave it alone, share the credit.
//!
//! A trial tells which checks spoke up in it: those that acted, and those that
//! would have if they had been enforced. The gate is deterministic and a check
//! that proposes nothing changes nothing, so a trial with other checks enforced
//! unfolds in the same way as long as the two sets agree on those that spoke.
//! That makes one trial the answer to many questions ([`Game::with`]); what no
//! trial answers is played ([`missing`]). Nothing is predicted where it can be
//! seen: the model that any one check of a few is enough is compared with what
//! was played, and what contradicts it is listed as an interaction.

mod games;
mod interactions;
mod pairs;
mod shapley;
mod significance;
mod table;
#[cfg(test)]
mod tests;

use games::ways;
pub use games::{Game, Games, missing};
pub use interactions::Interaction;
use interactions::interactions;
pub use pairs::Pair;
use pairs::pairs;
use shapley::PLAYERS;
use shapley::shares;
pub use significance::{holm, mcnemar};
pub use table::{Ablation, Discordant, Row, ablation};
