//! Monthly cost of a stack: one row per resource, with up to two sides to compare.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::Serialize;

use crate::model::address::{Address, Name};
use crate::report::json::{SCHEMA_VERSION, SchemaVersion, to_pretty};
use crate::report::text::page::{TextLine, TextPage};
use crate::report::text::phrases;
use crate::report::text::style::{Symbol, TextRole, TextStyle};
use crate::report::text::table::{ReportTable, TableCell, TableColumn};

/// One side of a comparison: the current cost, the cost after an apply, or that of one environment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CostColumn {
    /// Column heading of the side.
    pub name: Name,
    /// Monthly prices by resource; `None` if a price is not known or the resource does not exist.
    pub rows: BTreeMap<Address, Option<Decimal>>,
    /// Total monthly cost, including costs that have no row.
    pub total: Decimal,
}

/// The monthly cost of a stack.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CostReport {
    /// Name of the stack.
    pub stack: Name,
    /// Name of the environment.
    pub environment: Name,
    /// The side to compare with; `None` without a comparison.
    pub first: Option<CostColumn>,
    /// The side that the page is about.
    pub second: CostColumn,
    /// Number of billed resources with an unknown price.
    pub unpriced: usize,
    /// When the prices were read; `None` if that is not known.
    pub priced_at: Option<Timestamp>,
    /// Whether the prices are those of the built-in emulator.
    pub built_in: bool,
}

impl CostReport {
    /// Returns the table of all resources with a cost on either side, the most expensive first.
    fn to_table(&self) -> ReportTable {
        let of = |side: Option<&CostColumn>, address: &Address| {
            side.and_then(|side| side.rows.get(address).copied().flatten()).filter(|price| !price.is_zero())
        };
        let sides = self.first.iter().chain([&self.second]);
        let all: BTreeSet<&Address> = sides.flat_map(|side| side.rows.keys()).collect();
        let row = |address| (address, of(self.first.as_ref(), address), of(Some(&self.second), address));
        let mut rows: Vec<_> =
            all.into_iter().map(row).filter(|(_, a, b)| a.is_some() || b.is_some()).collect();
        rows.sort_by_key(|(address, first, second)| (std::cmp::Reverse((*second).max(*first)), *address));
        let money = |price: Option<Decimal>| price.map_or(TableCell::Empty, TableCell::Money);
        let cells = |(address, first, second): (&Address, Option<Decimal>, Option<Decimal>)| {
            let mut cells = vec![TableCell::Text(address.to_string())];
            if self.first.is_some() {
                cells.push(money(first));
            }
            cells.push(money(second));
            cells
        };
        let mut columns = vec![TableColumn::text("resource")];
        let sides = self.first.iter().chain([&self.second]);
        columns.extend(sides.map(|side| TableColumn { key: side.name.clone(), right: true }));
        ReportTable { columns, rows: rows.into_iter().map(cells).collect() }
    }
}

/// Returns the bill as text.
#[must_use]
pub fn cost_page(bill: &CostReport, style: TextStyle) -> String {
    let mut table = bill.to_table();
    let mut total = vec![TableCell::Text("total".to_owned())];
    total.extend(bill.first.iter().map(|first| TableCell::Money(first.total)));
    total.push(TableCell::Money(bill.second.total));
    table.rows.push(total);
    let dot = style.sign(Symbol::Dot);
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
    said.extend(phrases::unpriced_count(bill.unpriced));
    let mut page = TextPage::new(style);
    let mut line =
        TextLine::indent(0).push_styled(TextRole::Strong, format!("{}/{}", bill.stack, bill.environment));
    for fact in said {
        line = line.push_text(format!(" {dot} {fact}"));
    }
    page.add_line(line);
    page.finish() + &table.to_text("", style)
}

/// The document of `stead cost --output json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CostDocument<'a> {
    schema_version: SchemaVersion,
    /// Name of the stack.
    stack: &'a Name,
    /// Name of the environment.
    env: &'a Name,
    /// The compared sides: now and after an apply, or two environments. The last one is what the command is about.
    #[cfg_attr(test, schemars(length(min = 1, max = 2)))]
    columns: Vec<&'a Name>,
    /// Resources with a cost, the most expensive first; each with a price for each side.
    #[cfg_attr(test, schemars(with = "Vec<CostRow>"))]
    resources: ReportTable,
    /// Total cost of each side.
    #[cfg_attr(test, schemars(with = "[BTreeMap<Name, MonthlyPrice>; 1]"))]
    total: ReportTable,
    /// Number of billed resources with an unknown price.
    unpriced: usize,
    /// When the prices were read; null if that is not known.
    priced_at: Option<Timestamp>,
    /// Whether the prices are those of the built-in cloud.
    built_in_prices: bool,
}

/// A row of the cost document: its keys are the columns of the table.
#[cfg(test)]
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "the table writes the rows")]
struct CostRow {
    /// Address of the resource.
    resource: Name,
    #[schemars(flatten)]
    prices: BTreeMap<Name, MonthlyPrice>,
}

/// Dollars a month; null if the resource does not exist on this side, or its price is not known.
#[cfg(test)]
#[derive(schemars::JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "the table writes the prices")]
struct MonthlyPrice(Option<f64>);

/// Returns the bill as a JSON document.
#[must_use]
pub fn cost_document(bill: &CostReport) -> String {
    to_pretty(&CostDocument::new(bill))
}

impl<'a> CostDocument<'a> {
    /// Returns the document of a bill.
    #[must_use]
    pub fn new(bill: &'a CostReport) -> Self {
        let sides = || bill.first.iter().chain([&bill.second]);
        let total = ReportTable {
            columns: sides().map(|side| TableColumn { key: side.name.clone(), right: true }).collect(),
            rows: vec![sides().map(|side| TableCell::Money(side.total)).collect()],
        };
        Self {
            schema_version: SCHEMA_VERSION,
            stack: &bill.stack,
            env: &bill.environment,
            columns: sides().map(|side| &side.name).collect(),
            resources: bill.to_table(),
            total,
            unpriced: bill.unpriced,
            priced_at: bill.priced_at.filter(|_| !bill.built_in),
            built_in_prices: bill.built_in,
        }
    }
}

/// Returns the bills of many units as text: a row for each, the most expensive first, and the sums; and how many units
/// `failed`, so that they have none.
#[must_use]
pub fn units_cost_page(bills: &[&CostReport], failed: usize, style: TextStyle) -> String {
    let has_first = bills.iter().any(|bill| bill.first.is_some());
    let first = |bill: &CostReport| bill.first.as_ref().map(|side| side.total);
    let mut sorted: Vec<&CostReport> = bills.to_vec();
    sorted.sort_by_key(|bill| {
        let most = bill.second.total.max(first(bill).unwrap_or_default());
        (std::cmp::Reverse(most), bill.stack.clone(), bill.environment.clone())
    });
    let before: Decimal = bills.iter().filter_map(|bill| first(bill)).sum();
    let after: Decimal = bills.iter().map(|bill| bill.second.total).sum();
    let unpriced: usize = bills.iter().map(|bill| bill.unpriced).sum();
    let row = |name: String, (before, after): (Option<Decimal>, Decimal), left_out: usize| {
        let before = has_first.then(|| before.map_or(TableCell::Empty, TableCell::Money));
        let cells = std::iter::once(TableCell::Text(name)).chain(before);
        let count = if left_out == 0 { TableCell::Empty } else { TableCell::Text(left_out.to_string()) };
        cells.chain([TableCell::Money(after)]).chain((unpriced > 0).then_some(count)).collect::<Vec<_>>()
    };
    let mut columns = vec![TableColumn::text("unit")];
    columns.extend(has_first.then(|| TableColumn::number("now")));
    columns.push(TableColumn::number("after"));
    columns.extend((unpriced > 0).then(|| TableColumn::number("unpriced")));
    let unit_row = |bill: &&CostReport| {
        let name = format!("{}/{}", bill.stack, bill.environment);
        row(name, (first(bill), bill.second.total), bill.unpriced)
    };
    let mut rows: Vec<Vec<TableCell>> = sorted.iter().map(unit_row).collect();
    rows.push(row("total".to_owned(), (Some(before), after), unpriced));
    let dot = style.sign(Symbol::Dot);
    let mut line = TextLine::indent(0)
        .push_styled(TextRole::Strong, phrases::count_noun(bills.len(), "unit"))
        .push_text(format!(" {dot} a month"));
    if has_first {
        line = line.push_text(format!(" {dot} after an apply: {}", phrases::money_change(after - before)));
    }
    if bills.iter().any(|bill| bill.built_in) {
        line = line.push_text(format!(" {dot} prices of the built-in cloud, not of your account"));
    }
    let left_out = [phrases::unpriced_count(unpriced), phrases::unplanned_count(failed)];
    for left_out in left_out.into_iter().flatten() {
        line = line.push_text(format!(" {dot} {left_out}"));
    }
    let mut page = TextPage::new(style);
    page.add_line(line);
    page.finish() + &ReportTable { columns, rows }.to_text("", style)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(name: &str, rows: &[(&str, i64)]) -> CostColumn {
        let row = |(address, price): &(&str, i64)| {
            (Address::parse(address).unwrap(), (*price >= 0).then(|| Decimal::from(*price)))
        };
        let total =
            rows.iter().filter(|(_, price)| *price > 0).map(|(_, price)| Decimal::from(*price)).sum();
        CostColumn { name: name.into(), rows: rows.iter().map(row).collect(), total }
    }

    #[test]
    fn the_table_of_units_counts_what_has_no_price() {
        let bill = CostReport {
            stack: "shop".into(),
            environment: "prod".into(),
            first: Some(side("staging", &[("vm.web", 5), ("app.web", -1)])),
            second: side("prod", &[("vm.web", 10), ("database.main", 40)]),
            unpriced: 1,
            ..CostReport::default()
        };
        let priced = CostReport {
            stack: "net".into(),
            environment: "prod".into(),
            second: side("prod", &[("vm.web", 10)]),
            unpriced: 0,
            ..bill.clone()
        };
        insta::assert_snapshot!(units_cost_page(&[&priced, &bill], 0, TextStyle::plain(100)), @"
        2 units · a month · after an apply: +$50.00 · 1 resource without a known price, not counted
        UNIT          NOW   AFTER  UNPRICED
        shop/prod   $5.00  $50.00         1
        net/prod    $5.00  $10.00
        total      $10.00  $60.00         1
        ");
    }

    #[test]
    fn a_bill_is_sorted_by_price_and_has_a_total() {
        let bill = CostReport {
            stack: "shop".into(),
            environment: "prod".into(),
            first: Some(side("staging", &[("vm.web", 5), ("vpc.main", 0), ("app.web", -1)])),
            second: side("prod", &[("vm.web", 10), ("database.main", 40), ("vpc.main", 0)]),
            unpriced: 1,
            ..CostReport::default()
        };
        insta::assert_snapshot!(cost_page(&bill, TextStyle::plain(100)), @"
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
        let alone = CostReport { first: None, built_in: true, ..bill };
        insta::assert_snapshot!(cost_page(&alone, TextStyle::plain(100)), @"
        shop/prod · a month · prices of the built-in cloud, not of your account · 1 resource without a known
          price, not counted
        RESOURCE         PROD
        database.main  $40.00
        vm.web         $10.00
        total          $50.00
        ");
    }
}
