//! Types of values: scalars, string formats and schedules. In: a written or computed value and the schema's
//! type; out: the canonical value, or a mismatch that the caller locates.

pub(super) mod conform;
pub(super) mod cron;
pub(super) mod mismatch;
pub(super) mod reference_fit;
pub(super) mod relative_path;
pub(super) mod scalar;
pub(super) mod text_format;
pub(super) mod variable_type;
