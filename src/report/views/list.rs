//! The tables of `ls` and `get`.

use rust_decimal::Decimal;

use crate::model::address::{Address, Name};
use crate::model::live::snapshot::ObjectKey;
use crate::model::values::value::{Attributes, Value};
use crate::report::text::table::{ReportTable, TableCell, TableColumn};

/// One object in the output of `ls` or `get`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ObjectSummary {
    /// Address of the resource that owns the object; `None` for an unmanaged object.
    pub address: Option<Address>,
    /// Kind of the object.
    pub kind: Name,
    /// Its id; `None` where it does not exist yet or any more.
    pub id: Name,
    /// Display name, if the object has one.
    pub name: Option<Name>,
    /// Status as the service reports it, or `gone`.
    pub status: Option<Name>,
    /// Monthly price; `None` if not known.
    pub monthly: Option<Decimal>,
    /// Id of the object's project, if it has one.
    pub project: Option<Name>,
    /// When the service created the object.
    pub created_at: Option<Name>,
    /// Id of the parent; `None` for an object that is not a child.
    pub parent: Option<Name>,
    /// What the object belongs to, the object that claims it or else its parent: an address if that is managed, else
    /// `KIND:ID`; `None` if it belongs to nothing.
    pub of: Option<Name>,
}

impl ObjectSummary {
    /// Returns the key that identifies the object.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        ObjectKey { kind: self.kind.clone(), parent: self.parent.clone(), id: self.id.clone() }
    }
}

/// Returns the table of managed objects; `wide` adds kind, name, project and age.
#[must_use]
pub fn managed_table(objects: &[ObjectSummary], wide: bool) -> ReportTable {
    let mut columns = vec![
        TableColumn::text("address"),
        TableColumn::text("id"),
        TableColumn::text("status"),
        TableColumn::number("monthly"),
    ];
    if wide {
        columns.extend([
            TableColumn::text("kind"),
            TableColumn::text("name"),
            TableColumn::text("project"),
            TableColumn::text("created_at"),
        ]);
    }
    let row = |object: &ObjectSummary| {
        let mut cells = vec![
            TableCell::text(object.address.as_ref().map(Address::as_str)),
            TableCell::text((!object.id.is_empty()).then_some(&object.id)),
            TableCell::text(object.status.as_ref()),
            object.monthly.map_or(TableCell::Empty, TableCell::Money),
        ];
        if wide {
            cells.push(TableCell::Text(object.kind.to_string()));
            cells.extend(
                [&object.name, &object.project, &object.created_at]
                    .map(|text| TableCell::text(text.as_ref())),
            );
        }
        cells
    };
    ReportTable { rows: objects.iter().map(row).collect(), columns }
}

/// Returns the table of unmanaged live objects.
#[must_use]
pub fn unmanaged_table(objects: &[ObjectSummary]) -> ReportTable {
    let columns = vec![
        TableColumn::text("kind"),
        TableColumn::text("id"),
        TableColumn::text("name"),
        TableColumn::text("status"),
        TableColumn::number("monthly"),
        TableColumn::text("belongs_to"),
        TableColumn::text("project"),
        TableColumn::text("created_at"),
    ];
    let row = |object: &ObjectSummary| {
        vec![
            TableCell::Text(object.kind.to_string()),
            TableCell::Text(object.id.to_string()),
            TableCell::text(object.name.as_ref()),
            TableCell::text(object.status.as_ref()),
            object.monthly.map_or(TableCell::Empty, TableCell::Money),
            TableCell::text(object.of.as_ref()),
            TableCell::text(object.project.as_ref()),
            TableCell::text(object.created_at.as_ref()),
        ]
    };
    ReportTable { rows: objects.iter().map(row).collect(), columns }
}

/// Returns the table of managed objects from the ledger alone; `wide` adds kind, project and age.
#[must_use]
pub fn owned_table(objects: &[ObjectSummary], wide: bool) -> ReportTable {
    let mut columns =
        vec![TableColumn::text("address"), TableColumn::text("id"), TableColumn::text("note")];
    if wide {
        columns.extend([
            TableColumn::text("kind"),
            TableColumn::text("project"),
            TableColumn::text("created_at"),
        ]);
    }
    let row = |object: &ObjectSummary| {
        let mut cells = vec![
            TableCell::text(object.address.as_ref().map(Address::as_str)),
            TableCell::Text(object.id.to_string()),
            TableCell::text(object.status.as_ref()),
        ];
        if wide {
            cells.push(TableCell::Text(object.kind.to_string()));
            cells.extend([&object.project, &object.created_at].map(|text| TableCell::text(text.as_ref())));
        }
        cells
    };
    ReportTable { rows: objects.iter().map(row).collect(), columns }
}

/// Returns the table of one object's attributes, live and last applied.
#[must_use]
pub fn attributes_table(applied: &Attributes, live: &Attributes) -> ReportTable {
    let columns =
        vec![TableColumn::text("attribute"), TableColumn::text("live"), TableColumn::text("applied")];
    let cell =
        |value: Option<&Value>| value.map_or(TableCell::Empty, |value| TableCell::Value(value.clone()));
    let names: std::collections::BTreeSet<&Name> = applied.keys().chain(live.keys()).collect();
    let row = |name: &&Name| {
        vec![TableCell::Text(name.to_string()), cell(live.get(*name)), cell(applied.get(*name))]
    };
    ReportTable { rows: names.iter().map(row).collect(), columns }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::json;
    use crate::report::text::style::TextStyle;

    fn objects() -> Vec<ObjectSummary> {
        vec![
            ObjectSummary {
                address: Some(Address::new("vm", "web")),
                kind: "vm".into(),
                id: "5b1e09c2".into(),
                status: Some("active".into()),
                monthly: Some(Decimal::from(24)),
                ..ObjectSummary::default()
            },
            ObjectSummary {
                address: Some(Address::parse("database.main.users.reporting").unwrap()),
                kind: "database_user".into(),
                name: Some("evil\u{1b}[2J\nname".into()),
                status: Some("gone".into()),
                ..ObjectSummary::default()
            },
        ]
    }

    #[test]
    fn ls_is_aligned_and_has_the_same_keys_in_json() {
        let table = managed_table(&objects(), false);
        insta::assert_snapshot!(table.to_text("Nothing is managed yet.", TextStyle::plain(80)), @r"
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
        let wide = managed_table(&objects(), true).to_text("", TextStyle::plain(200));
        assert!(wide.contains("evil\\u{1b}[2J\\nname"), "{wide}");
        let piped = TextStyle { whole_rows: true, ..TextStyle::plain(40) };
        assert_eq!(managed_table(&objects(), true).to_text("", piped), wide, "a pipe has no width");
        assert_eq!(
            managed_table(&[], true).to_text("Nothing is managed yet.", TextStyle::plain(80)),
            "Nothing is managed yet.\n"
        );
    }

    #[test]
    fn get_shows_live_and_last_applied_side_by_side() {
        let applied: Attributes =
            [("size".into(), Value::Integer(40)), ("vm".into(), Value::text("5b1e"))].into();
        let live: Attributes =
            [("size".into(), Value::Integer(60)), ("status".into(), Value::text("in_use"))].into();
        insta::assert_snapshot!(attributes_table(&applied, &live).to_text("", TextStyle::plain(80)), @r"
        ATTRIBUTE  LIVE    APPLIED
        size       60      40
        status     in_use
        vm                 5b1e
        ");
    }
}
