//! The list of a repository's units: the rows of `stacks`, for text and JSON.

use serde::Serialize;

use crate::model::address::Name;
use crate::report::json_writer::{SCHEMA_VERSION, SchemaVersion, to_pretty};
use crate::report::text::table::{ReportTable, TableCell, TableColumn};
use crate::workspace::unit::UnitName;

/// A unit, as `stacks` lists it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UnitRow {
    /// Name of the stack.
    pub stack: Name,
    /// Name of the environment; `default` for a stack that declares none.
    pub environment: Name,
    /// Directory relative to the root of the repository; null for a unit whose stack or environment is gone, and whose
    /// ledger still has objects.
    pub directory: Option<Name>,
    /// Whether it has no error. If it has one, `upstream` may lack units, and `wave` be too low.
    pub valid: bool,
    /// Units whose outputs it reads, as `stack/environment`.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub upstream: Vec<UnitName>,
    /// Position in the order of an apply, from 0; all units of a wave are independent of each other.
    pub wave: usize,
    /// Whether a change touched it; null unless the command asks.
    pub changed: Option<bool>,
    /// Where its ledger is stored, without a password; null if that is not configured.
    pub ledger: Option<String>,
}

/// A unit, as `validate --all` reports it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckedUnitRow {
    /// Name of the stack; null if its files cannot be read.
    pub stack: Option<Name>,
    /// Name of the environment; `default` for a stack that declares none, null if its files cannot be read.
    pub environment: Option<Name>,
    /// Directory relative to the root of the repository.
    pub directory: Name,
    /// Whether it has no error.
    pub valid: bool,
    /// Number of its resources; null if it has errors.
    pub resources: Option<usize>,
}

/// The document of `stead stacks --output json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StacksDocument<'a> {
    schema_version: SchemaVersion,
    /// The units, by wave and name.
    units: &'a [UnitRow],
}

/// Returns the JSON document of a list of units.
#[must_use]
pub fn stacks_document(units: &[UnitRow]) -> String {
    to_pretty(&StacksDocument { schema_version: SCHEMA_VERSION, units })
}

/// Returns the table of units, one per row.
#[must_use]
pub fn units_table(units: &[UnitRow]) -> ReportTable {
    let shows_changed = units.iter().any(|unit| unit.changed.is_some());
    let mut columns = vec![
        TableColumn::text("unit"),
        TableColumn::text("directory"),
        TableColumn::number("wave"),
        TableColumn::text("upstream"),
    ];
    columns.extend(shows_changed.then(|| TableColumn::text("changed")));
    columns.push(TableColumn::text("ledger"));
    let row = |unit: &UnitRow| {
        let mut upstream: Vec<String> = unit.upstream.iter().map(ToString::to_string).collect();
        upstream.extend((!unit.valid).then(|| "(has errors)".to_owned()));
        let mut cells = vec![
            TableCell::Text(format!("{}/{}", unit.stack, unit.environment)),
            TableCell::text(Some(unit.directory.as_ref().map_or("(removed)", Name::as_str))),
            TableCell::Text(unit.wave.to_string()),
            TableCell::text((!upstream.is_empty()).then(|| upstream.join(", "))),
        ];
        cells.extend(
            shows_changed
                .then(|| TableCell::text(unit.changed.map(|changed| if changed { "yes" } else { "no" }))),
        );
        cells.push(TableCell::text(unit.ledger.as_ref()));
        cells
    };
    ReportTable { rows: units.iter().map(row).collect(), columns }
}
