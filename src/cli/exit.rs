//! Exit codes. "Nothing ran" is not success, and neither is "could not tell".

/// Everything that must hold was seen to hold.
pub const FINE: u8 = 0;
/// A hold, a failure or a regression.
pub const FAILED: u8 = 1;
/// A mistake on the command line, or in a case, fixture or policy file.
pub const USAGE: u8 = 2;
/// A `must` case was blocked or not tested, so nothing can be concluded.
pub const INCONCLUSIVE: u8 = 3;
/// No case was selected.
pub const NOTHING: u8 = 4;
/// A bug of gateproof itself.
pub const BUG: u8 = 70;

/// What `--help` says of them.
pub(super) const HELP: &str = "\
Exit codes:
  0   fine
  1   a hold, a failure or a regression
  2   a mistake on the command line or in an authored file
  3   inconclusive: a must case was blocked or not tested
  4   nothing was selected
  70  a bug of gateproof itself";
