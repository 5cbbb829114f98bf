//! The tables of ledgers in PostgreSQL, and every statement on them. Pure.
//!
//! Each statement is its own transaction and contains its whole condition, so nothing depends on the session: a pooler
//! may use another one for every statement.

use super::run_tables;
use super::sql::in_schema;

/// Creates the tables, all three or none: they are one message, which is one transaction.
const CREATE_TABLES: &str = "\
create table if not exists {s}stead_summaries (
  ledger text not null,
  number bigint not null,
  summary bytea not null,
  written timestamptz not null default clock_timestamp(),
  primary key (ledger, number)
);
create table if not exists {s}stead_lines (
  ledger text not null,
  number bigint not null,
  epoch bigint not null,
  line bytea not null,
  written timestamptz not null default clock_timestamp(),
  primary key (ledger, number)
);
create table if not exists {s}stead_leases (
  ledger text primary key,
  epoch bigint not null,
  version bigint not null,
  lease text not null,
  written timestamptz not null
);
";

const SELECT_LEASE: &str = "\
select epoch, version, lease, extract(epoch from clock_timestamp() - written)::float8 as age
from {s}stead_leases where ledger = $1";

const SELECT_LEDGERS: &str = "select ledger from {s}stead_leases order by ledger";

const INSERT_LEASE: &str = "\
with {d}
insert into {s}stead_leases (ledger, epoch, version, lease, written)
select $1, $2, 1, $3, clock_timestamp() from durable
on conflict (ledger) do nothing
returning epoch, version";

const UPDATE_LEASE: &str = "\
with {d}
update {s}stead_leases
set epoch = $2, version = version + 1, lease = $3, written = clock_timestamp()
from durable
where ledger = $1 and epoch = $4 and version = $5 and epoch <= $2
returning epoch, version";

/// Adds a line. It locks the lease's row until the line is written: a displaced epoch writes nothing, in whatever order
/// the two statements run.
const INSERT_LINE: &str = "\
with {d}
insert into {s}stead_lines (ledger, number, epoch, line)
select $1, $2, $3, $4 from {s}stead_leases as lease, durable
where lease.ledger = $1 and lease.epoch = $3
for share of lease
on conflict (ledger, number) do nothing
returning number";

const SELECT_LINES: &str = "\
select number, line from {s}stead_lines where ledger = $1 and number > $2 order by number";

const SELECT_CHECKPOINTS: &str = "select number from {s}stead_summaries where ledger = $1 order by number";

const SELECT_CHECKPOINT: &str = "select summary from {s}stead_summaries where ledger = $1 and number = $2";

const INSERT_CHECKPOINT: &str = "\
with {d}
insert into {s}stead_summaries (ledger, number, summary) select $1, $2, $3 from durable
on conflict (ledger, number) do nothing
returning number";

const DELETE_OLD_RECORDS: &str = "\
with old as (delete from {s}stead_summaries where ledger = $1 and number < $2)
delete from {s}stead_lines where ledger = $1 and number <= $2";

const TABLE_EXISTS: &str = "select to_regclass($1) is not null as is_there";

/// The statements for one schema.
#[derive(Debug)]
pub(super) struct SqlStatements {
    /// Creates the tables if they do not exist.
    pub make: String,
    /// Reads by one parameter: `$1` ledger.
    pub lease: String,
    /// Lists every ledger in the tables.
    pub ledgers: String,
    /// Inserts the first lease: `$1` ledger, `$2` epoch, `$3` lease.
    pub new_lease: String,
    /// Replaces the lease: parameters of `new_lease`, then `$4` and `$5` its previous epoch and version.
    pub next_lease: String,
    /// Inserts a line: `$1` ledger, `$2` number, `$3` epoch, `$4` line.
    pub new_line: String,
    /// Reads the lines after a number: `$1` ledger, `$2` the number before.
    pub lines: String,
    /// Reads by one parameter: `$1` ledger.
    pub summaries: String,
    /// `$1` ledger, `$2` number.
    pub summary: String,
    /// Inserts a checkpoint: `$1` ledger, `$2` number, `$3` checkpoint.
    pub new_summary: String,
    /// `$1` ledger, `$2` number.
    pub prune: String,
    /// Returns whether a table exists: `$1` its name.
    pub is_there: &'static str,
    /// The name of the table with the leases.
    pub leases: String,
}

impl SqlStatements {
    /// Returns the statements for a schema, whose name must not need quoting.
    pub(super) fn new(schema: Option<&str>) -> Self {
        let of = |text: &str| in_schema(text, schema);
        Self {
            make: of(CREATE_TABLES),
            lease: of(SELECT_LEASE),
            ledgers: of(SELECT_LEDGERS),
            new_lease: of(INSERT_LEASE),
            next_lease: of(UPDATE_LEASE),
            new_line: of(INSERT_LINE),
            lines: of(SELECT_LINES),
            summaries: of(SELECT_CHECKPOINTS),
            summary: of(SELECT_CHECKPOINT),
            new_summary: of(INSERT_CHECKPOINT),
            prune: of(DELETE_OLD_RECORDS),
            is_there: TABLE_EXISTS,
            leases: of("{s}stead_leases"),
        }
    }
}

/// Returns the SQL that an administrator runs beforehand for a role that may not create tables.
#[must_use]
pub fn setup_script(schema: Option<&str>, role: &str) -> String {
    let role = role.replace('"', "\"\"");
    let usage = schema.map_or_else(String::new, |name| {
        format!(
            "create schema if not exists \"{name}\";\ngrant usage on schema \"{name}\" to \"{role}\";\n"
        )
    });
    let grant = "grant select, insert, update on {s}stead_leases to \"{r}\";\n\
                 grant select, insert, delete on {s}stead_lines, {s}stead_summaries to \"{r}\";\n";
    let runs = run_tables::setup_script(schema, &role);
    format!(
        "{usage}{}{}{runs}",
        in_schema(CREATE_TABLES, schema),
        in_schema(grant, schema).replace("{r}", &role)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_qualified_with_its_schema() {
        let statements = format!("{:?}", SqlStatements::new(Some("books")));
        let mentions = statements.matches("stead_").count();
        assert_eq!(statements.matches(r#"\"books\".stead_"#).count(), mentions, "{statements}");
        assert!(!statements.contains('{') || statements.matches('{').count() == 1, "{statements}");
    }

    #[test]
    fn the_setup_script_grants_the_privileges_of_the_statements() {
        let text = setup_script(Some("books"), "we\"ird");
        assert!(text.starts_with("create schema if not exists \"books\";"), "{text}");
        assert!(text.contains("on \"books\".stead_leases to \"we\"\"ird\";"), "{text}");
    }
}
