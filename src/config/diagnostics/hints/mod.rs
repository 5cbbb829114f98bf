//! Hints: what a mistake was probably meant to be, by the vocabulary of other tools, spelling and syntax. In: a
//! name, value or diagnostic; out: a hint, and an edit where only one meaning is possible. A hint never decides
//! whether something is a mistake.

pub(in crate::config) mod expression_syntax;
pub(in crate::config) mod flow_style;
pub(in crate::config) mod other_tools;
pub mod suggestions;
