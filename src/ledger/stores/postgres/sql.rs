//! What the statements on all tables have in common: the schema, and durability. Pure.

/// Makes the transaction wait for the disk, even where a role or database turns that off: an acknowledged record must
/// never be lost. `local` and the stricter settings stay.
const SYNCHRONOUS_COMMIT: &str = "\
durable as materialized (
  select set_config('synchronous_commit', case current_setting('synchronous_commit')
    when 'off' then 'on' else current_setting('synchronous_commit') end, true) as how
)";

/// Returns a statement for a schema, whose name must not need quoting: `{s}` stands before each table, `{d}` is durability.
pub(super) fn in_schema(text: &str, schema: Option<&str>) -> String {
    let schema = schema.map_or_else(String::new, |name| format!("\"{name}\"."));
    text.replace("{s}", &schema).replace("{d}", SYNCHRONOUS_COMMIT)
}
