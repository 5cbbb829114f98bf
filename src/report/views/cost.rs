//! What a stack costs a month: one row for each resource, two sides beside each other.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::Serialize;

use crate::model::address::{Address, Name};
use crate::report::json::{SCHEMA_VERSION, to_pretty};
use crate::report::text::page::{Line, Page};
use crate::report::text::phrases;
use crate::report::text::style::{Role, Sign, Style};
use crate::report::text::table::{Cell, Column, Table};

/// What is paid for on one side: now, after an apply, or in one environment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Side {
    /// What the side is called.
    pub name: Name,
    /// Monthly prices by resource; `None` where a price is not known, or there is nothing.
    pub rows: BTreeMap<Address, Option<Decimal>>,
    /// All of it, also what no row tells.
    pub total: Decimal,
}

/// The monthly bill of a stack.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bill {
    /// The stack.
    pub stack: Name,
    /// The environment.
    pub environment: Name,
    /// What it is held against.
    pub first: Option<Side>,
    /// What it is about.
    pub second: Side,
    /// Billed resources whose price is not known.
    pub unpriced: usize,
    /// When the prices were read.
    pub priced_at: Option<Timestamp>,
    /// They are those of the built-in cloud.
    pub built_in: bool,
}

impl Bill {
    /// Returns the table of what costs something on either side, the dearest first.
    fn to_table(&self) -> Table {
        let of = |side: Option<&Side>, address: &Address| {
            side.and_then(|side| side.rows.get(address).copied().flatten()).filter(|price| !price.is_zero())
        };
        let sides = self.first.iter().chain([&self.second]);
        let all: BTreeSet<&Address> = sides.flat_map(|side| side.rows.keys()).collect();
        let row = |address| (address, of(self.first.as_ref(), address), of(Some(&self.second), address));
        let mut rows: Vec<_> =
            all.into_iter().map(row).filter(|(_, a, b)| a.is_some() || b.is_some()).collect();
        rows.sort_by_key(|(address, first, second)| (std::cmp::Reverse((*second).max(*first)), *address));
        let money = |price: Option<Decimal>| price.map_or(Cell::Empty, Cell::Money);
        let cells = |(address, first, second): (&Address, Option<Decimal>, Option<Decimal>)| {
            let mut cells = vec![Cell::Text(address.to_string())];
            if self.first.is_some() {
                cells.push(money(first));
            }
            cells.push(money(second));
            cells
        };
        let mut columns = vec![Column::text("resource")];
        let sides = self.first.iter().chain([&self.second]);
        columns.extend(sides.map(|side| Column { key: side.name.clone(), right: true }));
        Table { columns, rows: rows.into_iter().map(cells).collect() }
    }
}

/// Returns the page.
#[must_use]
pub fn cost_page(bill: &Bill, style: Style) -> String {
    let mut table = bill.to_table();
    let mut total = vec![Cell::Text("total".to_owned())];
    total.extend(bill.first.iter().map(|first| Cell::Money(first.total)));
    total.push(Cell::Money(bill.second.total));
    table.rows.push(total);
    let dot = style.sign(Sign::Dot);
    let mut said = vec!["a month".to_owned()];
    if let Some(first) = &bill.first {
        let change = phrases::money_change(bill.second.total - first.total);
        said.push(format!("{} against {}: {change}", bill.second.name, first.name));
    }
    match bill.priced_at.filter(|_| !bill.built_in) {
        Some(read) => said.push(format!("prices of {}", read.strftime("%-d %b %Y"))),
        None if bill.built_in => said.push("prices of the built-in cloud, not of your account".to_owned()),
        None => {}
    }
    if bill.unpriced > 0 {
        said.push(format!(
            "{} without a known price, not counted",
            phrases::count_noun(bill.unpriced, "resource")
        ));
    }
    let mut page = Page::new(style);
    let mut line =
        Line::indent(0).push_styled(Role::Strong, format!("{}/{}", bill.stack, bill.environment));
    for fact in said {
        line = line.push_text(format!(" {dot} {fact}"));
    }
    page.add_line(line);
    page.finish() + &table.to_text("", style)
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    stack: &'a Name,
    env: &'a Name,
    columns: Vec<&'a Name>,
    resources: Table,
    total: Table,
    unpriced: usize,
    priced_at: Option<Timestamp>,
    built_in_prices: bool,
}

/// Returns the document.
#[must_use]
pub fn cost_document(bill: &Bill) -> String {
    let sides = || bill.first.iter().chain([&bill.second]);
    let total = Table {
        columns: sides().map(|side| Column { key: side.name.clone(), right: true }).collect(),
        rows: vec![sides().map(|side| Cell::Money(side.total)).collect()],
    };
    to_pretty(&Document {
        schema_version: SCHEMA_VERSION,
        stack: &bill.stack,
        env: &bill.environment,
        columns: sides().map(|side| &side.name).collect(),
        resources: bill.to_table(),
        total,
        unpriced: bill.unpriced,
        priced_at: bill.priced_at.filter(|_| !bill.built_in),
        built_in_prices: bill.built_in,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(name: &str, rows: &[(&str, i64)]) -> Side {
        let row = |(address, price): &(&str, i64)| {
            (Address::parse(address).unwrap(), (*price >= 0).then(|| Decimal::from(*price)))
        };
        let total =
            rows.iter().filter(|(_, price)| *price > 0).map(|(_, price)| Decimal::from(*price)).sum();
        Side { name: name.into(), rows: rows.iter().map(row).collect(), total }
    }

    #[test]
    fn a_bill_has_the_dearest_first_and_a_total() {
        let bill = Bill {
            stack: "shop".into(),
            environment: "prod".into(),
            first: Some(side("staging", &[("vm.web", 5), ("vpc.main", 0), ("app.web", -1)])),
            second: side("prod", &[("vm.web", 10), ("database.main", 40), ("vpc.main", 0)]),
            unpriced: 1,
            ..Bill::default()
        };
        insta::assert_snapshot!(cost_page(&bill, Style::plain(100)), @"
        shop/prod · a month · prod against staging: +$45.00 · 1 resource without a known price, not counted
        RESOURCE       STAGING    PROD
        database.main           $40.00
        vm.web           $5.00  $10.00
        total            $5.00  $50.00
        ");
        insta::assert_snapshot!(cost_document(&bill), @r#"
        {
          "schema_version": 1,
          "stack": "shop",
          "env": "prod",
          "columns": [
            "staging",
            "prod"
          ],
          "resources": [
            {
              "resource": "database.main",
              "staging": null,
              "prod": 40.0
            },
            {
              "resource": "vm.web",
              "staging": 5.0,
              "prod": 10.0
            }
          ],
          "total": [
            {
              "staging": 5.0,
              "prod": 50.0
            }
          ],
          "unpriced": 1,
          "priced_at": null,
          "built_in_prices": false
        }
        "#);
        let alone = Bill { first: None, built_in: true, ..bill };
        insta::assert_snapshot!(cost_page(&alone, Style::plain(100)), @"
        shop/prod · a month · prices of the built-in cloud, not of your account · 1 resource without a known
          price, not counted
        RESOURCE         PROD
        database.main  $40.00
        vm.web         $10.00
        total          $50.00
        ");
    }
}
