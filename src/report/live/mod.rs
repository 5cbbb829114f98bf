//! Progress of a running apply: a table on a terminal, one line per transition elsewhere. Both are computed
//! from the same events.

pub mod display;
pub mod progress_table;
pub mod transition_log;
