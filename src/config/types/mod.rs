//! Types of values as they are written: scalars, text formats and schedules.

pub(super) mod conform;
pub(super) mod cron;
pub(super) mod mismatch;
pub(super) mod relative_path;
pub(super) mod scalar;
pub(super) mod text_format;
pub(super) mod variable_type;
