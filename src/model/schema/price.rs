//! `Price`: the monthly price of an object in USD, as a sum of products over the records of the catalog.
//!
//! It is an estimate for plans: usage that no attribute determines is not in it. Also writes amounts of money as text.

use rust_decimal::Decimal;

/// How a kind is billed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Price {
    /// The object has no price of its own.
    Free,
    /// The sum of these terms.
    Sum(&'static [PriceTerm]),
}

impl Price {
    /// Returns the parts of an object that the service creates with it, each with the attribute whose choice makes it do so.
    pub fn implied_parts(&self) -> impl Iterator<Item = (&'static str, ImpliedPart)> + use<> {
        let terms: &'static [PriceTerm] = match *self {
            Self::Free => &[],
            Self::Sum(terms) => terms,
        };
        terms.iter().filter_map(|term| Some((term.chosen_by?, term.implies?)))
    }
}

/// A catalog price multiplied by all of its factors; without factors, the price itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriceTerm {
    /// The name of the catalog table.
    pub table: &'static str,
    /// The catalog attribute that chooses the record; `None` where the table has one record.
    pub chosen_by: Option<&'static str>,
    /// The record's field with the monthly price in USD, of the whole object or of one unit that a factor counts.
    pub field: &'static str,
    /// The factors that multiply the price.
    pub factors: &'static [PriceFactor],
    /// The part of the object that the term is about, if its choice makes the service create one: without the choice, or if a
    /// resource manages that part, the term adds nothing.
    pub implies: Option<ImpliedPart>,
}

/// A part of an object that the service creates with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImpliedPart {
    /// The kind by which a resource can manage it.
    pub kind: &'static str,
    /// Its name.
    pub name: &'static str,
    /// How many of the priced units it has.
    pub count: i64,
}

/// One factor of a term. Percentages are whole numbers: 70 multiplies the price by 0.7.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriceFactor {
    /// The number in an attribute (0 when absent).
    Count(&'static str),
    /// The excess of an attribute over a field of the chosen record, never below 0 (0 when absent).
    Over {
        /// The attribute that the factor reads.
        attribute: &'static str,
        /// The field of the chosen record.
        field: &'static str,
    },
    /// A percentage when a boolean attribute is true, otherwise 0.
    PercentWhen {
        /// The boolean attribute that is tested.
        attribute: &'static str,
        /// The percentage, as a whole number.
        percent: i64,
        /// Other percentages for these values of the attribute `by`; empty without exceptions.
        except: &'static [(&'static str, i64)],
        /// The attribute that selects an exception.
        by: &'static str,
    },
    /// 1 when a number has this value, otherwise 0.
    When {
        /// The attribute that the factor reads.
        attribute: &'static str,
        /// The number that gives 1.
        equals: i64,
    },
    /// 0 when a keyword is one of these, otherwise 1.
    Unless {
        /// The attribute that the factor reads.
        attribute: &'static str,
        /// The keywords of objects without a monthly price.
        values: &'static [&'static str],
    },
    /// A fixed number of instances; with autoscaling the minimum; otherwise 1.
    Instances {
        /// The attribute with the fixed number.
        fixed: &'static str,
        /// The record with the autoscaling settings.
        scaled: &'static str,
        /// The record's key with the minimum number.
        least: &'static str,
    },
}

/// Returns an amount of money in USD, such as `$339.40`; with four decimals if it is less than a cent.
#[must_use]
pub fn format_money(amount: Decimal) -> String {
    let size = amount.abs();
    let places = if !size.is_zero() && size < Decimal::new(1, 2) { 4 } else { 2 };
    let sign = if amount.is_sign_negative() && !amount.is_zero() { "-" } else { "" };
    format!("{sign}${:.places$}", size.round_dp(u32::try_from(places).unwrap_or(2)))
}

/// Returns a monthly price as the end of a description, such as `, $2.50 a month`; empty for a price of zero.
#[must_use]
pub fn format_monthly(price: Decimal) -> String {
    if price.is_zero() { String::new() } else { format!(", {} a month", format_money(price)) }
}
