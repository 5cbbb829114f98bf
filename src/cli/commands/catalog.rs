//! `stead catalog`: shows plans, templates and prices, and pins the names that a stack uses. In: the tables of the
//! service. Out: a table, or a new `stead.lock`.

use std::collections::BTreeSet;

use clap::{Args, Subcommand};
use rust_decimal::Decimal;
use serde::Serialize;

use crate::cli::command_context::CommandContext;
use crate::cli::files::{stack_files, write_files};
use crate::cli::ledger::ledger_io;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::service::catalog_cache;
use crate::cli::service::connection::ServiceConnection;
use crate::cli::stack::lock_file::read_pinned_names;
use crate::cloud::http::message::is_public;
use crate::config::stack::lock_file::{self, CatalogLock};
use crate::config::stack::model::Stack;
use crate::kinds::REGISTRY;
use crate::model::address::Name;
use crate::model::diagnostic::nearest_name;
use crate::model::live::catalog::Catalog as Records;
use crate::model::schema::CatalogTable;
use crate::plan::pipeline;
use crate::report::json;
use crate::report::text::table::{ReportTable, TableCell, TableColumn};
use crate::report::views::action_output::laid_out;
use crate::report::views::catalog::{self, CatalogListing, CatalogQuery};

/// Command-line arguments of `stead catalog`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Tables of prices need no key.\n\nExamples:\n  stead catalog vm --min-cpu 2 --min-ram 4GB --max-price 30\n  stead catalog database --engine postgres --sort monthly_price\n  stead catalog templates --search ubuntu --output json\n  stead catalog update --check"
)]
pub struct CatalogArgs {
    /// Table to show, such as vm, regions, templates; lists all tables when omitted
    pub table: Option<String>,
    /// Minimum number of processor cores
    #[arg(long, value_name = "N", value_parser = parse_amount)]
    pub min_cpu: Option<Decimal>,
    /// Minimum memory, as 2048 (MB) or 2GB
    #[arg(long, value_name = "SIZE", value_parser = parse_megabytes)]
    pub min_ram: Option<Decimal>,
    /// Minimum storage, in GB
    #[arg(long, value_name = "GB", value_parser = parse_amount)]
    pub min_storage: Option<Decimal>,
    /// Only this database engine
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<String>,
    /// Maximum monthly price, in USD
    #[arg(long, value_name = "USD", value_parser = parse_amount)]
    pub max_price: Option<Decimal>,
    /// Only rows where a field has this value; repeatable
    #[arg(long = "where", value_name = "FIELD=VALUE", value_parser = parse_field_filter)]
    pub wheres: Vec<(String, String)>,
    /// Only names that contain this text
    #[arg(long, value_name = "TEXT")]
    pub search: Option<String>,
    /// Field to sort by; -FIELD sorts in descending order [default: monthly_price]
    #[arg(long, value_name = "FIELD", allow_hyphen_values = true)]
    pub sort: Option<String>,
    /// What to do with the pinned names
    #[command(subcommand)]
    pub action: Option<CatalogAction>,
}

/// Subcommands of `stead catalog`.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum CatalogAction {
    /// Pin the current ids and prices of the names that the stack uses, in stead.lock
    #[command(after_help = "Examples:\n  stead catalog update\n  stead catalog update --check")]
    Update(CatalogUpdateArgs),
}

/// Command-line arguments of `stead catalog update`.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct CatalogUpdateArgs {
    /// Write nothing; exit with 2 if something would change
    #[arg(long)]
    pub check: bool,
}

/// The document of `stead catalog --output json`.
#[cfg(test)]
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "tables write the first two")]
pub(in crate::cli) enum CatalogDocument<'a> {
    /// `stead catalog`.
    Tables {
        schema_version: json::SchemaVersion,
        /// All tables of the catalog.
        tables: Vec<TableRow>,
    },
    /// `stead catalog TABLE`.
    Offers {
        schema_version: json::SchemaVersion,
        /// The matching records, with their fields as the service reports them; all have the same keys.
        /// Prices are in dollars.
        offers: Vec<serde_json::Map<String, serde_json::Value>>,
    },
    /// `stead catalog update`.
    Update(CatalogUpdateDocument<'a>),
}

/// A table of the catalog.
#[cfg(test)]
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "a table writes the rows")]
pub(in crate::cli) struct TableRow {
    /// Name of the table: `stead catalog NAME` shows it.
    table: Name,
    /// Whether reading it requires a key.
    needs_key: KeyRequirement,
}

/// Whether a table requires a key.
#[cfg(test)]
#[derive(schemars::JsonSchema)]
#[schemars(inline, rename_all = "snake_case")]
#[expect(dead_code, reason = "a table writes the cells")]
enum KeyRequirement {
    Yes,
    No,
}

/// The document of `stead catalog update --output json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cli) struct CatalogUpdateDocument<'a> {
    /// Each change of the file, as a sentence.
    changes: &'a [String],
    /// Path of the file with the pinned names.
    file: &'a str,
    schema_version: json::SchemaVersion,
    /// Whether the file was written.
    written: bool,
}

/// Shows a table of the catalog, or updates the pinned names.
///
/// # Errors
/// When there is no such table or field, the service cannot be read, or the lock file cannot be written.
pub(in crate::cli) async fn run(session: &CommandContext, args: &CatalogArgs) -> Result<Exit, CliFailure> {
    if let Some(CatalogAction::Update(args)) = &args.action {
        return update_pins(session, args).await;
    }
    let Some(asked) = &args.table else {
        let table = table_list();
        session.ui.write_result(&if session.ui.json {
            json::list_document("tables", &table)
        } else {
            table.to_text("", session.ui.style)
        });
        return Ok(Exit::Done);
    };
    let table = find_table(asked)?;
    let link = ServiceConnection::open(&session.settings, &session.settings.dir, is_public(table.path))?;
    let read = link.client.catalog(&BTreeSet::from([table.name])).await?;
    catalog_cache::save_tables(link.catalogs.as_deref(), &read);
    let records = read.tables.get(table.name).map_or(&[][..], Vec::as_slice);
    let offers = CatalogListing::new(records, &listing_filter(args)).map_err(|error| {
        let near = nearest_name(&error.field, error.known.iter().map(String::as_str));
        let failure = CliFailure::new(Exit::Usage, format!("{}: {error}", table.name));
        match near {
            Some(near) => failure.help(format!("Did you mean {near}?")),
            None => failure.help(format!("It has: {}", error.known.join(", "))),
        }
    })?;
    let table = offers.to_table();
    session.ui.write_result(&if session.ui.json {
        json::list_document("offers", &table)
    } else {
        table.to_text("No row of the catalog matches.", session.ui.style)
    });
    Ok(Exit::Done)
}

/// Returns a table by its name, its plural, or the first word of its name.
fn find_table(asked: &str) -> Result<&'static CatalogTable, CliFailure> {
    let singular = asked.strip_suffix('s').unwrap_or(asked);
    let exact = |table: &&CatalogTable| table.name == asked || table.name == singular;
    let begins = |table: &&CatalogTable| table.name.split('_').next() == Some(singular);
    let tables = || REGISTRY.catalogs.iter();
    tables().find(exact).or_else(|| tables().find(begins)).ok_or_else(|| {
        let failure = CliFailure::new(Exit::Usage, format!("there is no table {asked}"));
        match nearest_name(asked, tables().map(|table| table.name)) {
            Some(near) => failure.help(format!("Did you mean {near}?")),
            None => failure.help("stead catalog lists them."),
        }
    })
}

fn listing_filter(args: &CatalogArgs) -> CatalogQuery {
    let some = |field: &'static str, value: Option<Decimal>| value.map(|value| (field, value));
    let least = [some("cpu", args.min_cpu), some("ram", args.min_ram), some("storage", args.min_storage)];
    let engine = args.engine.iter().map(|engine| ("engine".to_owned(), engine.clone()));
    CatalogQuery {
        least: least.into_iter().flatten().collect(),
        most: some("monthly_price", args.max_price).into_iter().collect(),
        equal: engine.chain(args.wheres.iter().cloned()).collect(),
        search: args.search.clone(),
        sort: args.sort.as_ref().map(|field| match field.strip_prefix('-') {
            Some(field) => (field.to_owned(), true),
            None => (field.clone(), false),
        }),
    }
}

/// Returns the list of all tables, and whether each needs an API key.
fn table_list() -> ReportTable {
    let row = |table: &CatalogTable| {
        let key = if is_public(table.path) { "no" } else { "yes" };
        vec![TableCell::Text(table.name.to_owned()), TableCell::Text(key.to_owned())]
    };
    ReportTable {
        columns: vec![TableColumn::text("table"), TableColumn::text("needs_key")],
        rows: REGISTRY.catalogs.iter().map(row).collect(),
    }
}

/// Pins the current records of the names that the stack uses. A name that the service no longer has stays
/// pinned, because existing objects may use it. With `--check`, writes nothing and returns `Exit::Changes` if
/// a pin is outdated.
async fn update_pins(session: &CommandContext, args: &CatalogUpdateArgs) -> Result<Exit, CliFailure> {
    let project = session.open()?;
    let connection = session.connect(&project)?;
    let ledger = ledger_io::read_ledger(&project, &connection).await?;
    let old = read_pinned_names(&connection.lock_file)?.unwrap_or_default();
    let (_, tables) =
        pipeline::refresh_request(REGISTRY, &project.stack, &ledger, &session.read_only_options());
    let live = connection.client.catalog(&tables).await?;
    let CatalogPinUpdate { lock, lines, lost } = compare_pins(&project.stack, &old, &live);
    for name in lost {
        session.ui.write_message(&format!("note: {name} is not in the catalog any more; its pin is kept."));
    }
    let text = if session.ui.json {
        let path = stack_files::display_path(&connection.lock_file);
        let (schema_version, written) = (json::SCHEMA_VERSION, !args.check && !lines.is_empty());
        json::to_pretty(&CatalogUpdateDocument { changes: &lines, file: &path, schema_version, written })
    } else if lines.is_empty() {
        "The pinned names are up to date.\n".to_owned()
    } else {
        laid_out(&(lines.join("\n") + "\n"))
    };
    session.ui.write_result(&text);
    if lines.is_empty() {
        return Ok(Exit::Done);
    }
    if args.check {
        return Ok(Exit::Changes);
    }
    let text = lock_file::render_lock(&lock)
        .map_err(|problem| CliFailure::new(Exit::Failed, problem.summary.clone()))?;
    write_files::write_public(&connection.lock_file, text.as_bytes())?;
    session.ui.write_message(&format!("Written to {}.", stack_files::display_path(&connection.lock_file)));
    Ok(Exit::Done)
}

/// Result of comparing the pins with the current catalog.
pub(super) struct CatalogPinUpdate {
    /// New content of the lock file, with the pins of lost names.
    lock: CatalogLock,
    /// Description of each change, not escaped; empty if the pins are up to date.
    pub(super) lines: Vec<String>,
    /// Pinned names that the service no longer has, each as `TABLE NAME`.
    pub(super) lost: Vec<String>,
}

/// Compares the pinned names with the current catalog; `live` has the tables that the stack uses.
pub(super) fn compare_pins(stack: &Stack, old: &Records, live: &Records) -> CatalogPinUpdate {
    let mut lock = lock_file::build_lock(REGISTRY, stack, live);
    let lost = keep_lost(old, live, &mut lock.catalog);
    let mut lines = Vec::new();
    let names: BTreeSet<&Name> = old.tables.keys().chain(lock.catalog.tables.keys()).collect();
    for name in names {
        let of = |catalog: &Records| catalog.tables.get(name).cloned().unwrap_or_default();
        lines.extend(catalog::catalog_changes(name, &of(old), &of(&lock.catalog)));
    }
    CatalogPinUpdate { lock, lines, lost }
}

/// Keeps the pins of names that the service no longer has; returns these names. A pin that the stack no longer uses
/// is dropped if the service still has the name, or if its table was not read.
fn keep_lost(old: &Records, live: &Records, new: &mut Records) -> Vec<String> {
    let mut kept = Vec::new();
    for (table, records) in &old.tables {
        let known = live.tables.get(table);
        for record in records {
            let lives = known.is_none_or(|known| known.iter().any(|live| live.slug == record.slug));
            let pinned =
                new.tables.get(table).is_some_and(|new| new.iter().any(|new| new.slug == record.slug));
            if pinned || lives {
                continue;
            }
            kept.push(format!("{table} {}", record.slug));
            new.tables.entry(table.clone()).or_default().push(record.clone());
        }
    }
    kept
}

/// Parses a decimal number; a negative one is accepted.
fn parse_amount(text: &str) -> Result<Decimal, String> {
    text.parse().map_err(|_| "expected a number, such as 2 or 0.5".to_owned())
}

/// Parses `FIELD=VALUE`; the value can contain `=` and be empty.
fn parse_field_filter(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected the form FIELD=VALUE".to_owned()),
    }
}

/// Parses a size of memory, as a number of MB or with the unit M or G (also MB, MiB and so on), and returns MB.
fn parse_megabytes(text: &str) -> Result<Decimal, String> {
    let lower = text.to_ascii_lowercase();
    let (digits, factor) = match lower.trim_end_matches("ib").trim_end_matches('b') {
        rest if rest.ends_with('g') => (rest.trim_end_matches('g'), 1024),
        rest => (rest.trim_end_matches('m'), 1),
    };
    let number: Decimal = digits.trim().parse().map_err(|_| "expected the form 2048 or 2GB".to_owned())?;
    Ok(number * Decimal::from(factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_sizes_are_parsed_with_their_units() {
        let table =
            [("2048", 2048), ("2GB", 2048), ("2g", 2048), ("512MB", 512), ("1GiB", 1024), ("0.5gb", 512)];
        for (text, wanted) in table {
            assert_eq!(parse_megabytes(text).unwrap(), Decimal::from(wanted), "{text}");
        }
        assert!(parse_megabytes("much").is_err());
    }
}
