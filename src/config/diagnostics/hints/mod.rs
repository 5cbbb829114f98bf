//! Hints: what a mistake was probably meant to be, learned from other tools, spelling and syntax.

pub(in crate::config) mod expression_syntax;
pub(in crate::config) mod flow_style;
pub(in crate::config) mod other_tools;
pub mod suggestions;
