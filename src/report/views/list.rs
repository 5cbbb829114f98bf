//! The tables of `ls` and `get`.

use rust_decimal::Decimal;

use crate::model::address::{Address, Name};
use crate::model::snapshot::ObjectKey;
use crate::model::value::{Attributes, Value};
use crate::report::text::table::{Cell, Column, Table};

/// One object in a list.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Listed {
    /// The resource that owns it; `None` for an unmanaged object.
    pub address: Option<Address>,
    /// Its kind.
    pub kind: Name,
    /// Its id; `None` where it does not exist yet or any more.
    pub id: Name,
    /// Its display name.
    pub name: Option<Name>,
    /// Its status, as the service says it, or `gone`.
    pub status: Option<Name>,
    /// Its monthly price, where known.
    pub monthly: Option<Decimal>,
    /// The project it is in.
    pub project: Option<Name>,
    /// When the service made it.
    pub created_at: Option<Name>,
    /// Its parent's id, for a child.
    pub parent: Option<Name>,
    /// What it belongs to: an address, or `KIND:ID`.
    pub of: Option<Name>,
}

impl Listed {
    /// Returns what names the object.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        ObjectKey { kind: self.kind.clone(), parent: self.parent.clone(), id: self.id.clone() }
    }
}

/// Returns the table of managed objects; `wide` adds kind, name, project and age.
#[must_use]
pub fn managed_table(objects: &[Listed], wide: bool) -> Table {
    let mut columns = vec![
        Column::text("address"),
        Column::text("id"),
        Column::text("status"),
        Column::number("monthly"),
    ];
    if wide {
        columns.extend([
            Column::text("kind"),
            Column::text("name"),
            Column::text("project"),
            Column::text("created_at"),
        ]);
    }
    let row = |object: &Listed| {
        let mut cells = vec![
            Cell::text(object.address.as_ref().map(Address::as_str)),
            Cell::text((!object.id.is_empty()).then_some(&object.id)),
            Cell::text(object.status.as_ref()),
            object.monthly.map_or(Cell::Empty, Cell::Money),
        ];
        if wide {
            cells.push(Cell::Text(object.kind.to_string()));
            cells.extend(
                [&object.name, &object.project, &object.created_at].map(|text| Cell::text(text.as_ref())),
            );
        }
        cells
    };
    Table { rows: objects.iter().map(row).collect(), columns }
}

/// Returns the table of live objects that no address owns.
#[must_use]
pub fn unmanaged_table(objects: &[Listed]) -> Table {
    let columns = vec![
        Column::text("kind"),
        Column::text("id"),
        Column::text("name"),
        Column::text("status"),
        Column::number("monthly"),
        Column::text("belongs_to"),
        Column::text("project"),
        Column::text("created_at"),
    ];
    let row = |object: &Listed| {
        vec![
            Cell::Text(object.kind.to_string()),
            Cell::Text(object.id.to_string()),
            Cell::text(object.name.as_ref()),
            Cell::text(object.status.as_ref()),
            object.monthly.map_or(Cell::Empty, Cell::Money),
            Cell::text(object.of.as_ref()),
            Cell::text(object.project.as_ref()),
            Cell::text(object.created_at.as_ref()),
        ]
    };
    Table { rows: objects.iter().map(row).collect(), columns }
}

/// Returns the table of owned objects as the ledger has them; `wide` adds kind, project and age.
#[must_use]
pub fn owned_table(objects: &[Listed], wide: bool) -> Table {
    let mut columns = vec![Column::text("address"), Column::text("id"), Column::text("note")];
    if wide {
        columns.extend([Column::text("kind"), Column::text("project"), Column::text("created_at")]);
    }
    let row = |object: &Listed| {
        let mut cells = vec![
            Cell::text(object.address.as_ref().map(Address::as_str)),
            Cell::Text(object.id.to_string()),
            Cell::text(object.status.as_ref()),
        ];
        if wide {
            cells.push(Cell::Text(object.kind.to_string()));
            cells.extend([&object.project, &object.created_at].map(|text| Cell::text(text.as_ref())));
        }
        cells
    };
    Table { rows: objects.iter().map(row).collect(), columns }
}

/// Returns the table of one object's attributes: what was applied, and what is live.
#[must_use]
pub fn attributes_table(applied: &Attributes, live: &Attributes) -> Table {
    let columns = vec![Column::text("attribute"), Column::text("live"), Column::text("applied")];
    let cell = |value: Option<&Value>| value.map_or(Cell::Empty, |value| Cell::Value(value.clone()));
    let names: std::collections::BTreeSet<&Name> = applied.keys().chain(live.keys()).collect();
    let row =
        |name: &&Name| vec![Cell::Text(name.to_string()), cell(live.get(*name)), cell(applied.get(*name))];
    Table { rows: names.iter().map(row).collect(), columns }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::json;
    use crate::report::text::style::Style;

    fn objects() -> Vec<Listed> {
        vec![
            Listed {
                address: Some(Address::new("vm", "web")),
                kind: "vm".into(),
                id: "5b1e09c2".into(),
                status: Some("active".into()),
                monthly: Some(Decimal::from(24)),
                ..Listed::default()
            },
            Listed {
                address: Some(Address::parse("database.main.users.reporting").unwrap()),
                kind: "database_user".into(),
                name: Some("evil\u{1b}[2J\nname".into()),
                status: Some("gone".into()),
                ..Listed::default()
            },
        ]
    }

    #[test]
    fn ls_is_aligned_and_has_the_same_keys_in_json() {
        let table = managed_table(&objects(), false);
        insta::assert_snapshot!(table.to_text("Nothing is managed yet.", Style::plain(80)), @r"
        ADDRESS                        ID        STATUS  MONTHLY
        vm.web                         5b1e09c2  active   $24.00
        database.main.users.reporting            gone
        ");
        insta::assert_snapshot!(json::list_document("resources", &table), @r#"
        {
          "schema_version": 1,
          "resources": [
            {
              "address": "vm.web",
              "id": "5b1e09c2",
              "status": "active",
              "monthly": 24.0
            },
            {
              "address": "database.main.users.reporting",
              "id": null,
              "status": "gone",
              "monthly": null
            }
          ]
        }
        "#);
        let wide = managed_table(&objects(), true).to_text("", Style::plain(200));
        assert!(wide.contains("evil\\u{1b}[2J\\nname"), "{wide}");
        let piped = Style { whole_rows: true, ..Style::plain(40) };
        assert_eq!(managed_table(&objects(), true).to_text("", piped), wide, "a pipe has no width");
        assert_eq!(
            managed_table(&[], true).to_text("Nothing is managed yet.", Style::plain(80)),
            "Nothing is managed yet.\n"
        );
    }

    #[test]
    fn get_shows_live_and_applied_side_by_side() {
        let applied: Attributes =
            [("size".into(), Value::Integer(40)), ("vm".into(), Value::text("5b1e"))].into();
        let live: Attributes =
            [("size".into(), Value::Integer(60)), ("status".into(), Value::text("in_use"))].into();
        insta::assert_snapshot!(attributes_table(&applied, &live).to_text("", Style::plain(80)), @r"
        ATTRIBUTE  LIVE    APPLIED
        size       60      40
        status     in_use
        vm                 5b1e
        ");
    }
}
