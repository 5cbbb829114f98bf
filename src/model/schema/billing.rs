//! `Billing`: when an object is paid, and what the service charges or refunds at once when it is created, changed or
//! deleted. A rule that the specification does not show is `NotShown`: the amount is then unknown, never zero.

/// How the objects of a kind are paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Billing {
    /// By the hour, in arrears, or not at all: no change is charged or refunded at once.
    Arrears,
    /// An attribute selects between payment in arrears and payment for a month of `MONTH_HOURS` in advance. The paid
    /// month begins with the creation, which is assumed: the service does not show it.
    Chosen(BillingChoice),
    /// In the same way as the object that this attribute refers to. The amount of an object that is paid in advance is
    /// not shown.
    AsReferred(&'static str),
}

/// The attribute that selects how an object is paid, and the rules for an object that is paid in advance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BillingChoice {
    /// The attribute that selects.
    pub attribute: &'static str,
    /// Its keyword for payment in advance. Any other keyword of the attribute means payment in arrears.
    pub prepaid: &'static str,
    /// What happens to the rest of the paid month when the monthly price changes.
    pub on_change: RestOfMonth,
    /// What happens to the rest of the paid month when the object is deleted.
    pub on_delete: RestOfMonth,
    /// The boolean attribute of an object without charge that is paid in advance from the moment when it has a price;
    /// `None` where the selecting attribute alone decides.
    pub free: Option<&'static str>,
}

/// What happens to the rest of a month that is paid in advance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestOfMonth {
    /// The difference is charged or refunded at once, for each full hour that is left.
    Prorated,
    /// The service does not show it.
    NotShown,
}

/// Hours in a month of payment in advance, whatever the calendar says (assumed).
pub const MONTH_HOURS: i64 = 730;
