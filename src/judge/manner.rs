//! How strictly a trial is judged.

/// How strictly a trial is judged.
///
/// In both manners a verdict starts as fail, silence is never a success, and the
/// same is said of shapes and bytes beside the verdict. They differ in what
/// these are to the verdict itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Manner {
    /// For gates that are ours to get right: a refusal must have its due form,
    /// and what need not change must come through byte for byte.
    #[default]
    Strict,
    /// For a gate from elsewhere: what counts is what reached the server and the
    /// client, whatever shape a refusal took and whoever wrote the JSON anew.
    Substance,
}
