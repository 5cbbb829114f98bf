//! `Price`: what an object costs a month, as a sum of products over the catalog.

/// How a kind is billed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Price {
    /// It costs nothing of its own.
    Free,
    /// The sum of these terms.
    Sum(&'static [PriceTerm]),
}

/// A catalog price times its factors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriceTerm {
    /// The catalog table.
    pub table: &'static str,
    /// The catalog attribute that chooses the record; `None` where the table has one record.
    pub chosen_by: Option<&'static str>,
    /// The record's price for a month.
    pub field: &'static str,
    /// What it is multiplied with.
    pub factors: &'static [PriceFactor],
}

/// One factor. Percentages are exact whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriceFactor {
    /// An attribute's number (0 when absent).
    Count(&'static str),
    /// What an attribute has over a field of the chosen record, never below 0 (0 when absent).
    Over {
        /// The attribute.
        attribute: &'static str,
        /// The record's field.
        field: &'static str,
    },
    /// A percentage when a boolean attribute is true, else 0.
    PercentWhen {
        /// The boolean attribute.
        attribute: &'static str,
        /// The percentage.
        percent: i64,
        /// Another percentage where `by` has one of these values.
        except: &'static [(&'static str, i64)],
        /// The attribute that the exceptions look at.
        by: &'static str,
    },
    /// 1 when a number is this, else 0.
    When {
        /// The attribute.
        attribute: &'static str,
        /// The number.
        equals: i64,
    },
    /// 0 when a text is one of these, else 1.
    Unless {
        /// The attribute.
        attribute: &'static str,
        /// The words of what costs nothing by the month.
        values: &'static [&'static str],
    },
    /// A fixed number of instances; of what scales by itself, the least; otherwise 1.
    Instances {
        /// The attribute with the fixed number.
        fixed: &'static str,
        /// The record of what scales by itself.
        scaled: &'static str,
        /// Its key of the least number.
        least: &'static str,
    },
}
